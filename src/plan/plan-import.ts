import type { ImportJob } from '../config/job/job.ts';
import { DEFAULT_LIMITS, type InputLimits } from '../model/input-limits.ts';
import type { DeferredRecord, Mapped } from '../model/mapped-record.ts';
import type { Plan, PlanSource } from '../model/plan.ts';
import type { SafetyFigures } from '../model/safety-limits.ts';
import type { RunFolder } from '../state/artifacts.ts';
import type { Ledger } from '../state/state.ts';
import { draftPlan, type FullDraft, type PlanProgress } from './draft-plan.ts';
import type { HashKey } from './key-set.ts';
import { missingKeys, type PlannedDeletes, planDeletes } from './plan-deletes.ts';
import { writePlan } from './plan-file.ts';
import { judgeSafety } from './safety-limits.ts';

/** What planning an import needs. */
export interface PlanOptions {
  /** The run's id, named in messages that ask for its approval. */
  readonly run: string;
  readonly job: Pick<ImportJob, 'name' | 'import' | 'mode' | 'duplicates' | 'safety'> & {
    readonly limits?: Pick<InputLimits, 'mergedCopies'>;
  };
  /** Reads the snapshot through the mapping from its beginning; asked a second time when keys repeat. */
  readonly openMapped: () => AsyncIterable<readonly (Mapped | DeferredRecord)[]>;
  /** Asked when the source has been read to its end. */
  readonly describeSource: () => PlanSource;
  readonly ledger: Ledger;
  readonly folder: RunFolder;
  /** Ignore fingerprints: send what is unchanged as well. */
  readonly resend: boolean;
  /** The source is a corrected rejects file: no deletes, no safety limits. */
  readonly retry: boolean;
  /** Of what decides a record's key, in this run and in the last completed one; null when unknown. */
  readonly keyDigest: string | null;
  readonly previous: { readonly rows: number | null; readonly keyDigest: string | null };
  readonly signal: AbortSignal;
  readonly onProgress: (progress: PlanProgress) => void;
  /** Another hash than the usual one; a poor one shows in tests that shared hashes cost no record. */
  readonly hashKey?: HashKey;
}

/**
 * Compares the source with the ledger, without sending anything, and writes what is to be sent into the run's
 * folder: shards of operations, rejections and, last of all, the plan itself. A plan that was begun before is
 * overwritten. Rejects with the signal's reason when aborted, and with whatever reading, ledger or folder raise.
 */
export async function planImport(options: PlanOptions): Promise<Plan> {
  const { job, folder, ledger, signal, retry } = options;
  const full = await draftPlan({
    ...options,
    job: job.name,
    resource: job.import,
    duplicates: job.duplicates,
    mostMerged: (job.limits ?? DEFAULT_LIMITS).mergedCopies,
    hashKey: options.hashKey,
  });
  const { upserts, rejectionsSha256 } = await full.draft.finish();
  const deletes = await planDeletes(
    { folder, ledger, job: job.name, mode: job.mode, retry, signal },
    full.seen,
    full.draft.tally,
    upserts.length + 1,
  );
  const files = { shards: [...upserts, ...deletes.shards], rejectionsSha256 };
  const unjudged = assemble(options, full, deletes, files);
  const safety = retry ? [] : judgeSafety(job.safety, await figuresOf(options, full, unjudged), options.run);
  const plan = { ...unjudged, safety };
  await writePlan(folder, plan);
  return plan;
}

function assemble(
  { job, describeSource }: PlanOptions,
  { draft: { tally }, rows, duplicates }: FullDraft,
  { removed, deletes, withheld, withoutId, unconfirmed }: PlannedDeletes,
  files: Required<Pick<Plan, 'shards' | 'rejectionsSha256'>>,
): Omit<Plan, 'safety'> {
  const records = Object.values(tally.counts).reduce((sum, count) => sum + count.records, 0);
  return {
    job: job.name,
    resource: job.import,
    mode: job.mode,
    counts: { rows, records, ...tally.counts, removed, deletes },
    fieldsChanged: tally.changes.changes(),
    moves: tally.moves.moves(),
    priceMoves: tally.moves.priceMoves,
    emptied: tally.changes.emptied(),
    rejections: tally.rejections.groups(),
    skips: tally.skips.groups(),
    notices: tally.notices(),
    examples: tally.examples,
    duplicates,
    takeovers: tally.takeovers(),
    unreadableKeys: tally.unreadableKeys,
    deletesWithheld: withheld,
    deletesWithoutId: withoutId,
    unconfirmed,
    ...files,
    source: describeSource(),
  };
}

async function figuresOf(
  { job, ledger, keyDigest, previous }: PlanOptions,
  { draft, seen }: FullDraft,
  { resource, counts, moves, priceMoves }: Omit<Plan, 'safety'>,
): Promise<SafetyFigures> {
  const keyChanged = keyDigest !== null && previous.keyDigest !== null && keyDigest !== previous.keyDigest;
  let missing = counts.removed;
  if (keyChanged && job.mode === 'upsert') {
    for await (const batch of missingKeys(ledger, job.name, seen)) missing += batch.length;
  }
  return {
    resource,
    deletes: job.mode === 'mirror' ? counts.deletes : null,
    keysOfJob: await ledger.count(job.name),
    rejected: counts.rejected.records,
    records: counts.records,
    rows: counts.rows,
    previousRows: previous.rows,
    changed: counts.changed.records,
    known: draft.tally.known,
    priceMoves,
    prices: moves.prices,
    keyChange: keyChanged ? { new: counts.new.records, missing } : null,
  };
}
