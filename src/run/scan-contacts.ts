import {
  appendFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { writeWhole } from '../config/edit-file.ts';
import { crosswalkOfStore } from '../config/job/job.ts';
import type { StoreConfig } from '../config/store-config.ts';
import { readPaged } from '../export/reading/read-items.ts';
import { isJsonObject, parsedJson } from '../model/json-object.ts';
import { comparedEmail } from '../model/operation.ts';
import { storeIdentity } from '../model/remote-address.ts';
import { csvLines } from '../model/row.ts';
import {
  LockedError,
  StoreRefusedError,
  StoreUnavailableError,
  UsageError,
} from '../model/storeferry-error.ts';
import type { Storefront } from '../storefront/storefront.ts';
import { readCsv } from '../tables/open-table.ts';
import { forEachConcurrently } from './for-each-concurrently.ts';
import { crosswalkReader } from './inputs/read-crosswalk.ts';
import { noteStoreOfTable, readTableNote } from './inputs/side-table.ts';
import { readProbe } from './kept-probe.ts';
import type { RunContext } from './run-context.ts';

/** Ids from one to another, both included. */
export interface IdRange {
  readonly from: number;
  readonly to: number;
}

interface ScanRequest {
  readonly store: StoreConfig;
  /** Null: around the ids that orders and the last table name. */
  readonly ranges: readonly IdRange[] | null;
  readonly onProgress: (asked: number, found: number) => void;
}

/** Without named ids, a scan grows until this many ids in a row are of no contact. */
const MAX_ABSENT_IN_ROW = 200;
export const MAX_SCANNED_IDS = 1_000_000;
/** As many digits as an id may be typed with. Beyond the safe integers the next id would be the same one. */
const MAX_CONTACT_ID = 999_999_999_999_999;

/**
 * Finds the ids of contacts by their e-mail addresses, and writes them as a crosswalk (`crosswalk: store`). A store that
 * lists contacts is read. In any other, each id is asked by an update that changes nothing (storefront-api.md, section
 * 4.2: only non-empty fields are set). A scan that was interrupted goes on where it was.
 *
 * @throws StoreRefusedError where the store refuses such an update; StoreUnavailableError; LockedError while another
 * scan of the store works; UsageError where there is no id to begin with.
 */
export async function scanContacts(context: RunContext, request: ScanRequest) {
  const { store, ranges, onProgress } = request;
  const { artifacts, state, workspaceDir, newRunId } = context;
  const lock = await state.locks.tryAcquire(`scan:${store.name}`, { job: 'contacts scan', run: newRunId() });
  if ('heldBy' in lock) {
    throw new LockedError(`Another scan of ${store.name} is running.`, { hint: 'Wait until it ends.' });
  }
  await using _held = lock;
  const client = await context.openStorefront(store);
  const probe = (await readProbe(artifacts, store))?.properties;
  const file = crosswalkOfStore(store.name).path;
  const path = join(workspaceDir, file);
  const note = await readTableNote(artifacts, file);
  const storeId = storeIdentity(store);
  // A list is all that there is: neither the last table nor what an interrupted scan has found is added to it.
  const isListed = probe?.readsContacts === true && ranges === null;
  const isContinued = !isListed && existsSync(path) && note?.storeId === storeId;
  const isGrowing = !isListed && ranges === null;
  const scanned = isContinued ? (note.scanned ?? []) : [];
  const last = isContinued || (isGrowing && existsSync(path)) ? await readLastTable(path) : NO_TABLE;
  const { found: kept, headers } = isContinued ? last : NO_TABLE;
  const all = new Map<number, Found>([...kept].map(([id, { email }]) => [id, email]));
  const journal = openJournal(workspaceDir, store, !isListed);
  let requests = 0;
  const countRequest = () => {
    requests += 1;
    return undefined;
  };
  if (isListed) {
    const reading = {
      signal: context.signal,
      onRequest: countRequest,
      concurrency: store.limits.concurrency,
    };
    for await (const batch of readPaged(client, { ...reading, what: 'contacts', onProgress: () => {} })) {
      for (const { text } of batch) {
        const { id, email } = contactIn(JSON.parse(text));
        if (id !== null) journal.note(id, email);
      }
      onProgress(journal.found.size, journal.found.size);
    }
  } else {
    const body = emptyBody(probe?.emptyContactPutAnswersWhole, store.name);
    const known = journal.found;
    const begin =
      ranges === null ? await idsToGrowFrom(client, context, store, last.found.keys()) : idsIn(ranges);
    let waiting = isGrowing
      ? idsAround([...begin, ...presentIds(known)], known)
      : [...begin].filter((id) => !known.has(id));
    while (waiting.length > 0) {
      if (isGrowing && known.size + waiting.length > MAX_SCANNED_IDS) throw tooManyIds(store.name);
      await forEachConcurrently(waiting, store.limits.concurrency, async (id) => {
        journal.note(
          id,
          await askContact(client, id, body, { signal: context.signal, onRequest: countRequest }),
        );
        onProgress(known.size, requests);
      });
      const found = waiting.filter((id) => known.get(id) !== null);
      waiting = isGrowing ? idsAround(found, known) : [];
    }
  }
  for (const [id, email] of journal.found) all.set(id, email);
  const covered = isListed ? [] : joinRanges([...scanned, ...rangesOf(journal.found.keys())]);
  const { ambiguous, rows } = tableOf(all, (id) => kept.get(id)?.others ?? headers.map(() => ''));
  const { found, absent } = tableOf(journal.found, () => []);
  await noteStoreOfTable(artifacts, file, storeId, { scanned: covered });
  await writeWhole(path, [csvLines([['id', 'email', ...headers]]), ...rows], { mode: 0o600 });
  journal.remove();
  return {
    requests,
    found,
    absent,
    /** E-mail addresses that several contacts have: no contact is found by them. */
    ambiguous,
    /** The ids that this scan and earlier ones of the store have asked for; empty where the store lists its contacts. */
    covered,
    /** Relative to the workspace. */
    file,
  };
}

function tooManyIds(store: string) {
  return new StoreRefusedError(
    `The orders and contacts of ${store} lead to more than ${MAX_SCANNED_IDS} ids of contacts.`,
    { hint: 'Name those to ask for, such as --ids 1000-1400.' },
  );
}

function emptyBody(answersWhole: boolean | 'email' | null | undefined, store: string) {
  if (answersWhole === false) {
    throw new StoreRefusedError(`The store ${store} refuses an update of a contact that changes nothing.`, {
      hint: 'Its ids can only be had from an export of its contacts: name it as `crosswalk` of the job.',
    });
  }
  return JSON.stringify(answersWhole === 'email' ? { email: '' } : {});
}

async function askContact(
  client: Storefront,
  id: number,
  body: string,
  options: Pick<Parameters<Storefront['updateContact']>[2], 'signal' | 'onRequest'>,
): Promise<Found> {
  let answer: unknown;
  const outcome = await client.updateContact(String(id), body, {
    ...options,
    onAnswer: (value) => {
      answer = value;
    },
  });
  switch (outcome.kind) {
    case 'applied':
      return contactIn(answer).email;
    case 'rejected':
      if (outcome.absent === true) return null;
      throw new StoreRefusedError(`The store refuses to answer contact ${id}: ${outcome.reason.message}`, {
        hint: 'Nothing was changed. Its ids can only be had from an export of its contacts: name it as `crosswalk` of the job.',
      });
    case 'unsent':
    case 'left':
      throw new StoreUnavailableError(`Contact ${id} could not be asked for.`, {
        hint: 'Run the scan again: it goes on where it was.',
      });
    default:
      throw new Error(`Unknown outcome: ${outcome satisfies never}`);
  }
}

function contactIn(value: unknown) {
  const { id, email } = isJsonObject(value) ? value : {};
  return { id: isContactId(id) ? id : null, email: typeof email === 'string' ? email : '' };
}

function isContactId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_CONTACT_ID;
}

