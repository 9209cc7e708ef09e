import { formatRow } from '../../csv/format-row.ts';
import { readCsv } from '../../csv/read-csv.ts';
import { openDestination } from '../../export/destination/open-destination.ts';
import { saveExported } from '../../export/exported-file.ts';
import { readReading, readReadingNotes } from '../../export/reading/reading.ts';
import { writeItems } from '../../export/writing/write-items.ts';
import { lockLost } from '../../model/errors.ts';
import type { Run } from '../../model/run.ts';
import { NO_TOTALS } from '../../report/run-totals.ts';
import { abortingWith } from '../aborting-with.ts';
import { lockDestination } from '../lock-job.ts';
import type { ExportRequest, RunContext } from '../run-context.ts';
import { shownLocation } from './shown-location.ts';

/** Writes what was read to the destination: whole, or what is there stays as it is. */
export async function writeStep(context: RunContext, { job }: ExportRequest, run: Run): Promise<Run> {
  await context.state.runs.update(run.id, { step: 'write' });
  const destination = await openDestination(context, job);
  await using lock = await lockDestination(context, run, destination.location);
  const folder = context.artifacts.run(run.id);
  const readAt = new Date(run.stagedAt ?? context.clock()).toISOString();
  const written = await writeItems(job, destination, {
    items: () => readReading(folder),
    readAt,
    signal: AbortSignal.any([
      context.signal,
      abortingWith(lock.lost, () => lockLost('on the destination', 'nothing more is written.')),
    ]),
    openTable: readCsv,
    formatRow,
    onProgress: (done) =>
      context.onEvent({
        type: 'progress',
        step: 'write',
        done,
        total: run.totals?.records ?? null,
        unit: 'rows',
      }),
  });
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
