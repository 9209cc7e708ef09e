import { once } from 'node:events';
import { Pool } from 'undici';
import { applyOperations } from '../../src/apply/apply-operations.ts';
import type { UpsertProduct } from '../../src/model/operation.ts';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { forkProcess } from '../support/processes.ts';

/**
 * How much of what undici's Pool alone sends to a store on loopback is left once contract, retries, limiter and
 * group commits are around it. Rounds take turns, so that the machine's moods strike all alike.
 *
 *     node test/bench/apply-throughput.ts [requests] [concurrency] [rounds] [latency in ms]
 */
const [requests = 30_000, concurrency = 64, rounds = 5, latencyMs = 0] = process.argv.slice(2).map(Number);
const PATH = '/api/site/products?update_existing_product_by_url=true';
const HEADERS = { authorization: 'Bearer key', 'user-agent': 'bench/1', 'content-type': 'application/json' };

function bodyOf(index: number): string {
  return JSON.stringify({
    type: 'physical',
    title: `Cotton shirt number ${index}`,
    description: 'A shirt that lasts. '.repeat(15),
    url: `cotton-shirt-${index}`,
    hidden: false,
    images: ['https://images.example/shirt.jpg'],
    options: [{ name: 'Size', values: ['S', 'M'], advanced: false }],
    variants: ['S', 'M'].map((size) => ({
      options: [size],
      price: 19.5,
      onSale: false,
      regularPrice: 19.5,
      quantity: 7,
      sku: `CS-${index}-${size}`,
      weight: 0.25,
    })),
  });
}

const operations = Array.from({ length: requests }, (_, index): UpsertProduct => {
  const key = `cotton-shirt-${index}`;
  const spans = [{ file: 0, from: index + 2, to: index + 2 }];
  return {
    kind: 'upsert-product',
    index,
    key,
    body: bodyOf(index),
    fingerprint: key,
    knownId: null,
    rows: 1,
    spans,
  };
});

async function poolAlone(baseUrl: string): Promise<void> {
  const pool = new Pool(baseUrl, { connections: concurrency, pipelining: 1 });
  let next = 0;
  const worker = async () => {
    for (let operation = operations[next++]; operation !== undefined; operation = operations[next++]) {
      const answer = await pool.request({
        path: PATH,
        method: 'POST',
        headers: HEADERS,
        body: operation.body,
      });
      await answer.body.json();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  await pool.close();
}

function connect(baseUrl: string) {
  const limits = { concurrency };
  return createStorefront({ baseUrl, apiKey: 'key', userAgent: 'bench/1', limits, attemptMs: 40_000 });
}

async function storefrontAlone(baseUrl: string): Promise<string> {
  await using storefront = connect(baseUrl);
  const { signal } = new AbortController();
  let next = 0;
  const worker = async () => {
    for (let operation = operations[next++]; operation !== undefined; operation = operations[next++]) {
      const { kind } = await storefront.upsertProduct(
        { url: operation.key, body: operation.body },
        { signal },
      );
      if (kind !== 'applied') throw new Error(kind);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const { limit, because } = storefront.stats();
  return `limit ${limit}: ${because}`;
}

async function apply(baseUrl: string): Promise<string> {
  await using storefront = connect(baseUrl);
  const { signal } = new AbortController();
  const record = () => new Promise<void>((resolve) => setImmediate(resolve));
  const { applied } = await applyOperations({ operations, storefront, concurrency, record, signal });
  if (applied !== requests) throw new Error(`applied ${applied}`);
  const { limit, because } = storefront.stats();
  return `limit ${limit}: ${because}`;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const store = forkProcess(new URL('plain-store.ts', import.meta.url), [String(latencyMs)]);
const [port] = await once(store, 'message');
const baseUrl = `http://127.0.0.1:${port}`;
const contestants = { poolAlone, storefrontAlone, apply };
const rates: Record<string, number[]> = { poolAlone: [], storefrontAlone: [], apply: [] };

for (let round = 0; round <= rounds; round++) {
  for (const [name, run] of Object.entries(contestants)) {
    const startedAt = performance.now();
    const note = await run(baseUrl);
    const rate = requests / ((performance.now() - startedAt) / 1_000);
    if (round > 0) rates[name]?.push(rate);
    console.log(round === 0 ? 'warm-up' : `round ${round}`, name, Math.round(rate), 'requests/s', note ?? '');
  }
}
const [alone = [], ...others] = Object.values(rates);
for (const [index, name] of ['storefront', 'apply'].entries()) {
  const ratios = others[index]?.map((rate, round) => rate / (alone[round] ?? rate)) ?? [];
  console.log(`${name} / pool alone, median:`, median(ratios).toFixed(3));
}
store.disconnect();
