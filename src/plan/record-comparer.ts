import type { BlockEnd, KnownBlocks } from '../model/block-index.ts';
import type { GuardHit } from '../model/guard.ts';
import { isJsonObject, type JsonObject, member } from '../model/json-object.ts';
import type {
  DeferredRecord,
  ImportMode,
  MappedRecord,
  MappedRejection,
  MappedSkip,
  ProductField,
  Resource,
} from '../model/mapped-record.ts';
import { isSameValue, type Observation, otherUrlIn } from '../model/observation.ts';
import { isNewContactKey, type VariantStock } from '../model/operation.ts';
import type { Reason } from '../model/reason.ts';
import { StateError } from '../model/storeferry-error.ts';
import {
  IN_DOUBT,
  type Ledger,
  type LedgerMark,
  MAX_BODY_BYTES,
  type ObservedKey,
  type StoredView,
} from '../state/state.ts';
import { areBeyondAscii, isMisreading, quote } from '../text/printable.ts';
import { fieldChanges } from './changes/field-changes.ts';
import {
  holdOtherUrl,
  objectIn,
  type PlannedUpdate,
  planUpdate,
  type UpdateRules,
} from './changes/plan-update.ts';
import { keepFields } from './patch-product.ts';
import type { Predecessor, Predecessors } from './predecessors.ts';
import { fingerprintOf, type UnplacedOperation } from './shard-writer.ts';

/** What decides how the records of a job compare with the ledger. */
export interface CompareOptions {
  readonly ledger: Ledger;
  readonly job: string;
  readonly resource: Resource;
  readonly mode: ImportMode;
  /** Fields that come from the acknowledged body where there is one. */
  readonly keep?: readonly ProductField[] | undefined;
  /** What `options[].advanced` is by the mapping, else by the probe of the store. */
  readonly advanced?: boolean | undefined;
  /** How changes of products or contacts are sent, and what is known of edits there; absent: whole records are sent. */
  readonly updates?: UpdateOptions | undefined;
  /** Send unchanged records as well. */
  readonly resend: boolean;
  /** The records are bodies that were made before, and no longer judged: of a release, an undo, a promotion. */
  readonly sendsBodies?: boolean;
  /** What new records continue. */
  readonly predecessors?: Predecessors | null | undefined;
}

/** How changes of records are sent to a store that was probed. */
export interface UpdateOptions extends UpdateRules {
  /** Whole products overwrite what somebody edited in the store. */
  readonly replaces: boolean;
  /** What the store now has, of the products that it still has; left out: it cannot be read. */
  readonly observe?:
    | ((products: readonly ProductToRead[]) => Promise<ReadonlyMap<string, ReadProduct>>)
    | undefined;
  /** All bodies that were once acknowledged for these keys. */
  readonly sentBefore?: ((keys: readonly string[]) => Promise<readonly (readonly string[])[]>) | undefined;
  /** The plan has the lock of the target: what it reads is kept. */
  readonly isLocked: boolean;
}

/** What reading a product has shown. */
export interface ReadProduct {
  /** Undefined where nothing was observed before, and nothing is edited. */
  readonly observation: Observation | undefined;
  readonly stock?: VariantStock;
}

/** A product to read, and what is known of it. */
export interface ProductToRead extends StoredView {
  readonly key: string;
  readonly id: number;
  /** The body in the ledger. */
  readonly body: string;
  /** The fields of the source. */
  readonly toSend: readonly string[];
}

/**
 * A record with its serialised body, and without the body itself: two batches of them wait for the ledger at a time,
 * and the garbage collector copies everything that they reference, twice (a third of all time was spent on that).
 */
export interface SerialisedRecord extends Omit<MappedRecord, 'kind' | 'body' | 'memo'> {
  readonly kind: 'serialised';
  readonly body: string;
  readonly fingerprint: string;
  readonly memo?: string | undefined;
}

/** Serialised once, so that the fingerprint belongs to the body that is sent. */
export function serialise(record: MappedRecord): SerialisedRecord {
  const body = JSON.stringify(record.body);
  return { ...record, kind: 'serialised', body, fingerprint: fingerprintOf(body) };
}

/** Rows that are not sent. `records` is 0 for another copy of a key that was already counted. */
export interface LeftOut {
  readonly kind: 'left-out';
  readonly item: MappedRejection | MappedSkip;
  readonly records: 0 | 1;
}

