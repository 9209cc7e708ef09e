import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRedis } from '../support/redis.ts';
import { type Bench, type BenchOptions, type BenchRow, median, scaled, seconds } from './bench-row.ts';
import { type BenchWorkspace, benchWorkspace } from './bench-workspace.ts';
import { runProcess } from './run-process.ts';
import { startPlainStore } from './start-plain-store.ts';
import { writeCatalog } from './write-catalog.ts';

const ROWS = 1_000_000;
const SQLITE_RUNS = [
  { changed: 0, most: 1 },
  { changed: 0.01, most: 1.6 },
  // Before there were blocks, every run took as much.
  { changed: 0.1, most: 15 },
];

/** Runs over an imported catalog, unchanged and with changed products, against Papa Parse alone over the same file: embedded state. */
export const nextRun: Bench = async (options) => {
  const catalog = await catalogFile(options);
  using store = await startPlainStore();
  const workspace = await benchWorkspace(join(options.folder, 'next-run'), {
    ...{ catalog, baseUrl: store.baseUrl, concurrency: 64 },
  });
  return await compareRuns('SQLite', SQLITE_RUNS, catalog, workspace, options);
};

/** The same with the state in a Redis of its own, with its append-only file as Redis sets it by default. */
export const nextRunOnRedis: Bench = async (options) => {
  const catalog = await catalogFile(options);
  using store = await startPlainStore();
  await using redis = await startRedis({ settings: { appendfsync: 'everysec' } });
  const workspace = await benchWorkspace(join(options.folder, 'next-run-on-redis'), {
    ...{ catalog, baseUrl: store.baseUrl, concurrency: 64, redisUrl: redis.url },
  });
  return await compareRuns('Redis', [{ changed: 0, most: 1.2 }], catalog, workspace, options);
};

async function catalogFile(options: BenchOptions): Promise<string> {
  const catalog = join(options.folder, 'catalog.csv');
  await writeCatalog(catalog, { rows: scaled(ROWS, options) });
  return catalog;
}

/** Shares of the products that change before each run, scattered, and how many times as long as Papa Parse a run may take. */
type ChangedRuns = readonly { readonly changed: number; readonly most: number }[];

async function compareRuns(
  state: string,
  runs: ChangedRuns,
  catalog: string,
  workspace: BenchWorkspace,
  options: BenchOptions,
): Promise<readonly BenchRow[]> {
  const rows = scaled(ROWS, options);
  const [same, other] = [`${catalog}.same`, `${catalog}.other`];
  await copyFile(catalog, same);
  await workspace.storeferry('run', 'nightly', '--json');
  const found: BenchRow[] = [];
  for (const { changed: share, most } of runs) {
    await writeCatalog(other, { rows }, { otherPrices: share });
    const ours: number[] = [];
    const papa: number[] = [];
    const cpu: number[] = [];
    for (let round = 1; round <= options.rounds; round++) {
      await copyFile(round % 2 === 1 ? other : same, catalog);
      const alone = await runProcess('papa-alone.ts', [catalog]);
      const run = await workspace.storeferry('run', 'nightly', '--json');
      const { changed, unchanged, records }: Record<string, unknown> = JSON.parse(
        run.stdout.trimEnd().split('\n').at(-1) ?? '',
      );
      if (Number(changed) + Number(unchanged) !== records || (share === 0 && changed !== 0))
        throw new Error(`${changed} changed, ${unchanged} of ${records} records unchanged`);
      papa.push(alone.wallMs);
      ours.push(run.wallMs);
      cpu.push(run.cpuMs / alone.cpuMs);
      options.log(
        `run on ${state}, ${share * 100} % changed, ${round}: ours ${seconds(run.wallMs)} (CPU ${seconds(run.cpuMs)}), Papa Parse ${seconds(alone.wallMs)} (CPU ${seconds(alone.cpuMs)})`,
      );
    }
    // The next runs begin with the same catalog.
    await copyFile(same, catalog);
    await workspace.storeferry('run', 'nightly', '--json');
    const ratio = median(ours.map((ms, round) => ms / (papa[round] ?? ms)));
    found.push({
      what: `${share === 0 ? 'unchanged run' : `run with ${share * 100} % changed`}, ${rows} rows, ${state}`,
      ours: seconds(median(ours)),
      plain: '',
      bare: `Papa Parse ${seconds(median(papa))}`,
      ratio: `${ratio.toFixed(2)} times (CPU ${median(cpu).toFixed(2)})`,
      asked: `at most ${most} times`,
      met: ratio <= most,
    });
  }
  return found;
}
