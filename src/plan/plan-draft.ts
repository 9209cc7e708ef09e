import { type BlockEnd, type BlockIndex, encodeBlock, type KnownBlocks } from '../model/block-index.ts';
import type { Guard, GuardHit } from '../model/guard.ts';
import { isJsonObject, type JsonObject, objectsIn } from '../model/json-object.ts';
import type { KeySet } from '../model/key-set.ts';
import type {
  DeferredRecord,
  FieldChange,
  ImportMode,
  Mapped,
  MappedRecord,
  MappedRejection,
  MappedSkip,
  ProductField,
  Resource,
  SourceItem,
} from '../model/mapped-record.ts';
import type { Observation } from '../model/observation.ts';
import { isNewContactKey, type ProductPart } from '../model/operation.ts';
import type { Plan, PlannedShard } from '../model/plan.ts';
import { StateError } from '../model/storeferry-error.ts';
import type { RunFolder } from '../state/artifacts.ts';
import {
  IN_DOUBT,
  type Ledger,
  type LedgerMark,
  MAX_BODY_BYTES,
  type MemoFact,
  type ObservedKey,
  type OwnedKey,
  type StoredView,
} from '../state/state.ts';
import { fieldChanges, type VariantPairs } from './changes/field-changes.ts';
import { type PlannedUpdate, planUpdate, type UpdateRules } from './changes/plan-update.ts';
import { alwaysHoldingGuards, GuardWatch, type RecordHits } from './judge-safety.ts';
import { keepFields } from './patch-product.ts';
import { BLOCKS_FILE, HELD_FILE, heldLine, LineWriter, REJECTIONS_FILE, rejectionLine } from './plan-file.ts';
import { PlanTally, type Standing, type TalliedRecord } from './plan-tally.ts';
import type { Predecessor, Predecessors } from './predecessors.ts';
import { fingerprintOf, ShardWriter, type UnplacedOperation } from './shard-writer.ts';

/**
 * The number of records per query to the ledger, fewer if their bodies are large. With 500, more of them outlived the
 * nursery of the garbage collector (a tenth more time and 100 MiB more memory); 100 brought no further gain.
 */
const RECORDS_PER_QUERY = 200;

const CHARS_PER_QUERY = 4 * 1024 * 1024;
/** How many memos the ledger gets at once: each call is a commit. */
const FACTS_AT_ONCE = 2_000;

/** The settings of a draft. */
export interface DraftOptions {
  readonly folder: RunFolder;
  readonly ledger: Ledger;
  readonly job: string;
  readonly resource: Resource;
  readonly mode: ImportMode;
  /** Fields that come from the acknowledged body where there is one. */
  readonly keep?: readonly ProductField[] | undefined;
  /** What the mapping says of `options[].advanced`. */
  readonly advanced?: boolean | undefined;
  /**
   * The fields of a body that the store has otherwise; undefined where what the store has was not read. Asked for records that the
   * ledger does not know.
   */
  readonly changesInStore?: ((key: string, body: string) => readonly FieldChange[] | undefined) | undefined;
  /** The store gives all variants of a product one price: products that lose some are counted. */
  readonly losesPrices?: boolean;
  /** Where the store was probed: how changes of products or contacts are sent, and what is known of edits there; absent: whole records are sent. */
  readonly updates?: UpdateOptions | undefined;
  /** Send unchanged records as well. */
  readonly resend: boolean;
  readonly guards?: readonly Guard[] | undefined;
  /** Guards whose `share` an earlier draft has found exceeded, so that they hold records. */
  readonly holding?: readonly Guard[];
  /** Keys that earlier runs rejected or held: the draft lists those that are unchanged (`confirmed`). */
  readonly undecided?: KeySet | undefined;
  /** What new records continue. */
  readonly predecessors?: Predecessors | null | undefined;
  /** Set where the blocks of the source are written to `BLOCKS_FILE`. */
  readonly blocks?: BlockOptions;
}

/** How changes of records are sent to a store that was probed. */
export interface UpdateOptions extends UpdateRules {
  /** Whole products overwrite what somebody edited in the store. */
  readonly replaces: boolean;
  /** What the store now has, of the products that it still has; left out: it cannot be read. */
  readonly observe?:
    | ((products: readonly ProductToRead[]) => Promise<ReadonlyMap<string, Observation>>)
    | undefined;
  /** The plan has the lock of the target: what it reads is kept. */
  readonly isLocked: boolean;
}

