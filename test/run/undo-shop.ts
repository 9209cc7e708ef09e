import { setTimeout as sleep } from 'node:timers/promises';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

export const FILES = {
  'mappings/catalog.yaml': `import: products
columns: { url: Url, title: Title, text: Text, price: Price, qty: Qty }
product: { url: url, title: title, description: text }
variants: { sku: url, pricing: { price: [price, number] }, quantity: [qty, integer] }
`,
  'mappings/stock.yaml': `import: products
columns: { sku: SKU, qty: Qty }
required: [sku, qty]
variants: { sku: sku, quantity: [qty, integer] }
`,
  'jobs/catalog.yaml': `import: products
store: main
source: { path: catalog.csv }
mapping: catalog
mode: mirror
safety: { maxDeletes: off, maxRejects: off, minRows: off, maxPriceMoves: off }
schedule: { cron: "0 3 * * *" }
`,
  'jobs/stock.yaml': `import: products
store: main
source: { path: stock.csv }
mapping: stock
mode: update
match: sku
safety: { maxRejects: off, maxPriceMoves: off }
`,
};

interface Lamp {
  readonly title: string;
  readonly text: string;
  readonly price: number;
  readonly qty: number;
}

type Lamps = ReadonlyMap<string, Lamp>;

export function catalogOf(lamps: Lamps): string {
  const rows = [...lamps].map(([url, { title, text, price, qty }]) => [url, title, text, price, qty].join());
  return `Url,Title,Text,Price,Qty\n${rows.join('\n')}\n`;
}

export function lampsOf(count: number): Lamps {
  return new Map(
    Array.from({ length: count }, (_, index) => [
      `lamp-${index}`,
      { title: `Lamp ${index}`, text: 'A lamp', price: 10 + index, qty: 5 },
    ]),
  );
}

export type Redis = { readonly url: string } & AsyncDisposable;

/** The lock of a killed process lasts 5 s; each command that looks whether it is gone takes a processor. */
const RETRY_MS = 1_000;

/** A store, and a workspace with a catalog and a stock job; `delayMs`: how long the store takes. */
export async function openShop(redis: Redis | undefined, delayMs = 0) {
  const store = await startStore({ seed: 1, latencyMs: { min: delayMs, max: delayMs } });
  const workspace = await makeWorkspace(
    {
      ...FILES,
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 2, timeoutSeconds: 1 } }\n`,
    },
    {
      STORE_API_KEY: store.apiKey,
      STOREFERRY_LEASE_MS: '5000',
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    },
  );
  const run = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
    for (;;) {
      const { code, stdout, stderr, json } = await workspace.storeferry(...args, '--json');
      if (stdout === '') throw new Error(stderr);
      const said: Record<string, unknown> = { ...json(), code };
      // With Redis the lock of a killed process lasts a little longer.
      if (!/already running|has not ended/.test(String(said['error']))) return said;
      await sleep(RETRY_MS);
    }
  };
  return {
    ...{ store, workspace, run },
    /** What the store holds, without its ids and times. */
    held: () =>
      new Map(
        [...store.shop.products.values()].map(({ url = '', title, description, variants }) => [
          url,
          { title, description, variants },
        ]),
      ),
    idOf: (url: string) => [...store.shop.products.values()].find((product) => product.url === url)?.id,
    async sends(lamps: Lamps) {
      await workspace.write('catalog.csv', catalogOf(lamps));
      return String((await run('run', 'catalog'))['run']);
    },
    async undoes(of: string, ...options: readonly string[]) {
      const plan = await run('undo', of, ...options);
      return plan['operations'] === 0 ? plan : await run('approve', String(plan['run']));
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

/** The next state of the catalog: some products created, changed or gone, now and then all prices a hundred times as high. */
export function nextLamps(lamps: Lamps, round: number, random: () => number): Lamps {
  const factor = round % 4 === 3 ? 100 : 1;
  const kept = [...lamps].flatMap(([url, lamp]): [string, Lamp][] => {
    if (random() < 0.15) return [];
    const text = random() < 0.3 ? `About ${round}` : lamp.text;
    const changed = random() < 0.4 ? { title: `Lamp of ${round}`, qty: round } : {};
    return [[url, { ...lamp, text, ...changed, price: lamp.price * factor }]];
  });
  const all = lampsOf(14);
  const added = [...all].filter(([url]) => !lamps.has(url) && random() < 0.4);
  return new Map([...kept, ...added]);
}
