import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { checkWorkspace } from '../../src/config/workspace.ts';
import { placeholder } from '../../src/config/yaml-text.ts';
import { MAPPING, STORES, workspace } from './support.ts';

const SECRET = 'MARKED-5ecret/value 42%';

const FILES = {
  'stores.yaml': `${STORES}  weightUnit: kg\n  limits: { concurrency: 4, requestsPerSecond: 5 }\n`,
  'jobs/nightly.yaml': `import: contacts
store: main
source: { path: in.csv, files: 1, encoding: utf-8, delimiter: tab }
mapping: people
params: { a: b }
mode: mirror
duplicates: merge
crosswalk: { path: ids.csv, match: email, id: id }
safety: { maxDeletes: 5%, maxRejects: 1, minRows: off, maxChanges: off }
schedule: { cron: "1 2 * * *", timezone: Europe/London }
notify: { url: "https://hooks.example", on: [failed] }
`,
  'jobs/statistics.yaml': `export: orders
store: main
destination: { path: a.csv, mode: append, format: csv }
columns: [id]
`,
  'mappings/goods.yaml': MAPPING,
};

/** Every way to a scalar or a list in the content. */
function paths(value: unknown, at: (string | number)[] = []): (string | number)[][] {
  if (value === null || typeof value !== 'object') return [at];
  return [at, ...Object.entries(value).flatMap(([key, item]) => paths(item, [...at, key]))];
}

function withValue(
  value: unknown,
  [step, ...rest]: readonly (string | number)[],
  replacement: unknown,
): unknown {
  if (step === undefined || value === null || typeof value !== 'object') return replacement;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === String(step) ? withValue(item, rest, replacement) : item,
    ]),
  );
}

describe('a secret from the environment', () => {
  it('is in no message, wherever it is put', () => {
    let refused = 0;
    for (const [name, text] of Object.entries(FILES)) {
      const content: unknown = parse(text);
      for (const path of paths(content).filter(({ length }) => length > 0)) {
        for (const written of [
          placeholder('MARKED'),
          `a${placeholder('MARKED')}`,
          placeholder('NOT_SET', SECRET),
        ]) {
          const files = { ...FILES, [name]: stringify(withValue(content, path, written)) };
          const variables = { STORE_URL: 'https://x', STORE_API_KEY: 'k', MARKED: SECRET };
          const { problems, warnings } = checkWorkspace(workspace(files, variables));
          const messages = [...problems, ...warnings].map(({ message }) => message).join('\n');
          expect(messages).not.toContain('5ecret');
          refused += problems.length;
        }
      }
    }
    expect(refused).toBeGreaterThan(100);
  });

  it('is known to the redactor, once it has been read', () => {
    const files = {
      'jobs/nightly.yaml': `export: orders\nstore: main\ndestination: { path: "\${FOLDER}/\${FILE_TOKEN}.csv" }\nnotify: { url: "\${HOOK:https://hooks.example/T0/secret}" }\n`,
    };
    const variables = {
      STORE_URL: 'https://x',
      STORE_API_KEY: 'the-key',
      FOLDER: 'exports',
      FILE_TOKEN: 'the-token',
      OTHER_SECRET: 'unused',
      REDIS_URL: 'redis://user:pass%20word@localhost',
    };
    const found = workspace(files, variables);
    expect(found.secrets()).toEqual([]);
    found.store('main');
    found.job('nightly');
    found.settings();
    expect([...found.secrets()].sort()).toEqual([
      'https://hooks.example/T0/secret',
      'pass word',
      'the-key',
      'the-token',
    ]);
  });
});

describe('a secret in a file', () => {
  it('is refused as the key of a store and quoted nowhere', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^5ecret[ -~]{0,20}$/), (key) => {
        const stores = `main:\n  baseUrl: https://x\n  apiKey: ${JSON.stringify(key)}\n`;
        const { problems } = checkWorkspace(workspace({ 'stores.yaml': stores }));
        expect(problems.map(({ place }) => place.line)).toEqual(
          key.includes('${') ? [expect.any(Number)] : [3],
        );
        expect(problems.map(({ message }) => message).join()).not.toContain('5ecret');
      }),
      { numRuns: 30 },
    );
  });

  it('is not quoted as a password in an address, nor where a map was expected', () => {
    const stores = 'main: 5ecret\nother: { baseUrl: "ftp://me:5ecret@x", apiKey: [5ecret] }\n';
    const { problems } = checkWorkspace(workspace({ 'stores.yaml': stores }));
    expect(problems).toHaveLength(3);
    expect(problems.map(({ message }) => message).join()).not.toContain('5ecret');
  });
});
