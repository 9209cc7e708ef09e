import type { Notify } from '../config/job/job.ts';
import type { Plan } from '../model/plan.ts';
import { storeIdentity } from '../model/remote-address.ts';
import { type Run, type RunCopy, type RunPart, UNFINISHED } from '../model/run.ts';
import { ConfigurationError, StateError, UsageError } from '../model/storeferry-error.ts';
import { readPlan } from '../plan/plan-file.ts';
import type { RejectsEdits } from '../rejects/judge-cell.ts';
import { nextSteps } from '../report/run-document.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { importTarget, type Lock } from '../state/state.ts';
import type { ComparedSlice } from './drift/drift-run.ts';
import { applyStep, deliverInProcess, deliverWithTraffic } from './import/apply-step.ts';
import {
  changedSincePlan,
  changedSincePlanText,
  continueOrBegin,
  continueSame,
  planAgainHint,
  refuseOutdated,
  supersedeAndDiscard,
  supersedeOthers,
  supersedePlans,
  whyNotContinue,
} from './import/continue-or-begin.ts';
import { finishStep } from './import/finish-step.ts';
import { keepBlocks } from './import/kept-blocks.ts';
import { planStep, refuseUnknownKeys, refuseUnsafe } from './import/plan-step.ts';
import { stageJobSource, stageStep, stageWithoutSource } from './import/stage-step.ts';
import { createReconciledRun, lockJob, lockPlan, lockTarget, reconcileState, whileHeld } from './lock-job.ts';
import type { News, TestedRecipient } from './notify/send-notices.ts';
import { refuseUnlessRejected, stageCorrected } from './read-corrections.ts';
import { type CopySource, copyRequest, refuseUnlessCopyable } from './records/plan-copy.ts';
import { refuseOtherTarget } from './records/plan-records.ts';
import { refuseUnlessReleasable } from './records/plan-release.ts';
import { laterRun, withLiveStatus } from './report/read-stored-report.ts';
import type {
  DeliverShards,
  Delivery,
  DriftRequest,
  ExportRequest,
  ImportRequest,
  RunContext,
  VerifyRequest,
} from './run-context.ts';
import { newRun, type RunWork, runPipeline } from './run-pipeline.ts';
import { type RunTraffic, runTraffic } from './traffic/run-traffic.ts';
import { refuseUnlessUndoable } from './undo/plan-undo.ts';

export { changedSincePlan, changedSincePlanText, hasOpenOperations } from './import/continue-or-begin.ts';
export {
  adoptedFile,
  decidePairs,
  openPairs,
  pairName,
  readDecisions,
} from './import/open-adoption.ts';
export { removeJob, renameJob, settleRenames } from './rename-job.ts';

/** The task of a run. */
export type RunTask =
  | ImportTask
  /** Sends a sample of acknowledged records again, to estimate how many records the store has lost. */
  | { readonly kind: 'verify'; readonly request: VerifyRequest }
  /** Compares the store with what it last answered. */
  | { readonly kind: 'drift'; readonly request: DriftRequest }
  /** Reads the store and writes a file. */
  | { readonly kind: 'export'; readonly request: ExportRequest };

/** Executes a run of any kind from its beginning to its recorded end; rejects as `runPipeline`. */
export async function executeRun(context: RunContext, task: RunTask): Promise<RunFacts> {
  switch (task.kind) {
    case 'verify': {
      const { verifyRun } = await import('./verify/verify-run.ts');
      return await verifyRun(context, task.request);
    }
    case 'drift': {
      const { driftRun } = await import('./drift/drift-run.ts');
      return await driftRun(context, task.request);
    }
    case 'export': {
      const { exportRun } = await import('./export/export-run.ts');
      return await exportRun(context, task.request);
    }
    case 'run': {
      const { job, sample } = task.request;
      if (job.drift === undefined || sample !== undefined) return await importRun(context, task);
      // The first id may be promised to whoever has enqueued the run.
      const ids = [context.newRunId()];
      const { compareSlice } = await import('./drift/drift-run.ts');
      const compared = await compareSlice(context, task.request, job.drift);
      return await importRun(
        { ...context, newRunId: () => ids.pop() ?? context.newRunId() },
        { ...task, compared },
      );
    }
    default:
      return await importRun(context, task);
  }
}

/** The number of runs whose traffic file is reused for further shards; beyond that a new file is started. */
const RUNS_REMEMBERED = 8;