/** A product to read, and what is known of it. */
export interface ProductToRead extends StoredView {
  readonly key: string;
  readonly id: number;
  /** The body in the ledger. */
  readonly body: string;
}

/** Reads a source in blocks. */
export interface BlockOptions {
  readonly open: () => AsyncIterable<readonly SourceItem[]>;
  /** Blocks of an earlier run, in which all records were as the ledger has them at this position. */
  readonly index: BlockIndex | undefined;
  readonly position: string;
}

/**
 * A record with its serialised body, and without the body itself: two batches of them wait for the ledger at a time,
 * and the garbage collector copies everything that they reference, twice (a third of all time was spent on that).
 */
interface SerialisedRecord extends Omit<MappedRecord, 'kind' | 'body' | 'memo'> {
  readonly kind: 'serialised';
  readonly body: string;
  readonly fingerprint: string;
  readonly memo?: string | undefined;
}

/** Rows that are not sent. `records` is 0 for another copy of a key that was already counted. */
interface LeftOut {
  readonly kind: 'left-out';
  readonly item: MappedRejection | MappedSkip;
  readonly records: 0 | 1;
}

/** The entries in source order: rejections wait too, so that their order is kept. */
type BatchEntry = SerialisedRecord | DeferredRecord | LeftOut | EndedBlock | KnownBlocks;

/** The end of a block, with the hashes of its keys. */
interface EndedBlock extends BlockEnd {
  readonly keys: readonly number[];
}

type Answer = LedgerMark | 'same' | undefined;

interface Query {
  readonly batch: readonly BatchEntry[];
  /** One answer for each entry with a key, in order. */
  readonly answers: Promise<readonly Answer[]>;
}

/** An entry with the answer of the ledger. `known`: unchanged, and not even mapped. */
type ComparedEntry =
  | { readonly kind: 'known'; readonly record: DeferredRecord; readonly mark: LedgerMark | undefined }
  | ComparedRecord
  | LeftOut
  | EndedBlock
  | KnownBlocks;

interface ComparedRecord {
  readonly kind: 'compared';
  readonly record: SerialisedRecord;
  readonly mark: LedgerMark | undefined;
}

/** A product of this job that gets a new url. */
export interface RenamedProduct extends OwnedKey {
  readonly to: string;
}

/** The files of a draft. */
interface DraftFiles extends Pick<Plan, 'rejectionsSha256' | 'heldSha256'> {
  readonly upserts: readonly PlannedShard[];
  /** Products that get a new url by their ids. */
  readonly renames: readonly PlannedShard[];
}

/**
 * A plan in progress: compares records with the ledger in batches, and writes operations and rejections to their
 * files immediately. While the ledger looks up one batch, the next is serialised. Rows with a memo in the ledger are
 * not mapped.
 */
export class PlanDraft {
  readonly tally: PlanTally;
  readonly watch: GuardWatch;
  /** The undecided keys that are unchanged. */
  readonly confirmed: string[] = [];
  /** Products created under a new url, to be deleted under their old key; those renamed by id are in `#renames`. */
  readonly renamed: RenamedProduct[] = [];
  readonly #options: DraftOptions;
  readonly #shards: ShardWriter;
  readonly #renames: ShardWriter;
  readonly #rejections: LineWriter;
  /** Most plans hold nothing. */
  #held: LineWriter | undefined;
  readonly #blocks: LineWriter | undefined;
  /** Whether all records since the last end of a block stay unchanged in later runs, once this run has sent them. */
  #isSettled = true;
  /**
   * Memos that the ledger lacks, of mapped records that equal the acknowledged body. Without them a catalog that was
   * sent before the mapping was edited would be mapped in every run.
   */
  readonly #facts: MemoFact[] = [];
  readonly #observed: ObservedKey[] = [];
  /**
   * Whether the ledger knew no record of the last batch, as in a first import. Then rows are mapped at once: while they wait for the
   * answer, the garbage collector copies all of their cells, and moves those of two batches to the old generation.
   */
  #isFirstImport = false;
  #batch: BatchEntry[] = [];
  #chars = 0;
  #pending: Query | undefined;

