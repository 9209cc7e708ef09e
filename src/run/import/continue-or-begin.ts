import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { commandText, copyAction } from '../../model/action.ts';
import { isFinal } from '../../model/operation.ts';
import type { Plan, PlannedShard } from '../../model/plan.ts';
import { EXECUTING_KINDS, isSameTarget, type Run, SENDING_KINDS, UNFINISHED } from '../../model/run.ts';
import { StateError, UsageError } from '../../model/storeferry-error.ts';
import { readPlan, verifyRejections, verifyShard } from '../../plan/plan-file.ts';
import {
  loadSnapshot,
  type SnapshotFile,
  type SourcePlace,
  verifiedSnapshot,
} from '../../source/snapshot.ts';
import { type FileAccess, type FoundFile, findFiles, openFound } from '../../state/file-access.ts';
import { importTarget } from '../../state/state.ts';
import { listed } from '../../text/printable.ts';
import { hasDied } from '../report/read-stored-report.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { continueInstead, supersede } from '../run-pipeline.ts';
import { jobDigest, othersWroteSince } from './stage-step.ts';

/**
 * The run to continue: the job's unfinished run with the same digest, if its files are complete and its dates are
 * still valid; otherwise the new run, which has staged the same bytes. Other unfinished runs are superseded, because
 * the ledger has their results. Plans that wait for approval expire, because the store is about to change.
 */
export async function continueOrBegin(context: RunContext, begun: Run): Promise<Run> {
  const run = await continueSame(context, begun);
  await supersedeOthers(context, run);
  return run;
}

/**
 * Like `continueOrBegin`, but supersedes no other run or plan: for a run that may have nothing to send. A run that cannot be continued
 * gets the cause as its `error`.
 */
export async function continueSame(context: RunContext, begun: Run): Promise<Run> {
  const unfinished = await context.state.runs.list({
    job: begun.job,
    kinds: SENDING_KINDS,
    statuses: UNFINISHED,
  });
  // The oldest: a later one with the same digest died before it could continue it.
  const oldest = unfinished.findLast(({ id, digest }) => id !== begun.id && digest === begun.digest);
  if (oldest === undefined) return begun;
  const why = await whyNotContinue(context, oldest, context.clock());
  if (why !== undefined) {
    await context.state.runs.update(oldest.id, { error: `${why.message} Run ${begun.id} took its place.` });
    return begun;
  }
  await continueInstead(context, begun, oldest);
  // If it has a plan, the plan is still correct; otherwise it is planned now. Its figures are those of its last end.
  return await context.state.runs.update(oldest.id, { stagedAt: begun.stagedAt, totals: null });
}

/**
 * Why the rest of a run cannot be sent as planned: the state has lost data since (unchanged records of the plan are
 * in doubt), a file is missing or changed (StateError), a sale price begins or ends before `now`, or another job has
 * written since (UsageError).
 * Undefined if it can. The files of completed shards are not read.
 */
