import {
  type BlockIndex,
  encodeBlock,
  type HashKey,
  type KeyHash,
  type KnownBlocks,
} from '../model/block-index.ts';
import type { Guard, GuardHit } from '../model/guard.ts';
import { type JsonObject, member, objectsIn } from '../model/json-object.ts';
import type {
  DeferredRecord,
  FieldChange,
  Mapped,
  MappedRecord,
  MappedRejection,
  SourceItem,
} from '../model/mapped-record.ts';
import { isNewContactKey } from '../model/operation.ts';
import type { DuplicatesFound, DuplicatesPolicy, Plan, PlannedShard } from '../model/plan.ts';
import type { RunFolder } from '../state/artifacts.ts';
import { IN_DOUBT, type LedgerMark, type MemoFact } from '../state/state.ts';
import { fieldChanges, type VariantPairs } from './changes/field-changes.ts';
import { type CopySpool, CopyTally } from './copies/copy-spool.ts';
import { type ResolvedCopy, resolveCopies } from './copies/resolve-copies.ts';
import { alwaysHoldingGuards, GuardWatch, type RecordHits } from './judge-safety.ts';
import { KeySet } from './key-set.ts';
import { deleteOfRenamed, type RenamedProduct } from './plan-deletes.ts';
import {
  BLOCKS_FILE,
  HELD_FILE,
  heldLine,
  type LeftOutProduct,
  LIKENESSES_FILE,
  LineWriter,
  REJECTIONS_FILE,
  REPLACED_FILE,
  rejectionLine,
} from './plan-file.ts';
import { PlanTally, type Standing, type TalliedRecord } from './plan-tally.ts';
import {
  type BatchEntry,
  type ComparedEntry,
  type ComparedRecord,
  type CompareOptions,
  type LedgerAnswer,
  type LeftOut,
  makeOperation,
  RecordComparer,
  serialise,
} from './record-comparer.ts';
import { fingerprintOf, ShardWriter } from './shard-writer.ts';
import type { Twins, TwinWatch } from './twin-watch.ts';

/**
 * The number of records per query to the ledger, fewer if their bodies are large. With 500, more of them outlived the
 * nursery of the garbage collector (a tenth more time and 100 MiB more memory); 100 brought no further gain.
 */
const RECORDS_PER_QUERY = 200;

const CHARS_PER_QUERY = 4 * 1024 * 1024;
/** How many memos the ledger gets at once: each call is a commit. */
const MEMOS_PER_COMMIT = 2_000;

/** The settings of a draft. */
export interface DraftOptions extends CompareOptions {
  readonly folder: RunFolder;
  /**
   * The fields in which the store differs from a body; undefined where this record was not read there, which then counts as new. Asked
   * for records that the ledger does not know.
   */
  readonly changesInStore?: ((key: string, body: string) => readonly FieldChange[] | undefined) | undefined;
  /** The store gives all variants of a product one price: products that lose some are counted, and their plan stops. */
  readonly losesPrices?: boolean;
  readonly guards?: readonly Guard[] | undefined;
  /** Guards whose `share` an earlier draft has found exceeded, so that they hold records. */
  readonly holding?: readonly Guard[];
  /** Takes the urls of the source. */
  readonly twinWatch?: Pick<TwinWatch, 'note'>;
  /** Those of one product in the store, or perhaps, as `TwinWatch.find` gives them. */
  readonly twins?: Twins;
  /** Keys that earlier runs rejected or held: the draft lists those that are unchanged (`confirmed`). */
  readonly undecided?: KeySet | undefined;
  readonly duplicates: DuplicatesPolicy;
  /** The most copies of one key that are merged. */
  readonly maxMerged: number;
  /** Replaces the usual hash. Tests use a poor one to show that equal hashes do not lose records. */
  readonly hashKey?: HashKey | undefined;
  /**
   * Set where the blocks of the source are written to `BLOCKS_FILE`, for the next run: without update, sample and `admit`. They are read
   * instead of `openMapped`.
   */
  readonly blocks?: BlockOptions;
}

