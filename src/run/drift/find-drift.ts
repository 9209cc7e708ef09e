import type { ImportJob } from '../../config/job/job.ts';
import type { StoreConfig } from '../../config/store-config.ts';
import { readPaged } from '../../export/reading/read-items.ts';
import { isJsonObject, type JsonObject, member } from '../../model/json-object.ts';
import { otherUrlIn } from '../../model/observation.ts';
import { type Applied, isEmpty, type Outcome, SHARD_SIZE } from '../../model/operation.ts';
import type { Drift, Run } from '../../model/run.ts';
import { chunksOf, IN_DOUBT, importTarget, type Lock, unconfirmedKeys } from '../../state/state.ts';
import type { SendOptions, Storefront } from '../../storefront/storefront.ts';
import { withAnswerListener } from '../answer-tally.ts';
import { forEachConcurrently } from '../for-each-concurrently.ts';
import { readProbe } from '../kept-probe.ts';
import type { RunContext } from '../run-context.ts';
import { sendOperations } from '../send-operations.ts';
import { isComparable, type KnownRecord, knownRecords, repeatingOperation } from '../verify/verify-run.ts';
import {
  compareFields,
  type DriftFinding,
  deletedFinding,
  emptyNotes,
  hasFindings,
  readUrl,
  strangerFinding,
  tallyFindings,
  writeDriftTable,
  writeFindings,
} from './drift-finding.ts';

/** A comparison of the store with the ledger, for a run. */
interface DriftSearch {
  readonly run: Run;
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The lock of the target, which allows writing. */
  readonly lock: Lock;
  readonly slice?: Drift['slice'];
}

/** The keys to compare, and how. */
export interface SelectedKeys extends Pick<Drift, 'by' | 'known' | 'notComparable'> {
  readonly keys: readonly string[];
}

const ITEMS_PER_PAGE = 50;
const KEYS_PER_QUERY = 500;

/**
 * Compares records of a job with the store, field by field with what it last answered. The ledger stays as it is.
 * What was compared before the run was interrupted is not compared again.
 *
 * @throws StateError, and as `sendOperations`.
 */
