import { setImmediate } from 'node:timers/promises';
import type { KnownBlocks } from '../model/block-index.ts';
import { type HashKey, type KeyHash, KeySet } from '../model/key-set.ts';
import type {
  DeferredRecord,
  Mapped,
  MappedRecord,
  MappedRejection,
  Resource,
  SourceItem,
} from '../model/mapped-record.ts';
import { type DuplicatesFound, type DuplicatesPolicy, NOT_IN_SAMPLE } from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import type { Sample } from '../model/run.ts';
import { UnknownKeysError } from '../model/storeferry-error.ts';
import type { RunFolder } from '../state/artifacts.ts';
import { sampleFlags } from '../text/printable.ts';
import { CopySpool, CopyTally } from './copies/copy-spool.ts';
import { type ResolvedCopy, resolveCopies } from './copies/resolve-copies.ts';
import { type BlockOptions, type DraftOptions, PlanDraft } from './plan-draft.ts';
import { BLOCKS_FILE, HELD_FILE, PLAN_FILE, REJECTIONS_FILE } from './plan-file.ts';
import { fingerprintOf, SHARD_FILE } from './shard-writer.ts';

/** The progress of planning: rows read, and the distinct keys among them. */
export interface PlanProgress {
  readonly rows: number;
  readonly keys: number;
}

/** The input of drafting besides the ledger and the folder. */
interface DraftPlanOptions extends DraftOptions {
  /** Reads the source again from its beginning, with the same result each time. */
  readonly openMapped: () => AsyncIterable<readonly SourceItem[]>;
  readonly duplicates: DuplicatesPolicy;
  /** The most copies of one key that are merged. */
  readonly maxMerged: number;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: PlanProgress) => void;
  readonly hashKey?: HashKey | undefined;
}

/** A draft that has read the whole source. */
export interface FullDraft {
  readonly draft: PlanDraft;
  readonly rows: number;
  /** Every key of the source, of skipped and rejected rows too. */
  readonly seen: KeySet;
  readonly duplicates: DuplicatesFound | null;
}

/**
 * Drafts the plan in one pass over the source, assuming that no key repeats. If one does, its first copy may have
 * been compared and written already. Then the draft is discarded, the rest of the source is only searched for further
 * repetitions, and a second pass holds back the copies of repeated keys until all of them are known.
 */
export async function draftPlan(options: DraftPlanOptions): Promise<FullDraft> {
  const { draft, pass } = await runPass(options, null);
  if (pass.repeated.size === 0) return { draft, rows: pass.rows, seen: pass.seen, duplicates: null };
  await draft.abandon();
  // Copies of repeated keys must be read.
  options.blocks?.index?.leaveOut((key) => pass.repeated.hasHash(key));
  const second = await runPass(options, pass.repeated);
  const { rows, seen, duplicates } = second.pass;
  return { draft: second.draft, rows, seen, duplicates };
}

/** After this many records the event loop gets a turn, for signals and locks. */
const RECORDS_PER_TURN = 500;

async function runPass(
  options: DraftPlanOptions,
  repeated: KeySet | null,
): Promise<{ readonly draft: PlanDraft; readonly pass: SourcePass }> {
  await removePlanFiles(options.folder);
  const draft = new PlanDraft(options);
  using pass = new SourcePass(draft, options, repeated);
  let taken = 0;
  const isPauseDue = () => ++taken % RECORDS_PER_TURN === 0 || draft.isFull;
  const pause = async () => {
    if (draft.isFull) await draft.drain();
    await setImmediate();
    options.signal.throwIfAborted();
  };
  try {
    for await (const batch of options.openMapped()) {
      options.signal.throwIfAborted();
      for (const item of batch) {
        pass.take(item);
        if (isPauseDue()) await pause();
      }
      options.onProgress({ rows: pass.rows, keys: pass.seen.size });
    }
    for (const copy of pass.heldBack()) {
      pass.resolve(copy);
      if (isPauseDue()) await pause();
    }
    return { draft, pass };
  } catch (error) {
    await draft.abandon();
    throw error;
  }
}