  constructor(options: DraftOptions) {
    this.#options = options;
    this.tally = new PlanTally(options.resource);
    this.#shards = new ShardWriter(options.folder, 'upserts');
    this.#renames = new ShardWriter(options.folder, 'renames');
    this.#rejections = new LineWriter(options.folder, REJECTIONS_FILE);
    this.#blocks = options.blocks && new LineWriter(options.folder, BLOCKS_FILE);
    const { guards = [], holding = [] } = options;
    this.watch = new GuardWatch(guards, new Set([...alwaysHoldingGuards(guards), ...holding]));
  }

  /** Takes a record with a unique key. */
  addRecord(record: MappedRecord): void {
    const serialised = serialise(record);
    this.#batch.push(serialised);
    this.#chars += serialised.body.length;
  }

  /** Takes rows with a unique key, to be mapped if necessary. */
  addDeferred(record: DeferredRecord): void {
    if (this.#isFirstImport && this.#options.mode !== 'create') {
      this.#takeMapped(record.map());
    } else {
      this.#batch.push(record);
      this.#chars += record.chars;
    }
  }

  #takeMapped(mapped: Mapped): void {
    if (mapped.kind === 'record') this.addRecord(mapped);
    else this.addLeftOut(mapped, 1);
  }

  /** Takes rows that are not sent. */
  addLeftOut(item: MappedRejection | MappedSkip, records: 0 | 1): void {
    this.#batch.push({ kind: 'left-out', item, records });
  }

  /** Takes blocks whose records are unchanged. */
  addKnownBlocks(blocks: KnownBlocks): void {
    this.#batch.push(blocks);
  }

  /** Takes the end of the block of the records since the last one. */
  endBlock(end: EndedBlock): void {
    this.#batch.push(end);
  }

  /** Whether `drain` should be awaited before more entries are added. */
  get isFull(): boolean {
    return this.#batch.length >= RECORDS_PER_QUERY || this.#chars >= CHARS_PER_QUERY;
  }

  /** Queries the ledger for the batch, processes the previous batch, and waits for the disk. */
  async drain(): Promise<void> {
    if (this.#batch.length > 0) await this.#queryLedger();
    await this.#shards.waitForWrites();
    await this.#renames.waitForWrites();
    await this.#rejections.waitForWrites();
    await this.#held?.waitForWrites();
    await this.#blocks?.waitForWrites();
    await this.#storeFacts(FACTS_AT_ONCE);
  }

  /** Compares all entries and writes them to disk; returns the shards of upserts and renames, and the checksums of rejections and held records. */
  async finish(): Promise<DraftFiles> {
    try {
      await this.drain();
      await this.#processBatch(this.#pending);
      const upserts = await this.#shards.finish();
      const renames = await this.#renames.finish();
      const rejectionsSha256 = await this.#rejections.finish();
      const heldSha256 = await this.#held?.finish();
      await this.#blocks?.finish();
      await this.#storeFacts(1);
      return { upserts, renames, rejectionsSha256, ...(heldSha256 === undefined ? {} : { heldSha256 }) };
    } catch (error) {
      await this.abandon();
      throw error;
    }
  }

  /** Waits for the current writes; shards may remain. */
  async abandon(): Promise<void> {
    await this.#rejections.abandon();
    await this.#held?.abandon();
    await this.#blocks?.abandon();
    await this.#shards.abandon();
    await this.#renames.abandon();
  }

  /** Passes the found memos to the ledger when there are enough. */
  async #storeFacts(least: number): Promise<void> {
    if (this.#facts.length >= least) await this.#options.ledger.remember(this.#facts.splice(0));
    if (this.#observed.length >= least) await this.#options.ledger.observe(this.#observed.splice(0));
  }

  async #queryLedger(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#chars = 0;
    const answers = this.#compare(batch);
    // Awaited after the previous batch; a rejection before that must not count as unhandled.
    answers.catch(() => {});
    const asked = this.#pending;
    this.#pending = { batch, answers };
    await this.#processBatch(asked);
  }

  async #compare(batch: readonly BatchEntry[]): Promise<readonly Answer[]> {
    const { ledger, job, resend } = this.#options;
    const keyed = batch.filter((entry) => entry.kind === 'serialised' || entry.kind === 'deferred');
    if (keyed.length === 0) return [];
    return await ledger.compare({
      job,
      keys: keyed.map(({ key }) => key),
      memos: keyed.map((entry) => (entry.kind === 'deferred' && !resend ? entry.memo : null)),
    });
  }

  async #processBatch(asked: Query | undefined): Promise<void> {
    if (asked === undefined) return;
    const answers = await asked.answers;
    if (answers.length > 0) this.#isFirstImport = answers.every((answer) => answer === undefined);
    let next = 0;
    const compared = asked.batch.map((entry) => {
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
    const bodies = await this.#acknowledgedBodies(compared);
    const kept = compared.map((one) => this.#withKeptFields(one, bodies));
    const updates = await this.#planUpdates(kept, bodies);
    for (const one of kept) {
      const update = one.kind === 'compared' ? updates.get(one.record) : undefined;
      this.#writeEntry(refuseOversized(withUpdate(one, update, bodies)), bodies, update);
    }
  }

  #compareRecord(record: SerialisedRecord, answer: Answer): ComparedEntry {
    const mark = answer === 'same' ? undefined : answer;
    if (mark !== undefined && this.#options.mode === 'create') return alreadyCreated(record);
    return { kind: 'compared', record, mark };
  }

  /** Rows with a memo in the ledger are unchanged; others are mapped now. */
  #compareDeferred(deferred: DeferredRecord, answer: Answer): ComparedEntry {
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

  /** The record with the fields that the job keeps as the store has acknowledged them, and pictures whose files are gone. */
  #withKeptFields(one: ComparedEntry, bodies: Map<SerialisedRecord, string | undefined>): ComparedEntry {
    const { keep: ofJob = [], advanced } = this.#options;
    if (one.kind !== 'compared' || (ofJob.length === 0 && one.record.lacksPictures === undefined)) return one;
    const acknowledged = bodies.get(one.record);
    if (acknowledged === undefined) return one;
    const [before, now]: unknown[] = [JSON.parse(acknowledged), JSON.parse(one.record.body)];
    if (!isJsonObject(before) || !isJsonObject(now)) return one;
    const losesPictures = one.record.lacksPictures && picturesOf(now) < picturesOf(before);
    const keep = losesPictures ? [...ofJob, 'images' as const] : ofJob;
    if (keep.length === 0) return one;
    const body = JSON.stringify(keepFields(now, before, keep, advanced));
    const record = { ...one.record, body, fingerprint: fingerprintOf(body) };
    bodies.set(record, acknowledged);
    return { ...one, record };
  }

  /** How the changed ones among the records are sent. */
  async #planUpdates(
    entries: readonly ComparedEntry[],
    bodies: ReadonlyMap<SerialisedRecord, string | undefined>,
  ): Promise<ReadonlyMap<SerialisedRecord, PlannedUpdate>> {
    const { updates, ledger, resend, resource } = this.#options;
    if (updates === undefined || resend) return new Map();
    const changed = entries.flatMap((one) => {
      if (one.kind !== 'compared' || one.mark === undefined) return [];
      const { record, mark } = one;
      const acknowledged = bodies.get(record);
      if (acknowledged === undefined || mark.fingerprint === record.fingerprint) return [];
      const isChanged = mark.fingerprint === IN_DOUBT || fieldChanges(acknowledged, record.body).length > 0;
      return isChanged ? [{ record, mark, acknowledged }] : [];
    });
    if (changed.length === 0) return new Map();
    const views = await ledger.views(changed.map(({ record }) => record.key));
    const known = changed.map((change, index) => ({
      ...change,
      ...(views[index] ?? { observation: undefined, doubted: null }),
    }));
    const toRead = known.flatMap(({ record: { key }, mark: { id }, acknowledged: body, ...view }) =>
      id === null || view.doubted === null ? [] : [{ key, id, body, ...view }],
    );
    const found = (await updates.observe?.(toRead)) ?? new Map<string, Observation>();
    return new Map(
      known.map(({ record, ...change }) => {
        const { key, body } = record;
        const observation = found.get(key) ?? change.observation;
        const { fingerprint } = change.mark;
        const update = planUpdate({ ...change, body, observation }, updates);
        const now = update.decided ?? (found.has(key) ? observation : undefined);
        if (updates.isLocked && now !== undefined && fingerprint !== IN_DOUBT)
          this.#observed.push({ key, fingerprint, observation: now });
        // Reports and messages quote them.
        return [
          record,
          resource === 'contacts' ? { ...update, hits: update.hits.map(withoutValues) } : update,
        ];
      }),
    );
  }

  /** The acknowledged bodies of the records that differ from them. */
  async #acknowledgedBodies(
    compared: readonly ComparedEntry[],
  ): Promise<Map<SerialisedRecord, string | undefined>> {
    const differing: SerialisedRecord[] = [];
    const continued: SerialisedRecord[] = [];
    for (const one of compared) {
      if (one.kind !== 'compared') continue;
      if (one.mark === undefined) {
        if (this.#predecessorOf(one.record) !== undefined) continued.push(one.record);
      } else if (one.mark.fingerprint !== one.record.fingerprint) differing.push(one.record);
    }
    const acknowledged = new Map<SerialisedRecord, string | undefined>();
    const set = (records: readonly SerialisedRecord[], bodies: readonly (string | undefined)[]) => {
      for (const [index, record] of records.entries()) acknowledged.set(record, bodies[index]);
    };
    if (differing.length > 0) set(differing, await this.#readBodies(differing.map(({ key }) => key)));
    if (continued.length > 0) {
      const keys = continued.map((record) => this.#predecessorOf(record)?.key ?? '');
      set(continued, (await this.#options.predecessors?.bodies(keys)) ?? []);
    }
    return acknowledged;
  }

  #predecessorOf({ key }: Pick<SerialisedRecord, 'key'>): Predecessor | undefined {
    return this.#options.predecessors?.certain.get(key);
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

  #compareWithBody(
    record: SerialisedRecord,
    mark: LedgerMark | undefined,
    bodies: ReadonlyMap<SerialisedRecord, string | undefined>,
    hasConflicts: boolean,
  ): RecordComparison {
    const { key, body, inStore } = record;
    if (inStore === null) return { standing: 'new', ...NO_HITS };
    if (inStore !== undefined && this.tally.changes.add(key, inStore))
      return { standing: 'changed', ...NO_HITS };
    const isNew = mark === undefined && this.#predecessorOf(record) === undefined;
    this.watch.count(isNew);
    if (isNew) {
      const changes = this.#options.resend ? undefined : this.#options.changesInStore?.(key, body);
      if (changes !== undefined)
        return { standing: this.tally.changes.add(key, changes) ? 'changed' : 'unchanged', ...NO_HITS };
      const found = this.watch.hitsOfNew(key, body);
      const candidates = this.#options.predecessors?.waiting.get(key) ?? [];
      if (candidates.length === 0) return { standing: 'new', ...found };
      this.tally.countWaiting(key, candidates, this.#options.predecessors?.adopting?.has(key) === true);
      const hits = candidates.map((one) => ({ field: 'url', what: null, old: one.key, new: key }));
      return { standing: 'new', hits: [...hits, ...found.hits], held: true };
    }
    const same = standingOfEqual(mark, this.#options.resend);
    if (mark?.fingerprint === record.fingerprint) return { standing: same, ...NO_HITS };
    const acknowledged = bodies.get(record);
    if (acknowledged === undefined) return { standing: 'changed', ...this.watch.hitsOfNew(key, body) };
    let variants: VariantPairs | undefined;
    const changes = fieldChanges(acknowledged, body, (paired) => {
      variants = paired;
      this.tally.moves.add(key, paired);
    });
    if (changes.length === 0) return { standing: same, ...NO_HITS };
    const found = this.watch.hitsOfChanged(key, changes, variants);
    if (found.held) return { standing: 'changed', ...found };
    const isSendable = this.tally.changes.add(key, changes, hasConflicts);
    return { standing: isSendable ? 'changed' : same, ...found };
  }

  #writeEntry(
    one: ComparedEntry,
    bodies: ReadonlyMap<SerialisedRecord, string | undefined>,
    update?: PlannedUpdate,
  ): void {
    switch (one.kind) {
      case 'known':
        this.watch.count(false);
        this.#countRecord(one.record, one.mark, 'unchanged');
        if (one.mark !== undefined) this.#unsettleIf(one.mark.job !== this.#options.job);
        break;
      case 'compared':
        this.#writeCompared(one.record, one.mark, bodies, update);
        break;
      case 'left-out':
        this.#unsettleIf(true);
        this.#writeLeftOut(one);
        break;
      case 'block-end':
        if (this.#isSettled && one.block !== null) this.#addBlocks(encodeBlock(one.block, one.keys));
        this.#isSettled = true;
        break;
      case 'known-blocks': {
        const { records, rows } = one.index.total(one);
        this.watch.count(false, records);
        this.tally.countUnchanged(records, rows);
        this.#addBlocks(one.index.encoded(one));
        break;
      }
      default:
        one satisfies never;
    }
  }

  #unsettleIf(isOpen: boolean): void {
    if (isOpen) this.#isSettled = false;
  }

  #addBlocks({ buffer, byteOffset, byteLength }: Uint32Array): void {
    this.#blocks?.add(new Uint8Array(buffer, byteOffset, byteLength));
  }

  #writeLeftOut({ item, records }: LeftOut): void {
    if (item.kind === 'skipped') {
      this.tally.countSkipped(item, records);
      return;
    }
    const { key, rows, spans, reason } = item;
    this.tally.countRejected(item, records);
    this.#rejections.add(rejectionLine({ key, records, rows, spans, reason }));
  }

  #writeCompared(
    record: SerialisedRecord,
    mark: LedgerMark | undefined,
    bodies: ReadonlyMap<SerialisedRecord, string | undefined>,
    update: PlannedUpdate | undefined,
  ): void {
    const { hits: found = [] } = update ?? {};
    const { standing, ...guarded } = this.#compareWithBody(record, mark, bodies, found.length > 0);
    const conflicts = standing === 'unchanged' ? [] : found;
    const hits = [...guarded.hits, ...conflicts];
    const held = guarded.held || conflicts.length > 0;
    const { job } = this.#options;
    this.#unsettleIf(
      held ||
        record.memo === undefined ||
        // A contact with an emptied field, which the store keeps, is unchanged and noted in every run.
        (standing === 'unchanged' && (mark?.job !== job || mark.fingerprint !== record.fingerprint)),
    );
    if (standing !== 'unchanged' && update !== undefined) this.tally.countEdited(record.key, update, held);
    if (held) {
      this.#hold(record, mark, standing, hits);
      return;
    }
    this.#countRecord(record, mark, standing);
    if (standing !== 'unchanged') {
      if (this.#options.resource === 'contacts')
        this.tally.countSentContact(record.key, JSON.parse(record.body));
      if (this.#options.losesPrices === true && hasSeveralPrices(record.body))
        this.tally.countPriceLoss(record.key);
      this.#send(record, mark, update?.part);
      return;
    }
    const { key, fingerprint, memo } = record;
    if (memo !== undefined && mark?.fingerprint === fingerprint && mark.memo !== memo) {
      this.#facts.push({ key, fingerprint, memo });
    }
  }

  #send(record: SerialisedRecord, mark: LedgerMark | undefined, part: ProductPart | undefined): void {
    const operation = this.#makeOperation(record, mark, part);
    if (operation.kind === 'upsert-contact') this.tally.created++;
    const predecessor = mark === undefined ? this.#predecessorOf(record) : undefined;
    if (predecessor !== undefined)
      this.tally.countContinued(
        record.key,
        predecessor,
        'putId' in operation && operation.putId !== undefined,
      );
    const renamed = predecessor?.renamed;
    if (renamed === undefined || operation.kind !== 'upsert-product') {
      this.#shards.add(operation);
      return;
    }
    if (operation.putId === undefined) {
      this.renamed.push({ ...renamed, to: record.key });
      this.#shards.add(operation);
      return;
    }
    // The two lines belong together: they are begun and recorded as one.
    this.#renames.add(operation);
    this.#renames.add(deleteOfRenamed({ ...renamed, to: record.key }, operation.putId, undefined));
  }

  #hold(
    record: SerialisedRecord,
    mark: LedgerMark | undefined,
    standing: Standing,
    hits: readonly GuardHit[],
  ): void {
    this.tally.countHeld(record, standing);
    this.#held ??= new LineWriter(this.#options.folder, HELD_FILE);
    const before = mark?.fingerprint ?? null;
    this.#held.add(heldLine({ operation: this.#makeOperation(record, mark), before, hits }));
  }

  #countRecord(record: TalliedRecord, mark: LedgerMark | undefined, standing: Standing): void {
    this.tally.countRecord(record, standing);
    if (standing === 'unchanged' && this.#options.undecided?.has(record.key) === true)
      this.confirmed.push(record.key);
    if (mark !== undefined && mark.job !== this.#options.job && this.#options.mode !== 'update') {
      this.tally.countTakeover(mark.job, record.key, standing);
    }
  }

  #makeOperation(
    record: SerialisedRecord,
    mark: LedgerMark | undefined,
    part?: ProductPart,
  ): UnplacedOperation {
    const { key, rows, spans, body, fingerprint, memo } = record;
    const upsert = { key, rows, spans, body, fingerprint, memo };
    switch (this.#options.resource) {
      case 'products': {
        const { method } = this.#options.predecessors ?? {};
        const renamed = mark === undefined ? this.#predecessorOf(record)?.renamed : undefined;
        return {
          kind: 'upsert-product',
          ...upsert,
          knownId: mark?.id ?? null,
          part,
          owner: record.owner ?? (this.#options.mode === 'update' ? mark?.job : undefined),
          ...(renamed === undefined ? {} : { renames: renamed.key }),
          ...(method === 'put' && renamed?.id != null ? { putId: renamed.id, knownId: renamed.id } : {}),
        };
      }
      case 'contacts':
        return isNewContactKey(key)
          ? { kind: 'upsert-contact', ...upsert }
          : { kind: 'update-contact', ...upsert, part };
      default:
        return this.#options.resource satisfies never;
    }
  }
}

