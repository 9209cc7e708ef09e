import type { StoreConfig } from '../config/store-config.ts';
import type { Run } from '../model/run.ts';
import { storeIdentity } from '../model/store-identity.ts';
import { explainError, LockedError, StateError, StoreferryError } from '../model/storeferry-error.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { Lock } from '../state/state.ts';
import { refuseUnlessHeld } from './lock-job.ts';
import { RunBug, type RunContext } from './run-context.ts';
import { watchedRun } from './watched-run.ts';

/** A run under way, as its steps find and leave it. */
export interface RunWork {
  /** For the steps: its signal also aborts when the end of the run was requested. */
  readonly context: RunContext;
  /** The lock that lets this process work on the run and end it. */
  readonly lock: Lock;
  /** As the last step left it. */
  run: Run;
  /** To be called once it is known which run goes on: the new one, or an unfinished one in its place. */
  begin(run: Run): void;
}

/** What kinds of runs differ in. */
export interface RunPipeline {
  /** The run that is about to begin. */
  readonly run: Run;
  readonly lock: (context: RunContext, run: Run) => Promise<Lock>;
  /** Under the lock, gives the run that begins, or throws: then nothing has begun and there is nothing to end. */
  readonly admit?: (run: Run) => Promise<Run>;
  readonly steps: (work: RunWork) => Promise<void>;
  /** Records the end of the run and gives its facts. `failure`: what a step threw, null when none did. */
  readonly finish: (work: RunWork, failure: unknown) => Promise<RunFacts>;
}

/**
 * What all runs have in common: lock, watch, steps, finish. Rejects with LockedError while another process holds the lock
 * and when the lock is lost (the run is then the other process's to end), with whatever `admit` throws, and with RunBug,
 * once the end is recorded, when a step threw no StoreferryError. Any other failure is the run's status and error.
 */
export async function runPipeline(surroundings: RunContext, pipeline: RunPipeline): Promise<RunFacts> {
  const { admit, steps, finish } = pipeline;
  await using lock = await pipeline.lock(surroundings, pipeline.run);
  const begun = admit === undefined ? pipeline.run : await admit(pipeline.run);
  using watched = watchedRun(surroundings, begun);
  const { context } = watched;
  const work: RunWork = {
    ...{ context, lock, run: begun },
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
  refuseUnlessHeld(lock);
  const facts = await recordingEnd(failure, async () => {
    await watched.end();
    return await finish(work, failure);
  });
  if (failure !== null && !(failure instanceof StoreferryError)) throw new RunBug(facts, failure);
  return facts;
}

/**
 * Records the end of a run. When that fails too, rejects with what the user must know: the failure of the run itself where
 * that was the state's already, else both.
 */
async function recordingEnd<Ended>(failure: unknown, record: () => Promise<Ended>): Promise<Ended> {
  try {
    return await record();
  } catch (error) {
    if (failure === null || error instanceof LockedError) throw error;
    if (failure instanceof StateError || !(failure instanceof StoreferryError)) throw failure;
    if (!(error instanceof StoreferryError)) throw error;
    throw new StateError(
      `${explainError(failure)} The end of the run could not be recorded: ${error.message}`,
      { hint: error.hint, cause: error },
    );
  }
}

/** What kinds of runs differ in when they begin. */
type Beginning = Pick<Run, 'job' | 'kind' | 'resource' | 'step'> &
  Partial<Pick<Run, 'digest' | 'resend' | 'retryOf'>>;

/** A run that is about to begin; unknown to the state until it is created there. */
export function newRun(context: RunContext, store: StoreConfig, beginning: Beginning): Run {
  return {
    id: context.newRunId(),
    sequence: 0,
    store: store.name,
    baseUrl: store.baseUrl,
    storeId: storeIdentity(store),
    status: 'running',
    digest: null,
    keyDigest: null,
    startedAt: context.clock(),
    stagedAt: null,
    finishedAt: null,
    totals: null,
    error: null,
    approved: false,
    resend: false,
    retryOf: null,
    ...beginning,
  };
}

/** Continues an unfinished run in the place of the one just begun, of which nothing is left. */
export async function continueInstead(context: RunContext, begun: Run, unfinished: Run): Promise<Run> {
  const { runs } = context.state;
  // Whoever has asked for the end of the one just begun means its work.
  const interruptAskedAt = (await runs.get(begun.id))?.interruptAskedAt ?? null;
  await context.artifacts.remove(begun.id);
  await runs.remove(begun.id);
  return await runs.update(unfinished.id, {
    ...{ status: 'running', error: null, finishedAt: null, progress: null },
    interruptAskedAt,
  });
}

/** Ends a run that nothing continues any more; its files stay. */
export async function supersede(context: RunContext, run: Run): Promise<void> {
  await context.state.runs.update(run.id, {
    status: 'superseded',
    finishedAt: run.finishedAt ?? context.clock(),
  });
}
