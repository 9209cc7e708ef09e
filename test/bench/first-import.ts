import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Bench, median, scaled, seconds } from './bench-row.ts';
import { benchWorkspace } from './bench-workspace.ts';
import { runProcess } from './run-process.ts';
import { startPlainStore } from './start-plain-store.ts';
import { writeCatalog } from './write-catalog.ts';

const PRODUCTS = 30_000;
const CONCURRENCY = 64;

/** A first import against undici's Pool alone, and against a plain script that sends the same records. */
export const firstImport: Bench = async (options) => {
  const { folder, log, rounds } = options;
  await compareRecords(folder);
  const catalog = join(folder, 'first-import.csv');
  const { products } = await writeCatalog(catalog, { products: scaled(PRODUCTS, options) });
  using store = await startPlainStore();
  const { baseUrl } = store;
  const workspace = await benchWorkspace(join(folder, 'first-import'), {
    ...{ catalog, baseUrl, concurrency: CONCURRENCY },
  });
  const scriptArgs = [catalog, baseUrl, String(CONCURRENCY)];
  const sendingMs = async () => {
    const figures = await store.figures();
    if (figures.requests !== products) throw new Error(`${figures.requests} of ${products} requests`);
    return figures.sendingMs;
  };
  const alone: number[] = [];
  const ourSending: number[] = [];
  const ourWhole: number[] = [];
  const plain: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await runProcess('pool-alone.ts', scriptArgs);
    alone.push(await sendingMs());
    await workspace.forget();
    ourWhole.push((await workspace.storeferry('run', 'nightly', '--json')).wallMs);
    ourSending.push(await sendingMs());
    plain.push((await runProcess('plain-script.ts', scriptArgs)).wallMs);
    await sendingMs();
    log(
      `first import ${round}: Pool alone ${seconds(alone.at(-1) ?? 0)}, sending ${seconds(ourSending.at(-1) ?? 0)}, whole run ${seconds(ourWhole.at(-1) ?? 0)}, plain script ${seconds(plain.at(-1) ?? 0)}`,
    );
  }
  const perSecond = (ms: number) => `${Math.round((products * 1_000) / ms)}/s`;
  const ofPool = (ours: readonly number[]) => median(ours.map((ms, round) => (alone[round] ?? ms) / ms));
  const timesPlain = median(ourWhole.map((ms, round) => (plain[round] ?? ms) / ms));
  const common = { plain: '', bare: `Pool alone ${perSecond(median(alone))}`, asked: 'at least 0.85' };
  const what = `first import, ${products} products`;
  return [
    {
      ...common,
      what: `${what}: while it sends`,
      ours: perSecond(median(ourSending)),
      ratio: ofPool(ourSending).toFixed(2),
      met: ofPool(ourSending) >= 0.85,
    },
    {
      ...common,
      what: `${what}: whole process`,
      ours: perSecond(median(ourWhole)),
      ratio: ofPool(ourWhole).toFixed(2),
      met: ofPool(ourWhole) >= 0.85,
    },
    {
      what: `${what}: whole process`,
      ours: seconds(median(ourWhole)),
      plain: seconds(median(plain)),
      bare: '',
      ratio: `${timesPlain.toFixed(2)} times`,
      asked: 'at least 2.5 times',
      met: timesPlain >= 2.5,
    },
  ];
};

/** The comparison is fair only if both send the same: a few hundred products, body by body. */
async function compareRecords(folder: string): Promise<void> {
  const catalog = join(folder, 'compared.csv');
  const { products } = await writeCatalog(catalog, { products: 300 }, { seed: 2 });
  using store = await startPlainStore(0, true);
  const { baseUrl } = store;
  const workspace = await benchWorkspace(join(folder, 'compared'), { catalog, baseUrl, concurrency: 4 });
  await workspace.storeferry('run', 'nightly', '--json');
  const ours = byUrl((await store.figures()).bodies);
  await runProcess('plain-script.ts', [catalog, baseUrl, '4']);
  const plain = byUrl((await store.figures()).bodies);
  for (const [url, product] of ours) {
    if (isDeepStrictEqual(product, plain.get(url))) continue;
    throw new Error(`not the same record: ${JSON.stringify(product)}\n${JSON.stringify(plain.get(url))}`);
  }
  if (ours.size !== products || plain.size !== products) {
    throw new Error(`${ours.size} and ${plain.size} of ${products} records`);
  }
}

function byUrl(bodies: readonly string[]): Map<unknown, unknown> {
  return new Map(
    bodies.map((text) => {
      const product: { readonly url: unknown } = JSON.parse(text);
      return [product.url, product];
    }),
  );
}
