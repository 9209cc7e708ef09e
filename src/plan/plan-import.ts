import type { ImportJob } from '../config/job/job.ts';
import { DEFAULT_LIMITS, type InputLimits } from '../model/input-limits.ts';
import { sumOf, withoutUndefined } from '../model/json-object.ts';
import type { HashKey, KeySet } from '../model/key-set.ts';
import {
  type DeferredRecord,
  type ImportMode,
  type Mapped,
  reportedField,
  type SentFields,
} from '../model/mapped-record.ts';
import type { ConflictRules, ConflictSide } from '../model/observation.ts';
import {
  consideredRecords,
  countUnaskedSkips,
  type ImageFindings,
  operationsIn,
  type PictureFindings,
  type Plan,
  type PlannedShard,
  type PlanSource,
  type UndoFacts,
} from '../model/plan.ts';
import type { Sample } from '../model/run.ts';
import type { SafetyFigures } from '../model/safety-limits.ts';
import { waveEnds } from '../model/wave-limits.ts';
import type { RunFolder } from '../state/artifacts.ts';
import type { Ledger } from '../state/state.ts';
import { judgeGuards, judgeSafety } from './judge-safety.ts';
import { type ListedDeletes, type PlannedDeletes, planDeletes, planRenameDeletes } from './plan-deletes.ts';
import type { BlockOptions, DraftOptions } from './plan-draft.ts';
import { writePlan } from './plan-file.ts';
import { type Predecessors, readMissingKeys } from './predecessors.ts';
import type { UpdateOptions } from './record-comparer.ts';
import { cutIntoWaves } from './shard-writer.ts';
import { draftPlan, type FullDraft, type PlanProgress, takeSample } from './source-pass.ts';
import { UpdatePass } from './update-pass.ts';

// For runs that know predecessors of their own: products of a store to adopt, and what an undo or a release renames.
export {
  findRenamed,
  joinPredecessors,
  type Predecessor,
  type Predecessors,
  readKnownPredecessors,
  readNewRecords,
} from './predecessors.ts';
export { MATCH_KINDS, MATCH_SCORES, type MatchCandidate, ProductMatcher } from './product-matcher.ts';
// Exported to show a single record as its plan has it, and to compare one with its store.
export type { ProductToRead } from './record-comparer.ts';
export { fingerprintOf } from './shard-writer.ts';
export { takeSample } from './source-pass.ts';

/** What a source gives, in batches. */
type Records = AsyncIterable<readonly (Mapped | DeferredRecord)[]>;

/** The input of planning an import. */
export interface PlanOptions {
  /** The run's id, named in messages that ask for its approval. */
  readonly run: string;
  readonly job: Pick<
    ImportJob,
    'name' | 'import' | 'mode' | 'match' | 'keep' | 'duplicates' | 'safety' | 'guards' | 'conflicts' | 'apply'
  > & {
    readonly limits?: Pick<InputLimits, 'mergedCopies'>;
  };
  readonly origin: PlanOrigin;
  /** Reads the snapshot through the mapping from its beginning; called again for each further pass. */
  readonly openMapped: () => Records;
  /**
   * Used instead of `openMapped` where the blocks of the source can be kept for the next run: without update, sample and `admit`.
   */
  readonly blocks?: BlockOptions;
  /** The position of the ledger, if no other run is sending. */
  readonly plannedPosition?: string | undefined;
  /** Asked when the source has been read: whether to read it again, because its last rows decide how the first are read. */
  readonly mustReadAgain?: (() => Promise<boolean>) | undefined;
  /** Asked when the source has been read: the product that each new record continues; null: none, and the draft needs no second pass. */
  readonly predecessorsIn?: ((draft: ReadDraft) => Promise<Predecessors | null>) | undefined;
  /** Keys that earlier runs have rejected or held; the plan names those that are unchanged. */
  readonly undecided?: KeySet | undefined;
  /** Called after the source has been read completely. */
  readonly describeSource: () => PlanSource;
  /** What the mapping says of `options[].advanced`; left out: it follows from the variants. */
  readonly advanced?: boolean | undefined;
  /** The store gives all variants of a product one price: a plan with variants of different prices stops. */
  readonly losesPrices?: boolean;
  /** Where the store was probed; left out: whole records are sent. */
  readonly updates?: Omit<UpdateOptions, 'conflicts' | 'isUndo' | 'isDecided'> | undefined;
  /** What the jobs that write products to the same store send, this one included; left out: unknown. */
  readonly senders?: readonly SentFields[] | undefined;
  /** How records that the ledger does not know differ from those of the store (DraftOptions). */
  readonly changesInStore?: DraftOptions['changesInStore'];
  readonly ledger: Ledger;
  readonly folder: RunFolder;
  /** Ignore fingerprints: send unchanged records as well. */
  readonly resend: boolean;
  /** Decides which records may be sent, of an update those that are merged; left out: all. */
  readonly admit?: ((records: Records) => Records) | undefined;
  /** The digest of what decides a record's key, in this run and in the last that proved its keys; null if unknown, and for an update. */
  readonly keyDigest: string | null;
  readonly previous: { readonly rows: number | null; readonly keyDigest: string | null };
  readonly signal: AbortSignal;
  readonly onProgress: (progress: PlanProgress) => void;
  /** Checks the images of the planned upserts, where the job asks for it. Changes no operation. */
  readonly checkImages?: ((upserts: readonly PlannedShard[]) => Promise<ImageFindings>) | undefined;
  /** Looks which picture files of the planned records must be uploaded, where the job publishes some. */
  readonly findPictures?:
    | ((upserts: readonly PlannedShard[], counts: Plan['counts']) => Promise<PictureFindings>)
    | undefined;
  /** Replaces the usual hash. Tests use a poor one to show that equal hashes do not lose records. */
  readonly hashKey?: HashKey;
}

