import { join } from 'node:path';
import { type Bench, type BenchRow, median } from './bench-row.ts';
import { benchWorkspace } from './bench-workspace.ts';
import { type ProcessFigures, runProcess } from './run-process.ts';
import { startPlainStore } from './start-plain-store.ts';
import { writeCatalog } from './write-catalog.ts';

/** How long commands take that do next to nothing, once Node has its compile cache. */
export const starts: Bench = async ({ folder, rounds, log }) => {
  const catalog = join(folder, 'start.csv');
  await writeCatalog(catalog, { rows: 100 });
  using store = await startPlainStore();
  const workspace = await benchWorkspace(join(folder, 'start'), {
    ...{ catalog, baseUrl: store.baseUrl, concurrency: 4 },
  });
  const nothing: number[] = [];
  const measure = async (what: string, mostMs: number, run: () => Promise<ProcessFigures>) => {
    await run();
    const ours: ProcessFigures[] = [];
    for (let round = 1; round <= rounds; round++) {
      nothing.push((await runProcess('nothing.ts', [])).wallMs);
      ours.push(await run());
    }
    const ms = median(ours.map(({ wallMs }) => wallMs));
    const cpuMs = median(ours.map((each) => each.cpuMs));
    log(`${what}: ${ours.map(({ wallMs }) => wallMs.toFixed(0)).join(', ')} ms`);
    return { what, ms, cpuMs, mostMs };
  };
  const measured = [
    await measure('start of storeferry --help', 150, () => workspace.storeferry('--help')),
    await measure('storeferry plan, 100 rows', 250, () => workspace.storeferry('plan', 'nightly')),
    await measure('storeferry runs', 250, () => workspace.storeferry('runs')),
    await measure('storeferry check', 250, () => workspace.storeferry('check')),
  ];
  return measured.map(
    ({ what, ms, cpuMs, mostMs }): BenchRow => ({
      what,
      ours: `${ms.toFixed(0)} ms (CPU ${cpuMs.toFixed(0)})`,
      plain: '',
      bare: `an empty script ${median(nothing).toFixed(0)} ms`,
      ratio: `${(ms / median(nothing)).toFixed(1)} times`,
      asked: `at most ${mostMs} ms`,
      met: ms <= mostMs,
    }),
  );
};
