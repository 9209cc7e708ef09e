import { InterruptedOnRequestError } from '../model/errors.ts';
import type { Run, RunProgress, RunWaiting } from '../model/run.ts';
import type { RunContext } from './context.ts';
import type { RunEvent } from './events.ts';

const LOOK_EVERY_MS = 1_000;

/**
 * A run at work in this process, as other processes see and reach it: about once a second it tells the state how far
 * it is and how long was worked on it, and looks whether somebody has asked for its end.
 */
export interface WatchedRun extends Disposable {
  /** For the steps of the run: its signal aborts with an InterruptedOnRequestError when somebody has asked. */
  readonly context: RunContext;
  /** From now on the run is another: the one that is continued. */
  follow(run: Run): void;
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
      watch: { workedMs, end },
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
      followed = run;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** What is written at the end of a run, by the process that has worked on it last. */
export function workedSoFar({ watch }: RunContext): Pick<Run, 'workedMs'> {
  return watch === undefined ? {} : { workedMs: watch.workedMs() };
}

function progressOf(event: Extract<RunEvent, { type: 'progress' }>, at: number): RunProgress {
  const { step, done, total, unit, records = { applied: 0, rejected: 0 } } = event;
  return { step, done, total, unit, ...records, at };
}