export async function findDrift(
  context: RunContext,
  { run, job, store, lock, slice }: DriftSearch,
  { by, known, notComparable, keys }: SelectedKeys,
): Promise<{ readonly drift: Drift; readonly requests: number }> {
  const { artifacts, clock, signal, onEvent } = context;
  const folder = artifacts.run(run.id);
  const ledger = context.state.ledger(importTarget(run));
  const resource = job.import;
  const isOfProducts = resource === 'products';
  /** A part of the records says nothing about products that no job has sent. */
  const seeksStrangers = isOfProducts && slice === undefined;
  const { concurrency } = store.limits;
  let requests = 0;
  /** Of the part that is being compared. */
  let notes = emptyNotes(clock());
  const sending: SendOptions = { signal, onRequest: () => void requests++ };
  const onProgress = (done: number, total: number | null) =>
    onEvent({ type: 'progress', step: 'apply', done, total, unit: 'requests' });

  /** What the ledger has of the keys; without those that another run has put in doubt since they were chosen. */
  const recordsOf = async (some: readonly string[]) => {
    const all = (await knownRecords(ledger, some)).filter((record) => record !== undefined);
    const doubted = all.flatMap(({ key, mark }) => (mark.fingerprint === IN_DOUBT ? [key] : []));
    // An earlier process of this run may have put them in doubt.
    const own = await ledger.doubtedOnlyBy(job.name, doubted);
    const comparable =
      by === 'reading' ? all : all.filter((one) => otherUrlIn(one.observation) === undefined);
    const records = comparable.filter(({ key, mark }) => isComparable(mark, resource) || own.has(key));
    notes.unchecked += some.length - records.length;
    return records;
  };
  /** A finding where the store has other values than it last answered. */
  const compared = (record: KnownRecord, found: JsonObject): DriftFinding[] => {
    const finding = compareFields(record, found);
    if (finding.differences.length > 0) return [{ kind: 'edited', ...finding }];
    if (Object.values(record.observation.edited).some(({ accepted }) => accepted !== true))
      notes.unedited.push(record.key);
    return [];
  };
  let proof: Promise<void> | undefined;
  /** The finding of a product with another id: from now on no run may delete by ids from before (rule 6), also if this one is interrupted. */
  const recreated = async (record: KnownRecord, found: JsonObject): Promise<DriftFinding> => {
    proof ??= ledger.proveIdsAgain();
    await proof;
    return { kind: 'recreated', ...compareFields(record, found) };
  };

  /** By reading products one by one. Undefined where one is gone: only the list says whether it was made again. */
  const readEach = async (client: Storefront): Promise<DriftFinding[] | undefined> => {
    const findings: DriftFinding[] = [];
    let isGone = false;
    for (const some of chunksOf(keys, KEYS_PER_QUERY)) {
      await forEachConcurrently(await recordsOf(some), concurrency, async (record) => {
        const { id } = record.mark;
        const found = id === null || isGone ? null : await client.product(id, sending);
        if (found === null) isGone = true;
        else findings.push(...compared(record, found));
        onProgress(requests, keys.length);
      });
      if (isGone) return undefined;
    }
    return findings;
  };
  let inFlight: Promise<ReadonlySet<string>> | undefined;
  /** Those of the products that no job has sent, also not in a run of the job that died while it sent them. */
  const strangersAmong = async (items: readonly JsonObject[]): Promise<DriftFinding[]> => {
    if (items.length === 0 || !seeksStrangers) return [];
    inFlight ??= unconfirmedKeys(ledger, job.name);
    const ids = items.map(({ id }) => String(id));
    const [marks, byId, unconfirmed] = await Promise.all([
      ledger.marks(items.map(readUrl)),
      ledger.keysBy('id', ids),
      inFlight,
    ]);
    const isStranger = (item: JsonObject, index: number) =>
      marks[index] === undefined && (byId[index] ?? []).length === 0 && !unconfirmed.has(readUrl(item));
    return items.filter(isStranger).map(strangerFinding);
  };
  const readList = async (client: Storefront): Promise<DriftFinding[]> => {
    notes = { ...emptyNotes(clock()), isListed: seeksStrangers };
    const own = new Set<string>();
    const wanted = new Set<KnownRecord>();
    const byId = new Map<string, KnownRecord>();
    for (const some of chunksOf(keys, KEYS_PER_QUERY)) {
      for (const record of await recordsOf(some)) {
        own.add(record.key);
        wanted.add(record);
        byId.set(isOfProducts ? String(record.mark.id) : record.key, record);
      }
    }
    const findings: DriftFinding[] = [];
    /** Products with the url of a record, and another id: strangers if the record itself is found. */
    const sameUrl = new Map<string, JsonObject[]>();
    for await (const batch of readPaged(client, { ...sending, concurrency, what: resource, onProgress })) {
      const unknown: JsonObject[] = [];
      for (const item of batch.map(({ text }): unknown => JSON.parse(text)).filter(isJsonObject)) {
        const id = String(item['id']);
        const record = byId.get(id);
        const url = readUrl(item);
        if (record !== undefined) {
          findings.push(...compared(record, item));
          wanted.delete(record);
          byId.delete(id);
        } else if (isOfProducts && own.has(url)) {
          sameUrl.set(url, [...(sameUrl.get(url) ?? []), item]);
        } else unknown.push(item);
      }
      findings.push(...(await strangersAmong(unknown)));
    }
    for (const record of wanted) {
      const again = sameUrl.get(record.key)?.shift();
      findings.push(again === undefined ? deletedFinding(record) : await recreated(record, again));
    }
    if (seeksStrangers) findings.push(...[...sameUrl.values()].flat().map(strangerFinding));
    return findings;
  };
  /** By reading pages; a few products by their ids. */
  const read = async () => {
    if (await hasFindings(folder, 1)) return;
    const client = await context.openStorefront(store);
    const readsSingly = isOfProducts && keys.length * ITEMS_PER_PAGE < known;
    const some = readsSingly || keys.length === 0 ? await readEach(client) : undefined;
    const findings = some ?? (await readList(client));
    await writeFindings(folder, 1, findings, notes);
  };

  /** What an update by `touchingBody` has shown; a product that it has created itself is removed again. */
  const judgeTouch = async (
    record: KnownRecord,
    outcome: Outcome,
    answer: unknown,
    remove: (id: number) => Promise<Outcome>,
  ): Promise<{ readonly outcome: Outcome; readonly found?: readonly DriftFinding[] }> => {
    const gone = { outcome: GONE, found: [deletedFinding(record)] };
    if (outcome.kind === 'rejected' && outcome.absent === true && outcome.atWork !== true) return gone;
    if (outcome.kind === 'rejected') notes.unchecked += 1;
    if (outcome.kind !== 'applied' || !isJsonObject(answer)) return { outcome };
    if (!isOfProducts || outcome.id === record.mark.id) return { outcome, found: compared(record, answer) };
    if (outcome.id === null || !isBare(answer))
      return { outcome: GONE, found: [await recreated(record, answer)] };
    const removed = await remove(outcome.id);
    if (removed.kind === 'left') return { outcome: removed };
    return removed.kind === 'applied' ? gone : { outcome: { ...removed, inDoubt: true } };
  };
  /** The store, with updates by `touchingBody` whose answers add to the findings. */
  const touchingStorefront = async (
    records: readonly KnownRecord[],
    findings: DriftFinding[],
  ): Promise<Storefront> => {
    const storefront = await context.openStorefront(store);
    const answers = new Map<string, unknown>();
    const answering = withAnswerListener(storefront, (key, _body, answer) => answers.set(key, answer));
    const byKey = new Map(records.map((record) => [record.key, record]));
    const probe = await readProbe(artifacts, store);
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
      const { outcome, found = [] } = await judgeTouch(record, sent, answers.get(key), (id) =>
        storefront.deleteProduct(id, options),
      );
      findings.push(...found);
      return outcome;
    };
    return {
      ...storefront,
      upsertProduct: ({ url }, options) =>
        touch(url, options, (record) =>
          answering.upsertProduct({ url, body: touchingBody(record) }, options),
        ),
      updateContact: (id, _body, options) =>
        touch(id, options, () => answering.updateContact(id, emptyContact, options)),
    };
  };
  const touchPart = async (some: readonly string[], done: number): Promise<DriftFinding[]> => {
    const records = await recordsOf(some);
    const findings: DriftFinding[] = [];
    const before = requests;
    await sendOperations(context, {
      run,
      store,
      lock,
      operations: (async function* () {
        yield records.map((record, index) => repeatingOperation(record, resource, index));
      })(),
      firstShard: 1,
      changesNothing: {
        doubted: new Set(records.flatMap(({ key, mark }) => (mark.fingerprint === IN_DOUBT ? [key] : []))),
      },
      storefront: await touchingStorefront(records, findings),
      onProgress: (tally) => {
        requests = before + tally.requests;
        onProgress(done + tally.applied, keys.length);
      },
    });
    return findings;
  };
  /** By updates, part by part. */
  const touch = async () => {
    onEvent({ type: 'touching', run, records: keys.length });
    for (const [index, some] of [...chunksOf(keys, SHARD_SIZE)].entries()) {
      const part = index + 1;
      if (await hasFindings(folder, part)) continue;
      notes = emptyNotes(clock());
      const findings = await touchPart(some, index * SHARD_SIZE);
      await writeFindings(folder, part, findings, notes);
    }
  };

  await (by === 'reading' ? read() : touch());
  const { unchecked, ...tally } = await tallyFindings(folder, { quotes: isOfProducts });
  const isFound = tally.examples.length > 0;
  if (isFound) await writeDriftTable(folder, { quotes: isOfProducts });
  const drift: Drift = {
    by,
    known,
    notComparable,
    checked: keys.length - unchecked,
    ...tally,
    ...(slice !== undefined && { slice }),
  };
  return { drift, requests };
}

/** The outcome for a record that the store no longer has under its id in the ledger. */
const GONE: Applied = { kind: 'applied', id: null };

/**
 * An upsert that changes no more than the title where that was edited and the edit is not known. The blank keeps an answer from
 * repeating it as it is: it must be parsed.
 */
function touchingBody({ key, body, observation }: KnownRecord) {
  const whole: unknown = JSON.parse(body);
  const sent = isJsonObject(whole) ? member(whole, 'title') : undefined;
  const title = observation.edited['title']?.value ?? sent ?? key;
  return `{ "url":${JSON.stringify(key)},"title":${JSON.stringify(title)}}`;
}

const CONTENT = ['description', 'images', 'categories', 'options', 'variants', 'subscription', 'file'];

/** Whether an upsert of a title and a url makes such a product. A hidden or digital one is a draft of somebody. */
function isBare(product: JsonObject) {
  const { hidden = false, type = 'physical' } = product;
  if (hidden !== false || type !== 'physical') return false;
  return CONTENT.every((name) => isEmpty(member(product, name) ?? null));
}