/** Reads a source in blocks. */
export interface BlockOptions {
  readonly open: () => AsyncIterable<readonly SourceItem[]>;
  /** Blocks of an earlier run, in which all records were as the ledger has them at this position. */
  readonly index: BlockIndex | undefined;
  readonly position: string;
}

/** Copies of keys that are known to repeat. */
export interface RepeatedCopies {
  readonly keys: KeySet;
  readonly spool: CopySpool;
}

/** A batch that waits for the ledger. */
interface PendingBatch {
  readonly batch: readonly BatchEntry[];
  readonly answers: Promise<readonly LedgerAnswer[]>;
}

/** The files of a draft. */
interface DraftFiles extends Pick<Plan, 'rejectionsSha256' | 'heldSha256'> {
  readonly upserts: readonly PlannedShard[];
  /** Products that get a new url by their ids. */
  readonly renames: readonly PlannedShard[];
}

/** What the plan does with a record, unless a guard holds it. */
interface RecordVerdict extends RecordHits {
  readonly standing: Standing;
}

const NO_HITS: RecordHits = { hits: [], held: false };

/**
 * A plan in progress: finds repeated keys while the source is read, judges the records of each batch, and writes operations and
 * rejections to their files immediately. While the ledger looks up one batch, the next is serialised. A record with a unique key is
 * drafted, copies of known repeated keys are held back. An unknown repetition ends the drafting; after that keys are only collected.
 */
export class PlanDraft {
  readonly tally: PlanTally;
  readonly watch: GuardWatch;
  /** The undecided keys that are unchanged. */
  readonly confirmed: string[] = [];
  /** Products created under a new url, to be deleted under their old key; those renamed by id are in `#renames`. */
  readonly renamed: RenamedProduct[] = [];
  /** Every key of the source, of skipped and rejected rows too. */
  readonly seen: KeySet;
  /** Keys that repeat, perhaps with a few that only share a hash with another key. */
  readonly repeated: KeySet;
  rows = 0;
  readonly #options: DraftOptions;
  readonly #repeated: RepeatedCopies | null;
  readonly #copies = new CopyTally();
  /** The hashes of the keys since the last end of a block. */
  #blockKeys: number[] = [];
  /** Whether copies were held back since then: their records stand elsewhere. */
  #hasCopies = false;
  readonly #comparer: RecordComparer;
  readonly #shards: ShardWriter;
  readonly #renames: ShardWriter;
  readonly #rejections: LineWriter;
  /** Of mirrors alone. */
  #likenesses: LineWriter | undefined;
  /** Most plans hold nothing. */
  #held: LineWriter | undefined;
  #replaced: LineWriter | undefined;
  readonly #blocks: LineWriter | undefined;
  /** Whether all records since the last end of a block stay unchanged in later runs, once this run has sent them. */
  #mayKeepBlock = true;
  /**
   * Memos that the ledger lacks, of mapped records that equal the acknowledged body. Without them a catalog that was
   * sent before the mapping was edited would be mapped in every run.
   */
  readonly #memos: MemoFact[] = [];
  /**
   * Whether the ledger knew no record of the last batch, as in a first import. Then rows are mapped at once: while they wait for the
   * answer, the garbage collector copies all of their cells, and moves those of two batches to the old generation.
   */
  #isFirstImport = false;
  #batch: BatchEntry[] = [];
  #chars = 0;
  #pending: PendingBatch | undefined;

  constructor(options: DraftOptions, repeated: RepeatedCopies | null) {
    this.#options = options;
    this.#repeated = repeated;
    this.seen = new KeySet(options.hashKey, options.blocks?.index?.allRecords);
    this.repeated = new KeySet(options.hashKey);
    this.#comparer = new RecordComparer(options);
    this.tally = new PlanTally(options.resource);
    this.#shards = new ShardWriter(options.folder, 'upserts');
    this.#renames = new ShardWriter(options.folder, 'renames');
    this.#rejections = new LineWriter(options.folder, REJECTIONS_FILE);
    this.#blocks = options.blocks && new LineWriter(options.folder, BLOCKS_FILE);
    const { guards = [], holding = [] } = options;
    this.watch = new GuardWatch(guards, new Set([...alwaysHoldingGuards(guards), ...holding]));
  }

