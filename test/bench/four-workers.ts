import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startProcess } from '../support/processes.ts';
import { startRedis } from '../support/redis.ts';
import { type Bench, median, scaled, seconds } from './bench-row.ts';
import { BENCH_KEY, benchWorkspace } from './bench-workspace.ts';
import { startPlainStore } from './start-plain-store.ts';
import { writeCatalog } from './write-catalog.ts';

const PRODUCTS = 6_000;
const CONCURRENCY = 8;
const LATENCY_MS = 50;
const MAIN = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** One worker and four, each with eight requests at once to a store that takes 50 ms for an answer. */
export const fourWorkers: Bench = async (options) => {
  const catalog = join(options.folder, 'workers.csv');
  const { products } = await writeCatalog(catalog, { products: scaled(PRODUCTS, options) });
  await using redis = await startRedis({ settings: { appendfsync: 'everysec' } });
  using store = await startPlainStore(LATENCY_MS);
  const workspace = await benchWorkspace(join(options.folder, 'workers'), {
    ...{ catalog, baseUrl: store.baseUrl, concurrency: CONCURRENCY, redisUrl: redis.url },
  });
  /** How long the store was sent to; the workers are started before, and all products sent each time. */
  const sendingMs = async (count: number): Promise<number> => {
    const env = { PATH: process.env['PATH'], STORE_API_KEY: BENCH_KEY, REDIS_URL: redis.url };
    const workers = await Promise.all(Array.from({ length: count }, () => startWorker(workspace.dir, env)));
    await workspace.storeferry('enqueue', 'nightly', '--follow', '--resend', '--json');
    await Promise.all(workers.map(stopWorker));
    const { requests, sendingMs: ms } = await store.figures();
    if (requests !== products) throw new Error(`${requests} of ${products} requests`);
    return ms;
  };
  const one: number[] = [];
  const four: number[] = [];
  for (let round = 1; round <= options.rounds; round++) {
    one.push(await sendingMs(1));
    four.push(await sendingMs(4));
    options.log(`workers ${round}: one ${seconds(one.at(-1) ?? 0)}, four ${seconds(four.at(-1) ?? 0)}`);
  }
  const times = median(one.map((ms, round) => ms / (four[round] ?? ms)));
  return [
    {
      what: `four workers, ${products} products, store answering in ${LATENCY_MS} ms, ${CONCURRENCY} at once each`,
      ours: seconds(median(four)),
      plain: '',
      bare: `one worker ${seconds(median(one))}`,
      ratio: `${times.toFixed(2)} times`,
      asked: 'at least 3.6 times',
      met: times >= 3.6,
    },
  ];
};

async function startWorker(dir: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const worker = startProcess(process.execPath, [MAIN, '-C', dir, 'worker'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    const hear = (text: string) => {
      printed += text;
      if (printed.includes('"ready"')) resolve();
    };
    worker.stdout.setEncoding('utf8').on('data', hear);
    worker.stderr.setEncoding('utf8').on('data', hear);
    worker.once('exit', () => reject(new Error(`the worker ended: ${printed}`)));
  });
  return worker;
}

async function stopWorker(worker: ChildProcess): Promise<void> {
  worker.kill('SIGTERM');
  await once(worker, 'exit');
}