/** A draft that has read the whole source, with its upserts. */
interface ReadDraft extends Pick<FullDraft, 'draft' | 'seen'> {
  readonly upserts: readonly PlannedShard[];
}

/** Where the records of a plan come from. */
export type PlanOrigin =
  /** Of a sample no deletes are planned. */
  | { readonly kind: 'source'; readonly sample?: Sample | undefined }
  /** A corrected rejects file: no deletes, no safety limits. */
  | { readonly kind: 'retry' }
  /**
   * Records that are released or restored: no deletes, no safety limits, and also for `mode: update` nothing is merged into their bodies.
   * `decided`: what somebody has decided about fields that were changed in the store as well; left out: the record's values.
   */
  | { readonly kind: 'bodies'; readonly decided?: ConflictSide | undefined }
  /** What another store, or this one at an earlier time, has acknowledged; deletes only what it lists. */
  | ({ readonly kind: 'copy' } & ListedDeletes)
  | UndoSource;

/** The records of an undo, and what it says of them once they were read. */
export interface UndoSource extends ListedDeletes {
  readonly kind: 'undo';
  readonly facts: () => UndoFacts;
}

/**
 * Compares the source with the ledger without sending anything, and writes what must be sent into the run's folder:
 * shards of operations, rejections and, last, the plan itself. An unfinished earlier plan is overwritten. Rejects
 * with the signal's reason if aborted, and with errors of reading, ledger or folder.
 */
export async function planImport(options: PlanOptions): Promise<Plan> {
  const { job, folder, ledger, signal, origin } = options;
  const { drafted, files: draftFiles, predecessors } = await draftInPasses(options);
  const { upserts: drafts, renames: puts, ...checksums } = draftFiles;
  const { waves = [] } = areChosen(origin) ? {} : (job.apply ?? {});
  const ends = waveEnds(waves, operationsIn(drafts));
  const upserts = waves.length === 0 ? drafts : await cutIntoWaves(folder, drafts, ends);
  for (const key of predecessors?.ofRejected ?? []) drafted.draft.tally.countStaying(key);
  const renames = [
    ...puts.map((shard, index) => ({ ...shard, number: upserts.length + index + 1 })),
    ...(await planRenameDeletes(folder, ledger, drafted.draft.renamed, upserts.length + puts.length + 1)),
  ];
  const deletes = await planDeletes(
    {
      folder,
      ledger,
      job: job.name,
      mode: job.mode,
      listed: 'deletes' in origin ? origin : undefined,
      signal,
      partial: areChosen(origin) ? 'retry' : sampleOf(origin) === undefined ? null : 'sample',
      spared: sparedKeys(predecessors),
    },
    drafted.seen,
    drafted.draft.tally,
    upserts.length + renames.length + 1,
  );
  const files = { shards: [...upserts, ...renames, ...deletes.shards], ...checksums };
  const unjudged = assemblePlan(options, drafted, deletes, files);
  const plan = withoutUndefined<Plan>({
    ...unjudged,
    safety: await judgePlan(options, drafted, unjudged),
    images: await options.checkImages?.(upserts),
    pictures: await options.findPictures?.([...upserts, ...renames], unjudged.counts),
    undo: origin.kind === 'undo' ? origin.facts() : undefined,
  });
  await writePlan(folder, plan);
  return plan;
}

