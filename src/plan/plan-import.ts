import { setImmediate } from 'node:timers/promises';
import type { ImportJob } from '../config/job/job.ts';
import { sampleFlags } from '../model/action.ts';
import { DEFAULT_LIMITS, type InputLimits } from '../model/input-limits.ts';
import { sumOf, withoutUndefined } from '../model/json-object.ts';
import {
  type DeferredRecord,
  type ImportMode,
  type Mapped,
  reportedField,
  type SentFields,
  type SourceItem,
} from '../model/mapped-record.ts';
import type { ConflictRules, ConflictSide } from '../model/observation.ts';
import {
  consideredRecords,
  countUnaskedSkips,
  type ImageFindings,
  NOT_IN_SAMPLE,
  operationsIn,
  type PictureFindings,
  type Plan,
  type PlannedShard,
  type PlanSource,
  type UndoFacts,
} from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import type { Sample } from '../model/run.ts';
import type { SafetyFigures } from '../model/safety-limits.ts';
import { waveEnds } from '../model/safety-limits.ts';
import { UnknownKeysError } from '../model/storeferry-error.ts';
import { CopySpool } from './copies/copy-spool.ts';
import { judgeGuards, judgeSafety } from './judge-safety.ts';
import type { KeySet } from './key-set.ts';
import { UpdatePass } from './patch-product.ts';
import { type ListedDeletes, type PlannedDeletes, planDeletes, planRenameDeletes } from './plan-deletes.ts';
import { type DraftOptions, PlanDraft } from './plan-draft.ts';
import { LIKENESSES_FILE, readShard, removePlanFiles, writePlan } from './plan-file.ts';
import { type Predecessors, readMissingKeys } from './predecessors.ts';
import type { UpdateOptions } from './record-comparer.ts';
import { cutIntoWaves, fingerprintOf } from './shard-writer.ts';
import { TwinWatch } from './twin-watch.ts';

export { KeySet } from './key-set.ts';
// Exported to show a single record as its plan has it, and to compare one with its store.
export { currentStock, stockInStore } from './patch-product.ts';
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
export type { ProductToRead, ReadProduct } from './record-comparer.ts';
export { fingerprintOf } from './shard-writer.ts';

/** The progress of planning: rows read, and the distinct keys among them. */
export interface PlanProgress {
  readonly rows: number;
  readonly keys: number;
}

/** What a source gives, in batches. */
type Records = AsyncIterable<readonly (Mapped | DeferredRecord)[]>;

/** The input of planning an import. */
export interface PlanOptions
  extends Pick<
    DraftOptions,
    | 'advanced'
    | 'blocks'
    | 'changesInStore'
    | 'folder'
    | 'hashKey'
    | 'ledger'
    | 'losesPrices'
    | 'resend'
    | 'undecided'
  > {
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
  /** The position of the ledger, if no other run is sending. */
  readonly plannedPosition?: string | undefined;
  /** Asked when the source has been read: whether to read it again, because its last rows decide how the first are read. */
  readonly mustReadAgain?: (() => Promise<boolean>) | undefined;
  /** Asked when the source has been read: the product that each new record continues; null: none, and the draft needs no second pass. */
  readonly predecessorsIn?: ((draft: ReadDraft) => Promise<Predecessors | null>) | undefined;
  /** Called after the source has been read completely. */
  readonly describeSource: () => PlanSource;
  /** Where the store was probed; left out: whole records are sent. */
  readonly updates?: Omit<UpdateOptions, 'conflicts' | 'isUndo' | 'isDecided'> | undefined;
  /** What the jobs that write products to the same store send, this one included; left out: unknown. */
  readonly senders?: readonly SentFields[] | undefined;
  /** Decides which records may be sent, of an update those that are merged; left out: all. */
  readonly admit?: ((records: Records) => Records) | undefined;
  /** The digest of what decides a record's key, in this run and in the last that proved its keys; null if unknown, and for an update. */
  readonly keyDigest: string | null;
  readonly previous: { readonly rows: number | null; readonly keyDigest: string | null };
  readonly tables?: SafetyFigures['tables'];
  readonly signal: AbortSignal;
  readonly onProgress: (progress: PlanProgress) => void;
  /** Checks the images of the planned upserts, where the job asks for it. Changes no operation. */
  readonly checkImages?: ((shards: readonly PlannedShard[]) => Promise<ImageFindings>) | undefined;
  /** Looks which picture files of the planned records must be uploaded, where the job publishes some. */
  readonly findPictures?:
    | ((upserts: readonly PlannedShard[], counts: Plan['counts']) => Promise<PictureFindings>)
    | undefined;
}

