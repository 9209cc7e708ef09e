import { type Manifest, readPosition, readPrints, selectChanges } from '../../export/order-changes.ts';
import { filterOrders } from '../../export/order-fields.ts';
import { readItems } from '../../export/reading/read-items.ts';
import { type FileState, inspectFile } from '../../export/writing/write-new-file.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import type { ExportRequest, RunContext } from '../run-context.ts';
import { exportFolder } from './export-history.ts';

/** The files of an export with `mode: new`, compared with their manifests and with the store. */
export interface Reconciliation {
  readonly files: readonly Manifest[];
  readonly missing: readonly Manifest[];
  readonly damaged: readonly Manifest[];
  /** Orders of the store that no file has like that: the next run writes them. */
  readonly waiting: number;
}

/** Compares each file with its checksum, and the orders of the store with those that the files have. Changes nothing. */
export async function reconcileExport(
  context: RunContext,
  { job, store }: ExportRequest,
): Promise<Reconciliation> {
  const { signal } = context;
  const kept = exportFolder(context, job);
  const position = await readPosition(kept, storeIdentity(store));
  const states: { readonly file: Manifest; readonly state: FileState }[] = [];
  for (const file of position.files)
    states.push({ file, state: await inspectFile({ access: context, job, signal }, file) });
  const storefront = await context.openStorefront(store);
  const items = readItems(job.export, storefront, {
    signal,
    concurrency: store.limits.concurrency,
    onProgress: () => {},
    onNotes: () => {},
  });
  const { found, orders } = selectChanges(
    filterOrders(textsOf(items), job),
    await readPrints(kept, position),
  );
  for await (const _ of orders);
  const inState = (wanted: FileState) =>
    states.filter(({ state }) => state === wanted).map(({ file }) => file);
  return {
    files: position.files,
    missing: inState('missing'),
    damaged: inState('damaged'),
    waiting: found.new + found.changed,
  };
}

async function* textsOf(
  items: AsyncIterable<readonly { readonly text: string }[]>,
): AsyncGenerator<readonly string[]> {
  for await (const batch of items) yield batch.map(({ text }) => text);
}
