import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bench, BenchRow } from './bench-row.ts';
import { firstImport } from './first-import.ts';
import { forecast } from './forecast.ts';
import { fourWorkers } from './four-workers.ts';
import { limiter, network } from './limiter.ts';
import { memory } from './memory.ts';
import { nextRun, nextRunOnRedis } from './next-runs.ts';
import { orders } from './orders.ts';
import { starts } from './starts.ts';

/**
 * Measures what issue 4 asks for and prints one table. Contestants take turns in one run; medians of the rounds.
 *
 *     npm run bench -- [--only first-import,next-run,…] [--scale 0.1] [--rounds 5]
 */
const BENCHES: Readonly<Record<string, Bench>> = {
  starts,
  'first-import': firstImport,
  'next-run': nextRun,
  'next-run-on-redis': nextRunOnRedis,
  memory,
  workers: fourWorkers,
  orders,
  limiter,
  network,
  forecast,
};

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(BENCHES).join(',') },
    scale: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '5' },
  },
});

const scale = Number(values.scale);
const rounds = Number(values.rounds);
if (!(scale > 0) || !(rounds >= 1)) throw new Error('--scale and --rounds are numbers above 0');

const load = () =>
  loadavg()
    .map((each) => each.toFixed(1))
    .join(' ');
const log = (line: string) => console.error(line);
const rows: BenchRow[] = [];
const loadBefore = load();
for (const name of values.only.split(',')) {
  const bench = BENCHES[name];
  if (bench === undefined) throw new Error(`--only ${name}: expected ${Object.keys(BENCHES).join(', ')}`);
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-bench-'));
  try {
    rows.push(...(await bench({ scale, rounds, folder, log })));
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
console.log(tableOf(rows));
console.log(
  `\nscale ${scale}, medians of ${rounds} rounds, Node ${process.version}, ${availableParallelism()} processors, load average before ${loadBefore}, after ${load()}`,
);

function tableOf(measured: readonly BenchRow[]): string {
  const head = ['what', 'ours', 'plain script', 'bare, or limit', 'ratio', 'asked', 'met'];
  const cells = measured.map(({ what, ours, plain, bare, ratio, asked, met }) => [
    ...[what, ours, plain, bare, ratio, asked],
    met ? 'yes' : 'NO',
  ]);
  const widths = head.map((text, column) =>
    Math.max(text.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...cells.map(line)].join('\n');
}
