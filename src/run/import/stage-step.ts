import type { StoreList } from '../../mapping/lookup-table.ts';
import type { FilePlace } from '../../model/remote-address.ts';
import { type Run, type RunTotals, SENDING_KINDS } from '../../model/run.ts';
import { storeIdentity } from '../../model/store-identity.ts';
import { type Snapshot, saveSnapshot } from '../../source/snapshot.ts';
import { stageSourceUnless } from '../../source/stage-source.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { importTarget } from '../../state/state.ts';
import { digestOf } from '../digest-of.ts';
import { stageWithSideTables } from '../inputs/side-table.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { stageStoreLists } from './staged-lists.ts';

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
  stage: Stage = stageJobSource,
): Promise<Run> {
  const folder = context.artifacts.run(run.id);
  const settled = await settledRun(context, request, run);
  const snapshot = await stageWithSideTables(
    request.mapping.tables,
    settled?.source.version ?? null,
    (known) => stage(context, request, folder, known),
    stagingOf(context, request, folder),
  );
  const { keyDigest } = request.mapping;
  const stagedAt = context.clock();
  if (snapshot === undefined) {
    if (settled === undefined) throw new TypeError('an unchanged source without an earlier run');
    const { digest, source } = settled;
    const totals = unchangedTotals(settled);
    const unchangedSince = settled.unchangedSince ?? settled.id;
    return await context.state.runs.update(run.id, {
      ...{ digest, keyDigest, stagedAt, source, totals, unchangedSince },
    });
  }
  await saveSnapshot(folder, snapshot);
  const lists = await stageStoreLists(context, request, folder);
  const { version, sha256 } = snapshot;
  return await context.state.runs.update(run.id, {
    digest: runDigest(context.version, request, run, sha256, lists),
    keyDigest,
    stagedAt,
    ...(version === undefined ? {} : { source: { version, sha256 } }),
  });
}

/** Stages the job's own source. */
export const stageJobSource: Stage = (context, request, folder, knownVersion) =>
  stageSourceUnless(knownVersion, request.job.source, {
    workspaceDir: context.workspaceDir,
    allowedFolders: context.allowedFolders,
    ...stagingOf(context, request, folder),
  });

function stagingOf({ signal, onEvent }: RunContext, { job }: ImportRequest, folder: RunFolder) {
  return {
    folder,
    limits: job.limits,
    signal,
    onProgress: ({ bytes }: { readonly bytes: number }) =>
      onEvent({ type: 'progress', step: 'stage', done: bytes, total: null, unit: 'bytes' }),
  };
}

/** A digest of everything that decides a run's plan: the bytes of its source, mapping, job, store and version. */
export function runDigest(
  version: string,
  { job, mapping, store }: ImportRequest,
  run: Run,
  sourceSha256: string,
  lists: readonly StoreList[] | null,
): string {
  // Looking at images changes nothing that is sent.
  const { schedule: _when, notify: _whom, images: _looked, source, crosswalk, ...rest } = job;
  return digestOf({
    source: sourceSha256,
    mapping: mapping.digest,
    lists,
    job: { ...rest, source: withoutSecrets(source), crosswalk: crosswalk && withoutSecrets(crosswalk) },
    store: [storeIdentity(store), store.weightUnit],
    version,
    kind: run.kind === 'retry' ? run.retryOf : null,
    resend: run.resend,
    sample: run.sample ?? null,
  });
}

/** A new password does not change the job; digests of secrets are not stored. */
function withoutSecrets<Spec extends FilePlace>({ remote, ...reading }: Spec) {
  return remote === undefined ? reading : { ...reading, remote: remote.location };
}

/** A run after which there is nothing to do while its source is unchanged. */
export interface SettledRun extends Run {
  readonly source: NonNullable<Run['source']>;
  readonly totals: RunTotals;
}

/**
 * The run that makes this one unnecessary if the source has not changed: the last run of the job, done without
 * rejects, with the same job, mapping, store and version, and without a later write by another job. Undefined if the
 * source must be read: also for a plan, `--resend`, and mappings that depend on the time or on lists of the store.
 */
export async function settledRun(
  context: Pick<RunContext, 'state' | 'version'>,
  request: ImportRequest,
  run: Run,
): Promise<SettledRun | undefined> {
  if (run.kind !== 'run' || run.resend || run.sample !== undefined || request.job.source.remote === undefined)
    return undefined;
  if (looksAtClock(request) || request.mapping.listLookups.length > 0) return undefined;
  const { runs } = context.state;
  const ofJob = await runs.list({ job: run.job, kinds: SENDING_KINDS });
  // A run that could not read its source has done nothing.
  const last = ofJob.find(
    ({ id, digest, status }) => id !== run.id && !(digest === null && status === 'failed'),
  );
  if (last === undefined || !isSettled(last)) return undefined;
  if (last.digest !== runDigest(context.version, request, run, last.source.sha256, null)) return undefined;
  const wroteSince = await othersWroteSince(context, last);
  const ledger = context.state.ledger(importTarget(run));
  if (wroteSince || (await ledger.hasDoubts()) || (await ledger.lostSince(last))) return undefined;
  return last;
}

function isSettled(run: Run): run is SettledRun {
  if (run.source === undefined || run.totals === null || run.endSequence === undefined) return false;
  return run.kind === 'run' && run.status === 'done';
}

/** Whether another job may have written to the store's resource since the run began. */
export async function othersWroteSince({ state }: Pick<RunContext, 'state'>, run: Run): Promise<boolean> {
  const others = await state.runs.list({ kinds: SENDING_KINDS });
  return others.some(
    (other) => other.job !== run.job && isSameTarget(other, run) && !endedBefore(other, run),
  );
}

/** For an end that an earlier version recorded, only its order before ends of this version is known. */
function endedBefore(other: Run, last: Run): boolean {
  return other.finishedAt !== null && (other.endSequence ?? 0) < last.sequence;
}

function isSameTarget(one: Run, other: Run): boolean {
  return one.storeId === other.storeId && one.resource === other.resource;
}

/** Dated sales are judged at the time of staging: they begin and end without a change of the source. */
function looksAtClock({ mapping: { spec } }: ImportRequest): boolean {
  if (spec.import !== 'products') return false;
  const { from, to, during } = spec.variants.pricing ?? {};
  return from !== undefined || to !== undefined || during !== undefined;
}

/** The totals of a run with an unchanged source: everything that was applied is unchanged. */
export function unchangedTotals({ totals }: SettledRun): RunTotals {
  const { rows, records, skipped, inRows } = totals;
  return {
    rows,
    records,
    new: 0,
    changed: 0,
    unchanged: records - skipped,
    removed: totals.removed - totals.deleted,
    operations: 0,
    applied: 0,
    deleted: 0,
    rejected: 0,
    skipped,
    unsent: 0,
    held: 0,
    requests: 0,
    fieldsChanged: {},
    inRows: {
      applied: 0,
      unchanged: rows - inRows.skipped,
      rejected: 0,
      skipped: inRows.skipped,
      unsent: 0,
      held: 0,
    },
  };
}
