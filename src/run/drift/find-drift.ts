import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { ImportJob } from '../../config/job/job.ts';
import type { StoreConfig } from '../../config/store-config.ts';
import { readPaged } from '../../export/reading/read-items.ts';
import { isJsonObject, type JsonObject, member } from '../../model/json-object.ts';
import type { Resource } from '../../model/mapped-record.ts';
import { AS_ACKNOWLEDGED, type Observation, observeAnswer } from '../../model/observation.ts';
import {
  type Applied,
  isEmpty,
  isNormalisedUrl,
  type Outcome,
  SHARD_SIZE,
  storeDifferences,
} from '../../model/operation.ts';
import type { Drift, Run } from '../../model/run.ts';
import { StateError, UsageError } from '../../model/storeferry-error.ts';
import { fingerprintOf } from '../../plan/plan-import.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import {
  chunksOf,
  FORGOTTEN_BODY,
  IN_DOUBT,
  importTarget,
  type Ledger,
  type LedgerMark,
  type Lock,
  unconfirmedKeys,
} from '../../state/state.ts';
import type { SendOptions, Storefront } from '../../storefront/storefront.ts';
import { forEachConcurrently } from '../for-each-concurrently.ts';
import type { RunContext } from '../run-context.ts';
import { type ShardOperation, sendOperations } from '../send-operations.ts';
import { readProbe } from '../store-properties.ts';
import { isComparable, sampleLedger } from '../verify/sample-ledger.ts';
import {
  type DriftFinding,
  hasFindings,
  tallyFindings,
  writeDriftTable,
  writeFindings,
} from './drift-finding.ts';

/** Which records of a job are compared. */
interface DriftSelection {
  /** At most this many, drawn at random; null: all. */
  readonly sample: number | null;
  /** Only the keys of these parts. */
  readonly slice?: Drift['slice'];
}

/** A comparison of the store with the ledger, for a run. */
interface DriftSearch extends DriftSelection {
  readonly run: Run;
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The lock of the target, which allows writing. */
  readonly lock: Lock;
  /** In [0, 1), like Math.random. */
  readonly random: () => number;
}

/** `reading`: by lists. `touching`: by updates that change nothing and are answered with the whole record. */
type DriftMethod = Drift['by'];

/**
 * How the records of a store can be compared, by what its last probe has learned.
 *
 * @throws UsageError where there is no way, or none is known.
 */
export async function comparisonMethod(
  { artifacts }: RunContext,
  store: StoreConfig,
  { import: resource, name }: ImportJob,
): Promise<DriftMethod> {
  const probe = (await readProbe(artifacts, store))?.properties;
  const isProduct = resource === 'products';
  const [reads, answers] = isProduct
    ? [probe?.readsProducts, probe?.partialProductAnswersWhole === true && probe.absentFieldsStay === true]
    : [probe?.readsContacts, probe?.emptyContactPutAnswersWhole];
  if (reads === true) return 'reading';
  if (answers === true || answers === 'email') return 'touching';
  if (probe === undefined) {
    throw new UsageError(`Nothing is known of how the ${resource} of ${store.name} can be seen.`, {
      hint: `Learn it first: storeferry probe ${store.name}`,
    });
  }
  throw new UsageError(
    `The ${resource} of ${store.name} cannot be seen: its last probe found that it neither lists them nor answers an update that changes nothing with the whole ${isProduct ? 'product' : 'contact'}.`,
    {
      hint: `To probe it again: storeferry probe ${store.name}${isProduct ? '' : ' --contact ID'}. What is lost can be estimated: storeferry verify ${name}`,
    },
  );
}

const SELECTION_FILE = 'drift-keys.json';
const selectionSchema = z.object({
  by: z.enum(['reading', 'touching']),
  sample: z.int().nullable(),
  slice: z.string().default(''),
  known: z.int(),
  notComparable: z.int(),
  keys: z.array(z.string()),
});
type SelectedKeys = z.infer<typeof selectionSchema>;

