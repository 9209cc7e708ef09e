import { z } from 'zod';
import { readLists } from '../../export/reading/read-items.ts';
import type { StoreCategories } from '../../mapping/compile-mapping.ts';
import { type StoreList, storeListsTable } from '../../mapping/lookup-table.ts';
import { type Artifacts, type RunFolder, sealedFile } from '../../state/artifacts.ts';
import type { SendOptions, Storefront } from '../../storefront/storefront.ts';
import type { MappingSource, MappingTables } from '../inputs/open-mapping.ts';
import { readProbe } from '../kept-probe.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';

const listsSchema = z.object({
  lists: z.array(z.object({ id: z.int(), name: z.string() })),
  notes: z.array(z.string()).default([]),
});

/** The lists of a store, and whether there may be more. */
type StagedLists = z.infer<typeof listsSchema>;

/** Stored beside the snapshot, so that the whole run is planned with the same lists. */
const listsFile = sealedFile(
  'subscriber-lists.json',
  listsSchema,
  'is not what was staged',
  'The file was damaged or edited. Run the job again: it reads the lists again.',
);

/** The lists that were read for this run; null if its mapping does not use them. StateError if the file was damaged. */
export async function stagedLists(
  { listLookups }: MappingSource,
  folder: RunFolder,
): Promise<StagedLists | null> {
  return listLookups.length === 0 ? null : await listsFile.read(folder);
}

/**
 * Reads the store's subscriber lists into the run's folder if the job's mapping uses them; otherwise returns null
 * without a request. Only ids, names and the notes of the reading are stored: other figures change every hour and decide nothing.
 */
export async function stageStoreLists(
  { openStorefront, signal }: RunContext,
  { mapping, store }: ImportRequest,
  folder: RunFolder,
): Promise<readonly StoreList[] | null> {
  if (mapping.listLookups.length === 0) return null;
  const read = await readLists(await openStorefront(store), { signal });
  const lists = read.lists.map(({ id, name }) => ({ id, name }));
  await listsFile.write(folder, { lists, notes: read.notes });
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

const categoriesSchema = z.object({
  form: z.enum(['objects', 'ids']),
  list: z.array(z.object({ id: z.int(), name: z.string(), url: z.string(), parentCategory: z.int() })),
});
const categoriesFile = sealedFile(
  'store-categories.json',
  categoriesSchema,
  'is not what was staged',
  'The file was damaged or edited. Run the job again: it reads the categories again.',
);
/** The categories that were read for this run; undefined if there are none. StateError if the file was damaged. */
export const stagedCategories = categoriesFile.find;

/**
 * Reads the store's categories into the run's folder, if the mapping has categories of products and a probe has seen that the store
 * lists its own and keeps them.
 */
export async function stageCategories(
  { artifacts, openStorefront, signal }: RunContext,
  request: ImportRequest,
  folder: RunFolder,
): Promise<void> {
  const form = await storeCategoryForm(artifacts, request);
  if (form === undefined) return;
  const list = await readCategories(await openStorefront(request.store), { signal });
  await categoriesFile.write(folder, { form, list });
}

/** How the store keeps categories of its own list, if those of products are found there; undefined where they are not. */
export async function storeCategoryForm(
  artifacts: Artifacts,
  { mapping: { spec }, store }: ImportRequest,
): Promise<StoreCategories['form'] | undefined> {
  if (spec.import !== 'products' || spec.product.categories === undefined) return undefined;
  const { readsCategories, categoryForm } = (await readProbe(artifacts, store))?.properties ?? {};
  if (readsCategories !== true || categoryForm == null) return undefined;
  return categoryForm === 'ids' ? 'ids' : 'objects';
}

const PAGE_LIMIT = 50;

/** All categories, from a bare list or from pages: until a page has no further one. */
async function readCategories(
  storefront: Pick<Storefront, 'categories'>,
  options: SendOptions,
): Promise<StoreCategories['list']> {
  const found = new Map<number, StoreCategories['list'][number]>();
  for (let skip = 0; ; skip += PAGE_LIMIT) {
    const { items, totalCount } = await storefront.categories({ limit: PAGE_LIMIT, skip }, options);
    const before = found.size;
    for (const { id, name, url, parentCategory } of items) {
      if (typeof id !== 'number' || typeof name !== 'string') continue;
      found.set(id, {
        id,
        name,
        url: typeof url === 'string' ? url : '',
        parentCategory: typeof parentCategory === 'number' ? parentCategory : 0,
      });
    }
    const isAll = totalCount === null ? items.length !== PAGE_LIMIT : found.size >= totalCount;
    if (isAll || found.size === before) return [...found.values()].sort((one, other) => one.id - other.id);
  }
}
