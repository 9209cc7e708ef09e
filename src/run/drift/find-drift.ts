import { readPaged } from '../../export/reading/read-items.ts';
import { isJsonObject, type JsonObject, member } from '../../model/json-object.ts';
import type { Resource } from '../../model/mapped-record.ts';
import { AS_ACKNOWLEDGED } from '../../model/observation.ts';
import { type Applied, isEmpty, type Outcome, SHARD_SIZE } from '../../model/operation.ts';
import type { Drift } from '../../model/run.ts';
import { fingerprintOf } from '../../plan/plan-import.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import {
  chunksOf,
  FORGOTTEN_BODY,
  IN_DOUBT,
  importTarget,
  type Ledger,
  unconfirmedKeys,
} from '../../state/state.ts';
import type { SendOptions, Storefront } from '../../storefront/storefront.ts';
import { withAnswerListener } from '../answer-tally.ts';
import { forEachConcurrently } from '../for-each-concurrently.ts';
import { readProbe } from '../kept-probe.ts';
import type { RunContext } from '../run-context.ts';
import { type ShardOperation, sendOperations } from '../send-operations.ts';
import { isComparable } from '../verify/sample-ledger.ts';
import {
  compareFields,
  type DriftFinding,
  deletedFinding,
  hasFindings,
  type KnownRecord,
  readUrl,
  strangerFinding,
  tallyFindings,
  writeDriftTable,
  writeFindings,
} from './drift-finding.ts';
import { type DriftSearch, readSelection, type SelectedKeys, selectKeys } from './drift-selection.ts';

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
    const own = new Set(wanted.keys());
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
        } else if (what === 'products' && own.has(url)) {
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
    const records = await this.#known(keys);
    const findings: DriftFinding[] = [];
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
      storefront: await this.#touchingStorefront(records, findings),
      onProgress: (tally) => {
        this.requests = before + tally.requests;
        this.#onProgress(done + tally.applied, this.#selected.keys.length);
      },
    });
    return findings;
  }

  /** The store, with updates that change nothing, and whose answers add to the findings. */
  async #touchingStorefront(records: readonly KnownRecord[], findings: DriftFinding[]): Promise<Storefront> {
    const { store } = this.#search;
    const storefront = await this.#context.openStorefront(store);
    const answers = new Map<string, unknown>();
    const answering = withAnswerListener(storefront, (key, _body, answer) => answers.set(key, answer));
    const byKey = new Map(records.map((record) => [record.key, record]));
    const probe = await readProbe(this.#context.artifacts, store);
    const isAskedByEmail = probe?.properties.emptyContactPutAnswersWhole === 'email';
    const emptyContact = JSON.stringify(isAskedByEmail ? { email: '' } : {});
    const touch = async (
      key: string,
      options: SendOptions,
      send: (record: KnownRecord) => Promise<Outcome>,
    ): Promise<Outcome> => {
      const record = byKey.get(key);
      if (record === undefined) throw new Error(`${key} is not compared`);
      const sent = await send(record);
      const { outcome, found = [] } = await this.#judgeTouch(record, sent, answers.get(key), (id) =>
        storefront.deleteProduct(id, options),
      );
      findings.push(...found);
      return outcome;
    };
    return {
      ...storefront,
      upsertProduct: ({ url }, options) =>
        touch(url, options, (record) =>
          answering.upsertProduct({ url, body: unchangedUpsertBody(record) }, options),
        ),
      updateContact: (id, _body, options) =>
        touch(id, options, () => answering.updateContact(id, emptyContact, options)),
    };
  }

  /** What an update that changes nothing has shown; a product that it has created itself is removed again. */
  async #judgeTouch(
    record: KnownRecord,
    outcome: Outcome,
    answer: unknown,
    remove: (id: number) => Promise<Outcome>,
  ): Promise<{ readonly outcome: Outcome; readonly found?: readonly DriftFinding[] }> {
    if (outcome.kind === 'rejected' && outcome.absent === true && outcome.atWork !== true)
      return { outcome: GONE, found: [deletedFinding(record)] };
    if (outcome.kind === 'rejected') this.unchecked += 1;
    if (outcome.kind !== 'applied' || !isJsonObject(answer)) return { outcome };
    if (this.#resource === 'contacts' || outcome.id === record.mark.id)
      return { outcome, found: this.#compared(record, answer) };
    if (outcome.id === null || !hasOnlyTitleAndUrl(answer))
      return { outcome: GONE, found: [await this.#recreated(record, answer)] };
    const removed = await remove(outcome.id);
    if (removed.kind === 'left') return { outcome: removed };
    if (removed.kind !== 'applied') return { outcome: { ...removed, inDoubt: true } };
    return { outcome: GONE, found: [deletedFinding(record)] };
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