/** What is known of a draft that has read the whole source, with its upserts. */
interface ReadDraft extends Pick<PlanDraft, 'tally' | 'seen'> {
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
  const { draft, files: draftFiles, duplicates, predecessors } = await draftInPasses(options);
  const { upserts: drafts, renames: puts, ...checksums } = draftFiles;
  const { waves = [] } = areChosen(origin) ? {} : (job.apply ?? {});
  const ends = waveEnds(waves, operationsIn(drafts));
  const upserts = waves.length === 0 ? drafts : await cutIntoWaves(folder, drafts, ends);
  await noteMovedContacts(options, draft, upserts);
  for (const [key, kind] of predecessors?.staying ?? []) draft.tally.countStaying(key, kind);
  const renames = [
    ...puts.map((shard, index) => ({ ...shard, number: upserts.length + index + 1 })),
    ...(await planRenameDeletes(folder, ledger, draft.renamed, upserts.length + puts.length + 1)),
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
    draft.seen,
    draft.tally,
    upserts.length + renames.length + 1,
  );
  const files = { shards: [...upserts, ...renames, ...deletes.shards], duplicates, ...checksums };
  const unjudged = assemblePlan(options, draft, deletes, files);
  const plan = withoutUndefined<Plan>({
    ...unjudged,
    safety: await judgePlan(options, draft, unjudged),
    images: await options.checkImages?.([...upserts, ...renames]),
    pictures: await options.findPictures?.([...upserts, ...renames], unjudged.counts),
    undo: origin.kind === 'undo' ? origin.facts() : undefined,
  });
  if (job.mode === 'mirror') await folder.remove([LIKENESSES_FILE]);
  await writePlan(folder, plan);
  return plan;
}

/** Notes contacts that the source no longer has, while one is created that differs in its address alone: the store would have both. */
async function noteMovedContacts(
  { job, folder, ledger, origin }: PlanOptions,
  { tally, seen }: PlanDraft,
  upserts: readonly PlannedShard[],
) {
  const isWhole = origin.kind === 'source' && origin.sample === undefined;
  if (tally.created.records === 0 || !isWhole || (await ledger.count(job.name)) <= tally.known) return;
  const created = new Set<string>();
  for (const shard of upserts)
    for (const operation of await readShard(folder, shard))
      if (operation.kind === 'upsert-contact') created.add(fingerprintOf(withoutEmail(operation.body)));
  for await (const gone of readMissingKeys(ledger, job.name, seen)) {
    const bodies = await ledger.bodies(gone.map(({ key }) => key));
    for (const [index, { key }] of gone.entries()) {
      const rest = withoutEmail(bodies[index] ?? '{}');
      if (/"(?:name|phone)":/.test(rest) && created.has(fingerprintOf(rest))) tally.countMoved(key);
    }
  }
}

function withoutEmail(body: string) {
  return JSON.stringify({ ...JSON.parse(body), email: undefined });
}

/** Whether somebody has chosen the records: the others are not missing, and shares have no meaning. */
function areChosen({ kind }: PlanOrigin) {
  return kind === 'retry' || kind === 'bodies';
}