export async function whyNotContinue(
  context: RunContext,
  run: Run,
  now: number,
): Promise<StateError | UsageError | undefined> {
  const folder = context.artifacts.run(run.id);
  try {
    if (await context.state.ledger(importTarget(run)).lostSince(run)) {
      return new StateError(`The state has lost a part of what was sent since run ${run.id} was planned.`);
    }
    if ((await verifiedSnapshot(folder)) === undefined) {
      return new StateError(`The snapshot of run ${run.id} is gone.`);
    }
    const plan = await readPlan(folder);
    if (plan === undefined) return undefined;
    const passed = passedDate(run.id, plan, now);
    if (passed !== undefined) return passed;
    if (await isOutdated(context, run, plan)) return plannedBefore(run);
    await verifyRejections(folder, plan);
    for (const shard of plan.shards) {
      context.signal.throwIfAborted();
      if (await hasOpenOperations(context, run, shard)) await verifyShard(folder, shard);
    }
    return undefined;
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
}

/**
 * UsageError where another job has written since the run was planned: what the plan would send may undo that, and what it leaves out as
 * unchanged may no longer be so. Ask again when the run has the store's lock.
 */
export async function refuseOutdated(context: RunContext, run: Run, plan: Plan): Promise<void> {
  if (await isOutdated(context, run, plan)) throw plannedBefore(run);
}

/**
 * While the ledger is where it was when the plan was made, nobody has written. Otherwise the runs of other jobs decide; one that was
 * killed has no end, and may have written at any time.
 */
async function isOutdated(context: RunContext, run: Run, { plannedPosition }: Plan) {
  if (
    plannedPosition !== undefined &&
    plannedPosition === (await context.state.ledger(importTarget(run)).position())
  )
    return false;
  return await othersWroteSince(context, run);
}

/**
 * The position of the ledger, for a plan: while it is the same, no run has written. Undefined while another run is sending, whose answers
 * may still change what the ledger has at this position.
 */
export async function planPosition(context: RunContext, run: Run): Promise<string | undefined> {
  const position = await context.state.ledger(importTarget(run)).position();
  for (const other of await context.state.runs.list({ kinds: SENDING_KINDS, statuses: ['running'] })) {
    if (other.id === run.id || !isSameTarget(other, run)) continue;
    if (!(await hasDied(context, other))) return undefined;
  }
  return position;
}

function plannedBefore(run: Run) {
  return new UsageError(`Another job has written to the store since run ${run.id} was planned.`, {
    hint: planAgainHint(run),
  });
}

/** The hint with the command that plans a run again. */
export function planAgainHint({ job, undo, restore, copy, store }: Run): string {
  if (copy !== undefined) return `Plan it again: storeferry ${commandText(copyAction(copy, store))}`;
  if (restore !== undefined) return `Compare the store again: storeferry drift ${job}`;
  return `Plan it again: storeferry ${undo === undefined ? `plan ${job}` : `undo ${undo.of}`}`;
}

/** Where a sale price begins or ends between planning and now: the plan no longer holds. A clock that was set back can also pass one. */
export function passedDate(
  run: string,
  { source: { dates } }: Plan,
  now: number,
  hint?: string,
): UsageError | undefined {
  const { since = null, until = null } = dates ?? {};
  const passed = until !== null && now >= until ? until : since !== null && now < since ? since : undefined;
  if (passed === undefined) return undefined;
  const when = new Date(passed).toISOString();
  return new UsageError(
    `A sale price of run ${run} begins or ends between its planning and now, at ${when}.`,
    { hint },
  );
}

/** Whether operations of a shard have no final outcome. */
export async function hasOpenOperations(
  { state }: RunContext,
  { id }: Run,
  { number, operations }: PlannedShard,
): Promise<boolean> {
  const outcomes = await state.runs.outcomes(id, number);
  return [...outcomes.values()].filter(isFinal).length < operations;
}

/**
 * All other unfinished runs and waiting plans of the job expire, because this run is about to send. Of all its other runs what only
 * sending needs is removed.
 */
export async function supersedeOthers(context: RunContext, by: Run): Promise<void> {
  const runs = await context.state.runs.list({ job: by.job, kinds: [...EXECUTING_KINDS, 'verify', 'drift'] });
  for (const run of runs) {
    if (run.id === by.id) continue;
    if (mayContinue(run)) await supersedeAndDiscard(context, run);
    else await discardPlan(context, run);
  }
  await supersedePlans(context, by);
}

function mayContinue({ kind, status }: Run) {
  return SENDING_KINDS.includes(kind) && UNFINISHED.includes(status);
}

/**
 * Waiting plans of the job, and plans whose process was killed, expire when the job is planned again or begins to
 * send. Of all plans that are not running what only sending needs is removed.
 */
export async function supersedePlans(context: RunContext, by: Run): Promise<void> {
  const plans = await context.state.runs.list({ job: by.job, kinds: ['plan'] });
  for (const run of plans) {
    if (run.id === by.id) continue;
    if (run.status === 'planned' || run.status === 'stopped' || (await hasDied(context, run)))
      await supersedeAndDiscard(context, run);
    else if (run.status !== 'running') await discardPlan(context, run);
  }
}

/** Ends a run for good, and removes what only sending it would need. */
export async function supersedeAndDiscard(context: RunContext, run: Run): Promise<void> {
  await supersede(context, run);
  await discardPlan(context, run);
}

/** Snapshot and shards serve only a run that may still send. Summary and rejects are kept. */
export async function discardPlan(context: RunContext, run: Run): Promise<void> {
  const folder = context.artifacts.run(run.id);
  const names = await folder.list();
  await folder.remove(
    names.filter((name) =>
      /^(source|table|baseline(-table)?|shard|rename|delete)-\d+|^(snapshot|subscriber-lists|store-categories|pictures)\.json$|^(blocks\.bin|contacts\.jsonl)$/.test(
        name,
      ),
    ),
  );
}

/** As much is read of files that were written since; a further one counts as changed, as one does that cannot be read. */
const MAX_COMPARED_BYTES = 64 * 1024 * 1024;

/** A part of what a plan was made of. */
type PlanInput = 'the settings of the job' | 'the mapping' | 'the source' | 'a table beside the source';

/**
 * What has changed since a plan was made, as far as that is known without a request: of files on other machines, and of the plan of an
 * undo, nothing is.
 */
export async function changedSincePlan(
  context: Pick<RunContext, 'artifacts' | 'workspaceDir' | 'allowedFolders'>,
  { job, mapping }: Pick<ImportRequest, 'job' | 'mapping'>,
  run: Run,
): Promise<readonly PlanInput[]> {
  const { inputs } = run;
  if (inputs === undefined) return [];
  const snapshot = await loadSnapshot(context.artifacts.run(run.id));
  const source: SourcePlace = job.source;
  // Not when all was staged: a file may be replaced between its copy and that of a table.
  const reading: Reading = { since: run.startedAt, bytesLeft: MAX_COMPARED_BYTES };
  // The source of a retry is a corrected rejects file; a file that arrived has been moved since.
  const isSourceChanged =
    run.kind !== 'retry' &&
    source.query === undefined &&
    source.watch === undefined &&
    (await isChanged(source.path, context, snapshot?.files ?? [], reading));
  let isTableChanged = false;
  for (const [index, { at, access }] of mapping.tables.entries()) {
    const file = snapshot?.tables?.[index];
    isTableChanged ||= file !== undefined && (await isChanged(at.path, access, [file], reading));
  }
  const changed: readonly (readonly [PlanInput, boolean])[] = [
    ['the settings of the job', inputs.job !== jobDigest({ job })],
    ['the mapping', inputs.mapping !== mapping.digest],
    ['the source', isSourceChanged],
    ['a table beside the source', isTableChanged],
  ];
  return changed.flatMap(([name, is]) => (is ? [name] : []));
}

/** The sentence for people; undefined where nothing has changed. */
export function changedSincePlanText(changed: readonly PlanInput[]): string | undefined {
  if (changed.length === 0) return undefined;
  return `Changed since this plan was made: ${listed(changed)}. What is sent is what the plan shows; to send what is there now, plan the job again.`;
}

/** What is read to compare files. */
interface Reading {
  /** Files that were not written since this time are not read. */
  readonly since: number;
  bytesLeft: number;
}

/** Whether files of this machine are others than the copies that were taken of them. */
async function isChanged(
  path: string | undefined,
  access: FileAccess,
  copies: readonly SnapshotFile[],
  reading: Reading,
) {
  if (path === undefined || copies.length === 0) return false;
  const found = await findFiles(path, access).catch(() => []);
  const isOf = (name: string, file: string) => name === file || name.startsWith(`${file}/`);
  if (!copies.every(({ name }) => found.some((file) => isOf(name, file.path)))) return true;
  for (const file of found) {
    const copy = copies.find((one) => isOf(one.name, file.path));
    const now = await stat(file.real).catch(() => undefined);
    if (copy === undefined || now === undefined) return true;
    if (Math.max(now.mtimeMs, now.ctimeMs) <= reading.since) continue;
    const isPlain = copy.name === file.path && copy.table === undefined;
    if (!isPlain || copy.bytes !== now.size || now.size > reading.bytesLeft) return true;
    reading.bytesLeft -= now.size;
    if ((await digestOfFile(file, now.size)) !== copy.sha256) return true;
  }
  return false;
}

/** The digest of a file of so many bytes; undefined if it cannot be read. */
async function digestOfFile(file: FoundFile, bytes: number) {
  const hash = createHash('sha256');
  try {
    // One byte more shows that it has grown.
    await pipeline((await openFound(file)).createReadStream({ end: bytes }), hash);
  } catch {
    return undefined;
  }
  return hash.digest('hex');
}
