import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readWorkspace, type Workspace } from '../../src/config/workspace.ts';
import { ConfigurationError, formatPlace } from '../../src/model/storeferry-error.ts';

/** A store that is valid with the variables of `VARIABLES`. */
export const STORES = `main:
  baseUrl: \${STORE_URL}
  apiKey: \${STORE_API_KEY}
`;

export const VARIABLES = { STORE_URL: 'https://shop.example', STORE_API_KEY: 'key-marked-4711' };

/** A mapping of products with one parameter. */
export const MAPPING = `import: products
columns: { id: Id, name: Name, price: Price }
params: { prefix: "" }
product: { url: "{prefix}{id}", title: name }
variants: { pricing: { price: price } }
`;

/** A mapping of contacts that gives no id. */
export const CONTACTS = `import: contacts
columns: { mail: E-mail, name: Name }
contact: { email: mail, name: name }
`;

export const JOB = `import: products
store: main
source: { path: in.csv }
mapping: goods
`;

/** A folder with these files, gone after the test. */
export function folder(files: Readonly<Record<string, string | Uint8Array>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'storeferry-config-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), content);
  }
  return dir;
}

/** A valid workspace, but for what is given. */
export function workspace(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  variables: Readonly<Record<string, string>> = VARIABLES,
): Workspace {
  const valid = {
    'stores.yaml': STORES,
    'mappings/goods.yaml': MAPPING,
    'mappings/people.yaml': CONTACTS,
    'jobs/nightly.yaml': JOB,
    'in.csv': 'Id,Name,Price\n',
  };
  return readWorkspace(folder({ ...valid, ...files }), variables, folder({}));
}

/** What a ConfigurationError says, one line a problem: `file:line:column message`. */
export function problemsOf(action: () => unknown): string[] {
  try {
    action();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(({ place, message }) => `${formatPlace(place)} ${message}`);
  }
  return [];
}
