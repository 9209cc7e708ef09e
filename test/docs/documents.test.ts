import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { SCHEMA_NAMES } from '../../src/config/workspace.ts';
import { TABLE_FORMAT_NAMES } from '../../src/model/row.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { filesIn } from './document-blocks.ts';
import {
  COMMANDS_FILE,
  REFERENCES,
  readDocument,
  schemaFile,
  schemaText,
  withCommands,
  withReference,
} from './reference.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('the documents', () => {
  it.each(REFERENCES)(
    '$file has the reference of $name as the schema has it (npm run docs)',
    ({ file, name }) => {
      const document = readDocument(file);
      expect(withReference(document, name)).toBe(document);
    },
  );

  it('have the commands as they are defined (npm run docs)', async () => {
    const document = readDocument(COMMANDS_FILE);
    expect(await withCommands(document)).toBe(document);
  });

  it.each(SCHEMA_NAMES)('have the schema of %s as it is now (npm run docs)', (name) => {
    expect(readDocument(schemaFile(name))).toBe(schemaText(name));
  });

  it('are named by every shipped YAML file, for editors', () => {
    const files = globSync(['stores.yaml', 'jobs/*.yaml', 'mappings/*.yaml'], { cwd: ROOT });
    const pattern = /^# yaml-language-server: \$schema=(\S+)\n/;
    const wrong = files.filter((file) => {
      const schema = pattern.exec(readDocument(file))?.[1] ?? 'none';
      return !existsSync(join(ROOT, dirname(file), schema));
    });
    expect(files.length).toBeGreaterThan(8);
    expect(wrong).toEqual([]);
  });

  it('name every dependency with its reason', () => {
    const reasons = readDocument('CONTRIBUTING.md');
    const names = Object.keys(packageJson.dependencies);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !reasons.includes(`- \`${name}\`: `))).toEqual([]);
  });

  it('name every format of tables', () => {
    const sources = readDocument('docs/sources.md');
    expect(TABLE_FORMAT_NAMES.filter((format) => !sources.includes(`\`.${format}\``))).toEqual([]);
  });

  it('show mappings that pass their own tests, and jobs that fit them', async () => {
    const files = filesIn(readDocument('docs/mappings.md'));
    await using workspace = await makeWorkspace({
      ...files,
      'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY}" }\n`,
      'jobs/list.yaml': 'import: products\nstore: main\nsource: { path: list.csv }\nmapping: price-list\n',
    });
    const { code, stdout } = await workspace.storeferry('check');
    expect(stdout).toContain('6 mapping tests passed');
    expect(code).toBe(0);
  });

  it('show jobs with sources and destinations elsewhere that are valid', async () => {
    const files = filesIn(readDocument('docs/sources.md'));
    expect(Object.keys(files)).toHaveLength(13);
    await using workspace = await makeWorkspace({
      ...files,
      'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${STORE_API_KEY}" }\n`,
    });
    const { code, stdout } = await workspace.storeferry('check');
    expect(stdout).toContain('Checked 1 store, 13 jobs, 2 mappings');
    const unset = [...stdout.matchAll(/the variable (\w+) is not set/g)].map(([, name]) => name);
    expect([...new Set(unset)].sort()).toEqual([
      ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'DATABASE_URL', 'FEED_PASSWORD', 'FEED_TOKEN'],
      ...['GOOGLE_CREDENTIALS', 'S3_KEY', 'S3_SECRET', 'SFTP_PASSWORD', 'STORE_API_KEY'],
    ]);
    expect(code).toBe(0);
  });
});