/** The end of a block, with the hashes of its keys. */
export interface EndedBlock extends BlockEnd {
  readonly keys: readonly number[];
}

/** The entries in source order: rejections wait too, so that their order is kept. Keys of records are unique. */
export type BatchEntry = SerialisedRecord | DeferredRecord | LeftOut | EndedBlock | KnownBlocks;

/** An entry with what the ledger has. `known`: unchanged, and not even mapped. */
export type ComparedEntry =
  | { readonly kind: 'known'; readonly record: DeferredRecord; readonly mark: LedgerMark | undefined }
  | ComparedRecord
  | LeftOut
  | EndedBlock
  | KnownBlocks;

/** A record as it would be sent, with what it replaces. */
export interface ComparedRecord {
  readonly kind: 'compared';
  readonly record: SerialisedRecord;
  readonly mark: LedgerMark | undefined;
  /** The product that it continues under a new key. */
  readonly predecessor: Predecessor | undefined;
  /** The last acknowledged body, its own or of its predecessor, where the fingerprints differ. */
  readonly acknowledged: string | undefined;
  readonly update: PlannedUpdate | undefined;
}

/** The ledger's answer for an entry with a key; `same` only for a deferred one: unchanged, by its memo. */
export type LedgerAnswer = Awaited<ReturnType<Ledger['compare']>>[number];

/** Compares batches of entries with the ledger; decides the bodies to send, and which rows need not be mapped. */
export class RecordComparer {
  /** What reads of the store have shown, for the ledger. */
  readonly observed: ObservedKey[] = [];
  readonly #options: CompareOptions;

  constructor(options: CompareOptions) {
    this.#options = options;
  }

  /** One answer for each entry with a key, in order. */
  async queryLedger(batch: readonly BatchEntry[]): Promise<readonly LedgerAnswer[]> {
    const { ledger, job, resend } = this.#options;
    const keyed = batch.filter((entry) => entry.kind === 'serialised' || entry.kind === 'deferred');
    if (keyed.length === 0) return [];
    return await ledger.compare({
      job,
      keys: keyed.map(({ key }) => key),
      memos: keyed.map((entry) => (entry.kind === 'deferred' && !resend ? entry.memo : null)),
    });
  }

  /** Compares the entries of a batch, with the answers of `queryLedger`. */
  async compare(
    batch: readonly BatchEntry[],
    answers: readonly LedgerAnswer[],
  ): Promise<readonly ComparedEntry[]> {
    let next = 0;
    const found = batch.map((entry) => {
      switch (entry.kind) {
        case 'serialised':
          return this.#compareRecord(entry, answers[next++]);
        case 'deferred':
          return this.#compareDeferred(entry, answers[next++]);
        case 'left-out':
        case 'block-end':
        case 'known-blocks':
          return entry;
        default:
          return entry satisfies never;
      }
    });
    const bodies = await this.#acknowledgedBodies(found);
    const entries = found.map((entry) =>
      entry.kind === 'compared' && bodies.has(entry.record.key)
        ? this.#withKeptFields({ ...entry, acknowledged: bodies.get(entry.record.key) })
        : entry,
    );
    const updates = await this.#planUpdates(entries);
    return entries.map((entry) =>
      entry.kind === 'compared'
        ? this.#refuseMisread(refuseOversized(withUpdate(entry, updates.get(entry.record.key))))
        : entry,
    );
  }

  /** Rejects a record of which the source has a text as another charset shows it: nobody writes `GrÃ¶ÃŸe` for the `Größe` in the store. */
  #refuseMisread(entry: ComparedRecord | LeftOut): ComparedRecord | LeftOut {
    if (entry.kind === 'left-out' || entry.acknowledged === undefined || this.#options.sendsBodies === true)
      return entry;
    const { record } = entry;
    if (!areBeyondAscii(entry.acknowledged, record.body)) return entry;
    const misread = fieldChanges(entry.acknowledged, record.body).find(
      ({ old, new: now }) => typeof old === 'string' && typeof now === 'string' && isMisreading(old, now),
    );
    if (misread === undefined) return entry;
    const [old, now] = [misread.old, misread.new].map((value) => quote(String(value)));
    const what = this.#options.resource === 'contacts' ? 'its text is that of the store' : `${now} is ${old}`;
    return leftOut('rejected', record, {
      code: 'misread-text',
      field: misread.field,
      message: `${what} in another charset: convert the source again, from its own charset`,
    });
  }