function* idsIn(ranges: readonly IdRange[]): Iterable<number> {
  for (const { from, to } of ranges) for (let id = from; id <= to; id += 1) yield id;
}

function presentIds(known: ReadonlyMap<number, Found>) {
  return [...known].flatMap(([id, email]) => (email === null ? [] : [id]));
}

/** Ids near known contacts that were not asked for yet. */
function idsAround(seeds: Iterable<number>, known: ReadonlyMap<number, Found>) {
  const near = new Set<number>();
  for (const seed of seeds) {
    const last = Math.min(seed + MAX_ABSENT_IN_ROW, MAX_CONTACT_ID);
    for (let id = Math.max(1, seed - MAX_ABSENT_IN_ROW); id <= last; id += 1) {
      if (!known.has(id)) near.add(id);
    }
  }
  return [...near].sort((left, right) => left - right);
}

/** The contacts that orders name, and those of earlier runs and of the last table. */
async function idsToGrowFrom(
  client: Storefront,
  { signal, state }: RunContext,
  store: StoreConfig,
  lastFound: Iterable<number>,
) {
  const ids = new Set(lastFound);
  const ledger = state.ledger({ storeId: storeIdentity(store), resource: 'contacts' });
  for await (const batch of ledger.allBodies()) {
    for (const { key } of batch) if (isContactId(Number(key))) ids.add(Number(key));
  }
  const reading = { signal, concurrency: 4, what: 'orders' as const, onProgress: () => {} };
  for await (const batch of readPaged(client, reading)) {
    for (const { text } of batch) {
      const order: unknown = JSON.parse(text);
      const id = isJsonObject(order) ? order['contactId'] : undefined;
      if (isContactId(id)) ids.add(id);
    }
  }
  if (ids.size > 0) return ids;
  throw new UsageError('No order and no earlier scan names a contact to begin with.', {
    hint: 'Name ids, such as --ids 1000-1400; the address of a contact in the browser often ends with its id.',
  });
}