/**
 * Sends single shards of runs that other processes planned and wait for. The plan of a run is read once. Of two
 * parallel shards the earlier one has priority and the later one fills the gaps. If both were half finished at the
 * end, no other process could take over one of them.
 */
export function shardDeliverer() {
  let known: { readonly run: string; readonly plan: Plan } | null = null;
  let turns = 0;
  const traffics = new Map<string, RunTraffic>();
  return async (context: RunContext, delivery: Omit<Delivery, 'plan'>, number: number) => {
    const { id } = delivery.run;
    const folder = context.artifacts.run(id);
    const plan = known?.run === id ? known.plan : await readPlan(folder);
    const shard = plan?.shards.find((planned) => planned.number === number);
    if (plan === undefined || shard === undefined) {
      throw new StateError(`${folder.location} has no shard ${number} of a complete plan.`, {
        hint: 'Every worker must reach the same artifacts: check ARTIFACTS_URL.',
      });
    }
    known = { run: id, plan };
    const traffic = traffics.get(id) ?? runTraffic(folder, context.clock);
    traffics.set(id, traffic);
    for (const [other, { isOpen }] of traffics) {
      if (traffics.size > RUNS_REMEMBERED && !isOpen() && other !== id) traffics.delete(other);
    }
    turns++;
    await deliverWithTraffic(traffic, context, { ...delivery, plan }, [shard], turns);
  };
}

/** Notifies the recipients of a job of what has happened, and delivers what waits for them. Never rejects. */
export async function notifyRecipients(
  context: RunContext,
  recipients: readonly Notify[] | undefined,
  job: string,
  news?: News,
): Promise<void> {
  if (recipients === undefined) return;
  // Loaded only if there is somebody to notify: its HTTP client takes a tenth of a second to load.
  const { sendNotices } = await import('./notify/send-notices.ts');
  await sendNotices(context, job, recipients, news);
}

/** What became of a test message to each recipient of a job. */
export async function testNotifications(
  context: RunContext,
  job: string,
  recipients: readonly Notify[] = [],
): Promise<readonly TestedRecipient[]> {
  const { testRecipients } = await import('./notify/send-notices.ts');
  return await testRecipients(context, job, recipients);
}

/**
 * Ends a plan that waits for approval, so that nobody can send it: its status becomes `superseded`, and what only sending it would
 * need is removed. What was sent of it stays. UsageError for any other run, LockedError while a run of its job is at work.
 */
export async function discardRun(context: RunContext, { id, job }: Run): Promise<Run> {
  const { runs } = context.state;
  const known = await runs.get(id);
  if (known === undefined) throw new UsageError(`There is no run ${id}.`);
  await using _lock = await lockJob(context, known);
  // Read again: another process may have approved it before the lock was free.
  const run = (await runs.get(id)) ?? known;
  if (run.status !== 'planned' && run.status !== 'stopped') {
    throw new UsageError(
      `The run ${id} of ${job} is ${run.status}: only a plan that waits can be discarded.`,
      {
        hint:
          run.status === 'running'
            ? `To stop it: storeferry cancel ${id}`
            : `\`storeferry runs ${id}\` shows it.`,
      },
    );
  }
  await supersedeAndDiscard(context, run);
  return await runs.update(id, { discarded: true });
}

interface ImportTaskBase {
  readonly request: ImportRequest;
}

interface SendingTask extends ImportTaskBase {
  /**
   * Lets other processes send the shards; they share the store's lock with this process. Default: this process sends
   * them.
   */
  readonly workers?: DeliverShards | undefined;
}

/** The task for an import job. */
type ImportTask =
  /** All steps: stage, plan, apply. */
  | (SendingTask & { readonly kind: 'run'; readonly compared?: ComparedSlice })
  /** Sends nothing. The plan can be approved until another run or plan of the job begins. */
  | (ImportTaskBase & { readonly kind: 'plan' })
  /** The same for the inverse of an earlier run. */
  | (ImportTaskBase & { readonly kind: 'undo'; readonly undo: RunPart })
  /** The same for the values of the job that a comparison has found changed in the store. */
  | (ImportTaskBase & { readonly kind: 'restore'; readonly restore: RunPart })
  /** The same for what another store, `from`, has acknowledged. */
  | (ImportTaskBase & { readonly kind: 'copy'; readonly copy: RunCopy; readonly from: CopySource })
  /** Applies exactly the plan of a planned or stopped run. `resumes`: also the rest of one that was approved and interrupted. */
  | (SendingTask & { readonly kind: 'approve'; readonly planned: Run; readonly resumes?: true })
  /** Sends exactly the records that a run held. */
  | (SendingTask & { readonly kind: 'release'; readonly release: RunPart })
  /** Sends the corrected rejects file of a run. `onEdits` is called with the corrections before anything is sent. */
  | (SendingTask & {
      readonly kind: 'retry';
      readonly rejected: Run;
      readonly onEdits: (edits: RejectsEdits) => void;
    });

