import { once } from 'node:events';
import { readPaged } from '../../src/export/reading/read-items.ts';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { forkProcess } from '../support/processes.ts';

/**
 * How many times faster orders are read than one page after another, with the limiter starting from nothing.
 *
 *     node test/bench/orders-export.ts [orders] [latency in ms] [concurrency] [an order is added every n pages]
 */
const [count = 20_000, latencyMs = 20, concurrency = 16, addEvery = 0] = process.argv.slice(2).map(Number);
const ROUNDS = 3;

function connect(baseUrl: string) {
  const limits = { concurrency };
  return createStorefront({ baseUrl, apiKey: 'key', userAgent: 'bench/1', limits, attemptMs: 40_000 });
}

async function onePageAfterAnother(baseUrl: string): Promise<number> {
  await using storefront = connect(baseUrl);
  const { signal } = new AbortController();
  let orders = 0;
  for (let skip = 0; ; skip += 50) {
    const { items } = await storefront.orders({ limit: 50, skip }, { signal });
    orders += items.length;
    if (items.length < 50) return orders;
  }
}

async function ours(baseUrl: string): Promise<number> {
  await using storefront = connect(baseUrl);
  const { signal } = new AbortController();
  let orders = 0;
  const batches = readPaged(storefront, { signal, concurrency, what: 'orders', onProgress: () => {} });
  for await (const batch of batches) orders += batch.length;
  const { requests, limit, because } = storefront.stats();
  console.log(`  ${requests} requests, limit ${limit}: ${because}`);
  return orders;
}

async function timed(read: (baseUrl: string) => Promise<number>): Promise<number> {
  const store = forkProcess(new URL('orders-store.ts', import.meta.url), [
    String(count),
    String(latencyMs),
    String(addEvery),
  ]);
  const [port] = await once(store, 'message');
  const startedAt = performance.now();
  const orders = await read(`http://127.0.0.1:${port}`);
  const ms = performance.now() - startedAt;
  store.disconnect();
  if (orders < count) throw new Error(`only ${orders} of ${count} orders`);
  return ms;
}

const ratios: number[] = [];
for (let round = 1; round <= ROUNDS; round++) {
  const slow = await timed(onePageAfterAnother);
  const fast = await timed(ours);
  ratios.push(slow / fast);
  console.log(
    `round ${round}: one page after another ${slow.toFixed(0)} ms, ours ${fast.toFixed(0)} ms, ${(slow / fast).toFixed(1)} times faster`,
  );
}
console.log('median:', (ratios.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0).toFixed(1));
