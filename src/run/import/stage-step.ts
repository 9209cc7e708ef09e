import { dirname, join } from 'node:path';
import type { StoreList } from '../../mapping/lookup-table.ts';
import { type FilePlace, storeIdentity } from '../../model/remote-address.ts';
import { HOLDING_KINDS, isSameTarget, type Run, type RunTotals, SENDING_KINDS } from '../../model/run.ts';
import { NO_TOTALS } from '../../report/run-facts.ts';
import { type Snapshot, saveSnapshot, snapshotOf, stageSourceUnless } from '../../source/snapshot.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { importTarget } from '../../state/state.ts';
import { digestOf } from '../digest-of.ts';
import { stageWithSideTables } from '../inputs/side-table.ts';
import { readProbe } from '../kept-probe.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { adoptedDigest } from './open-adoption.ts';
import { stagePictures } from './publish-pictures.ts';
import { stageCategories, stageStoreLists, storeCategoryForm } from './staged-lists.ts';

/** Copies the source into the run's folder and gives the snapshot; undefined when it still has the known version. */
export type Stage = (
  context: RunContext,
  request: ImportRequest,
  folder: RunFolder,
  knownVersion: string | null,
) => Promise<Snapshot | undefined>;

/**
 * Takes the snapshot of the source and of the tables beside it, and with it the digest that decides whether an unfinished
 * run may be continued. Where they are what the last run has already applied, the run gets `unchangedSince` and its totals instead.
 */
export async function stageStep(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  stage: Stage,
): Promise<Run> {
  const folder = context.artifacts.run(run.id);
  const settled = await settledRun(context, request, run);
  let pictures: string | null = null;
  const digest = (sha256: string, lists: readonly StoreList[] | null) =>
    runDigest(context.version, request, run, sha256, lists, {
      adopted: adoptedDigest(context, request),
      pictures,
    });
  const known = settled?.source;
  const isKnown = known !== undefined && digest(known.sha256, null) === settled?.digest;
  const snapshot = await stageWithSideTables(
    request.mapping.tables,
    isKnown ? known.version : null,
    (version) => stage(context, request, folder, version),
    stagingOf(context, request, folder),
  );
  // A job with `mode: update` creates nothing, so a changed mapping of the key needs no approval.
  const keyDigest = request.job.mode === 'update' ? null : request.mapping.keyDigest;
  const inputs = { job: jobDigest(request), mapping: request.mapping.digest };
  const staged = { keyDigest, inputs, stagedAt: context.clock() };
  const unchanged = (since: SettledRun) => ({
    ...staged,
    digest: since.digest,
    totals: unchangedTotals(since),
    ...(since.tableRows && { tableRows: since.tableRows }),
    unchangedSince: since.unchangedSince ?? since.id,
  });
  const { runs } = context.state;
  if (snapshot === undefined) {
    if (settled === undefined || known === undefined)
      throw new TypeError('an unchanged source without an earlier run');
    return await runs.update(run.id, { ...unchanged(settled), source: known });
  }
  await saveSnapshot(folder, snapshot);
  const lists = await stageStoreLists(context, request, folder);
  await stageCategories(context, request, folder);
  pictures = await stagePictures(context, request, folder);
  const { version, sha256 } = snapshot;
  const found = digest(sha256, lists);
  return await runs.update(run.id, {
    ...(found === settled?.digest ? unchanged(settled) : { ...staged, digest: found }),
    ...(version !== undefined && { source: { version, sha256 } }),
  });
}

/** Stages the job's own source: of an inbox the file that the run was queued for. */
export const stageJobSource: Stage = (context, request, folder, knownVersion) => {
  const { workspaceDir, allowedFolders, announcedId } = context;
  const { source } = request.job;
  const { watch, path = '' } = source;
  const isOwn = watch !== undefined && announcedId !== undefined;
  return stageSourceUnless(
    knownVersion,
    isOwn ? { ...source, path: join(dirname(path), `${announcedId}-*`) } : source,
    { workspaceDir, allowedFolders, ...stagingOf(context, request, folder) },
  );
};

/** An undo or a release has no source: its snapshot is empty, and its own digest lets no other run continue it. */
export async function stageWithoutSource({ artifacts, state, clock }: RunContext, run: Run): Promise<Run> {
  await saveSnapshot(artifacts.run(run.id), snapshotOf([]));
  return await state.runs.update(run.id, { digest: digestOf(['no-source', run.id]), stagedAt: clock() });
}

function stagingOf({ signal, onEvent }: RunContext, { job }: ImportRequest, folder: RunFolder) {
  return {
    folder,
    limits: job.limits,
    signal,
    onProgress: ({ bytes }: { readonly bytes: number }) =>
      onEvent({ type: 'progress', step: 'stage', done: bytes, total: null, unit: 'bytes' }),
  };
}

/**
 * A digest of what decides a run's plan: the bytes of its source, mapping, job, store and version. Not of what a probe has seen, nor of the
 * store's categories, for which `settledRun` asks.
 */
export function runDigest(
  version: string,
  { job, mapping, store }: ImportRequest,
  run: Run,
  sourceSha256: string,
  lists: readonly StoreList[] | null,
  { adopted = null, pictures = null }: { adopted?: string | null; pictures?: string | null } = {},
): string {
  return digestOf({
    source: sourceSha256,
    mapping: mapping.digest,
    lists,
    job: jobInputs(job),
    ...(adopted !== null && { adopted }),
    ...(pictures !== null && { pictures }),
    store: [storeIdentity(store), store.weightUnit, store.currency ?? null],
    version,
    kind: run.kind === 'retry' ? run.retryOf : null,
    resend: run.resend,
    sample: run.sample ?? null,
  });
}