/** The keys that a run has chosen to compare; undefined before that. */
export async function readSelection(folder: RunFolder): Promise<SelectedKeys | undefined> {
  if (!(await folder.exists(SELECTION_FILE))) return undefined;
  return selectionSchema.safeParse(await json(await folder.read(SELECTION_FILE))).data;
}

/**
 * Compares records of a job with the store, field by field with what it last answered. The ledger stays as it is. `unedited`: records
 * that were edited when they were last seen, and are no more.
 * What was compared before the run was interrupted is not compared again.
 *
 * @throws UsageError and StateError where there is nothing to compare, and as `sendOperations`.
 */
export async function findDrift(
  context: RunContext,
  search: DriftSearch,
): Promise<{ readonly drift: Drift; readonly requests: number; readonly unedited: readonly string[] }> {
  const { run, job } = search;
  const folder = context.artifacts.run(run.id);
  const selected = (await readSelection(folder)) ?? (await selectKeys(context, search));
  const comparison = new DriftComparison(context, search, selected);
  if (selected.by === 'reading') await comparison.read();
  else await comparison.touch();
  const quotes = job.import === 'products';
  const tally = await tallyFindings(folder, { quotes });
  const { known, notComparable, keys, by } = selected;
  const isFound = tally.edited + tally.deleted + tally.recreated + (tally.strangers ?? 0) > 0;
  if (isFound) await writeDriftTable(folder, { quotes });
  const drift: Drift = {
    by,
    known,
    notComparable,
    checked: keys.length - comparison.unchecked,
    ...tally,
    strangers: comparison.isListed && quotes && search.slice === undefined ? tally.strangers : null,
    ...(search.slice !== undefined && { slice: search.slice }),
  };
  return { drift, requests: comparison.requests, unedited: comparison.unedited };
}

async function selectKeys(context: RunContext, search: DriftSearch): Promise<SelectedKeys> {
  const { run, job, store, sample, slice, random } = search;
  const by = await comparisonMethod(context, store, job);
  const { keys, known, notComparable } = await sampleLedger(context.state.ledger(importTarget(run)), {
    job: job.name,
    resource: job.import,
    size: sample ?? Number.MAX_SAFE_INTEGER,
    includes: slice && ((key) => isInSlice(key, slice)),
    random,
    signal: context.signal,
  });
  if (keys.length === 0 && slice === undefined) {
    throw new StateError(
      notComparable > 0
        ? `Nothing of the job ${job.name} can be compared: its records are in doubt or have no id.`
        : `The ledger has no acknowledged record of the job ${job.name}.`,
      { hint: `Run it first: storeferry run ${job.name}` },
    );
  }
  const selected = { by, sample, slice: sliceName(slice), known, notComparable, keys: [...keys] };
  await context.artifacts.run(run.id).write(SELECTION_FILE, [JSON.stringify(selected)]);
  return selected;
}

/** The name of these parts of a job's records, by which an interrupted comparison is found again. */
export function sliceName(slice: DriftSelection['slice']): string {
  return slice === undefined ? '' : `${slice.number}+${slice.parts}/${slice.of}`;
}

/**
 * Whether a key belongs to these parts. It depends on the key alone, so that products which come and go move no other one to a part
 * that was compared already.
 */
export function isInSlice(key: string, { number, of, parts }: NonNullable<DriftSelection['slice']>): boolean {
  let sum = 0;
  for (let at = 0; at < key.length; at += 1) sum = (Math.imul(sum, 31) + key.charCodeAt(at)) >>> 0;
  const mixed = Math.imul(sum ^ (sum >>> 15), 0x85ebca6b) >>> 0;
  const part = Math.floor((((mixed ^ (mixed >>> 13)) >>> 0) * of) / 2 ** 32);
  return (part - number + of) % of < parts;
}

/** What the ledger has of a key. */
interface KnownRecord {
  readonly key: string;
  readonly mark: LedgerMark;
  readonly body: string;
  /** What answers have shown beside the body. */
  readonly observation: Observation;
}

