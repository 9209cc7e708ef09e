import { readItems } from '../../export/reading/read-items.ts';
import { saveReading } from '../../export/reading/reading.ts';
import type { Run } from '../../model/run.ts';
import { NO_TOTALS } from '../../report/run-totals.ts';
import type { ExportRequest, RunContext } from '../run-context.ts';
import { RunTraffic } from '../traffic/run-traffic.ts';

/**
 * Reads the store into the run's folder, item by item as the store sent them; a run that is continued has read
 * already. Requests count also when reading fails.
 */
export async function readStep(context: RunContext, { job, store }: ExportRequest, run: Run): Promise<Run> {
  if (run.stagedAt !== null) return run;
  const { runs } = context.state;
  const readAt = context.clock();
  const folder = context.artifacts.run(run.id);
  const notes: string[] = [];
  let requests = 0;
  const storefront = await context.openStorefront(store);
  const traffic = new RunTraffic(folder, context.clock);
  const items = readItems(job.export, storefront, {
    signal: context.signal,
    concurrency: store.limits.concurrency,
    onEnded: traffic.onEnded,
    onRequest: () => {
      requests++;
    },
    onProgress: (done, total) =>
      context.onEvent({ type: 'progress', step: 'read', done, total, unit: 'orders' }),
    onNotes: (found) => notes.push(...found),
  });
  let records = 0;
  try {
    records = await traffic.during(storefront, () => saveReading(folder, items, () => notes));
  } catch (error) {
    await runs.update(run.id, { totals: { ...NO_TOTALS, requests } });
    throw error;
  }
  return await runs.update(run.id, { stagedAt: readAt, totals: { ...NO_TOTALS, records, requests } });
}