/**
 * The settings of a job that decide what is sent, without its secrets: where one changes, an unfinished run is not continued, and a
 * plan counts as outdated. The sample of a drift check and the pictures to publish have digests of their own.
 */
function jobInputs({
  drift: _drift,
  images: _images,
  schedule: _schedule,
  notify: _notify,
  ...job
}: ImportRequest['job']) {
  const { source, crosswalk, adopt } = job;
  return {
    ...job,
    source: withoutSecrets(source),
    crosswalk: crosswalk && withoutSecrets(crosswalk),
    ...(adopt !== undefined && { adopt: typeof adopt === 'object' ? withoutSecrets(adopt) : adopt }),
  };
}

/** A digest of the settings of a job that decide what is sent. */
export function jobDigest({ job }: Pick<ImportRequest, 'job'>): string {
  return digestOf(jobInputs(job));
}

/** A new password does not change the job; digests of secrets are not stored. */
function withoutSecrets<Spec extends FilePlace>({ remote, ...reading }: Spec) {
  return remote === undefined ? reading : { ...reading, remote: remote.location };
}

/** A run after which there is nothing to do while its source is unchanged. */
export interface SettledRun extends Run {
  readonly totals: RunTotals;
}

/**
 * The run that makes this one unnecessary if its digest is the same: the last run of the job, done without rejects, and
 * without a later write by another job. Undefined if the source must be mapped all the same: also for a plan, `--resend`,
 * jobs that depend on the time, on lists or categories of the store, or look at images, and after a probe.
 */
export async function settledRun(
  { state, artifacts }: Pick<RunContext, 'state' | 'artifacts'>,
  request: ImportRequest,
  run: Run,
): Promise<SettledRun | undefined> {
  if (run.kind !== 'run' || run.resend || run.sample !== undefined) return undefined;
  if (dependsOnTime(request) || request.mapping.listLookups.length > 0) return undefined;
  if (request.job.images !== undefined) return undefined;
  const { runs } = state;
  const ofJob = await runs.list({ job: run.job, kinds: SENDING_KINDS });
  // A drift run changes no record.
  const last = ofJob.find(
    (other) => other.id !== run.id && other.kind !== 'drift' && !failedBeforeReading(other),
  );
  if (last === undefined || !isSettled(last)) return undefined;
  const probe = await readProbe(artifacts, request.store);
  if (probe !== undefined && probe.at >= last.startedAt) return undefined;
  if ((await storeCategoryForm(artifacts, request)) !== undefined) return undefined;
  const wroteSince = await othersWroteSince({ state }, last);
  const ledger = state.ledger(importTarget(run));
  if (wroteSince || (await ledger.hasDoubts()) || (await ledger.lostSince(last))) return undefined;
  return (await othersRejectedOrHeldSince({ state }, run, last)) ? undefined : last;
}

/**
 * Whether another job has rejected or held records since the run: what this job finds unchanged among them must be confirmed
 * (`Ledger.confirm`), so that no later retry or release sends the other version.
 */
async function othersRejectedOrHeldSince({ state }: Pick<RunContext, 'state'>, run: Run, last: Run) {
  const others = await state.runs.list({ kinds: HOLDING_KINDS });
  return others.some(
    (other) =>
      other.id !== run.id &&
      other.sequence > last.sequence &&
      mayHaveRejectedOrHeld(other) &&
      isSameTarget(other, last),
  );
}

/** A run that could not read its source has done nothing. */
function failedBeforeReading({ digest, status }: Pick<Run, 'digest' | 'status'>) {
  return digest === null && status === 'failed';
}

/** Whether a run may have rejected or held records. One without totals may: its files can exist although the state has lost its end. */
export function mayHaveRejectedOrHeld(run: Pick<Run, 'totals' | 'digest' | 'status'>): boolean {
  const { totals } = run;
  return totals === null ? !failedBeforeReading(run) : totals.rejected + totals.held > 0;
}

function isSettled(run: Run): run is SettledRun {
  if (run.totals === null || run.endSequence === undefined) return false;
  return run.kind === 'run' && run.status === 'done';
}

/** Whether another job may have written to the store's resource since the run began. A run without requests has not. */
export async function othersWroteSince({ state }: Pick<RunContext, 'state'>, run: Run): Promise<boolean> {
  const others = await state.runs.list({ kinds: SENDING_KINDS });
  const since = others.filter(
    (other) => other.job !== run.job && isSameTarget(other, run) && !endedBefore(other, run),
  );
  if (since.some(({ finishedAt, totals }) => finishedAt === null || totals?.requests !== 0)) return true;
  // Requests are counted when their outcomes are recorded. If the disk was full, they show only as keys in doubt.
  return since.length > 0 && (await state.ledger(importTarget(run)).hasDoubts());
}

/** Whether a run of another job can have written nothing since this one began. */
export function endedBefore({ finishedAt, endSequence = 0 }: Run, last: Run) {
  return finishedAt !== null && endSequence < last.sequence;
}

/** Dated sales are judged at the time of staging: they begin and end without a change of the source. */
function dependsOnTime({ mapping: { spec } }: ImportRequest) {
  if (spec.import !== 'products') return false;
  const { from, to, during } = spec.variants.pricing ?? {};
  return from !== undefined || to !== undefined || during !== undefined;
}

/** The totals of a run with an unchanged source: everything that was applied is unchanged. */
export function unchangedTotals({ totals }: SettledRun): RunTotals {
  const { rows, records, skipped, removed, deleted, inRows } = totals;
  return {
    ...NO_TOTALS,
    rows,
    records,
    unchanged: records - skipped,
    removed: removed - deleted,
    skipped,
    inRows: { ...NO_TOTALS.inRows, unchanged: rows - inRows.skipped, skipped: inRows.skipped },
  };
}