  #compareRecord(record: SerialisedRecord, answer: LedgerAnswer): ComparedEntry {
    const mark = answer === 'same' ? undefined : answer;
    if (mark !== undefined && this.#options.mode === 'create') return alreadyCreated(record);
    const predecessor = mark === undefined ? this.#options.predecessors?.certain.get(record.key) : undefined;
    return { kind: 'compared', record, mark, predecessor, acknowledged: undefined, update: undefined };
  }

  /** Rows with a memo in the ledger are unchanged; others are mapped now. */
  #compareDeferred(deferred: DeferredRecord, answer: LedgerAnswer): ComparedEntry {
    const mark = answer === 'same' ? undefined : answer;
    if (answer !== undefined && this.#options.mode === 'create') return alreadyCreated(deferred);
    if (answer === 'same' || (mark?.memo === deferred.memo && !this.#options.resend)) {
      return { kind: 'known', record: deferred, mark };
    }
    const mapped = deferred.map();
    switch (mapped.kind) {
      case 'record':
        return this.#compareRecord(serialise(mapped), mark);
      case 'rejected':
      case 'skipped':
        return { kind: 'left-out', item: mapped, records: 1 };
      default:
        return mapped satisfies never;
    }
  }

  /** The acknowledged bodies of the records that differ from them, by key. */
  async #acknowledgedBodies(
    entries: readonly ComparedEntry[],
  ): Promise<ReadonlyMap<string, string | undefined>> {
    const differing: string[] = [];
    const continued: { readonly key: string; readonly from: string }[] = [];
    for (const entry of entries) {
      if (entry.kind !== 'compared') continue;
      const { record, mark, predecessor } = entry;
      if (predecessor !== undefined) continued.push({ key: record.key, from: predecessor.key });
      else if (mark !== undefined && mark.fingerprint !== record.fingerprint) differing.push(record.key);
    }
    const own = differing.length === 0 ? [] : await this.#readBodies(differing);
    const { predecessors } = this.#options;
    const earlier =
      continued.length === 0 ? [] : await predecessors?.bodies(continued.map(({ from }) => from));
    return new Map([
      ...differing.map((key, index) => [key, own[index]] as const),
      ...continued.map(({ key }, index) => [key, earlier?.[index]] as const),
    ]);
  }