type ApproveTask = Extract<ImportTask, { readonly kind: 'approve' }>;

/**
 * Runs the steps of an import job that the task asks for: stage, plan, apply, finish. Rejects as `runPipeline`, and
 * with UsageError if there is nothing to approve or to retry.
 */
async function importRun(outerContext: RunContext, task: ImportTask) {
  const request = task.kind === 'copy' ? copyRequest(task.request, task.from) : task.request;
  const { job, store } = request;
  let plan: Plan | null = null;
  if (task.kind === 'approve') await refuseInterrupted(outerContext, task);
  await refuseStarter(outerContext, task);
  return await runPipeline(outerContext, {
    run: runOf(outerContext, request, task),
    // A plan does not lock the job: a plan that is made during a run may be outdated, which is harmless.
    lock: isPlanning(task) ? lockPlan : lockJob,
    async admit(run) {
      if (mapsRows(task)) refuseUnusable(request.mapping);
      if (task.kind === 'retry') {
        await refuseUnlessRejected(outerContext, task.rejected);
        refuseOtherTarget(task.rejected, run);
      }
      if (task.kind === 'undo') await refuseUnlessUndoable(outerContext, run, task.undo);
      if (task.kind === 'copy') await refuseUnlessCopyable(outerContext, task.copy);
      if (task.kind === 'release') await refuseUnlessReleasable(outerContext, run, task.release);
      if (task.kind !== 'approve') return run;
      const approved = await approvePlan(outerContext, task, run);
      plan = approved.plan;
      return approved.run;
    },
    async steps(work) {
      const { context } = work;
      if (task.kind === 'approve') {
        await supersedeOthers(context, work.run);
        work.begin(work.run);
      } else {
        work.run = await createReconciledRun(context, work.run);
        work.run = mapsRows(task)
          ? await stageStep(context, request, work.run, stageOf(task))
          : await stageWithoutSource(context, work.run);
        // Before other runs and plans are superseded.
        await refuseUnknownKeys(context, request, work.run);
        work.begin(await runToContinue(context, task, work.run));
        if (task.kind === 'run' && task.compared !== undefined)
          work.run = await context.state.runs.update(work.run.id, task.compared);
        if (work.run.unchangedSince !== undefined) return;
      }
      if (isPlanning(task)) {
        plan = await planStep(context, request, work.run);
        await supersedePlans(context, work.run);
        refuseUnsafe(work.run, plan);
        return;
      }
      const { workers } = task;
      await using target = await lockTarget(context, work.run, { together: workers !== undefined });
      // Others send for a run that is continued until this process has seen all its shards end.
      let othersMaySend = workers !== undefined;
      await using _shared = {
        [Symbol.asyncDispose]: async () => void (othersMaySend && (await target.leave())),
      };
      await using _endPosition = storeEndPositionAtEnd(context, work, target);
      const known = plan ?? (await readPlan(context.artifacts.run(work.run.id)));
      if (known === undefined) othersMaySend = false;
      else await refuseOutdated(context, work.run, known);
      plan ??= await planStep(whileHeld(context, work.lock, target), request, work.run);
      refuseUnsafe(work.run, plan);
      // A retry or release without anything to send keeps plans valid and unfinished runs continuable.
      if ((task.kind === 'retry' || task.kind === 'release') && plan.shards.length > 0)
        await supersedeOthers(context, work.run);
      if (plan.shards.length > 0) work.run = await storeBeginPosition(context, work.run);
      const delivery = { run: work.run, plan, job, store, lock: target };
      const keep = await keepBlocks(context, work.run, plan, target);
      await applyStep(context, delivery, workers ?? deliverInProcess);
      othersMaySend = false;
      if (plan.confirmed !== undefined)
        await context.state.ledger(importTarget(work.run)).confirm(plan.confirmed);
      await keep();
    },
    finish: ({ context, run, lock }, failure) => finishStep(context, request, { run, plan, lock }, failure),
  });
}