/** The lines of the crosswalk. An e-mail address of several contacts gets no id, so that its contact is rejected. */
function tableOf(found: ReadonlyMap<number, Found>, othersOf: (id: number) => readonly string[]) {
  const byEmail = new Map<string, number[]>();
  let absent = 0;
  for (const [id, email] of found) {
    if (email === null) absent += 1;
    const key = comparedEmail(email ?? '');
    if (key === '') continue;
    const ids = byEmail.get(key);
    if (ids === undefined) byEmail.set(key, [id]);
    else ids.push(id);
  }
  const rows = [...byEmail].map(([email, ids]) => {
    const [id = 0, ...others] = ids.sort((left, right) => left - right);
    const shown = others.length === 0 ? String(id) : `several: ${ids.join(' ')}`;
    return csvLines([[shown, email, ...othersOf(id)]]);
  });
  const ambiguous = [...byEmail.values()].filter(({ length }) => length > 1).length;
  return { found: found.size - absent, absent, ambiguous, rows };
}

/** A table that a scan has written; people may have saved it from a spreadsheet, and added columns. */
type ScannedTable = Awaited<ReturnType<typeof readLastTable>>;

const NO_TABLE: ScannedTable = { headers: [], found: new Map() };

/** Reads the table as a job does. MappingError, CsvError and EncodingError where a job would refuse it as well. */
async function readLastTable(path: string) {
  const name = basename(path);
  const columns = {
    match: 'email',
    id: 'id',
    hint: 'The table of the last scan needs the columns id and email: correct its header, or move it elsewhere and scan its ids again.',
  };
  using table = await readCsv(createReadStream(path), { name });
  if (table.doubt !== null) throw table.doubt;
  const { headers, read } = crosswalkReader(columns, name, table.header);
  const found = new Map<number, { readonly email: string; readonly others: readonly string[] }>();
  for await (const batch of read(table.batches())) {
    for (const { id: ids, value: email, others } of batch)
      for (const [id] of ids.matchAll(/\d{1,15}/g)) found.set(Number(id), { email, others });
  }
  return {
    /** Of the columns that were added. */
    headers,
    found,
  };
}

function rangesOf(ids: Iterable<number>): readonly IdRange[] {
  return [...ids].map((id) => ({ from: id, to: id }));
}

/** The same ids in as few ranges as possible. */
function joinRanges(ranges: readonly IdRange[]): readonly IdRange[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of [...ranges].sort((left, right) => left.from - right.from)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined;
}

/** Ids for people, such as `1000-1400, 2000`; undefined where there are none. */
export function coveredWords(covered: readonly IdRange[]): string | undefined {
  const shown = covered
    .slice(0, RANGES_SHOWN)
    .map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
  const more = covered.length - shown.length;
  return shown.length === 0 ? undefined : `${shown.join(', ')}${more > 0 ? ` and ${more} more ranges` : ''}`;
}

const RANGES_SHOWN = 20;
const STATE_FOLDER = '.storeferry';
const JOURNAL_PREFIX = 'contacts-scan-';
const JOURNAL_SUFFIX = '.jsonl';

/** The e-mail address of a contact; null where there is no contact with the id, '' for one without an address. */
type Found = string | null;

/**
 * The results of a scan that has not ended, on disk before the next request of its slot. Its first line has the identity of the store: by
 * the same name another store may be meant now.
 */
function openJournal(workspaceDir: string, store: StoreConfig, continues: boolean) {
  const path = join(workspaceDir, STATE_FOLDER, `${JOURNAL_PREFIX}${store.name}${JOURNAL_SUFFIX}`);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const head = JSON.stringify({ store: storeIdentity(store) });
  const [first, ...lines] = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const isOwn = continues && first === head;
  if (!isOwn) writeFileSync(path, `${head}\n`, { mode: 0o600 });
  const found = new Map<number, Found>();
  for (const [id, email] of isOwn ? lines.map(lineIn) : []) {
    if (typeof id === 'number') found.set(id, typeof email === 'string' ? email : null);
  }
  return {
    found,
    note(id: number, email: Found): void {
      found.set(id, email);
      appendFileSync(path, `${JSON.stringify([id, email])}\n`, { mode: 0o600 });
    },
    remove: () => rmSync(path, { force: true }),
  };
}

/** The last line may be cut. */
function lineIn(line: string): readonly unknown[] {
  const entry = parsedJson(line);
  return Array.isArray(entry) ? entry : [];
}

/**
 * Removes a contact from the journals of interrupted scans of all stores, by its id and address: a scan asks again for what is
 * removed. Gives the number of removed lines.
 */
export async function forgetScanned(
  workspaceDir: string,
  isTheirs: (id: string, email: string) => boolean,
): Promise<number> {
  const folder = join(workspaceDir, STATE_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  let removed = 0;
  for (const name of names.filter(
    (each) => each.startsWith(JOURNAL_PREFIX) && each.endsWith(JOURNAL_SUFFIX),
  )) {
    const path = join(folder, name);
    const lines = readFileSync(path, 'utf8').split(/(?<=\n)/);
    const kept = lines.filter((line) => {
      // A line that is cut may be theirs.
      if (parsedJson(line) === undefined) return false;
      const [id, email] = lineIn(line);
      return !isTheirs(String(id), String(email));
    });
    if (kept.length === lines.length) continue;
    await writeWhole(path, kept, { mode: 0o600 });
    removed += lines.length - kept.length;
  }
  return removed;
}