function sampleOf(origin: PlanOrigin) {
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
    sendsBodies: !isOfSource(origin),
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
  const pass = async (changed: Pick<DraftOptions, 'twinWatch' | 'twins' | 'predecessors' | 'holding'>) => {
    const draft = await draftPlan({ ...draftOptions, ...changed });
    return { draft, files: await draft.finish() };
  };
  using twinWatch = new TwinWatch(options.hashKey);
  const first = sendsSource(options) ? { twinWatch } : {};
  let drafted = await pass(first);
  if ((await options.mustReadAgain?.()) === true) drafted = await pass(first);
  const suspected = twinWatch.suspect(drafted.draft.seen);
  if (suspected !== null) {
    blocks?.index?.leaveOut((key) => suspected.hasHash(key));
    drafted = await pass(first);
  }
  const twins = await twinWatch.find(ledger);
  const { tally, seen } = drafted.draft;
  const predecessors = await options.predecessorsIn?.({ tally, seen, upserts: drafted.files.upserts });
  const { certain, waiting } = predecessors ?? NO_PREDECESSORS;
  if (certain.size + waiting.size + twins.size > 0) drafted = await pass({ predecessors, twins });
  const holding = drafted.draft.watch.newlyHoldingGuards();
  // Some records were placed before the share of these guards was known.
  if (holding.length > 0) drafted = await pass({ predecessors, twins, holding });
  const duplicates = updates?.duplicates ?? drafted.draft.duplicates;
  return { ...drafted, duplicates, predecessors: predecessors ?? null };
}

const NO_PREDECESSORS: Pick<Predecessors, 'certain' | 'waiting' | 'staying'> = {
  certain: new Map(),
  waiting: new Map(),
};

/** Whether urls decide which products the records of a source become: what somebody has chosen is sent as it is. */
function sendsSource({ job, origin }: Pick<PlanOptions, 'job' | 'origin'>) {
  return job.import === 'products' && job.mode !== 'update' && isOfSource(origin);
}

function isOfSource({ kind }: PlanOrigin) {
  return kind === 'source' || kind === 'retry';
}

/** What a pass over the source needs besides. */
interface PassOptions extends DraftOptions {
  /** Reads the source again from its beginning, with the same result each time. */
  readonly openMapped: () => AsyncIterable<readonly SourceItem[]>;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: PlanProgress) => void;
}

/** After this many records the event loop gets a turn, for signals and locks. */
const RECORDS_PER_TURN = 500;

/**
 * Drafts the plan in one pass over the source, assuming that no key repeats. If one does, its first copy may have
 * been compared and written already. Then the draft is discarded, the rest of the source is only searched for further
 * repetitions, and a second pass holds back the copies of repeated keys until all of them are known.
 */
async function draftPlan(options: PassOptions) {
  const first = await runPass(options, null);
  const { repeated } = first;
  if (repeated.size === 0) return first;
  await first.abandon();
  // Copies of repeated keys must be read.
  options.blocks?.index?.leaveOut((key) => repeated.hasHash(key));
  return await runPass(options, repeated);
}

/** `repeated`: the repeated keys that an earlier pass over the same source found. */
async function runPass(options: PassOptions, repeated: KeySet | null) {
  await removePlanFiles(options.folder);
  using spool = repeated === null ? null : new CopySpool();
  const draft = new PlanDraft(
    options,
    repeated === null || spool === null ? null : { keys: repeated, spool },
  );
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
        draft.take(item);
        if (isPauseDue()) await pause();
      }
      options.onProgress({ rows: draft.rows, keys: draft.seen.size });
    }
    for (const copy of draft.repeatedCopies()) {
      draft.addMapped(copy.item, copy.records);
      if (isPauseDue()) await pause();
    }
    return draft;
  } catch (error) {
    await draft.abandon();
    throw error;
  }
}

/** How the plan compares with guards and safety limits, exceeded ones first. */
async function judgePlan(
  options: PlanOptions,
  draft: PlanDraft,
  unjudged: Omit<Plan, 'safety'>,
): Promise<Plan['safety']> {
  const { job, run, origin } = options;
  if (areChosen(origin)) return [];
  const verdicts = [
    ...judgeGuards(unjudged.guards, run),
    ...judgeSafety(job.safety, await measureSafety(options, draft, unjudged), run),
  ].sort((a, b) => Number(b.exceeded) - Number(a.exceeded));
  if (origin.kind !== 'undo') return verdicts;
  const { of } = origin.facts();
  return verdicts.map((verdict) => ({ ...verdict, message: `undo of run ${of}: ${verdict.message}` }));
}

/** An undo gives back what its run sent, and nothing that somebody edited since; whoever releases a record has looked at its edits. */
function conflictRules({ job, origin }: PlanOptions): ConflictRules {
  const decided = origin.kind === 'bodies' ? (origin.decided ?? 'source') : undefined;
  const rules = decided ?? (origin.kind === 'undo' ? 'store' : job.conflicts);
  return { ...(typeof rules === 'object' ? rules : { default: rules }), url: 'hold' };
}

