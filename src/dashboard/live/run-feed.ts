import type { Run, RunProgress, RunStatus } from '../../model/run.ts';
import { ProgressMeter } from '../../report/progress-meter.ts';
import { asItStands } from '../../run/as-it-stands.ts';
import type { RunContext } from '../../run/context.ts';

/** How far a run is, as `live.js` shows it. */
export interface LiveProgress extends Omit<RunProgress, 'at'> {
  readonly status: RunStatus;
  /** In units of the step; null while nothing can be said. */
  readonly ratePerSecond: number | null;
  readonly etaMs: number | null;
}

/** Called once a second with the progress of a run, and once at its end. */
export type RunListener = (event: 'progress' | 'ended', progress: LiveProgress) => void;

/** Follows the runs that are watched. */
export interface RunFeed extends Disposable {
  /** Begins to watch a run; gives what ends it. */
  watch(id: string, listener: RunListener): () => void;
}

const LOOK_EVERY_MS = 1_000;
/** Whether its process has died is asked of the locks, less often. */
const STANDING_EVERY = 5;

interface Watched {
  readonly listeners: Set<RunListener>;
  readonly timer: NodeJS.Timeout;
}

/**
 * Looks at the state, since any process may be at work on a run; once for all who watch it. A state that cannot be
 * read for a while is asked again.
 */
export function runFeed({ state }: Pick<RunContext, 'state'>, lookEveryMs = LOOK_EVERY_MS): RunFeed {
  const watched = new Map<string, Watched>();
  const end = (id: string) => {
    clearInterval(watched.get(id)?.timer);
    watched.delete(id);
  };

  const begin = (id: string): Watched => {
    const meter = new ProgressMeter();
    const listeners = new Set<RunListener>();
    let measured: Run['step'] | null = null;
    let looks = 0;
    let looking = false;
    const look = async (): Promise<void> => {
      const found = await state.runs.get(id);
      const run = found && (looks++ % STANDING_EVERY === 0 ? await asItStands({ state }, found) : found);
      if (watched.get(id)?.listeners !== listeners) return;
      const progress = liveProgress(run, (step, done, total) => {
        // Another step counts something else.
        if (measured !== step) meter.add(performance.now(), -1);
        measured = step;
        meter.add(performance.now(), done);
        return { ratePerSecond: meter.ratePerSecond, etaMs: meter.etaMs(total) };
      });
      const over = progress.status !== 'running';
      if (over) end(id);
      for (const listener of listeners) listener(over ? 'ended' : 'progress', progress);
    };
    const lookUnlessLooking = () => {
      if (looking) return;
      looking = true;
      look()
        .catch(() => {})
        .finally(() => {
          looking = false;
        });
    };
    const timer = setInterval(lookUnlessLooking, lookEveryMs);
    setImmediate(lookUnlessLooking);
    return { listeners, timer };
  };

  return {
    watch(id, listener) {
      const known = watched.get(id) ?? begin(id);
      watched.set(id, known);
      known.listeners.add(listener);
      return () => {
        known.listeners.delete(listener);
        if (known.listeners.size === 0 && watched.get(id) === known) end(id);
      };
    },
    [Symbol.dispose]() {
      for (const id of [...watched.keys()]) end(id);
    },
  };
}

type Measure = (
  step: Run['step'],
  done: number,
  total: number | null,
) => Pick<LiveProgress, 'ratePerSecond' | 'etaMs'>;

/** A run that is gone was continued under the id of an earlier one: it is over. */
function liveProgress(run: Run | undefined, measure: Measure): LiveProgress {
  const { step = 'finish', status = 'superseded', progress } = run ?? {};
  const at = progress?.step === step ? progress : NOTHING_YET;
  const { done, total, unit, applied, rejected } = at;
  return { step, status, done, total, unit, applied, rejected, ...measure(step, done, total) };
}

const NOTHING_YET = { done: 0, total: null, unit: 'rows', applied: 0, rejected: 0 } as const;
