import { z } from 'zod';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { patience } from '../support/pace.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const KEY = 'sandbox-key';
const LATENCY_MS = patience(250);
const PRODUCTS = z.array(z.record(z.string(), z.unknown()));

/** A workspace before two stores: `main` answers at once, `slow` takes its time. */
export interface SlowShop extends AsyncDisposable {
  readonly workspace: Workspace;
  /** What a store holds, by the handles of its products. */
  products(store: 'main' | 'slow'): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>>;
}

/** A job that reads a catalog of its own into a store; `lines` are further keys of its file. */
export interface CatalogJob {
  readonly store: 'main' | 'slow';
  readonly catalog: string;
  readonly lines?: string;
}

/** Sets up jobs by their names. */
export async function slowShop(jobs: Readonly<Record<string, CatalogJob>>): Promise<SlowShop> {
  const [main, slow] = await Promise.all([
    startSandbox({ port: 0, apiKey: KEY }),
    startSandbox({ port: 0, apiKey: KEY, latencyMs: LATENCY_MS }),
  ]);
  const files = Object.entries(jobs).flatMap(([name, { store, catalog, lines = '' }]) => [
    [`catalogs/${name}.csv`, catalog],
    [
      `jobs/${name}.yaml`,
      `import: products\nstore: ${store}\nsource: { path: catalogs/${name}.csv }\nmapping: shopify-products\n${lines}`,
    ],
  ]);
  const workspace = await makeWorkspace(
    {
      'stores.yaml': [
        `main: { baseUrl: "${main.url}", apiKey: "\${STORE_API_KEY}" }\n`,
        `slow: { baseUrl: "${slow.url}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 8 } }\n`,
      ].join(''),
      ...Object.fromEntries(files),
    },
    { STORE_API_KEY: KEY },
  );
  const stores = { main, slow };
  return {
    workspace,
    async products(store) {
      const answer = await fetch(`${stores[store].url}/_sandbox/products`, {
        headers: { authorization: `Bearer ${KEY}` },
      });
      return new Map(PRODUCTS.parse(await answer.json()).map((product) => [String(product['url']), product]));
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await Promise.all([main.close(), slow.close()]);
    },
  };
}
