import type { Job } from '../config/job/job.ts';
import type { StoreConfig } from '../config/store-config.ts';
import { repeatEvery } from '../model/clock.ts';
import { withoutAbsent } from '../model/json-object.ts';
import { storeIdentity } from '../model/remote-address.ts';
import { type Run, type RunProgress, type RunWaiting, UNFINISHED } from '../model/run.ts';
import {
  explainError,
  InterruptedOnRequestError,
  LockedError,
  StateError,
  StateUnavailableError,
  StoreferryError,
  UnknownKeysError,
  UsageError,
} from '../model/storeferry-error.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { Lock } from '../state/state.ts';
import { refuseUnlessHeld } from './lock-job.ts';
import { settleRenames } from './rename-job.ts';
import { RunBug, type RunContext, type RunEvent } from './run-context.ts';

/** A running run, as its steps read and change it. */
export interface RunWork {
  /** For the steps: its signal also aborts when the end of the run was requested. */
  readonly context: RunContext;
  /** The lock that allows this process to work on the run and to end it. */
  readonly lock: Lock;
  /** The run after the last step. */
  run: Run;
  /** Call it when it is known which run continues: the new one, or an unfinished one in its place. */
  begin(run: Run): void;
}

/** The differences between kinds of runs. */
export interface RunPipeline {
  /** The run that is about to begin. */
  readonly run: Run;
  readonly lock: (context: RunContext, run: Run) => Promise<Lock>;
  /**
   * Called under the lock. Returns the run that begins, or throws: then nothing has begun and there is nothing to
   * end.
   */
  readonly admit?: (run: Run) => Promise<Run>;
  readonly steps: (work: RunWork) => Promise<void>;
  /** Records the end of the run and returns its facts. `failure`: the error of a step, null if there was none. */
  readonly finish: (work: RunWork, failure: unknown) => Promise<RunFacts>;
}

/**
 * The common part of all runs: lock, watch, steps, finish. Rejects with LockedError while another process holds the
 * lock and when the lock is lost (then the other process ends the run), with UsageError when the job is gone, with UnknownKeysError,
 * whose run is removed, with any error of `admit`, and with RunBug,
 * after the end is recorded, if a step threw no StoreferryError. Any other failure becomes the run's status and
 * error.
 */
export async function runPipeline(surroundings: RunContext, pipeline: RunPipeline): Promise<RunFacts> {
  const { admit, steps, finish } = pipeline;
  await settleRenames(surroundings, pipeline.run.job);
  await using lock = await pipeline.lock(surroundings, pipeline.run);
  refuseMissingJob(surroundings, pipeline.run);
  const begun = admit === undefined ? pipeline.run : await admit(pipeline.run);
  const { job } = begun;
  const earlier = await surroundings.state.runs.list({ job, statuses: UNFINISHED });
  const metRequests = new Map(earlier.map(({ id, interruptAskedAt }) => [id, interruptAskedAt ?? 0]));
  using watched = watchedRun({ ...surroundings, metRequests }, begun);
  const { context } = watched;
  const work: RunWork = {
    context,
    lock,
    run: begun,
    begin(run) {
      work.run = run;
      watched.follow(run);
      context.onEvent({ type: 'begun', run, continued: run.id !== begun.id });
    },
  };
  let failure: unknown = null;
  try {
    await steps(work);
  } catch (error) {
    failure = error;
  }
  if (failure instanceof LockedError) throw failure;
  if (failure instanceof UnknownKeysError) {
    await watched.end();
    await context.artifacts.remove(begun.id);
    await context.state.runs.remove(begun.id);
    throw failure;
  }
  refuseUnlessHeld(lock);
  const facts = await recordingEnd(failure, async () => {
    await watched.end();
    return await finish(work, failure);
  });
  if (failure !== null && !(failure instanceof StoreferryError)) throw new RunBug(facts, failure);
  return facts;
}

/**
 * UsageError for a job that was renamed or deleted after its file was read, before the lock was free: what it sends would belong to a
 * job that does not exist.
 */
function refuseMissingJob({ hasJob }: RunContext, { job }: Run) {
  if (hasJob === undefined || hasJob(job)) return;
  throw new UsageError(`The job ${job} was renamed or deleted just now: nothing was begun.`, {
    hint: '`storeferry runs` lists the jobs.',
  });
}

/**
 * Records the end of a run. If that fails too, rejects with the failure of the run itself if it was already one of
 * the state, otherwise with both.
 */
async function recordingEnd<Ended>(failure: unknown, record: () => Promise<Ended>) {
  try {
    return await record();
  } catch (error) {
    if (failure === null || error instanceof LockedError) throw error;
    if (failure instanceof StateError || !(failure instanceof StoreferryError)) throw failure;
    if (!(error instanceof StoreferryError)) throw error;
    const kind = error instanceof StateUnavailableError ? StateUnavailableError : StateError;
    throw new kind(`${explainError(failure)} The end of the run could not be recorded: ${error.message}`, {
      hint: error.hint,
      cause: error,
    });
  }
}