const ITEMS_PER_PAGE = 50;
const KEYS_PER_QUERY = 500;

/** Compares the records of a selection. */
class DriftComparison {
  readonly #context: RunContext;
  readonly #search: DriftSearch;
  readonly #selected: SelectedKeys;
  readonly #ledger: Ledger;
  readonly #folder: RunFolder;
  readonly #resource: Resource;
  requests = 0;
  /** Records that changed in the ledger meanwhile, or that the store did not answer. */
  unchecked = 0;
  isListed = false;
  /** Records that were edited when they were last seen, and are now as the ledger has them. */
  readonly unedited: string[] = [];

  constructor(context: RunContext, search: DriftSearch, selected: SelectedKeys) {
    this.#context = context;
    this.#search = search;
    this.#selected = selected;
    const target = importTarget(search.run);
    this.#ledger = context.state.ledger(target);
    this.#resource = target.resource;
    this.#folder = context.artifacts.run(search.run.id);
  }

  /** By reading pages; a few products by their ids. */
  async read(): Promise<void> {
    if (await hasFindings(this.#folder, 1)) return;
    const { keys, known } = this.#selected;
    const client = await this.#context.openStorefront(this.#search.store);
    const readsSingly = this.#resource === 'products' && keys.length * ITEMS_PER_PAGE < known;
    const findings = readsSingly || keys.length === 0 ? await this.#readEach(client) : undefined;
    await writeFindings(this.#folder, 1, findings ?? (await this.#readList(client)));
  }

  /** Undefined where a product is gone: only the list says whether it was made again. */
  async #readEach(client: Storefront): Promise<DriftFinding[] | undefined> {
    const findings: DriftFinding[] = [];
    let isGone = false;
    for await (const records of this.#records()) {
      await forEachConcurrently(records, this.#search.store.limits.concurrency, async (record) => {
        const { id } = record.mark;
        const found = id === null || isGone ? null : await client.product(id, this.#sending());
        if (found === null) isGone = true;
        else findings.push(...this.#compared(record, found));
        this.#onProgress(this.requests, this.#selected.keys.length);
      });
      if (isGone) return undefined;
    }
    return findings;
  }

  async #readList(client: Storefront): Promise<DriftFinding[]> {
    this.isListed = true;
    const what = this.#resource;
    const wanted = new Map<string, KnownRecord>();
    const byId = new Map<string, string>();
    for await (const records of this.#records()) {
      for (const record of records) {
        wanted.set(record.key, record);
        byId.set(what === 'contacts' ? record.key : String(record.mark.id), record.key);
      }
    }
    const findings: DriftFinding[] = [];
    /** Products with the url of a record, and another id: strangers if the record itself is found. */
    const sameUrl = new Map<string, JsonObject[]>();
    const reading = {
      ...this.#sending(),
      concurrency: this.#search.store.limits.concurrency,
      what,
      onProgress: (items: number, total: number | null) => this.#onProgress(items, total),
    };
    for await (const batch of readPaged(client, reading)) {
      const items = batch.map(({ text }): unknown => JSON.parse(text)).filter(isJsonObject);
      const unknown: JsonObject[] = [];
      for (const item of items) {
        const key = byId.get(String(item['id']));
        const record = key === undefined ? undefined : wanted.get(key);
        const url = readUrl(item);
        if (record !== undefined) {
          findings.push(...this.#compared(record, item));
          wanted.delete(record.key);
          byId.delete(String(item['id']));
        } else if (what === 'products' && this.#isOwn(url, byId)) {
          sameUrl.set(url, [...(sameUrl.get(url) ?? []), item]);
        } else unknown.push(item);
      }
      findings.push(...(await this.#strangers(unknown)));
    }
    for (const record of wanted.values()) {
      const again = [...sameUrl].find(([url]) => url === record.key)?.[1].shift();
      findings.push(again === undefined ? deletedFinding(record) : await this.#recreated(record, again));
    }
    if (this.#seeksStrangers) findings.push(...[...sameUrl.values()].flat().map(strangerFinding));
    return findings;
  }

  #proof: Promise<void> | undefined;

  /** The finding of a product with another id: from now on no run may delete by ids from before (rule 6), also if this one is interrupted. */
  async #recreated(record: KnownRecord, found: JsonObject): Promise<DriftFinding> {
    this.#proof ??= this.#ledger.proveIdsAgain();
    await this.#proof;
    return { kind: 'recreated', ...compareFields(record, found) };
  }

  /** A finding where the store has other values than it last answered. */
  #compared(record: KnownRecord, found: JsonObject): DriftFinding[] {
    const finding = compareFields(record, found);
    if (finding.differences.length > 0) return [{ kind: 'edited', ...finding }];
    if (Object.values(record.observation.edited).some(({ accepted }) => accepted !== true))
      this.unedited.push(record.key);
    return [];
  }

  #ownKeys: Set<string> | null = null;

  #isOwn(url: string, byId: ReadonlyMap<string, string>): boolean {
    this.#ownKeys ??= new Set(byId.values());
    return this.#ownKeys.has(url);
  }

  /** A part of the records says nothing about products that no job has sent. */
  get #seeksStrangers(): boolean {
    return this.#resource === 'products' && this.#search.slice === undefined;
  }

  /** Those of the products that no job has sent. */
  async #strangers(items: readonly JsonObject[]): Promise<DriftFinding[]> {
    if (items.length === 0 || !this.#seeksStrangers) return [];
    const [marks, byId, unconfirmed] = await Promise.all([
      this.#ledger.marks(items.map(readUrl)),
      this.#ledger.keysBy(
        'id',
        items.map(({ id }) => String(id)),
      ),
      this.#unconfirmed(),
    ]);
    return items
      .filter(
        (item, index) =>
          marks[index] === undefined && (byId[index]?.length ?? 0) === 0 && !unconfirmed.has(readUrl(item)),
      )
      .map(strangerFinding);
  }

  #inFlight: Promise<ReadonlySet<string>> | null = null;

  /** Keys that a run of the job may have sent when it died. */
  #unconfirmed(): Promise<ReadonlySet<string>> {
    this.#inFlight ??= unconfirmedKeys(this.#ledger, this.#search.job.name);
    return this.#inFlight;
  }

  /** Compares the records by updates that change nothing, part by part. */
  async touch(): Promise<void> {
    const { keys } = this.#selected;
    this.#context.onEvent({ type: 'touching', run: this.#search.run, records: keys.length });
    let part = 1;
    for (let from = 0; from < keys.length; from += SHARD_SIZE, part += 1) {
      if (await hasFindings(this.#folder, part)) continue;
      await writeFindings(
        this.#folder,
        part,
        await this.#touchPart(keys.slice(from, from + SHARD_SIZE), from),
      );
    }
  }

  async #touchPart(keys: readonly string[], done: number): Promise<DriftFinding[]> {
    const { run, store, lock, job } = this.#search;
    const storefront = await this.#context.openStorefront(store);
    const records = await this.#known(keys);
    const byKey = new Map(records.map((record) => [record.key, record]));
    const findings: DriftFinding[] = [];
    const sendAndCompare = async (
      key: string,
      send: (record: KnownRecord, onAnswer: (answer: unknown) => void) => Promise<Outcome>,
      options: SendOptions,
    ): Promise<Outcome> => {
      const record = byKey.get(key);
      if (record === undefined) throw new Error(`${key} is not compared`);
      let answer: unknown;
      const outcome = await send(record, (value) => {
        answer = value;
      });
      if (outcome.kind === 'rejected' && outcome.absent === true && outcome.atWork !== true) {
        findings.push(deletedFinding(record));
        return GONE;
      }
      if (outcome.kind === 'rejected') this.unchecked += 1;
      if (outcome.kind !== 'applied' || !isJsonObject(answer)) return outcome;
      if (this.#resource === 'contacts' || outcome.id === record.mark.id) {
        findings.push(...this.#compared(record, answer));
        return outcome;
      }
      if (outcome.id === null || !hasOnlyTitleAndUrl(answer)) {
        findings.push(await this.#recreated(record, answer));
        return GONE;
      }
      // The touch itself has created it.
      const removed = await storefront.deleteProduct(outcome.id, options);
      if (removed.kind === 'applied') findings.push(deletedFinding(record));
      if (removed.kind === 'applied') return GONE;
      return removed.kind === 'left' ? removed : { ...removed, inDoubt: true };
    };
    const empty = JSON.stringify(
      (await readProbe(this.#context.artifacts, store))?.properties.emptyContactPutAnswersWhole === 'email'
        ? { email: '' }
        : {},
    );
    const before = this.requests;
    await sendOperations(this.#context, {
      run,
      store,
      lock,
      operations: (async function* () {
        yield records.map((record, index) => unchangedOperation(record, index, job.import));
      })(),
      firstShard: 1,
      changesNothing: {
        doubted: new Set(records.flatMap(({ key, mark }) => (mark.fingerprint === IN_DOUBT ? [key] : []))),
      },
      storefront: {
        upsertProduct: ({ url }, options) =>
          sendAndCompare(
            url,
            (record, onAnswer) =>
              storefront.upsertProduct({ url, body: unchangedUpsertBody(record) }, { ...options, onAnswer }),
            options,
          ),
        updateContact: (id, _body, options) =>
          sendAndCompare(
            id,
            (_record, onAnswer) => storefront.updateContact(id, empty, { ...options, onAnswer }),
            options,
          ),
        updateProduct: storefront.updateProduct,
        upsertContact: storefront.upsertContact,
        deleteProduct: storefront.deleteProduct,
        subscriberLists: storefront.subscriberLists,
      },
      onProgress: (tally) => {
        this.requests = before + tally.requests;
        this.#onProgress(done + tally.applied, this.#selected.keys.length);
      },
    });
    return findings;
  }

  #onProgress(done: number, total: number | null): void {
    this.#context.onEvent({ type: 'progress', step: 'apply', done, total, unit: 'requests' });
  }

  #sending(): SendOptions {
    return {
      signal: this.#context.signal,
      onRequest: () => {
        this.requests += 1;
        return undefined;
      },
    };
  }

  async *#records(): AsyncGenerator<readonly KnownRecord[]> {
    const { keys } = this.#selected;
    for (const some of chunksOf(keys, KEYS_PER_QUERY)) yield await this.#known(some);
  }

  /** What the ledger has of the keys; without those that another run has put in doubt since they were chosen. */
  async #known(keys: readonly string[]): Promise<KnownRecord[]> {
    const [marks, bodies, views] = await Promise.all([
      this.#ledger.marks(keys),
      this.#ledger.bodies(keys),
      this.#ledger.views(keys),
    ]);
    const doubted = keys.filter((_, index) => marks[index]?.fingerprint === IN_DOUBT);
    // An earlier process of this run may have put them in doubt.
    const own = await this.#ledger.doubtedOnlyBy(this.#search.job.name, doubted);
    const records = keys.flatMap((key, index) => {
      const [mark, body] = [marks[index], bodies[index]];
      const isKnown = mark !== undefined && (isComparable(mark, this.#resource) || own.has(key));
      const observation = views[index]?.observation ?? AS_ACKNOWLEDGED;
      return isKnown && body !== undefined && body !== FORGOTTEN_BODY
        ? [{ key, mark, body, observation }]
        : [];
    });
    this.unchecked += keys.length - records.length;
    return records;
  }
}

/** The outcome for a record that the store no longer has under its id in the ledger. */
const GONE: Applied = { kind: 'applied', id: null };

function unchangedOperation(
  { key, mark, body }: KnownRecord,
  index: number,
  resource: Resource,
): ShardOperation {
  const { memo } = mark;
  const fingerprint = mark.fingerprint === IN_DOUBT ? fingerprintOf(body) : mark.fingerprint;
  const operation = { index, key, rows: 0, spans: [], body, fingerprint, memo, shard: 1 };
  return resource === 'contacts'
    ? { kind: 'update-contact', ...operation }
    : { kind: 'upsert-product', ...operation, knownId: mark.id };
}

/** An upsert that changes nothing. The blank keeps an answer from repeating it as it is: it must be parsed. */
function unchangedUpsertBody({ key, body }: KnownRecord): string {
  const whole: unknown = JSON.parse(body);
  const title = isJsonObject(whole) ? member(whole, 'title') : undefined;
  return `{ "url":${JSON.stringify(key)},"title":${JSON.stringify(title ?? key)}}`;
}

const CONTENT = ['description', 'images', 'categories', 'options', 'variants', 'subscription', 'file'];

/** Whether a product has nothing but a title and a url. */
function hasOnlyTitleAndUrl(product: JsonObject): boolean {
  return CONTENT.every((name) => isEmpty(member(product, name) ?? null));
}

function readUrl(product: JsonObject): string {
  const url = member(product, 'url');
  return typeof url === 'string' ? url : '';
}

function readId(record: JsonObject): number | null {
  const id = Number(member(record, 'id'));
  return Number.isSafeInteger(id) ? id : null;
}

function deletedFinding({ key, mark }: KnownRecord): DriftFinding {
  return { kind: 'deleted', key, id: mark.id, differences: [], values: {} };
}

/** A product of the store that no job has sent. */
function strangerFinding(product: JsonObject): DriftFinding {
  return { kind: 'stranger', key: readUrl(product), id: readId(product), differences: [], values: {} };
}

/** Not compared: sales change it. */
const STOCK_PATH = 'variants.quantity';

function compareFields(record: KnownRecord, found: JsonObject): Omit<DriftFinding, 'kind'> {
  const { key, body } = record;
  const believed: unknown = JSON.parse(body);
  const differing = isJsonObject(believed)
    ? storeDifferences(believed, found).filter(({ field }) => !isExpected(record, field, found))
    : [];
  const url = readUrl(found);
  const isMoved = url !== '' && !isNormalisedUrl(key, url) && isJsonObject(believed) && 'url' in believed;
  const differences = differing
    .filter(({ field }) => field !== 'url')
    .flatMap(({ paths, ...one }) =>
      paths
        .filter((path) => path !== STOCK_PATH)
        .map((path) => ({ path, believed: valueAt(one.believed, path), found: valueAt(one.found, path) })),
    );
  const fields = new Set(differences.map(({ path }) => path.split('.', 1)[0]));
  return {
    key,
    id: readId(found),
    differences: [...(isMoved ? [{ path: 'url', believed: key, found: url }] : []), ...differences],
    values: Object.fromEntries(
      differing.flatMap(({ field, found: value }) => (fields.has(field) ? [[field, value]] : [])),
    ),
  };
}

/** Whether the value of a field is the one that the store has made of what it was sent, or an edit that was accepted. */
function isExpected({ body, observation }: KnownRecord, field: string, found: JsonObject): boolean {
  const { altered, edited } = observation;
  if (altered[field] === undefined && edited[field]?.accepted !== true) return false;
  const seen = { body, sent: [], answer: found, before: observation, unaltered: [], at: 0 };
  const edit = observeAnswer(seen).edited[field];
  return edit === undefined ? altered[field] !== undefined : edit === edited[field] && edit.accepted === true;
}

/** Of variants the values of the member that a path names. */
function valueAt(value: unknown, path: string): unknown {
  const [, name] = path.split('.', 2);
  if (name === undefined || !Array.isArray(value)) return value;
  return value.map((one: unknown) => (isJsonObject(one) ? (member(one, name) ?? null) : null));
}