/** Whether somebody has chosen the records one by one: nothing is missing, and no share of them means anything. */
function areChosen({ kind }: PlanOrigin): boolean {
  return kind === 'retry' || kind === 'bodies';
}

function sampleOf(origin: PlanOrigin): Sample | undefined {
  return origin.kind === 'source' ? origin.sample : undefined;
}

/** Drafts the plan; again where what a pass has found decides how records are read, compared or held. */
async function draftInPasses(options: PlanOptions) {
  const { job, ledger, signal, origin, blocks, undecided, admit = (records) => records } = options;
  const { mergedCopies: maxMerged } = job.limits ?? DEFAULT_LIMITS;
  const updates =
    job.mode === 'update' && origin.kind !== 'bodies'
      ? new UpdatePass({
          ...job,
          match: job.match ?? 'url',
          ledger,
          maxMerged,
          signal,
          advanced: options.advanced,
        })
      : undefined;
  const sample = sampleOf(origin);
  const openMapped = () =>
    sample === undefined ? options.openMapped() : takeSample(options.openMapped(), sample);
  const draftOptions = {
    ...options,
    job: job.name,
    resource: job.import,
    // An undo restores a body like an update: the product stays with the job that owns it.
    mode: origin.kind === 'undo' ? 'update' : job.mode,
    keep: job.keep,
    updates: options.updates && {
      ...options.updates,
      conflicts: conflictRules(options),
      isUndo: origin.kind === 'undo',
      isDecided: origin.kind === 'bodies' && origin.decided !== undefined,
    },
    openMapped: () =>
      blocks?.open() ?? admit(updates === undefined ? openMapped() : updates.records(openMapped())),
    duplicates: job.duplicates,
    maxMerged,
    guards: job.guards,
  };
  // The records of a known block are not read or compared one by one: a block with an undecided key must be read.
  if (undecided !== undefined) blocks?.index?.leaveOut((key) => undecided.hasHash(key));
  const draft = async (changed: Pick<DraftOptions, 'predecessors' | 'holding'> = {}) => {
    const drafted = await draftPlan({ ...draftOptions, ...changed });
    return { ...drafted, files: await drafted.draft.finish() };
  };
  let drafted = await draft();
  if ((await options.mustReadAgain?.()) === true) drafted = await draft();
  const predecessors = await options.predecessorsIn?.({ ...drafted, upserts: drafted.files.upserts });
  if (predecessors != null && predecessors.certain.size + predecessors.waiting.size > 0)
    drafted = await draft({ predecessors });
  const holding = drafted.draft.watch.newlyHoldingGuards();
  // Some records were placed before the share of these guards was known.
  if (holding.length > 0) drafted = await draft({ predecessors, holding });
  const duplicates = updates?.duplicates ?? drafted.duplicates;
  return { drafted: { ...drafted, duplicates }, files: drafted.files, predecessors: predecessors ?? null };
}

/** How the plan compares with guards and safety limits, exceeded ones first. */
async function judgePlan(
  options: PlanOptions,
  drafted: FullDraft,
  unjudged: Omit<Plan, 'safety'>,
): Promise<Plan['safety']> {
  const { job, run, origin } = options;
  if (areChosen(origin)) return [];
  const verdicts = [
    ...judgeGuards(unjudged.guards, run),
    ...judgeSafety(job.safety, await measureSafety(options, drafted, unjudged), run),
  ].sort((a, b) => Number(b.exceeded) - Number(a.exceeded));
  if (origin.kind !== 'undo') return verdicts;
  const { of } = origin.facts();
  return verdicts.map((verdict) => ({ ...verdict, message: `undo of run ${of}: ${verdict.message}` }));
}

/** An undo gives back what its run sent, and nothing that somebody edited since; whoever releases a record has looked at its edits. */
function conflictRules({ job, origin }: PlanOptions): ConflictRules | undefined {
  if (origin.kind === 'undo') return 'store';
  return origin.kind === 'bodies' ? (origin.decided ?? 'source') : job.conflicts;
}

