import { createHash } from 'node:crypto';
import { json, text } from 'node:stream/consumers';
import { z } from 'zod';
import type { ExportJob } from '../../config/job/job.ts';
import type { SubscriberList } from '../../model/mapped-record.ts';
import { type Exported, exportedSchema } from '../../model/run.ts';
import { StoreRefusedError } from '../../model/storeferry-error.ts';
import { openSealed, type RunFolder, readLines, sealedJson, sha256OfFile } from '../../state/artifacts.ts';
import type { PageItem, SendOptions, Storefront } from '../../storefront/storefront.ts';
import { type Item, itemPage } from './page-ahead.ts';
import { type AllRead, readAllItems } from './read-all-items.ts';

/** The items that were read from the store, one per line, as JSON. */
const READING_FILE = 'reading.jsonl';
/** The checksum of that file, and notes about the reading, because another run may write it to the destination. */
const SEAL_FILE = 'reading-checksum.json';

/** All files of a reading. */
export const READING_FILES: readonly string[] = [READING_FILE, SEAL_FILE];

const sealSchema = z.object({
  sha256: z.string(),
  notes: z.array(z.string()),
  /** Only orders created since then were read, ISO 8601; null: all. */
  createdSince: z.string().nullable().default(null),
});

/**
 * Writes items into the run's folder, completely or not at all, and returns their number; `notes` is called after the
 * last one.
 */
export async function saveReading(
  folder: RunFolder,
  batches: AsyncIterable<readonly Pick<Item, 'text'>[]>,
  notes: () => readonly string[],
  createdSince: string | null,
): Promise<number> {
  let items = 0;
  const hash = createHash('sha256');
  await folder.write(READING_FILE, lines());
  await folder.write(SEAL_FILE, [sealedJson({ sha256: hash.digest('hex'), notes: notes(), createdSince })]);
  return items;

  async function* lines(): AsyncGenerator<string> {
    for await (const batch of batches) {
      items += batch.length;
      if (batch.length === 0) continue;
      const lines = batch.map(({ text }) => `${text}\n`).join('');
      hash.update(lines);
      yield lines;
    }
  }
}

/** Whether the folder has a reading, unchanged since it was saved. */
export async function hasWholeReading(folder: RunFolder): Promise<boolean> {
  if (!(await folder.exists(READING_FILE))) return false;
  return (await readSeal(folder))?.sha256 === (await sha256OfFile(folder, READING_FILE));
}

/** What a person should know about the reading, and since when its orders were created (ISO 8601; null: all were read). */
export async function readReadingFacts(
  folder: RunFolder,
): Promise<Omit<z.infer<typeof sealSchema>, 'sha256'>> {
  return (await readSeal(folder)) ?? { notes: [], createdSince: null };
}

