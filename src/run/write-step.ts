import { relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { formatRow } from '../csv/format-row.ts';
import { saveExported } from '../export/exported-file.ts';
import type { Run } from '../model/run.ts';
import { NO_TOTALS } from '../report/run-totals.ts';
import type { RunContext } from './context.ts';
import type { ExportRequest } from './export-request.ts';
import { openDestination } from './open-destination.ts';
import { READING_FILE } from './read-step.ts';
import { lockDestination } from './run-locks.ts';

/** Writes what was read to the destination. */
export async function writeStep(context: RunContext, { job }: ExportRequest, run: Run): Promise<Run> {
  const destination = await openDestination(context.workspaceDir, job);
  await using lock = await lockDestination(context, run, destination.location);
  await context.state.runs.update(run.id, { step: 'write' });
  const folder = context.artifacts.run(run.id);
  const readAt = new Date(run.stagedAt ?? context.clock()).toISOString();
  const items = (await text(await folder.read(READING_FILE))).split('\n').filter((line) => line !== '');
  const rows = items.map((line) => {
    const values: readonly unknown[] = Object.values(JSON.parse(line));
    return `${formatRow([...values.map(String), readAt], ',')}\n`;
  });
  const { mode, format } = job.destination;
  const signal = AbortSignal.any([context.signal, lock.lost]);
  const before = mode === 'append' ? await destination.read(signal) : undefined;
  const old =
    before === undefined ? 'id,name,created,subscribers,opens,clicks,read_at\n' : await text(before.content);
  const bytes = await destination.write(chunks([old, ...rows]), { signal });
  const location = relative(context.workspaceDir, destination.location);
  await saveExported(folder, {
    location,
    mode,
    format,
    readAt,
    items: items.length,
    lines: rows.length,
    bytes,
    notes: [],
  });
  const totals = { ...(run.totals ?? NO_TOTALS), rows: rows.length };
  return await context.state.runs.update(run.id, { totals });
}

async function* chunks(parts: readonly string[]): AsyncGenerator<string> {
  yield* parts;
}