  /** Takes the next item of the source. */
  take(item: SourceItem): void {
    switch (item.kind) {
      case 'block-end':
        this.#add({ ...item, block: this.#hasCopies ? null : item.block, keys: this.#blockKeys });
        this.#blockKeys = [];
        this.#hasCopies = false;
        break;
      case 'known-blocks':
        this.#takeKnown(item);
        break;
      case 'deferred':
        this.rows += item.rows;
        this.#takeDeferred(item);
        break;
      default:
        this.rows += item.rows;
        this.#takeMapped(item);
    }
  }

  /** The copies that were held back, each sent, rejected or left out. */
  *repeatedCopies(): Generator<ResolvedCopy> {
    for (const { groups } of this.#repeated?.spool.owners() ?? []) {
      for (const group of groups) {
        if (group.copies > 1) this.#copies.count(group);
        yield* resolveCopies(group, this.#options);
      }
    }
  }

  /** Keys that occurred more than once; null if there were none. */
  get duplicates(): DuplicatesFound | null {
    return this.#copies.found(this.#options.duplicates);
  }

  /** Drafts what was made of rows. `records`: 0 where other rows of their record are counted already. */
  addMapped(item: Mapped, records: 0 | 1): void {
    if (item.kind !== 'record') this.#add({ kind: 'left-out', item, records });
    else if (this.repeated.size === 0) {
      const serialised = serialise(item);
      this.#add(serialised);
      this.#chars += serialised.body.length;
    }
  }

  #add(entry: BatchEntry): void {
    if (this.repeated.size === 0) this.#batch.push(entry);
  }

