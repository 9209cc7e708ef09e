import { formatRow } from '../../csv/format-row.ts';
import { readCsv } from '../../csv/read-csv.ts';
import type { Destination } from '../../export/destination/destination.ts';
import { saveExported } from '../../export/exported-file.ts';
import { readReading, readReadingNotes } from '../../export/reading/reading.ts';
import { appendLines } from '../../export/writing/append-lines.ts';
import { appendTable } from '../../export/writing/append-table.ts';
import { newStyle } from '../../export/writing/csv-line.ts';
import { replaceFile } from '../../export/writing/replace-file.ts';
import { shapeOf } from '../../export/writing/row-shape.ts';
import type { Written } from '../../export/writing/written.ts';
import { lockLost } from '../../model/errors.ts';
import type { Run } from '../../model/run.ts';
import { NO_TOTALS } from '../../report/run-totals.ts';
import { abortingWith } from '../aborting-with.ts';
import type { RunContext } from '../context.ts';
import { lockDestination } from '../run-locks.ts';
import type { ExportRequest } from './export-request.ts';
import { openDestination } from './open-destination.ts';
import { shownLocation } from './shown-location.ts';

/** Writes what was read to the destination: whole, or what is there stays as it is. */
export async function writeStep(context: RunContext, { job }: ExportRequest, run: Run): Promise<Run> {
  await context.state.runs.update(run.id, { step: 'write' });
  const destination = await openDestination(context, job);
  await using lock = await lockDestination(context, run, destination.location);
  const signal = AbortSignal.any([
    context.signal,
    abortingWith(lock.lost, () => lockLost('on the destination', 'nothing more is written.')),
  ]);
  const folder = context.artifacts.run(run.id);
  const readAt = new Date(run.stagedAt ?? context.clock()).toISOString();
  const items = () => readReading(folder);
  const told = () => withProgress(items(), context, run.totals?.records ?? null);
  const written = await writeItems(job, destination, { items, told, readAt, signal });
  const totals = { ...(run.totals ?? NO_TOTALS), rows: written.lines };
  const { mode, format } = job.destination;
  await saveExported(folder, {
    location: shownLocation(context.workspaceDir, destination),
    mode,
    ...(written.begun === true ? { begun: true } : {}),
    format,
    readAt,
    items: totals.records,
    lines: written.lines,
    bytes: written.bytes,
    notes: [...(await readReadingNotes(folder)), ...written.notes],
  });
  return await context.state.runs.update(run.id, { totals });
}

interface Reading {
  readonly items: () => AsyncIterable<readonly string[]>;
  /** The same, telling how far they have come. */
  readonly told: () => AsyncIterable<readonly string[]>;
  readonly readAt: string;
  readonly signal: AbortSignal;
}

async function writeItems(
  job: ExportRequest['job'],
  destination: Destination,
  { items, told, readAt, signal }: Reading,
): Promise<Written> {
  const { mode, format } = job.destination;
  const shape = await shapeOf(job, readAt, items);
  const style = format === 'jsonl' ? null : newStyle(format, formatRow);
  const options = { items: told(), shape, signal };
  if (mode === 'replace') return await replaceFile(destination, { ...options, style });
  if (style === null) return await appendLines(destination, options);
  return await appendTable(destination, { ...options, style, openTable: readCsv });
}

async function* withProgress(
  items: AsyncIterable<readonly string[]>,
  { onEvent }: RunContext,
  total: number | null,
): AsyncGenerator<readonly string[]> {
  let done = 0;
  for await (const batch of items) {
    yield batch;
    done += batch.length;
    onEvent({ type: 'progress', step: 'write', done, total, unit: 'rows' });
  }
}