function assemblePlan(
  { job, senders = [], describeSource, blocks, plannedPosition, updates }: PlanOptions,
  { draft: { tally, watch, confirmed }, rows, duplicates }: FullDraft,
  { removed, deletes, withheld, withoutId, unconfirmed }: PlannedDeletes,
  files: Pick<Plan, 'shards' | 'rejectionsSha256' | 'heldSha256'>,
): Omit<Plan, 'safety'> {
  const fieldsChanged = tally.changes.changes();
  const { renamed, adopted } = tally;
  const records = sumOf(Object.values(tally.counts), (count) => count.records);
  return withoutUndefined<Omit<Plan, 'safety'>>({
    job: job.name,
    resource: job.import,
    mode: job.mode,
    counts: { rows, records, ...tally.counts, removed, deletes },
    fieldsChanged,
    moves: tally.moves.moves(),
    priceMoves: tally.moves.priceMoves,
    emptied: tally.changes.emptied(),
    rejections: tally.rejections.groups(),
    skips: tally.skips.groups(),
    notices: tally.notices(),
    examples: tally.examples,
    duplicates,
    takeovers: tally.takeovers(),
    renamed,
    adopted,
    sharedFields: findSharedFields(job, senders, fieldsChanged),
    plannedPosition,
    confirmed: confirmed.length === 0 ? undefined : confirmed,
    edited: tally.editedRecords(),
    replacesEdits: (updates?.replaces === true && tally.counts.changed.records > 0) || undefined,
    guards: watch.findings(),
    unreadableKeys: tally.unreadableKeys,
    deletesWithheld: withheld,
    deletesWithoutId: withoutId,
    unconfirmed,
    ...files,
    blocksPosition: blocks?.position,
    source: describeSource(),
  });
}

/**
 * The fields that this job keeps, with the jobs that send them; and those that it sends as well as another job, where either is an
 * update: that two catalogs of one store send the same fields of different products is as it should be.
 */
function findSharedFields(
  { name, mode, keep = [] }: PlanOptions['job'],
  senders: readonly SentFields[],
  changes: Plan['fieldsChanged'],
): Plan['sharedFields'] {
  const others = senders.filter(({ job }) => job !== name);
  const own = senders.filter(({ job }) => job === name).flatMap(({ fields }) => fields);
  const kept = new Set(keep.map(reportedField));
  return [...new Set([...kept, ...own.map(reportedField)])].flatMap((field) => {
    const sends = ({ updates, fields }: SentFields) =>
      fields.map(reportedField).includes(field) && (updates || mode === 'update' || kept.has(field));
    const jobs = others.filter(sends).map(({ job }) => job);
    if (jobs.length === 0 && !kept.has(field)) return [];
    const records = changes.find((change) => change.field === field)?.records ?? 0;
    return [{ field, jobs, kept: kept.has(field), records }];
  });
}

async function measureSafety(
  { job, ledger, keyDigest, previous, origin }: PlanOptions,
  { draft, seen }: FullDraft,
  unjudged: Omit<Plan, 'safety'>,
): Promise<SafetyFigures> {
  const { resource, counts, moves, priceMoves } = unjudged;
  const isPart = sampleOf(origin) !== undefined || 'deletes' in origin;
  const keyChanged = keyDigest !== null && previous.keyDigest !== null && keyDigest !== previous.keyDigest;
  let missing = 0;
  if (keyChanged) {
    for await (const batch of readMissingKeys(ledger, job.name, seen)) missing += batch.length;
  }
  return {
    resource,
    deletes: job.mode === 'mirror' ? counts.deletes : null,
    keysOfJob: await ledger.count(job.name),
    rejected: counts.rejected.records,
    skipped: countSkipped(unjudged, job.mode, isPart),
    records: consideredRecords(unjudged),
    rows: isPart ? null : counts.rows,
    previousRows: previous.rows,
    changed: counts.changed.records - draft.tally.changes.advancedOnly,
    created: draft.tally.created,
    known: draft.tally.known,
    priceMoves,
    prices: moves.prices,
    lostPrices: draft.tally.lostPrices,
    keyChange: keyChanged
      ? { new: counts.new.records + counts.held.records, missing, heldKnown: draft.tally.heldKnown }
      : null,
  };
}

function countSkipped(plan: Omit<Plan, 'safety'>, mode: ImportMode, isPart: boolean): number | null {
  if (mode === 'create' || isPart) return null;
  const { skipped, records } = plan.counts;
  return skipped.records === records ? records : countUnaskedSkips(plan);
}

/** Keys that a plan does not delete, because a new record is the same product, or may be. */
function sparedKeys(predecessors: Predecessors | null): ReadonlySet<string> {
  const { certain = new Map(), waiting = new Map(), ofRejected = [] } = predecessors ?? {};
  const renamed = [...certain.values(), ...[...waiting.values()].flat()].map(({ key }) => key);
  return new Set([...renamed, ...ofRejected]);
}
