import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { forkProcess } from '../support/processes.ts';
import { type Bench, type BenchRow, median } from './bench-row.ts';
import { FAR_STORES, HIDDEN_LIMITS } from './hidden-limits.ts';

const FIXED = [1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 32, 64];
const FIXED_MS = 4_000;
const OURS_MS = 30_000;
const WORKERS = 64;
const PATH = '/api/site/products?update_existing_product_by_url=true';

interface Achieved {
  readonly perSecond: number;
  readonly refusedShare: number;
}

/** What the limiter gets done, from its start at one, against the best of many fixed numbers of requests at once. */
export const limiter: Bench = async ({ rounds, scale, log }) => {
  const rows: BenchRow[] = [];
  for (const { name } of HIDDEN_LIMITS) {
    using store = await startHiddenStore(name);
    let best = { perSecond: 0, concurrency: 0 };
    for (const concurrency of FIXED) {
      const { perSecond } = await fixed(store.baseUrl, concurrency, FIXED_MS * scale);
      if (perSecond > best.perSecond) best = { perSecond, concurrency };
      await sleep(200 * scale);
    }
    const ours: Achieved[] = [];
    for (let round = 1; round <= rounds; round++) {
      const achieved = await adaptive(store.baseUrl, OURS_MS * scale);
      ours.push(achieved);
      log(
        `limiter, ${name} ${round}: ${achieved.perSecond.toFixed(1)}/s, 429s ${percent(achieved.refusedShare)}, ${achieved.limits}; best fixed ${best.perSecond.toFixed(1)}/s with ${best.concurrency}`,
      );
    }
    const perSecond = median(ours.map((each) => each.perSecond));
    const refused = median(ours.map((each) => each.refusedShare));
    rows.push({
      what: `the limiter, hidden limit: ${name}`,
      ours: `${perSecond.toFixed(1)}/s, 429s ${percent(refused)}`,
      plain: '',
      bare: `fixed ${best.concurrency} at once ${best.perSecond.toFixed(1)}/s`,
      ratio: (perSecond / best.perSecond).toFixed(2),
      asked: 'at least 0.9, 429s under 5 %',
      met: perSecond / best.perSecond >= 0.9 && refused < 0.05,
    });
  }
  return rows;
};

/** Stores at a distance: requests sent against what the store takes, where it must be found out by 429s and where stores.yaml says it. */
export const network: Bench = async ({ scale, log }) => {
  const rows: BenchRow[] = [];
  for (const { name, capacity } of FAR_STORES) {
    using store = await startHiddenStore(name);
    for (const requestsPerSecond of [undefined, capacity.perSecond]) {
      const { perSecond, refusedShare, limits } = await adaptive(
        store.baseUrl,
        OURS_MS * scale,
        requestsPerSecond,
      );
      const what = `${name}, ${requestsPerSecond === undefined ? 'found out' : 'in stores.yaml'}`;
      const ratio = perSecond / capacity.perSecond;
      log(`network, ${what}: ${perSecond.toFixed(1)}/s, 429s ${percent(refusedShare)}, ${limits}`);
      rows.push({
        what: `a store that takes ${what}`,
        ours: `${perSecond.toFixed(1)}/s, 429s ${percent(refusedShare)}`,
        ...{ plain: '', bare: `${capacity.perSecond}/s`, ratio: ratio.toFixed(2) },
        ...{ asked: 'at least 0.95', met: ratio >= 0.95 },
      });
    }
  }
  return rows;
};

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

async function startHiddenStore(name: string): Promise<Disposable & { readonly baseUrl: string }> {
  const store = forkProcess(new URL('hidden-store.ts', import.meta.url), [name]);
  const [baseUrl] = await once(store, 'message');
  return { baseUrl: String(baseUrl), [Symbol.dispose]: () => store.disconnect() };
}

function bodyOf(number: number): string {
  const variants = [{ options: [], price: 5, onSale: false, regularPrice: 5 }];
  return JSON.stringify({
    ...{ type: 'physical', title: `Bowl ${number}`, url: `bowl-${number}`, hidden: false, options: [] },
    variants,
  });
}

async function fixed(baseUrl: string, concurrency: number, ms: number): Promise<Achieved> {
  const pool = new Pool(baseUrl, { connections: concurrency, pipelining: 1 });
  const headers = {
    authorization: 'Bearer key',
    'user-agent': 'bench/1',
    'content-type': 'application/json',
  };
  const until = performance.now() + ms;
  let done = 0;
  let refused = 0;
  let number = 0;
  const worker = async () => {
    while (performance.now() < until) {
      const answer = await pool.request({ path: PATH, method: 'POST', headers, body: bodyOf(number++) });
      await answer.body.dump();
      if (answer.statusCode === 429) refused++;
      else if (performance.now() < until) done++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  await pool.close();
  return { perSecond: (done * 1_000) / ms, refusedShare: refused / Math.max(1, number) };
}

async function adaptive(
  baseUrl: string,
  ms: number,
  known?: number,
): Promise<Achieved & { readonly limits: string }> {
  const limits = { concurrency: WORKERS, ...(known !== undefined && { requestsPerSecond: known }) };
  const storefront = createStorefront({
    baseUrl,
    apiKey: 'key',
    userAgent: 'bench/1',
    limits,
    attemptMs: 40_000,
  });
  const ending = new AbortController();
  let done = 0;
  let number = 0;
  const worker = async () => {
    while (!ending.signal.aborted) {
      const product = { url: `bowl-${number}`, body: bodyOf(number) };
      number++;
      const { kind } = await storefront.upsertProduct(product, { signal: ending.signal });
      if (kind === 'applied') done++;
    }
  };
  const working = Promise.allSettled(Array.from({ length: WORKERS }, worker));
  await sleep(ms);
  const { limit, because, requestsPerSecond, requests, pushBacks } = storefront.stats();
  const perSecond = (done * 1_000) / ms;
  ending.abort(new Error('over'));
  await working;
  await storefront.close();
  const rate = requestsPerSecond === null ? '' : `, ${requestsPerSecond.toFixed(1)} a second`;
  return { perSecond, refusedShare: pushBacks / requests, limits: `${limit} at once (${because})${rate}` };
}
