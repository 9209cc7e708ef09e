import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bench, scaled } from './bench-row.ts';
import { benchWorkspace } from './bench-workspace.ts';
import { startPlainStore } from './start-plain-store.ts';
import { writeCatalog } from './write-catalog.ts';

const SMALL = 500_000;
const LARGE = 5_000_000;
const MOST_MIB = 300;
const MOST_GROWTH = 1.3;

/** The most memory that a first import and the run after it ever held, at two sizes; once each, it varies little. */
export const memory: Bench = async (options) => {
  const { folder, log } = options;
  using store = await startPlainStore();
  const peaks: { readonly rows: number; readonly first: number; readonly second: number }[] = [];
  for (const size of [SMALL, LARGE]) {
    const rows = scaled(size, options);
    const catalog = join(folder, 'memory.csv');
    await writeCatalog(catalog, { rows });
    const workspace = await benchWorkspace(join(folder, `memory-${rows}`), {
      ...{ catalog, baseUrl: store.baseUrl, concurrency: 64 },
    });
    const first = (await workspace.storeferry('run', 'nightly', '--json')).maxRssMiB;
    const second = (await workspace.storeferry('run', 'nightly', '--json')).maxRssMiB;
    peaks.push({ rows, first, second });
    log(`memory at ${rows} rows: first import ${first.toFixed(0)} MiB, second ${second.toFixed(0)} MiB`);
    await rm(workspace.dir, { recursive: true });
    await rm(catalog);
  }
  const [small, large] = peaks;
  if (small === undefined || large === undefined) throw new Error('not measured');
  const peak = ({ first, second }: typeof small) => Math.max(first, second);
  const growth = peak(large) / peak(small);
  const peaksOf = ({ first, second }: typeof small) => `${first.toFixed(0)} and ${second.toFixed(0)} MiB`;
  return [
    {
      what: `peak memory, ${large.rows} rows: first import, second`,
      ours: peaksOf(large),
      plain: '',
      bare: `limit ${MOST_MIB} MiB`,
      ratio: (peak(large) / MOST_MIB).toFixed(2),
      asked: `at most ${MOST_MIB} MiB`,
      met: peak(large) <= MOST_MIB,
    },
    {
      what: `the same against ${small.rows} rows`,
      ours: peaksOf(large),
      plain: '',
      bare: peaksOf(small),
      ratio: `${growth.toFixed(2)} times`,
      asked: `at most ${MOST_GROWTH} times`,
      met: growth <= MOST_GROWTH,
    },
  ];
};