/**
 * Removes the files of an earlier attempt. The plan itself is removed first, because its shards must exist as long as
 * it does.
 */
async function removePlanFiles(folder: RunFolder): Promise<void> {
  await folder.remove([PLAN_FILE]);
  const shards = (await folder.list()).filter((name) => SHARD_FILE.test(name));
  await folder.remove([...shards, REJECTIONS_FILE, HELD_FILE, BLOCKS_FILE]);
}

interface PassOptions {
  readonly resource: Resource;
  readonly duplicates: DuplicatesPolicy;
  readonly maxMerged: number;
  readonly hashKey?: HashKey | undefined;
  readonly blocks?: BlockOptions;
}

/**
 * Finds repeated keys while the source is read: a record with a unique key goes to the draft, copies of known
 * repeated keys are held back. An unknown repetition ends the drafting; after that keys are only collected.
 */
export class SourcePass implements Disposable {
  readonly seen: KeySet;
  /** Keys that repeat, perhaps with a few that only share a hash with another key. */
  readonly repeated: KeySet;
  rows = 0;
  readonly #draft: PlanDraft;
  readonly #options: PassOptions;
  readonly #heldBack: { readonly keys: KeySet; readonly spool: CopySpool } | null;
  readonly #copies = new CopyTally();
  /** The hashes of the keys since the last end of a block. */
  #blockKeys: number[] = [];
  /** Whether copies were held back since then: their records stand elsewhere. */
  #hasCopies = false;

  /** `knownRepeated`: the repeated keys that an earlier pass over the same source found. */
  constructor(draft: PlanDraft, options: PassOptions, knownRepeated: KeySet | null) {
    this.seen = new KeySet(options.hashKey, options.blocks?.index?.allRecords);
    this.repeated = new KeySet(options.hashKey);
    this.#draft = draft;
    this.#options = options;
    this.#heldBack = knownRepeated === null ? null : { keys: knownRepeated, spool: new CopySpool() };
  }

  take(item: SourceItem): void {
    switch (item.kind) {
      case 'block-end':
        if (this.repeated.size === 0) {
          this.#draft.endBlock({
            kind: 'block-end',
            block: this.#hasCopies ? null : item.block,
            keys: this.#blockKeys,
          });
        }
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
        this.#take(item);
    }
  }

  /** The keys of known blocks count as if their rows had been read. */
  #takeKnown(known: KnownBlocks): void {
    const { index, from, to } = known;
    this.rows += index.total(known).rows;
    for (let block = from; block <= to; block++) {
      index.eachKey(block, (key) => {
        const before = this.seen.addHash(key, true);
        if (before === 'noted') this.#draft.tally.uncountSkipped();
        if (before === 'claimed') this.#repeat(key);
      });
    }
    if (this.repeated.size === 0) this.#draft.addKnownBlocks(known);
  }

  #repeat(key: Readonly<KeyHash>): void {
    if (this.#heldBack !== null) throw new Error('the source was not the same when it was read again');
    this.repeated.addHash(key, true);
  }

  #take(item: Mapped): void {
    switch (item.kind) {
      case 'record':
        if (this.#claim(item.key, item)) this.#draft.addRecord(item);
        break;
      case 'rejected':
        if (item.key === null ? this.repeated.size === 0 : this.#claim(item.key, item)) {
          this.#draft.addLeftOut(item, 1);
        }
        break;
      case 'skipped': {
        const known = item.key !== null && this.seen.add(item.key, false) !== 'absent';
        this.#draft.addLeftOut(item, known ? 0 : 1);
        break;
      }
      default:
        item satisfies never;
    }
  }

  /** The copies that were held back, each sent, rejected or left out. */
  *heldBack(): Generator<ResolvedCopy> {
    if (this.#heldBack === null) return;
    for (const { groups } of this.#heldBack.spool.owners()) {
      for (const group of groups) {
        if (group.copies > 1) this.#copies.count(group);
        yield* resolveCopies(group, this.#options);
      }
    }
  }

  resolve({ item, records }: ResolvedCopy): void {
    if (item.kind === 'record') this.#draft.addRecord(item);
    else this.#draft.addLeftOut(item, records);
  }

  /** Keys that occurred more than once; null if there were none. */
  get duplicates(): DuplicatesFound | null {
    return this.#copies.found(this.#options.duplicates);
  }

  [Symbol.dispose](): void {
    this.#heldBack?.spool[Symbol.dispose]();
  }

  /**
   * Rows that are not mapped yet claim their key. If they are skipped later, too much was claimed, and a record with
   * the same key counts as a copy until the second pass. For a repeated key, the kind of the rows must be known at
   * once.
   */
  #takeDeferred(item: DeferredRecord): void {
    if (this.#heldBack?.keys.has(item.key) === true || this.seen.has(item.key)) {
      this.#take(item.map());
      return;
    }
    this.seen.add(item.key, true);
    this.#noteKey();
    if (this.repeated.size === 0) this.#draft.addDeferred(item);
  }

  /** Whether the record or rejection may go to the draft. */
  #claim(key: string, item: MappedRecord | MappedRejection): boolean {
    const before = this.seen.add(key, true);
    this.#noteKey();
    if (before === 'noted') this.#draft.tally.uncountSkipped();
    if (this.#heldBack?.keys.has(key) === true) {
      this.#hasCopies = true;
      const print = item.kind === 'record' ? fingerprintOf(JSON.stringify(item.body)) : null;
      this.#heldBack.spool.add(key, item, print);
      return false;
    }
    if (before === 'claimed') this.#repeat(this.seen.lastHash);
    return this.repeated.size === 0;
  }

  #noteKey(): void {
    const { high, low } = this.seen.lastHash;
    if (this.#options.blocks !== undefined) this.#blockKeys.push(high, low);
  }
}