/** The differences between kinds of runs when they begin. */
type Beginning = Pick<Run, 'kind' | 'step'> &
  Partial<
    Pick<
      Run,
      'approved' | 'copy' | 'digest' | 'release' | 'resend' | 'restore' | 'retryOf' | 'sample' | 'undo'
    >
  >;

/** A run of a job that is about to begin; the state does not have it until it is created there. */
export function newRun(
  context: RunContext,
  { job, store }: { readonly job: Job; readonly store: StoreConfig },
  beginning: Beginning,
): Run {
  return {
    id: context.newRunId(),
    sequence: 0,
    ...jobFacts(job),
    store: store.name,
    baseUrl: store.baseUrl,
    storeId: storeIdentity(store),
    status: 'running',
    digest: null,
    keyDigest: null,
    startedAt: context.clock(),
    stagedAt: null,
    finishedAt: null,
    // So that a run that is killed in its first second does not last until now.
    workedMs: 0,
    totals: null,
    error: null,
    approved: false,
    resend: false,
    retryOf: null,
    ...(context.actors !== undefined && { startedBy: [...context.actors] }),
    ...beginning,
  };
}

/** What a run keeps of its job as it is when the run begins. */
function jobFacts(job: Job): Pick<Run, 'job' | 'resource' | 'approval'> {
  if (job.kind === 'export') return { job: job.name, resource: job.export };
  const { approval } = job;
  return { job: job.name, resource: job.import, ...(approval !== undefined && { approval: approval.by }) };
}

/** Continues an unfinished run in the place of the new one, which is removed. */
export async function continueInstead(context: RunContext, begun: Run, unfinished: Run): Promise<Run> {
  const { runs } = context.state;
  await context.artifacts.remove(begun.id);
  const [ofBegun, ofUnfinished] = await Promise.all(
    [begun, unfinished].map(async ({ id }) => (await runs.get(id))?.interruptAskedAt ?? null),
  );
  await runs.remove(begun.id);
  const isMet = ofUnfinished != null && ofUnfinished === context.metRequests?.get(unfinished.id);
  // A request to end the new run means the continued one as well.
  const asked = ofBegun ?? (isMet ? null : undefined);
  const starters = withoutAbsent([unfinished.startedBy, begun.startedBy]);
  const isShared = starters.some(({ length }) => length === 0);
  return await runs.update(unfinished.id, {
    status: 'running',
    error: null,
    finishedAt: null,
    progress: null,
    ...(asked !== undefined && { interruptAskedAt: asked }),
    ...(starters.length > 0 && { startedBy: isShared ? [] : [...new Set(starters.flat())] }),
  });
}

/** Ends a run that nothing will continue; its files are kept. */
export async function supersede(context: RunContext, run: Run): Promise<void> {
  await context.state.runs.update(run.id, {
    status: 'superseded',
    finishedAt: run.finishedAt ?? context.clock(),
    error: run.error?.replaceAll(/ If (?:this is|they are) correct, approve .*/g, '') ?? null,
  });
}

const LOOK_EVERY_MS = 1_000;

/**
 * A run in this process, as other processes see and control it: about once per second its progress and working time
 * are written to the state, and the state is asked whether the end was requested. Nothing is written for runs that end within a second.
 */
export function watchedRun(context: RunContext, run: Run) {
  const { runs } = context.state;
  const asked = new AbortController();
  const beganAt = performance.now();
  let followed = run;
  const workedMs = () => Math.round((followed.workedMs ?? 0) + performance.now() - beganAt);
  let latest: RunProgress | null = null;
  let waiting: RunWaiting | null = null;

  const look = async () => {
    const { id } = followed;
    try {
      const run = await runs.update(id, {
        progress: latest,
        workedMs: workedMs(),
        ...(waiting !== null && { waiting }),
      });
      if (id === followed.id && run.interruptAskedAt != null) asked.abort(new InterruptedOnRequestError());
    } catch {
      // Without an answer nothing is known: the run itself will meet the failure of the state.
    }
  };
  const looking = repeatEvery(LOOK_EVERY_MS, look);

  return {
    /** For the steps of the run: its signal aborts with an InterruptedOnRequestError if the end was requested. */
    context: {
      ...context,
      workedMs,
      signal: AbortSignal.any([context.signal, asked.signal]),
      onEvent(event: RunEvent): void {
        if (event.type === 'progress') latest = progressOf(event, context.clock());
        if (event.type === 'waiting-for-requests') {
          waiting = { operations: event.operations, until: context.clock() + event.ms };
        }
        context.onEvent(event);
      },
    },
    /** From now on watches the continued run, if it is another one. */
    follow(run: Run): void {
      // Earlier time of the same run is already counted from `beganAt`.
      if (run.id !== followed.id) followed = run;
    },
    /** After it resolves, no more progress is written. Await it before writing the end of the run. */
    end: looking.stop,
    [Symbol.dispose]: () => void looking.stop(),
  };
}

function progressOf(event: Extract<RunEvent, { type: 'progress' }>, at: number): RunProgress {
  const { step, done, total, unit, records = { applied: 0, rejected: 0 } } = event;
  return { step, done, total, unit, ...records, at };
}
