import { crosswalkOfStore } from '../../config/job/job.ts';
import type { StoreConfig } from '../../config/store-config.ts';
import { readPaged } from '../../export/reading/read-items.ts';
import type { Crosswalk } from '../../mapping/lookup-table.ts';
import { isJsonObject, member, recordOf } from '../../model/json-object.ts';
import { answeredDifferences, comparedEmail, newContactKey } from '../../model/operation.ts';
import type { ProbedProperties } from '../../model/probed-properties.ts';
import type { Run } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { type RunFolder, readLines } from '../../state/artifacts.ts';
import { openTemporaryDatabase, orStateError } from '../../state/sqlite/open-row-scratch.ts';
import { importTarget, type Ledger, unconfirmedKeys } from '../../state/state.ts';
import { forEachConcurrently } from '../for-each-concurrently.ts';
import { claimTableForStore } from '../inputs/side-table.ts';
import { readProbe } from '../kept-probe.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';

/** The contacts that were read for a run, one per line, so that it is planned and shown with the same ones. */
const CONTACTS_FILE = 'contacts.jsonl';

/** A field of a contact that the store has otherwise. */
interface StoredDifference {
  readonly field: string;
  readonly old: unknown;
  readonly new: unknown;
}

/** The contacts of a store, found by their e-mail addresses. */
export interface StoreContacts extends Crosswalk {
  /** The fields of a body that the contact with this id has otherwise; undefined where the contact was not read. Absent where none was. */
  readonly changesOf?: ((id: string, body: string) => readonly StoredDifference[] | undefined) | undefined;
  /** In a retry: the key that a contact with this id had as long as the store did not have it. */
  readonly keyWhenNew: (id: string) => string | undefined;
  /** The contact with this id as it was read; undefined where it was not. */
  readonly stored: (id: number) => unknown;
}

/** What decides how contacts are found. */
interface ContactsSource {
  /** The table that `contacts scan` has written; undefined if there is none. */
  readonly table: Crosswalk | undefined;
  readonly folder: RunFolder;
  /** Calls back with each e-mail address of the job's source, as far as `isKnown` does not know it. */
  readonly readEmails: (note: (email: string) => void) => Promise<void>;
  /** Closes the databases of the contacts. */
  readonly opened: DisposableStack;
}

/**
 * The contacts of the store of a job with `crosswalk: store`: read where a probe has seen that the store lists contacts, else
 * those of the scan's table and the ledger, and those that a search finds. Undefined for other jobs.
 *
 * @throws UsageError where the contacts cannot be found in any of these ways, unless the job creates contacts.
 */
export async function storeContacts(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  source: ContactsSource,
): Promise<StoreContacts | undefined> {
  const { job, store } = request;
  if (job.crosswalk?.isOfStore !== true) return undefined;
  const probe = (await readProbe(context.artifacts, store))?.properties;
  const { folder, opened } = source;
  const { path } = crosswalkOfStore(store.name);
  const otherStore =
    source.table === undefined ? undefined : await claimTableForStore(context.artifacts, path, run.storeId);
  const table = otherStore === undefined ? source.table : undefined;
  const ledger = context.state.ledger(importTarget(run));
  const creates = job.createsContacts === true && probe?.upsertsContactsByEmail === true;
  const lists = probe?.readsContacts === true;
  const searches = probe?.searchesContactsByEmail === true;
  if (!lists && !searches && !creates && table === undefined) {
    if (otherStore === undefined) throw noWayToFind(store, probe);
    throw new UsageError(
      `${path} has the ids of ${otherStore}: in ${run.storeId} they are those of other contacts.`,
      {
        hint: `Type: storeferry contacts scan --store ${store.name}`,
      },
    );
  }
  const read = contactDirectory(opened);
  const known = contactDirectory(opened);
  if (!lists) await addAcknowledged(known, ledger);
  const findKnown = (email: string) => table?.find(email) ?? known.find(email);
  const reads = lists || (searches && !creates);
  if (reads) {
    if (!(await folder.exists(CONTACTS_FILE))) {
      const found = lists
        ? listedContacts(context, store)
        : searchedContacts(context, store, (note) =>
            source.readEmails((email) => findKnown(email) === undefined && note(email)),
          );
      await folder.write(CONTACTS_FILE, linesOf(found));
    }
    await addRead(read, folder);
  }
  const doubted = creates ? await unconfirmedKeys(ledger, run.job) : NO_KEYS;
  const leftOut = new Set(job.leaveOut);
  const keysWhenNew = new Map<string, string>();
  return {
    match: 'email',
    file: job.crosswalk.path ?? '',
    isOfStore: true,
    find: (email) => {
      // Sent again under the same key: the store may have created it, and only its answer ends the doubt.
      if (doubted.size > 0 && doubted.has(newContactKey(email))) return undefined;
      // Left out before the store had it: it stays so.
      if (leftOut.size > 0 && leftOut.has(newContactKey(email))) return undefined;
      const id = read.find(email) ?? (lists ? undefined : findKnown(email));
      if (run.kind === 'retry' && id !== undefined) keysWhenNew.set(String(id), newContactKey(email));
      return id;
    },
    keyOfNew: (email) => {
      const key = newContactKey(email);
      return creates || leftOut.has(key) ? key : undefined;
    },
    keyWhenNew: (id) => keysWhenNew.get(id),
    whyNotNew: creates || job.createsContacts !== true ? undefined : whyNotCreated(store, probe),
    stored: (id) => {
      const stored = read.bodyOf(id);
      return stored === undefined ? undefined : JSON.parse(stored);
    },
    changesOf: reads
      ? (id, body) => {
          const stored = read.bodyOf(Number(id));
          return stored === undefined ? undefined : differences(body, stored);
        }
      : undefined,
  };
}