function mapsRows({ kind }: ImportTask) {
  return kind === 'plan' || kind === 'run' || kind === 'retry';
}

/** ConfigurationError, with the places, for a mapping that cannot be used. */
function refuseUnusable(mapping: ImportRequest['mapping']) {
  const problems = mapping.findProblems();
  if (problems.length > 0) throw new ConfigurationError(problems);
}

/** Stores the position of the ledger (`Run.beginPosition`) before the first request of the run; one that is continued keeps its own. */
async function storeBeginPosition({ state }: RunContext, run: Run): Promise<Run> {
  if (run.beginPosition !== undefined) return run;
  const beginPosition = await state.ledger(importTarget(run)).position();
  return await state.runs.update(run.id, { beginPosition });
}

/**
 * Stores the position of the ledger (`Run.endPosition`) when it is disposed: while the run still has the lock of its target. A later
 * retry or release leaves out what was written after this position.
 */
function storeEndPositionAtEnd({ state }: RunContext, work: RunWork, target: Lock): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      const { run } = work;
      try {
        const endPosition = await state.ledger(importTarget(run)).position();
        // If the lock was lost, the position may include writes of another job.
        if (target.isHeld()) work.run = await state.runs.update(run.id, { endPosition });
      } catch (error) {
        // Without a position, a retry or a release sends nothing. The failure of the run itself is reported.
        if (!(error instanceof StateError)) throw error;
      }
    },
  };
}

function runOf(context: RunContext, request: ImportRequest, task: ImportTask): Run {
  if (task.kind === 'approve') return task.planned;
  const { resend, sample } = request;
  return newRun(context, request, {
    kind: isPlanning(task) ? 'plan' : task.kind,
    step: 'stage',
    resend,
    retryOf: task.kind === 'retry' ? task.rejected.id : null,
    ...(sample !== undefined && { sample }),
    ...(task.kind === 'undo' && { undo: task.undo }),
    ...(task.kind === 'copy' && { copy: task.copy }),
    ...(task.kind === 'restore' && { restore: task.restore, resend: true }),
    // Somebody has seen the values that are released.
    ...(task.kind === 'release' && { release: task.release, approved: true }),
  });
}

function isPlanning(
  task: ImportTask,
): task is Extract<ImportTask, { readonly kind: 'plan' | 'undo' | 'restore' | 'copy' }> {
  return task.kind === 'plan' || task.kind === 'undo' || task.kind === 'restore' || task.kind === 'copy';
}

function stageOf(task: ImportTask) {
  return task.kind === 'retry' ? stageCorrected(task.rejected, task.onEdits) : stageJobSource;
}

/** The run to continue: the job's unfinished run if it would do the same, otherwise the staged one. */
async function runToContinue(context: RunContext, { kind }: ImportTask, staged: Run): Promise<Run> {
  if (staged.unchangedSince !== undefined) return staged;
  if (kind === 'run') return await continueOrBegin(context, staged);
  return kind === 'retry' ? await continueSame(context, staged) : staged;
}

/**
 * UsageError for a run whose process has died. Check before this process locks the job, because a run without a lock
 * counts as dead.
 */
async function refuseInterrupted(context: RunContext, { planned, resumes }: ApproveTask) {
  const live = await withLiveStatus(context, planned);
  if (live.status === 'interrupted' && !(resumes && live.approved)) throw notApprovable(live);
}

/** Why somebody with these names may not approve a run; undefined if the person may, or the job asks for no other person. */
export function whyNotApprover(
  { id, job, approval, startedBy }: Run,
  names: readonly string[],
): UsageError | undefined {
  if (approval === undefined) return undefined;
  if (names.length === 0)
    return new UsageError(
      `${job} asks for the approval of another person, and a token that people share names none.`,
      {
        hint: 'Sign in by name.',
      },
    );
  // Anybody who has the token may have started it.
  const isShared = startedBy?.length === 0;
  const starter = isShared ? 'A token that people share' : names.find((name) => startedBy?.includes(name));
  if (starter === undefined) return undefined;
  return new UsageError(
    `${starter} has started the run ${id}, and ${job} asks for the approval of another person.`,
    {
      hint: isShared ? 'Plan the job again, signed in by name.' : 'Ask somebody else with the role approve.',
    },
  );
}

