import { catalogWorkspace, manyProducts, shopifyCatalog } from './catalog.ts';
import { type Store, type StoreOptions, startStore } from './store.ts';
import { makeWorkspace, type Workspace } from './workspace.ts';

/** A store, and a workspace whose job `nightly` reads a catalog into it. */
export interface Nightly extends AsyncDisposable {
  readonly store: Store;
  readonly workspace: Workspace;
}

/** Sets up a nightly catalog of so many products; `job` adds keys to the job. */
export async function setupNightly(
  count: number,
  job: Readonly<Record<string, string>> = {},
  options: Omit<StoreOptions, 'seed'> = {},
): Promise<Nightly> {
  const store = await startStore({ seed: 1, ...options });
  const catalog = shopifyCatalog(manyProducts(count));
  const workspace = await makeWorkspace(catalogWorkspace(store.baseUrl, catalog, job), {
    STORE_API_KEY: store.apiKey,
  });
  return {
    store,
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}
