import type { Run, RunProgress, RunWaiting } from '../model/run.ts';
import { InterruptedOnRequestError } from '../model/storeferry-error.ts';
import type { RunContext, RunEvent } from './run-context.ts';

const LOOK_EVERY_MS = 1_000;

/**
 * A run at work in this process, as other processes see and reach it: about once a second its progress and the time worked
 * are written to the state, and the state is asked whether its end was requested.
 */
export interface WatchedRun extends Disposable {
  /** For the steps of the run: its signal aborts with an InterruptedOnRequestError when its end was requested. */
  readonly context: RunContext;
  /** From now on watches the run that is continued, if it is another one. */
  follow(run: Run): void;
  /** Once it resolves, no more progress is written. To be awaited before the end of the run is written. */
  end(): Promise<void>;
}

/** Begins to watch; nothing is written for runs that are over within a second. */
export function watchedRun(context: RunContext, run: Run): WatchedRun {
  const { runs } = context.state;
  const asked = new AbortController();
  const beganAt = performance.now();
  let followed = run;
  const workedMs = () => Math.round((followed.workedMs ?? 0) + performance.now() - beganAt);
  let latest: RunProgress | null = null;
  let waiting: RunWaiting | null = null;
  let looking: Promise<void> | null = null;

  const look = async (): Promise<void> => {
    const { id } = followed;
    try {
      const run = await runs.update(id, {
        progress: latest,
        workedMs: workedMs(),
        ...(waiting === null ? {} : { waiting }),
      });
      if (id === followed.id && run.interruptAskedAt != null) asked.abort(new InterruptedOnRequestError());
    } catch {
      // Without an answer nothing is known: the run itself meets what is wrong with the state.
    }
  };
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = null;
    });
  }, LOOK_EVERY_MS).unref();
  const end = async (): Promise<void> => {
    clearInterval(timer);
    await looking;
  };

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
      // What was noted of the same run is counted from `beganAt` already.
      if (run.id !== followed.id) followed = run;
    },
    end,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** What is written at the end of a run, by the process that has worked on it last. */
export function workedSoFar({ workedMs }: RunContext): Pick<Run, 'workedMs'> {
  return workedMs === undefined ? {} : { workedMs: workedMs() };
}

function progressOf(event: Extract<RunEvent, { type: 'progress' }>, at: number): RunProgress {
  const { step, done, total, unit, records = { applied: 0, rejected: 0 } } = event;
  return { step, done, total, unit, ...records, at };
}
