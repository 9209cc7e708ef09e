import { z } from 'zod';
import { readLists } from '../../export/reading/read-items.ts';
import { type StoreList, storeListsTable } from '../../mapping/lookup-table.ts';
import { type RunFolder, readSealed, sealedJson } from '../../state/artifacts.ts';
import type { MappingSource, MappingTables } from '../inputs/open-mapping.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';

/** Stored beside the snapshot, so that the whole run is planned with the same lists. */
const STORE_LISTS_FILE = 'subscriber-lists.json';

const listsSchema = z.object({
  lists: z.array(z.object({ id: z.int(), name: z.string() })),
  notes: z.array(z.string()).default([]),
});

/** The lists of a store, and whether there may be more. */
type StagedLists = z.infer<typeof listsSchema>;

/** The lists that were read for this run; null if its mapping does not use them. StateError if the file was damaged. */
export async function stagedLists(
  { listLookups }: MappingSource,
  folder: RunFolder,
): Promise<StagedLists | null> {
  if (listLookups.length === 0) return null;
  return await readSealed(folder, STORE_LISTS_FILE, listsSchema, [
    'is not what was staged',
    'The file was damaged or edited. Run the job again: it reads the lists again.',
  ]);
}

/**
 * Reads the store's subscriber lists into the run's folder if the job's mapping uses them; otherwise returns null
 * without a request. Only ids and names are stored: other figures change every hour and decide nothing.
 */
export async function stageStoreLists(
  { openStorefront, signal }: RunContext,
  { mapping, store }: ImportRequest,
  folder: RunFolder,
): Promise<readonly StoreList[] | null> {
  if (mapping.listLookups.length === 0) return null;
  const read = await readLists(await openStorefront(store), { signal });
  const lists = read.lists.map(({ id, name }) => ({ id, name }));
  await folder.write(STORE_LISTS_FILE, [sealedJson({ lists, notes: read.notes })]);
  return lists;
}

/** Lookups together with the lists that were read for this run. */
export function withStoreLists(
  lookups: MappingTables['lookups'],
  { listLookups }: MappingSource,
  staged: StagedLists | null,
): MappingTables['lookups'] {
  if (staged === null) return lookups;
  const { lists, notes } = staged;
  return new Map([
    ...lookups,
    ...listLookups.map(({ name, match }) => [name, storeListsTable(lists, match, notes)] as const),
  ]);
}