const KEYS_NAMED = 3;

/**
 * Turns everything outside of a sample into skipped records. The whole source is read, so that further copies of a key
 * of the sample are found: what a sample sends, a run without it would send as well. UnknownKeysError if the source
 * lacks a key of the sample.
 */
export async function* takeSample(
  batches: AsyncIterable<readonly (Mapped | DeferredRecord)[]>,
  sample: Sample,
): AsyncGenerator<readonly (Mapped | DeferredRecord)[]> {
  const { only, limit = Number.POSITIVE_INFINITY } = sample;
  const wanted = only === undefined ? undefined : new Set(only);
  const missing = new Set(only);
  const taken = new Set<string>();
  let keyless = 0;
  const reason: Reason = {
    code: NOT_IN_SAMPLE,
    message: `not in the sample of this run (${sampleFlags(sample)})`,
  };
  const isInside = (item: Mapped | DeferredRecord): boolean => {
    const { key } = item;
    if (key === null ? wanted !== undefined : wanted?.has(key) === false) return false;
    return (key !== null && taken.has(key)) || taken.size + keyless < limit;
  };
  for await (const batch of batches) {
    yield batch.map((given) => {
      if (given.key !== null) missing.delete(given.key);
      // Rows that the mapping skips do not use up the limit, so they must be known as such.
      const item = given.kind === 'deferred' && isInside(given) ? given.map() : given;
      if (item.kind === 'skipped') return item;
      if (isInside(item)) {
        if (item.key === null) keyless++;
        else taken.add(item.key);
        return item;
      }
      const { key, rows, spans } = item;
      return { kind: 'skipped', key, rows, spans, reason };
    });
  }
  if (missing.size > 0) throw unknownKeys([...missing]);
}

function unknownKeys(keys: readonly string[]): UnknownKeysError {
  const named = keys.slice(0, KEYS_NAMED).map((key) => JSON.stringify(key));
  const more = keys.length > KEYS_NAMED ? ` and ${keys.length - KEYS_NAMED} more` : '';
  return new UnknownKeysError(
    `The source has no record with the ${keys.length === 1 ? 'key' : 'keys'} ${named.join(', ')}${more}.`,
    {
      hint: 'Name records as the mapping does: by the url of a product, by the id of a contact, or by what a job with `mode: update` matches.',
    },
  );
}
