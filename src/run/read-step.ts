import { readLists } from '../export/read-lists.ts';
import { UsageError } from '../model/errors.ts';
import type { Run } from '../model/run.ts';
import { NO_TOTALS } from '../report/run-totals.ts';
import type { RunContext } from './context.ts';
import type { ExportRequest } from './export-request.ts';

/** Holds what was read, a JSON object a line. */
export const READING_FILE = 'reading.jsonl';

/** Reads the store into the run's folder. */
export async function readStep(context: RunContext, { job, store }: ExportRequest, run: Run): Promise<Run> {
  if (job.export === 'orders') throw new UsageError('This version exports subscriber lists.');
  const readAt = context.clock();
  let requests = 0;
  const lists = await readLists(context.openStorefront(store), {
    signal: context.signal,
    onRequest: () => {
      requests++;
    },
  });
  await context.artifacts.run(run.id).write(
    READING_FILE,
    lists.map((list) => `${JSON.stringify(list)}\n`),
  );
  return await context.state.runs.update(run.id, {
    stagedAt: readAt,
    totals: { ...NO_TOTALS, records: lists.length, requests },
  });
}