/** Undefined if it was changed since. */
async function readSeal(folder: RunFolder) {
  if (!(await folder.exists(SEAL_FILE))) return undefined;
  const written = await text(await folder.read(SEAL_FILE));
  try {
    return sealSchema.safeParse(openSealed(written)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The items again, in batches. */
export function readReading(folder: RunFolder): AsyncIterable<readonly string[]> {
  return readLines(folder, READING_FILE);
}

/** The facts about an export that are kept after its run. */
export const EXPORTED_FILE = 'exported.json';

/** Stores the facts about an export, for reports, commands and the dashboard. */
export async function saveExported(folder: RunFolder, exported: Exported): Promise<void> {
  await folder.write(EXPORTED_FILE, [JSON.stringify(exported)]);
}

/** The facts about an export; null before it has written anything, and for other runs. */
export async function readExported(folder: RunFolder): Promise<Exported | null> {
  if (!(await folder.exists(EXPORTED_FILE))) return null;
  return exportedSchema.parse(await json(await folder.read(EXPORTED_FILE)));
}

/** The most that the API returns at once (storefront-api.md, section 8). */
const LIMIT = 50;
/** More concurrency does not make any store faster, and waiting pages cost memory. */
const MAX_CONCURRENT = 64;
/** The default and maximum number of items per page (storefront-api.md, section 8). */
const PAGE_SIZES: readonly number[] = [30, LIMIT];

interface ReadItemsOptions extends Omit<ReadPagedOptions, 'what'> {
  /** Called at the end with facts that a person should know about the reading. */
  readonly onNotes: (notes: readonly string[]) => void;
}

/** The items of a store that a job exports, each as JSON, in batches. */
export async function* readItems(
  what: ExportJob['export'],
  storefront: Storefront,
  { onNotes, concurrency, onProgress, ...options }: ReadItemsOptions,
): AsyncGenerator<readonly Pick<Item, 'text'>[]> {
  switch (what) {
    case 'subscriber-lists': {
      const { lists, notes } = await readLists(storefront, options);
      onNotes(notes);
      yield lists.map((list) => ({ text: JSON.stringify(list) }));
      return;
    }
    case 'orders':
      onNotes(
        readingNotes(yield* readPaged(storefront, { ...options, concurrency, onProgress, what }), what),
      );
      return;
    default:
      what satisfies never;
  }
}

interface ReadPagedOptions extends SendOptions {
  /** The configured limit of requests in flight; the client finds out how many are useful. */
  readonly concurrency: number;
  readonly onProgress: (items: number, totalCount: number | null) => void;
  readonly what: 'orders' | 'contacts' | 'products';
  /** Reads only what was created since then, ISO 8601. */
  readonly createdSince?: string | null;
}

/** All orders of a store (storefront-api.md, section 4.5), or all contacts or products, each once: see `readAllItems`. */
export async function* readPaged(
  storefront: Pick<Storefront, 'orders' | 'contacts' | 'products' | 'expectPages'>,
  { concurrency, onProgress, what, createdSince = null, ...options }: ReadPagedOptions,
): AsyncGenerator<readonly Item[], AllRead> {
  // Requests ahead are cancelled when reading ends.
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const period = createdSince === null ? {} : { createdAtMin: Math.floor(Date.parse(createdSince) / 1_000) };
  storefront.expectPages();
  try {
    return yield* readAllItems({
      fetch: async (skip) =>
        itemPage(await storefront[what]({ limit: LIMIT, skip, ...period }, { ...options, signal }), skip),
      limit: LIMIT,
      concurrency: Math.min(concurrency, MAX_CONCURRENT),
      what,
      onProgress,
    });
  } finally {
    over.abort(new Error('reading is over'));
  }
}

/** Subscriber lists, and facts that a person should know about the reading. */
interface ListsRead {
  /** By id. */
  readonly lists: readonly SubscriberList[];
  readonly notes: readonly string[];
}

/**
 * All subscriber lists of a store (storefront-api.md, section 4.3). The API returns a bare, complete list; whether
 * `limit` and `skip` affect it is unspecified. So more is requested if the store counts more, or if it does not count
 * and returns exactly a page. StoreRefusedError for an answer that is not a list, and if the store answers the same page
 * at every offset although it counts more; a note says so if it counts lists that no page has.
 */
export async function readLists(
  storefront: Pick<Storefront, 'subscriberLists'>,
  options: SendOptions,
): Promise<ListsRead> {
  const first = await storefront.subscriberLists(options);
  const { items, totalCount, limit } = first;
  const lists = items.map(toList);
  if (totalCount !== null) {
    return items.length >= totalCount
      ? { lists: byId(lists), notes: [] }
      : await readByPages(storefront, options);
  }
  const isPage = isPageSize(items.length) || (limit !== null && items.length >= limit);
  if (!isPage) return { lists: byId(lists), notes: [] };
  const pages = await readByPages(storefront, options).catch((error: unknown) => {
    // A store may refuse a query that the API does not specify for lists.
    if (error instanceof StoreRefusedError) return undefined;
    throw error;
  });
  if (pages === undefined)
    return { lists: byId(lists), notes: [mayHaveMore(lists.length, 'subscriber lists')] };
  // A store that applies `limit` and ignores `skip` may have returned other items at first.
  const known = new Set(pages.lists.map(({ id }) => id));
  return { lists: byId([...pages.lists, ...lists.filter(({ id }) => !known.has(id))]), notes: pages.notes };
}

async function readByPages(
  storefront: Pick<Storefront, 'subscriberLists'>,
  options: SendOptions,
): Promise<ListsRead> {
  const lists: SubscriberList[] = [];
  const pages = readAllItems({
    fetch: async (skip) =>
      itemPage(await storefront.subscriberLists({ ...options, page: { limit: LIMIT, skip } }), skip),
    limit: LIMIT,
    concurrency: 1,
    what: 'subscriber lists',
  });
  for (;;) {
    const { value, done } = await pages.next();
    if (done === true) return { lists: byId(lists), notes: readingNotes(value, 'subscriber lists') };
    lists.push(...value.map(({ text }) => readKeptList(text)));
  }
}

function byId(lists: readonly SubscriberList[]): SubscriberList[] {
  return lists.toSorted((a, b) => a.id - b.id);
}

/** A list as `readLists` returned it, from its stored JSON. */
export function readKeptList(json: string): SubscriberList {
  return toList(JSON.parse(json));
}

function toList(item: PageItem): SubscriberList {
  const { id, name, created, subscribers, opens, clicks } = item;
  if (typeof id !== 'number') {
    throw new StoreRefusedError('GET /api/site/subscriber-lists: a list came without a numeric id.');
  }
  return {
    id,
    name: typeof name === 'string' ? name : '',
    created: figure(created),
    subscribers: figure(subscribers),
    opens: figure(opens),
    clicks: figure(clicks),
  };
}

function figure(value: unknown) {
  return typeof value === 'number' ? value : null;
}

/** The name of the items in messages. */
type Read = 'orders' | 'subscriber lists';

/** Facts that a person should know about the reading of a list. */
function readingNotes({ items, withoutId, changed, totalCount, ignoresOffsets }: AllRead, what: Read) {
  const notes: string[] = [];
  if (withoutId > 0) {
    notes.push(
      `${withoutId} ${what} have no id: their whole content is compared, and of equal ones only one is kept.`,
    );
  }
  if (ignoresOffsets && isPageSize(items)) notes.push(mayHaveMore(items, what));
  if (changed && totalCount !== null && items < totalCount) {
    notes.push(
      `The store counts ${totalCount} ${what}, but ${items} were found because the list changed meanwhile: some may be missing. Run again when there is less activity in the store.`,
    );
  } else if (!changed && totalCount !== null && totalCount !== items) {
    notes.push(
      `The store counts ${totalCount} ${what} but returns only ${items}. It may count ${what} that it does not show.`,
    );
  }
  return notes;
}

/** Whether this number of items may be one page of several. */
function isPageSize(items: number) {
  return PAGE_SIZES.includes(items);
}

/** The note for items that are exactly a page, from a store that neither counts them nor returns another page. */
function mayHaveMore(items: number, what: Read) {
  return `The store gave exactly ${items} ${what}, which is the size of a page, and ignores or refuses requests for more (limit, skip): there may be more. Compare with what the site itself shows.`;
}