  /** A missing body is an error: changes cannot be compared without it. A resend goes on, and sends the whole body again. */
  async #readBodies(keys: readonly string[]): Promise<(string | undefined)[]> {
    const { ledger, resend, job } = this.#options;
    try {
      const bodies = await ledger.bodies(keys);
      const missing = keys[bodies.indexOf(undefined)];
      if (missing === undefined || resend) return bodies;
      throw new StateError(
        `The state has lost the acknowledged body of ${JSON.stringify(missing)}, so changes cannot be compared.`,
        { hint: `Check the source, then send everything again: storeferry run ${job} --resend` },
      );
    } catch (error) {
      if (resend && error instanceof StateError) return keys.map(() => undefined);
      throw error;
    }
  }

  /** The record with the fields that the job keeps as the store has acknowledged them, and pictures whose files are gone. */
  #withKeptFields(entry: ComparedRecord): ComparedRecord {
    const { keep: ofJob = [], advanced } = this.#options;
    const { record, acknowledged } = entry;
    if (acknowledged === undefined || (ofJob.length === 0 && record.lacksPictures === undefined))
      return entry;
    const [before, now]: unknown[] = [JSON.parse(acknowledged), JSON.parse(record.body)];
    if (!isJsonObject(before) || !isJsonObject(now)) return entry;
    const losesPictures = record.lacksPictures && countImages(now) < countImages(before);
    const keep = losesPictures ? [...ofJob, 'images' as const] : ofJob;
    if (keep.length === 0) return entry;
    const body = JSON.stringify(keepFields(now, before, keep, advanced));
    return { ...entry, record: { ...record, body, fingerprint: fingerprintOf(body) } };
  }

  /** How the changed ones among the records are sent, by key. */
  async #planUpdates(entries: readonly ComparedEntry[]): Promise<ReadonlyMap<string, PlannedUpdate>> {
    const { updates, ledger, resend, resource } = this.#options;
    if (updates === undefined) return new Map();
    const whole = resend ? await this.#holdOtherUrls(entries, updates) : [];
    const changed = entries.flatMap((entry) => {
      if (entry.kind !== 'compared') return [];
      const { record, mark, predecessor } = entry;
      const { restored } = record;
      if (resend && restored === undefined) return [];
      const known = mark === undefined ? predecessor?.renamed : { ...mark, key: record.key };
      const acknowledged = restored === undefined ? entry.acknowledged : record.body;
      if (known === undefined || acknowledged === undefined) return [];
      if (restored === undefined && mark?.fingerprint === record.fingerprint) return [];
      const isChanged =
        restored !== undefined ||
        mark === undefined ||
        mark.fingerprint === IN_DOUBT ||
        fieldChanges(acknowledged, record.body).length > 0;
      return isChanged ? [{ record, mark, acknowledged, key: known.key, id: known.id }] : [];
    });
    if (changed.length === 0) return new Map(whole);
    const views = await ledger.views(changed.map(({ key }) => key));
    const known = changed.map((change, index) => ({
      ...change,
      ...(views[index] ?? { observation: undefined, doubted: null }),
    }));
    const toRead = known.flatMap(({ record, key, id, acknowledged: body, observation, doubted }) =>
      id === null || doubted === null
        ? []
        : [{ key, id, body, observation, doubted, toSend: Object.keys(objectIn(record.body)) }],
    );
    const seen = (await updates.observe?.(toRead)) ?? new Map<string, ReadProduct>();
    const observations = await this.#withoutOwn(
      known.map((one) => ({ ...one, observation: seen.get(one.key)?.observation ?? one.observation })),
      updates,
    );
    return new Map([
      ...whole,
      ...known.map(({ record, key, id, ...change }, index): readonly [string, PlannedUpdate] => {
        const read = seen.get(key);
        const observation = observations[index];
        const stock = read?.stock;
        const { body, restored } = record;
        const update = planUpdate({ ...change, restored, body, observation, stock }, updates);
        const now = update.decided ?? (read?.observation && observation);
        const fingerprint = change.mark?.fingerprint ?? IN_DOUBT;
        if (updates.isLocked && now !== undefined && fingerprint !== IN_DOUBT)
          this.observed.push({ key, fingerprint, observation: now });
        // Reports and messages quote them.
        return [
          record.key,
          resource === 'contacts' ? { ...update, hits: update.hits.map(withoutValues) } : update,
        ];
      }),
    ]);
  }

  /** What is known of records, without edits of fields that neither ledger nor source have, or that have a value of an earlier request. */
  async #withoutOwn(
    records: readonly (Pick<ProductToRead, 'key' | 'observation'> &
      Pick<ComparedRecord, 'record'> & { readonly acknowledged: string })[],
    { sentBefore }: UpdateOptions,
  ): Promise<readonly (Observation | undefined)[]> {
    const found = records.map(({ key, acknowledged, record, observation }) => {
      const edited = Object.keys(observation?.edited ?? {});
      const before = edited.length === 0 ? {} : objectIn(acknowledged);
      return { key, observation, record, beside: edited.filter((name) => !Object.hasOwn(before, name)) };
    });
    const asked = found.filter(({ beside }) => beside.length > 0).map(({ key }) => key);
    const sent = asked.length === 0 ? [] : ((await sentBefore?.(asked)) ?? []);
    const bodies = new Map(asked.map((key, index) => [key, sent[index]?.map(objectIn) ?? []]));
    return found.map(({ key, observation, record, beside }) => {
      if (observation === undefined || beside.length === 0) return observation;
      const source = objectIn(record.body);
      const edits = Object.entries(observation.edited).filter(
        ([name, { value }]) =>
          !beside.includes(name) ||
          (Object.hasOwn(source, name) &&
            bodies.get(key)?.every((body) => !isSameValue(name, member(body, name), value)) !== false),
      );
      return { ...observation, edited: Object.fromEntries(edits) };
    });
  }

  /** A resend is of whole records, by their urls; those that the store is known to have under others are held. */
  async #holdOtherUrls(
    entries: readonly ComparedEntry[],
    { observe }: UpdateOptions,
  ): Promise<readonly (readonly [string, PlannedUpdate])[]> {
    const known = entries.flatMap((entry) =>
      entry.kind === 'compared' && entry.mark !== undefined && entry.record.restored === undefined
        ? [{ key: entry.record.key, body: entry.record.body, id: entry.mark.id, doubted: [] }]
        : [],
    );
    if (known.length === 0) return [];
    const views = await this.#options.ledger.views(known.map(({ key }) => key));
    const moved = known.flatMap((record, index) => {
      const observation = views[index]?.observation;
      return observation === undefined || otherUrlIn(observation) === undefined
        ? []
        : [{ ...record, observation }];
    });
    const toRead = moved.flatMap(({ id, ...record }) => (id === null ? [] : [{ ...record, id, toSend: [] }]));
    const seen = await observe?.(toRead).catch((error: unknown) => {
      // A resend goes on where bodies are lost.
      if (error instanceof StateError) return undefined;
      throw error;
    });
    return moved.flatMap(({ key, id, body, observation }) => {
      // What is gone from the store is created again.
      const now = seen === undefined || id === null ? observation : seen.get(key)?.observation;
      const url = otherUrlIn(now);
      return url === undefined ? [] : [[key, holdOtherUrl(body, url)] as const];
    });
  }
}