/** Personal data is not quoted. */
function withoutValues(hit: GuardHit): GuardHit {
  return { ...hit, old: 'not shown', new: 'not shown' };
}

/** The result for a record whose body the store has acknowledged. One that continues a predecessor is sent under its new key. */
function standingOfEqual(mark: LedgerMark | undefined, resend: boolean): Standing {
  if (mark === undefined) return 'changed';
  return resend || mark.fingerprint === IN_DOUBT ? 'resent' : 'unchanged';
}

interface RecordComparison extends RecordHits {
  readonly standing: Standing;
}

const NO_HITS: RecordHits = { hits: [], held: false };

/** Serialised once, so that the fingerprint belongs to the body that is sent. */
function serialise(record: MappedRecord): SerialisedRecord {
  const body = JSON.stringify(record.body);
  return { ...record, kind: 'serialised', body, fingerprint: fingerprintOf(body) };
}

function picturesOf({ images }: JsonObject): number {
  return Array.isArray(images) ? images.length : 0;
}

function hasSeveralPrices(body: string): boolean {
  const prices = [...objectsIn(JSON.parse(body), 'variants')].map((variant) => variant['price']);
  return new Set(prices).size > 1;
}

/** The delete of a product under its old key; with `idLookupBody`, its id must be proved again. */
export function deleteOfRenamed(
  { key, to }: RenamedProduct,
  id: number,
  idLookupBody: string | undefined,
): UnplacedOperation {
  return { kind: 'delete-product', key, id, idLookupBody, renamedTo: to, rows: 0, spans: [] };
}

