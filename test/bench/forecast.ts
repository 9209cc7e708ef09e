import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bench, scaled } from './bench-row.ts';
import { benchWorkspace } from './bench-workspace.ts';
import { startPlainStore } from './start-plain-store.ts';
import { writeCatalog } from './write-catalog.ts';

const PRODUCTS = 4_000;
const RUNS = 10;
const LATENCY_MS = 20;

/** What a plan says of how long sending will take, against how long it then takes. */
export const forecast: Bench = async (options) => {
  const { folder, log } = options;
  const catalog = join(folder, 'forecast.csv');
  const files = [`${catalog}.one`, `${catalog}.other`] as const;
  const products = scaled(PRODUCTS, options);
  await writeCatalog(files[0], { products });
  await writeCatalog(files[1], { products }, { otherPrices: 0.7 });
  using store = await startPlainStore(LATENCY_MS);
  const workspace = await benchWorkspace(join(folder, 'forecast'), {
    ...{ catalog, baseUrl: store.baseUrl, concurrency: 8 },
  });
  let within = 0;
  for (let run = 0; run <= RUNS; run++) {
    await copyFile(files[run % 2] ?? files[0], catalog);
    const plan = (await workspace.storeferry('plan', 'nightly')).stdout.replaceAll(/\s+/g, ' ');
    await store.figures();
    await workspace.storeferry('run', 'nightly');
    const { sendingMs, requests } = await store.figures();
    const [, about, from, to] = /requests: (?:about (.*?)|(.*?) to (.*?)), by the last/.exec(plan) ?? [];
    if (run === 0) {
      if (about !== undefined || from !== undefined) throw new Error('a forecast without a record');
      continue;
    }
    const [least, most] = [secondsIn(from ?? about ?? ''), secondsIn(to ?? about ?? '')];
    // It is said in whole seconds.
    const isWithin = sendingMs > (least - 1) * 1_000 && sendingMs < (most + 1) * 1_000;
    if (isWithin) within++;
    log(`forecast ${run}: ${requests} requests in ${sendingMs} ms; said ${least} to ${most} s`);
  }
  return [
    {
      what: `forecast, ${products} products`,
      ours: `${within} of ${RUNS}`,
      ...{ plain: '', bare: '', ratio: '', asked: 'at least 9 of 10', met: within >= 0.9 * RUNS },
    },
  ];
};

function secondsIn(words: string): number {
  const units = new Map([
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ]);
  const parts = [...words.matchAll(/([\d.]+) (h|min|s)\b/g)];
  return parts.reduce((sum, [, amount, unit = 's']) => sum + Number(amount) * (units.get(unit) ?? 1), 0);
}
