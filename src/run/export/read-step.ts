import type { AllRead } from '../../export/reading/read-all-items.ts';
import { readLists } from '../../export/reading/read-lists.ts';
import { readOrders } from '../../export/reading/read-orders.ts';
import { saveReading } from '../../export/reading/reading.ts';
import { readingNotes } from '../../export/reading/reading-notes.ts';
import type { Run } from '../../model/run.ts';
import { NO_TOTALS } from '../../report/run-totals.ts';
import type { SendOptions, Storefront } from '../../storefront/storefront.ts';
import type { RunContext } from '../context.ts';
import { RunTraffic } from '../traffic/run-traffic.ts';
import type { ExportRequest } from './export-request.ts';

/**
 * Reads the store into the run's folder, item by item as the store sent them; a run that is continued has read
 * already. Requests count also when reading fails.
 */
export async function readStep(context: RunContext, request: ExportRequest, run: Run): Promise<Run> {
  if (run.stagedAt !== null) return run;
  const readAt = context.clock();
  const folder = context.artifacts.run(run.id);
  let requests = 0;
  let records = 0;
  const notes: string[] = [];
  const storefront = await context.openStorefront(request.store);
  const traffic = new RunTraffic(folder, context.clock);
  const options: SendOptions = {
    signal: context.signal,
    onEnded: traffic.onEnded,
    onRequest: () => {
      requests++;
    },
  };
  const onNotes = (found: readonly string[]): void => {
    notes.push(...found);
  };
  try {
    const items = itemsOf(context, request, { storefront, options, onNotes });
    records = await traffic.during(storefront, () => saveReading(folder, items, () => notes));
  } catch (error) {
    await context.state.runs.update(run.id, { totals: { ...NO_TOTALS, requests } });
    throw error;
  }
  const totals = { ...NO_TOTALS, records, requests };
  return await context.state.runs.update(run.id, { stagedAt: readAt, totals });
}

/** The batches of a generator, which ends with them when they are given up; what it gives at its end is told. */
async function* told<Batch, End>(
  batches: AsyncGenerator<Batch, End>,
  onEnd: (end: End) => void,
): AsyncGenerator<Batch> {
  onEnd(yield* batches);
}

interface Reading {
  readonly storefront: Storefront;
  readonly options: SendOptions;
  readonly onNotes: (notes: readonly string[]) => void;
}

/** The items that the job asks for, as JSON, in batches. */
async function* itemsOf(
  context: RunContext,
  { job, store }: ExportRequest,
  { storefront, options, onNotes }: Reading,
): AsyncGenerator<readonly string[]> {
  switch (job.export) {
    case 'subscriber-lists': {
      const { lists, notes } = await readLists(storefront, options);
      onNotes(notes);
      yield lists.map((list) => JSON.stringify(list));
      return;
    }
    case 'orders': {
      const orders = readOrders(storefront, {
        ...options,
        concurrency: store.limits.concurrency,
        onProgress: (done, total) =>
          context.onEvent({ type: 'progress', step: 'read', done, total, unit: 'orders' }),
      });
      const onEnd = (all: AllRead) => onNotes(readingNotes(all, 'orders'));
      for await (const batch of told(orders, onEnd)) yield batch.map(({ text }) => text);
      return;
    }
    default:
      job.export satisfies never;
  }
}
