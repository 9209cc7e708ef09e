import { repeatEvery } from '../model/clock.ts';
import type { Run, RunProgress, RunWaiting } from '../model/run.ts';
import { InterruptedError, InterruptedOnRequestError } from '../model/storeferry-error.ts';
import { type RunContext, type RunEvent, runErrorOf } from './run-context.ts';

const LOOK_EVERY_MS = 1_000;

/**
 * A run in this process, as other processes see and control it: about once per second its progress and working time
 * are written to the state, and the state is asked whether the end was requested.
 */
export interface WatchedRun extends Disposable {
  /** For the steps of the run: its signal aborts with an InterruptedOnRequestError if the end was requested. */
  readonly context: RunContext;
  /** From now on watches the continued run, if it is another one. */
  follow(run: Run): void;
  /** After it resolves, no more progress is written. Await it before writing the end of the run. */
  end(): Promise<void>;
}

/** Begins to watch; nothing is written for runs that end within a second. */
export function watchedRun(context: RunContext, run: Run): WatchedRun {
  const { runs } = context.state;
  const asked = new AbortController();
  const beganAt = performance.now();
  let followed = run;
  const workedMs = () => Math.round((followed.workedMs ?? 0) + performance.now() - beganAt);
  let latest: RunProgress | null = null;
  let waiting: RunWaiting | null = null;

  const look = async (): Promise<void> => {
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
    context: {
      ...context,
      workedMs,
      signal: AbortSignal.any([context.signal, asked.signal]),
      onEvent(event) {
        if (event.type === 'progress') latest = progressOf(event, context.clock());
        if (event.type === 'waiting-for-requests') {
          waiting = { operations: event.operations, until: context.clock() + event.ms };
        }
        context.onEvent(event);
      },
    },
    follow(run) {
      // Earlier time of the same run is already counted from `beganAt`.
      if (run.id !== followed.id) followed = run;
    },
    end: looking.stop,
    [Symbol.dispose]: () => void looking.stop(),
  };
}

/** What the last process of a run writes at its end. */
export function elapsedFigures({ workedMs }: RunContext): Pick<Run, 'workedMs'> {
  return workedMs === undefined ? {} : { workedMs: workedMs() };
}

/** The end of a run without rejections; `failure`: null if there was none. */
export function endOf(
  context: RunContext,
  run: Run,
  failure: unknown,
): Pick<Run, 'status' | 'error' | 'finishedAt' | 'progress' | 'workedMs'> {
  const failed = failure instanceof InterruptedError ? 'interrupted' : 'failed';
  return {
    status: failure === null ? 'done' : failed,
    error: failure === null ? null : runErrorOf(failure, run, context),
    finishedAt: context.clock(),
    progress: null,
    ...elapsedFigures(context),
  };
}

function progressOf(event: Extract<RunEvent, { type: 'progress' }>, at: number): RunProgress {
  const { step, done, total, unit, records = { applied: 0, rejected: 0 } } = event;
  return { step, done, total, unit, ...records, at };
}