/** The record with the fields that stay as the store has them. Its rows do not make this body without the edit: it has no memo. */
function withUpdate(
  one: ComparedEntry,
  update: PlannedUpdate | undefined,
  bodies: Map<SerialisedRecord, string | undefined>,
): ComparedEntry {
  if (one.kind !== 'compared' || update === undefined || update.body === one.record.body) return one;
  const { body } = update;
  const record = { ...one.record, body, fingerprint: fingerprintOf(body), memo: undefined };
  bodies.set(record, bodies.get(one.record));
  return { ...one, record };
}

/** A body that the ledger could not unpack again is not sent. */
function refuseOversized(one: ComparedEntry): ComparedEntry {
  if (one.kind !== 'compared' || one.record.body.length <= MAX_BODY_BYTES / MAX_BYTES_PER_CHARACTER)
    return one;
  const { key, rows, spans, body } = one.record;
  const bytes = Buffer.byteLength(body);
  if (bytes <= MAX_BODY_BYTES) return one;
  const mebibytes = (size: number) => Math.ceil(size / 1024 / 1024);
  const reason = {
    code: 'record-too-large',
    message: `its request has ${mebibytes(bytes)} MiB, more than ${mebibytes(MAX_BODY_BYTES)} MiB: shorten its texts, or check that its rows belong to one record`,
  };
  return { kind: 'left-out', item: { kind: 'rejected', key, rows, spans, reason }, records: 1 };
}

/** Of UTF-8 for one UTF-16 code unit. */
const MAX_BYTES_PER_CHARACTER = 3;

/** With `mode: create`, a product that the ledger knows is skipped. */
function alreadyCreated({
  key,
  rows,
  spans,
}: Pick<MappedSkip, 'rows' | 'spans'> & { readonly key: string }): LeftOut {
  const reason = {
    code: 'already-created',
    message: 'Storeferry has sent this product before, and the job has `mode: create`',
  };
  return { kind: 'left-out', item: { kind: 'skipped', key, rows, spans, reason }, records: 1 };
}