/** Personal data is not quoted. */
function withoutValues(hit: GuardHit): GuardHit {
  return { ...hit, old: 'not shown', new: 'not shown' };
}

function countImages({ images }: JsonObject) {
  return Array.isArray(images) ? images.length : 0;
}

/** The record with the fields that stay as the store has them. Its rows do not make this body without the edit: it has no memo. */
function withUpdate(entry: ComparedRecord, update: PlannedUpdate | undefined) {
  if (update === undefined) return entry;
  const { body } = update;
  if (body === entry.record.body) return { ...entry, update };
  const record = { ...entry.record, body, fingerprint: fingerprintOf(body), memo: undefined };
  return { ...entry, record, update };
}

/** Of UTF-8 for one UTF-16 code unit. */
const MAX_BYTES_PER_CHARACTER = 3;

/** A body that the ledger could not unpack again is not sent. */
function refuseOversized(entry: ComparedRecord): ComparedRecord | LeftOut {
  const { body } = entry.record;
  if (body.length <= MAX_BODY_BYTES / MAX_BYTES_PER_CHARACTER) return entry;
  const bytes = Buffer.byteLength(body);
  if (bytes <= MAX_BODY_BYTES) return entry;
  const mebibytes = (size: number) => Math.ceil(size / 1024 / 1024);
  return leftOut('rejected', entry.record, {
    code: 'record-too-large',
    message: `its request has ${mebibytes(bytes)} MiB, more than ${mebibytes(MAX_BODY_BYTES)} MiB: shorten its texts, or check that its rows belong to one record`,
  });
}

/** With `mode: create`, a product that the ledger knows is skipped. */
function alreadyCreated(record: KeyedRows): LeftOut {
  return leftOut('skipped', record, {
    code: 'already-created',
    message: 'Storeferry has sent this product before, and the job has `mode: create`',
  });
}

type KeyedRows = Pick<MappedSkip, 'rows' | 'spans'> & { readonly key: string };

function leftOut(kind: 'rejected' | 'skipped', { key, rows, spans }: KeyedRows, reason: Reason): LeftOut {
  return { kind: 'left-out', item: { kind, key, rows, spans, reason }, records: 1 };
}

/** The operation that sends a record; without `update` its whole body. */
export function makeOperation(
  { record, mark, predecessor }: Pick<ComparedRecord, 'record' | 'mark' | 'predecessor'>,
  { resource, mode, predecessors }: Pick<CompareOptions, 'resource' | 'mode' | 'predecessors'>,
  { part, stock }: Partial<Pick<PlannedUpdate, 'part' | 'stock'>> = {},
): UnplacedOperation {
  const { key, rows, spans, body, fingerprint, memo } = record;
  const upsert = { key, rows, spans, body, fingerprint, memo };
  switch (resource) {
    case 'products': {
      const renamed = predecessor?.renamed;
      const putId = predecessors?.method === 'put' ? (renamed?.id ?? undefined) : undefined;
      return {
        kind: 'upsert-product',
        ...upsert,
        knownId: putId ?? mark?.id ?? null,
        part,
        stock,
        owner: record.owner ?? (mode === 'update' ? mark?.job : undefined),
        ...(renamed !== undefined && { renames: renamed.key }),
        ...(predecessor !== undefined && renamed === undefined && { adopts: true }),
        ...(putId !== undefined && { putId }),
      };
    }
    case 'contacts':
      return isNewContactKey(key)
        ? { kind: 'upsert-contact', ...upsert }
        : { kind: 'update-contact', ...upsert, part };
    default:
      return resource satisfies never;
  }
}