  /** The keys of known blocks count as if their rows had been read. */
  #takeKnown(known: KnownBlocks): void {
    const { index, from, to } = known;
    this.rows += index.total(known).rows;
    for (let block = from; block <= to; block++) {
      index.eachKey(block, (key) => {
        const before = this.seen.addHash(key, true);
        if (before === 'noted') this.tally.uncountSkipped(key);
        if (before === 'claimed') this.#repeat(key);
      });
    }
    this.#add(known);
  }

  #repeat(key: Readonly<KeyHash>): void {
    if (this.#repeated !== null) throw new Error('the source was not the same when it was read again');
    this.repeated.addHash(key, true);
  }

  #takeMapped(item: Mapped): void {
    switch (item.kind) {
      case 'record':
      case 'rejected':
        if (item.key === null || this.#claim(item.key, item)) this.addMapped(item, 1);
        break;
      case 'skipped': {
        const before = item.key === null ? undefined : this.seen.add(item.key, false);
        if (before === 'absent') this.tally.noteSkipped(item.reason, this.seen.lastHash);
        const known = before === 'noted' || before === 'claimed';
        this.addMapped(item, known ? 0 : 1);
        break;
      }
      default:
        item satisfies never;
    }
  }

  /**
   * Rows that are not mapped yet claim their key. If they are skipped later, too much was claimed, and a record with
   * the same key counts as a copy until the second pass. For a repeated key, the kind of the rows must be known at
   * once.
   */
  #takeDeferred(item: DeferredRecord): void {
    if (this.#repeated?.keys.has(item.key) === true || this.seen.has(item.key)) {
      this.#takeMapped(item.map());
      return;
    }
    this.seen.add(item.key, true);
    this.#noteKey();
    if (this.repeated.size > 0) return;
    if (this.#isFirstImport && this.#options.mode !== 'create') {
      this.addMapped(item.map(), 1);
    } else {
      this.#add(item);
      this.#chars += item.chars;
    }
  }

  /** Claims the key of a record or rejection; false if it is held back. */
  #claim(key: string, item: MappedRecord | MappedRejection): boolean {
    const before = this.seen.add(key, true);
    this.#noteKey();
    if (before === 'noted') this.tally.uncountSkipped(this.seen.lastHash);
    if (this.#repeated?.keys.has(key) === true) {
      this.#hasCopies = true;
      const print = item.kind === 'record' ? fingerprintOf(JSON.stringify(item.body)) : null;
      this.#repeated.spool.add(key, item, print);
      return false;
    }
    if (before === 'claimed') this.#repeat(this.seen.lastHash);
    return true;
  }

  #noteKey(): void {
    const { high, low } = this.seen.lastHash;
    if (this.#options.blocks !== undefined) this.#blockKeys.push(high, low);
  }

  /** Whether `drain` should be awaited before more entries are added. */
  get isFull(): boolean {
    return this.#batch.length >= RECORDS_PER_QUERY || this.#chars >= CHARS_PER_QUERY;
  }

  get #writers() {
    const lines = [this.#rejections, this.#likenesses, this.#held, this.#replaced, this.#blocks];
    const writers = [this.#shards, this.#renames, ...lines];
    return writers.filter((writer) => writer !== undefined);
  }

  /** Queries the ledger for the batch, processes the previous batch, and waits for the disk. */
  async drain(): Promise<void> {
    if (this.#batch.length > 0) {
      const batch = this.#batch;
      this.#batch = [];
      this.#chars = 0;
      const answers = this.#comparer.queryLedger(batch);
      // Awaited after the previous batch; a rejection before that must not count as unhandled.
      answers.catch(() => {});
      const previous = this.#pending;
      this.#pending = { batch, answers };
      await this.#processBatch(previous);
    }
    for (const writer of this.#writers) await writer.waitForWrites();
    await this.#passToLedger(MEMOS_PER_COMMIT);
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
      await this.#likenesses?.finish();
      await this.#replaced?.finish();
      await this.#blocks?.finish();
      await this.#passToLedger(1);
      return { upserts, renames, rejectionsSha256, ...(heldSha256 !== undefined && { heldSha256 }) };
    } catch (error) {
      await this.abandon();
      throw error;
    }
  }

  /** Waits for the current writes; shards may remain. */
  async abandon(): Promise<void> {
    for (const writer of this.#writers) await writer.abandon();
  }

  /** Passes on memos and observations when there are at least so many. */
  async #passToLedger(least: number): Promise<void> {
    const { ledger } = this.#options;
    const { observed } = this.#comparer;
    if (this.#memos.length >= least) await ledger.remember(this.#memos.splice(0));
    if (observed.length >= least) await ledger.observe(observed.splice(0));
  }

  async #processBatch(pending: PendingBatch | undefined): Promise<void> {
    if (pending === undefined) return;
    const answers = await pending.answers;
    if (answers.length > 0) this.#isFirstImport = answers.every((answer) => answer === undefined);
    for (const entry of await this.#comparer.compare(pending.batch, answers)) this.#writeEntry(entry);
  }

  #writeEntry(entry: ComparedEntry): void {
    switch (entry.kind) {
      case 'known': {
        const { record, mark } = entry;
        this.#noteUrl(record.key);
        this.watch.count('known');
        this.#countRecord(record, mark, 'unchanged');
        if (mark !== undefined && mark.job !== this.#options.job) this.#mayKeepBlock = false;
        break;
      }
      case 'compared':
        this.#writeCompared(entry);
        break;
      case 'left-out':
        this.#mayKeepBlock = false;
        this.#writeLeftOut(entry);
        break;
      case 'block-end':
        if (this.#mayKeepBlock && entry.block !== null) this.#addBlocks(encodeBlock(entry.block, entry.keys));
        this.#mayKeepBlock = true;
        break;
      case 'known-blocks': {
        const { records, rows } = entry.index.total(entry);
        this.watch.count('known', records);
        this.tally.countUnchanged(records, rows);
        this.#addBlocks(entry.index.encoded(entry));
        break;
      }
      default:
        entry satisfies never;
    }
  }

  /** Notes the url of a product that the store has, or may get. */
  #noteUrl(url: string): void {
    this.#options.twinWatch?.note(url);
    // The next run must find both again.
    if (this.#options.twins?.has(url) === true) this.#mayKeepBlock = false;
  }

  #addBlocks({ buffer, byteOffset, byteLength }: Uint32Array): void {
    this.#blocks?.add(new Uint8Array(buffer, byteOffset, byteLength));
  }

  #writeLeftOut({ item, records }: LeftOut): void {
    const { kind, key, rows, spans, reason, likeness } = item;
    // With `mode: create`, a skipped product may have been created.
    if (key !== null && (kind === 'rejected' || this.#options.mode === 'create')) this.#noteUrl(key);
    if (key !== null && likeness !== undefined && this.#options.mode === 'mirror') {
      this.#likenesses ??= new LineWriter(this.#options.folder, LIKENESSES_FILE);
      this.#likenesses.add(`${JSON.stringify({ key, kind, likeness } satisfies LeftOutProduct)}\n`);
    }
    if (kind === 'skipped') {
      this.tally.countSkipped(item, records);
      return;
    }
    this.tally.countRejected(item, records);
    this.#rejections.add(rejectionLine({ key, records, rows, spans, reason }));
  }

  #writeCompared(compared: ComparedRecord): void {
    const { record, mark, update, acknowledged = '{}' } = compared;
    this.#noteUrl(record.key);
    const { standing, ...guarded } = this.#judge(compared);
    const conflicts = standing === 'unchanged' ? [] : (update?.hits ?? []);
    const held = guarded.held || conflicts.length > 0;
    const { job, resource, losesPrices, changesInStore } = this.#options;
    if (
      held ||
      record.memo === undefined ||
      // A contact with an emptied field, which the store keeps, is unchanged and noted in every run.
      (standing === 'unchanged' && (mark?.job !== job || mark.fingerprint !== record.fingerprint))
    )
      this.#mayKeepBlock = false;
    if (update !== undefined && (standing !== 'unchanged' || update.kept.length > 0))
      this.tally.countEdited(record.key, update, held);
    if (held) {
      this.#hold(compared, standing, [...guarded.hits, ...conflicts]);
      return;
    }
    this.#countRecord(record, mark, standing);
    if (standing !== 'unchanged') {
      // One that is created has nothing in the store; where that was not read, the store may have its address.
      const isCreated = changesInStore !== undefined && isNewContactKey(record.key);
      if (resource === 'contacts' && !isCreated)
        this.tally.countSentContact(record.key, JSON.parse(record.body), JSON.parse(acknowledged));
      this.#noteReplaced(record.key, update?.replaced ?? {});
      if (losesPrices === true && hasSeveralPrices(record.body)) this.tally.countPriceLoss(record.key);
      this.#send(compared);
      return;
    }
    const { key, fingerprint, memo } = record;
    if (memo !== undefined && mark?.fingerprint === fingerprint && mark.memo !== memo) {
      this.#memos.push({ key, fingerprint, memo });
    }
  }

  #judge({ record, mark, predecessor, acknowledged, update }: ComparedRecord): RecordVerdict {
    const { key, body, inStore } = record;
    const { resend, changesInStore, predecessors } = this.#options;
    if (inStore === null) return { standing: 'new', ...NO_HITS };
    if (inStore !== undefined && this.tally.changes.addSendable(key, inStore))
      return { standing: 'changed', ...NO_HITS };
    const isNew = mark === undefined && predecessor === undefined;
    this.watch.count(isNew ? 'new' : 'known');
    const twin = this.#options.twins?.get(key);
    if (twin != null && (resend || mark?.fingerprint !== record.fingerprint)) {
      this.tally.countTwin(key, twin.isSame);
      const hit = { field: 'url', what: null, old: twin.of, new: key };
      if (twin.isSame) return { standing: 'changed', hits: [hit], held: true };
    }
    if (isNew) {
      const changes = resend ? undefined : changesInStore?.(key, body);
      if (changes !== undefined)
        return {
          standing: this.tally.changes.addSendable(key, changes) ? 'changed' : 'unchanged',
          ...NO_HITS,
        };
      const found = this.watch.hitsOfNew(key, body);
      const candidates = predecessors?.waiting.get(key) ?? [];
      if (candidates.length === 0) return { standing: 'new', ...found };
      this.tally.countWaiting(key, candidates, predecessors?.adopting?.has(key) === true);
      const hits = candidates.map((one) => ({ field: 'url', what: null, old: one.key, new: key }));
      return { standing: 'new', hits: [...hits, ...found.hits], held: true };
    }
    const same = standingOfEqual(mark, resend);
    if (mark?.fingerprint === record.fingerprint) return { standing: same, ...NO_HITS };
    if (acknowledged === undefined) return { standing: 'changed', ...this.watch.hitsOfNew(key, body) };
    let variants: VariantPairs | undefined;
    const changes = fieldChanges(acknowledged, body, (paired) => {
      variants = paired;
      this.tally.moves.add(key, paired);
    }).map((change) => ({ ...change, old: member(update?.replaced ?? {}, change.field) ?? change.old }));
    if (changes.length === 0) return { standing: same, ...NO_HITS };
    const found = this.watch.hitsOfChanged(key, changes, variants);
    if (found.held) return { standing: 'changed', ...found };
    const isSendable = this.tally.changes.addSendable(key, changes, {
      isHeld: update !== undefined && update.hits.length > 0,
      // Under a new url a product may be created.
      keepsAbsent:
        predecessor?.renamed === undefined &&
        (update?.part !== undefined || this.#options.updates?.partByKey === true),
    });
    return { standing: isSendable ? 'changed' : same, ...found };
  }

  #send(compared: ComparedRecord): void {
    const { record, predecessor, update } = compared;
    const operation = makeOperation(compared, this.#options, update);
    if (operation.kind === 'upsert-contact') this.tally.countCreated(record);
    const putId = operation.kind === 'upsert-product' ? operation.putId : undefined;
    if (predecessor !== undefined) this.tally.countContinued(record.key, predecessor, putId !== undefined);
    if (predecessor?.renamed === undefined) {
      this.#shards.add(operation);
      return;
    }
    const renamed = { ...predecessor.renamed, to: record.key };
    if (putId === undefined) {
      this.renamed.push(renamed);
      this.#shards.add(operation);
      return;
    }
    // The two lines belong together: they are begun and recorded as one.
    this.#renames.add(operation);
    this.#renames.add(deleteOfRenamed(renamed, putId, undefined));
  }

  #hold(compared: ComparedRecord, standing: Standing, hits: readonly GuardHit[]): void {
    const { record, mark } = compared;
    this.tally.countHeld(record, standing);
    this.#held ??= new LineWriter(this.#options.folder, HELD_FILE);
    const before = mark?.fingerprint ?? null;
    this.#held.add(heldLine({ operation: makeOperation(compared, this.#options), before, hits }));
  }

  #noteReplaced(key: string, values: JsonObject): void {
    const fields = Object.keys(values);
    if (fields.length === 0) return;
    for (const field of fields) this.tally.countReplaced(key, field);
    this.#replaced ??= new LineWriter(this.#options.folder, REPLACED_FILE);
    this.#replaced.add(`${JSON.stringify({ key, values })}\n`);
  }

  #countRecord(record: TalliedRecord, mark: LedgerMark | undefined, standing: Standing): void {
    this.tally.countRecord(record, standing);
    if (standing === 'unchanged' && this.#options.undecided?.has(record.key) === true)
      this.confirmed.push(record.key);
    if (mark !== undefined && mark.job !== this.#options.job && this.#options.mode !== 'update') {
      this.tally.countTakeover(mark.job, record.key, standing);
    }
  }
}

/** The result for a record whose body the store has acknowledged. One that continues a predecessor is sent under its new key. */
function standingOfEqual(mark: LedgerMark | undefined, resend: boolean): Standing {
  if (mark === undefined) return 'changed';
  return resend || mark.fingerprint === IN_DOUBT ? 'resent' : 'unchanged';
}

function hasSeveralPrices(body: string) {
  const prices = [...objectsIn(JSON.parse(body), 'variants')].map((variant) => variant['price']);
  return new Set(prices).size > 1;
}
