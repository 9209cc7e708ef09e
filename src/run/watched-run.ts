import { InterruptedOnRequestError } from '../model/errors.ts';
import type { RunProgress } from '../model/run.ts';
import type { RunContext } from './context.ts';
import type { RunEvent } from './events.ts';

const LOOK_EVERY_MS = 1_000;

/**
 * A run at work in this process, as other processes see and reach it: about once a second it tells the state how far
 * it is, and looks whether somebody has asked for its end.
 */
export interface WatchedRun extends Disposable {
  /** For the steps of the run: its signal aborts with an InterruptedOnRequestError when somebody has asked. */
  readonly context: RunContext;
  /** From now on the run is another: the one that is continued. */
  follow(id: string): void;
}

/** Begins to watch; nothing is written for runs that are over within a second. */
export function watchedRun(context: RunContext, id: string): WatchedRun {
  const { runs } = context.state;
  const asked = new AbortController();
  let followed = id;
  let told: RunProgress | null = null;
  let latest: RunProgress | null = null;
  let looking = false;

  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    const of = followed;
    const progress = latest;
    try {
      const run = progress === told ? await runs.get(of) : await runs.update(of, { progress });
      told = progress;
      if (of === followed && run?.interruptAskedAt != null) asked.abort(new InterruptedOnRequestError());
    } catch {
      // Without an answer nothing is known: the run itself meets what is wrong with the state.
    } finally {
      looking = false;
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();

  return {
    context: {
      ...context,
      signal: AbortSignal.any([context.signal, asked.signal]),
      onEvent(event) {
        if (event.type === 'progress') latest = progressOf(event, context.clock());
        context.onEvent(event);
      },
    },
    follow(id) {
      followed = id;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function progressOf(event: Extract<RunEvent, { type: 'progress' }>, at: number): RunProgress {
  const { step, done, total, unit, records = { applied: 0, rejected: 0 } } = event;
  return { step, done, total, unit, ...records, at };
}
