import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredList } from './store/shop.ts';
import { type Store, type StoreOptions, startStore } from './store.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** A store, and a workspace whose jobs export from it. */
export interface Exports extends AsyncDisposable {
  readonly store: Store;
  readonly workspace: Workspace;
  /** A file of the workspace as text. */
  read(name: string): Promise<string>;
}

/** A list with the figures that matter. */
export function aList(id: number, name: string, figures: Partial<StoredList> = {}): StoredList {
  return { id, name, created: 1_700_000_000, subscribers: 100, opens: 0.4, clicks: 0.1, ...figures };
}

/** Orders of ids rising, as the store has them: newest last. */
export function manyOrders(count: number): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    number: `SF-${index + 1}`,
    customer: { email: `a${index + 1}@mail.example` },
    total: 12.5,
  }));
}

/** Sets up jobs from the text of their destination and whatever more they say. */
export async function setupExports(
  jobs: Readonly<Record<string, string>>,
  options: StoreOptions = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Exports> {
  const store = await startStore({ seed: 1, ...options });
  const files = Object.entries(jobs).map(([name, text]) => [`jobs/${name}.yaml`, `store: main\n${text}`]);
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n  limits: { concurrency: 16 }\n`,
      ...Object.fromEntries(files),
    },
    { ...env, STORE_API_KEY: store.apiKey },
  );
  return {
    store,
    workspace,
    read: (name) => readFile(join(workspace.dir, name), 'utf8'),
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}