function assemblePlan(
  { job, senders = [], describeSource, blocks, plannedPosition, updates, changesInStore }: PlanOptions,
  { tally, watch, confirmed, rows }: PlanDraft,
  { removed, deletes, withheld, withoutId, unconfirmed }: PlannedDeletes,
  files: Pick<Plan, 'shards' | 'duplicates' | 'rejectionsSha256' | 'heldSha256'>,
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
    takeovers: tally.takeovers(),
    created:
      tally.created.records === 0
        ? undefined
        : { ...tally.created, ...(changesInStore === undefined && { uncertain: true }) },
    renamed,
    adopted,
    sharedFields: findSharedFields(job, senders, fieldsChanged),
    plannedPosition,
    confirmed: confirmed.length === 0 ? undefined : confirmed,
    edited: tally.editedRecords(),
    replacesEdits: (updates?.replaces === true && tally.counts.changed.records > 0) || undefined,
    readsStore: updates?.observe !== undefined || undefined,
    sendsWhole: (updates?.partByKey === false && !updates.partById) || undefined,
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
  const own = senders
    .filter(({ job }) => job === name)
    .flatMap(({ fields, removes }) => [...fields, ...removes]);
  const kept = new Set(keep.map(reportedField));
  return [...new Set([...kept, ...own.map(reportedField)])].flatMap((field) => {
    const sends = ({ updates, fields, removes }: SentFields) =>
      mode === 'update'
        ? [...fields, ...removes].map(reportedField).includes(field)
        : fields.map(reportedField).includes(field) && (updates || kept.has(field));
    const jobs = others.filter(sends).map(({ job }) => job);
    if (jobs.length === 0 && !kept.has(field)) return [];
    const records = changes.find((change) => change.field === field)?.records ?? 0;
    return [{ field, jobs, kept: kept.has(field), records }];
  });
}

async function measureSafety(
  { job, ledger, keyDigest, previous, tables, origin }: PlanOptions,
  { tally, seen }: PlanDraft,
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
    tables: isPart ? undefined : tables,
    changed: counts.changed.records - tally.changes.advancedOnly,
    created: tally.created.records,
    known: tally.known,
    priceMoves,
    prices: moves.prices,
    lostPrices: tally.lostPrices,
    keyChange: keyChanged
      ? {
          new: counts.new.records + counts.held.records,
          missing,
          heldKnown: tally.heldKnown,
          allHeld: counts.new.records === 0 && counts.held.records > 0,
        }
      : null,
  };
}

function countSkipped(plan: Omit<Plan, 'safety'>, mode: ImportMode, isPart: boolean) {
  if (mode === 'create' || isPart) return null;
  const { skipped, records } = plan.counts;
  return skipped.records === records ? records : countUnaskedSkips(plan);
}

/** Keys that a plan does not delete, because another record of the source is the same product, or may be. */
function sparedKeys(predecessors: Predecessors | null): ReadonlySet<string> {
  const { certain, waiting, staying } = predecessors ?? NO_PREDECESSORS;
  const renamed = [...certain.values(), ...[...waiting.values()].flat()].map(({ key }) => key);
  return new Set([...renamed, ...(staying?.keys() ?? [])]);
}

const KEYS_NAMED = 3;

/**
 * Turns everything outside of a sample into skipped records. The whole source is read, so that further copies of a key
 * of the sample are found: what a sample sends, a run without it would send as well. UnknownKeysError if the source
 * lacks a key of the sample.
 */
export async function* takeSample(
  batches: Records,
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
  const isInside = (item: Mapped | DeferredRecord) => {
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

function unknownKeys(keys: readonly string[]) {
  const named = keys.slice(0, KEYS_NAMED).map((key) => JSON.stringify(key));
  const more = keys.length > KEYS_NAMED ? ` and ${keys.length - KEYS_NAMED} more` : '';
  return new UnknownKeysError(
    `The source has no record with the ${keys.length === 1 ? 'key' : 'keys'} ${named.join(', ')}${more}.`,
    {
      hint: 'Name records as the mapping does: by the url of a product, by the id of a contact, or by what a job with `mode: update` matches.',
    },
  );
}