/** UsageError if the job asks for another person than the one who started the run that is to be approved, or that held the records. */
async function refuseStarter({ state, actors = [] }: RunContext, task: ImportTask) {
  const started =
    task.kind === 'approve'
      ? task.planned
      : task.kind === 'release'
        ? await state.runs.get(task.release.of)
        : undefined;
  const approval = started?.approval ?? task.request.job.approval?.by;
  if (started === undefined || approval === undefined) return;
  const why = whyNotApprover({ ...started, approval }, actors);
  if (why !== undefined) throw why;
}

/**
 * Approves a planned or stopped run while its job is locked; returns it as a running one, with its plan. UsageError
 * if there is nothing to approve, another run of the job has begun since, a sale price in the plan has begun or ended
 * since, or the job now writes to another store; StateError if files of the plan were damaged.
 */
async function approvePlan(context: RunContext, { request, resumes }: ApproveTask, known: Run) {
  const { runs } = context.state;
  // Read again: another process may have approved it before the lock was free.
  const planned = (await runs.get(known.id)) ?? known;
  const hint = planAgainHint(planned);
  // The lock of the job is free: a run that is running has died.
  const isBegun = resumes === true && planned.approved && UNFINISHED.includes(planned.status);
  if (planned.status !== 'planned' && planned.status !== 'stopped' && !isBegun) throw notApprovable(planned);
  if ((await laterRun(context, planned)) !== undefined) {
    throw new UsageError(`Another run of ${planned.job} has begun since ${planned.id} was planned.`, {
      hint,
    });
  }
  refuseOtherStore(planned, request, hint);
  await reconcileState(context, planned);
  const plan = await wholePlan(context, planned, hint);
  const text = changedSincePlanText(await changedSincePlan(context, request, planned));
  if (text !== undefined) context.onEvent({ type: 'changed-since-plan', text });
  const run = await runs.update(planned.id, {
    kind: approvedKind(planned),
    approved: true,
    status: 'running',
    error: null,
    finishedAt: null,
    progress: null,
    totals: null,
    ...(!isBegun && { interruptAskedAt: null }),
    step: 'apply',
    ...(planned.waves !== undefined && {
      waves: planned.waves.map((wave) => ({ ...wave, approved: wave.approved || wave.stop !== null })),
    }),
  });
  return { run, plan };
}

function approvedKind({ kind, undo, restore, copy }: Run): Run['kind'] {
  if (undo !== undefined) return 'undo';
  // It sends bodies that were made before, too.
  if (restore !== undefined) return 'release';
  if (copy !== undefined) return 'copy';
  return kind === 'plan' ? 'run' : kind;
}

/** StateError if the plan is damaged or missing, UsageError if it would now be a different plan. */
async function wholePlan(context: RunContext, planned: Run, hint: string): Promise<Plan> {
  const why = await whyNotContinue(context, planned, context.clock());
  const plan = why === undefined ? await readPlan(context.artifacts.run(planned.id)) : undefined;
  if (plan !== undefined) return plan;
  if (why instanceof UsageError) throw new UsageError(why.message, { hint, cause: why });
  throw new StateError(why?.message ?? `The plan of run ${planned.id} is gone.`, { hint, cause: why });
}

/** Outcomes are written to the ledger of the store of the plan, so the plan must not be sent to another store. */
function refuseOtherStore(planned: Run, { job, store }: ImportRequest, hint: string) {
  const { id, storeId, baseUrl, resource } = planned;
  if (storeId === storeIdentity(store) && resource === job.import) return;
  throw new UsageError(
    `The plan ${id} was made for ${resource} of ${planned.store} (${baseUrl}); the job now writes ${job.import} of ${store.name} (${store.baseUrl}).`,
    { hint },
  );
}

function notApprovable(run: Run) {
  const { id, job, status, discarded = false } = run;
  if (status === 'superseded') {
    const message = discarded
      ? `The plan ${id} of ${job} was discarded${discarded === 'forgotten' ? ' by `forget`' : ''}.`
      : `Another run or plan of ${job} has begun since ${id} was planned.`;
    return new UsageError(message, { hint: planAgainHint(run) });
  }
  const [next] = nextSteps({ run });
  return new UsageError(
    `The run ${id} ${status === 'interrupted' ? 'was' : 'is'} ${status}: only a planned or stopped run can be approved.`,
    { hint: next === undefined ? planAgainHint(run) : `${next.what} ${next.command}` },
  );
}