const NO_KEYS: ReadonlySet<string> = new Set();

function noWayToFind({ name }: StoreConfig, probe: ProbedProperties | undefined) {
  return probe === undefined
    ? new UsageError(`It is not known how the contacts of ${name} can be found: it was never probed.`, {
        hint: `Type: storeferry probe ${name}. If it can neither list nor search contacts: storeferry contacts scan --store ${name}`,
      })
    : new UsageError(
        `The ids of the contacts of ${name} are not known: it can neither list nor search them.`,
        {
          hint: `Type: storeferry contacts scan --store ${name}`,
        },
      );
}

function whyNotCreated({ name }: StoreConfig, probe: ProbedProperties | undefined) {
  return probe?.upsertsContactsByEmail === false
    ? `a probe has seen that ${name} does not create contacts by e-mail address`
    : `whether ${name} creates contacts by e-mail address is not known; type: storeferry probe ${name} --contact ID`;
}

async function* listedContacts(context: RunContext, store: StoreConfig): AsyncGenerator<readonly string[]> {
  const { signal, openStorefront, onEvent } = context;
  const client = await openStorefront(store);
  const { concurrency } = store.limits;
  const onProgress = (done: number, total: number | null) =>
    onEvent({ type: 'progress', step: 'plan', done, total, unit: 'contacts' });
  for await (const batch of readPaged(client, { signal, concurrency, what: 'contacts', onProgress }))
    yield batch.map(({ text }) => text);
}

async function* searchedContacts(
  { signal, openStorefront }: RunContext,
  store: StoreConfig,
  readEmails: ContactsSource['readEmails'],
): AsyncGenerator<readonly string[]> {
  const emails = new Set<string>();
  await readEmails((email) => emails.add(email));
  const client = await openStorefront(store);
  const found: string[] = [];
  await forEachConcurrently([...emails], store.limits.concurrency, async (email) => {
    const contacts = await client.contactsByEmail(email, { signal });
    found.push(...contacts.map((contact) => JSON.stringify(contact)));
  });
  yield found;
}

async function* linesOf(batches: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  for await (const batch of batches) if (batch.length > 0) yield `${batch.join('\n')}\n`;
}

type ContactDirectory = ReturnType<typeof contactDirectory>;

/** Contacts by id and e-mail address, in a temporary SQLite database, which `opened` closes: on disk when they are many. */
function contactDirectory(opened: DisposableStack) {
  const database = openTemporaryDatabase(`
    CREATE TABLE contacts (id INTEGER PRIMARY KEY, email TEXT NOT NULL, body TEXT);
    CREATE INDEX contacts_by_email ON contacts (email);
  `);
  opened.defer(() => database.close());
  const insert = database.prepare('INSERT OR REPLACE INTO contacts VALUES (?, ?, ?)');
  const byEmail = database.prepare('SELECT id FROM contacts WHERE email = ? LIMIT 2');
  const byId = database.prepare('SELECT body FROM contacts WHERE id = ?');
  return {
    /** Adds a contact with an id and an address. `body`: as JSON; null if it is not known. */
    add(id: unknown, contact: unknown, body: string | null): void {
      const email = isJsonObject(contact) ? contact['email'] : undefined;
      if (typeof email !== 'string' || typeof id !== 'number' || !Number.isSafeInteger(id)) return;
      orStateError(() => insert.run(id, comparedEmail(email), body));
    },
    /** The id of the contact with this address; NaN if several have it. */
    find(address: string): number | undefined {
      const email = comparedEmail(address);
      const [found, other] = email === '' ? [] : byEmail.all(email);
      if (found === undefined) return undefined;
      return other === undefined ? Number(found['id']) : Number.NaN;
    },
    bodyOf(id: number): string | undefined {
      const body = byId.get(id)?.['body'];
      return typeof body === 'string' ? body : undefined;
    },
  };
}

/** Adds the contacts that the store has acknowledged. */
async function addAcknowledged(directory: ContactDirectory, ledger: Ledger) {
  for await (const batch of ledger.allBodies())
    for (const { key, body } of batch) directory.add(Number(key), JSON.parse(body), null);
}

/** Adds the contacts that were read for the run. */
async function addRead(directory: ContactDirectory, folder: RunFolder) {
  for await (const lines of readLines(folder, CONTACTS_FILE)) {
    for (const line of lines) {
      const contact: unknown = JSON.parse(line);
      directory.add(isJsonObject(contact) ? contact['id'] : undefined, contact, line);
    }
  }
}

/** A field that is missing in the store is empty there. */
function differences(body: string, stored: string): readonly StoredDifference[] {
  const [sent, held]: unknown[] = [JSON.parse(body), JSON.parse(stored)];
  if (!isJsonObject(sent) || !isJsonObject(held)) return [];
  const empty = recordOf(Object.keys(sent), () => null);
  const { altered } = answeredDifferences(body, { ...empty, ...held });
  return altered.map((field) => ({ field, old: member(held, field) ?? null, new: member(sent, field) }));
}
