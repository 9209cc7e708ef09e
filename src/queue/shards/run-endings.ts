import { InterruptedError } from '../../model/errors.ts';
import type { Run } from '../../model/run.ts';
import type { Runs } from '../../state/state.ts';

const POLL_MS = 100;

/**
 * Whether workers may send for the run. An error on a running run says that it is about to end: the
 * process that meets it first writes it, so that all stop. An interrupted run is on its way from one worker to the next, and its
 * shards need not wait for that; unless a person has asked for its end.
 */
export function maySend(run: Run | undefined): run is Run {
  if (run?.interruptAskedAt != null) return false;
  return run?.status === 'interrupted' || (run?.status === 'running' && run.error === null);
}

/** Hears of the end of a run for all of its shards in this process. */
export interface RunEndings {
  /** Listens for as long as the shard is sent; the signal aborts when the run ends, or is about to. */
  watch(run: string): Disposable & { readonly signal: AbortSignal };
  /** Ends the run for this process at once, and for the others as soon as they look. */
  end(run: string, error: string): Promise<void>;
}

interface Watched {
  readonly ending: AbortController;
  readonly timer: NodeJS.Timeout;
  watchers: number;
}

/** One look at the state serves all shards of a run. */
export function runEndings(runs: Pick<Runs, 'get' | 'update'>): RunEndings {
  const watched = new Map<string, Watched>();

  const stop = (id: string): void => {
    watched.get(id)?.ending.abort(new InterruptedError(`The run ${id} ends.`));
  };
  const look = async (id: string): Promise<void> => {
    try {
      if (!maySend(await runs.get(id))) stop(id);
    } catch {
      // Without an answer nothing is known; the lock says when to stop then.
    }
  };
  const begin = (id: string): Watched => {
    const begun = { ending: new AbortController(), timer: setInterval(look, POLL_MS, id), watchers: 0 };
    watched.set(id, begun);
    return begun;
  };

  return {
    watch(id) {
      const known = watched.get(id);
      const entry = known === undefined || known.ending.signal.aborted ? begin(id) : known;
      entry.watchers++;
      return {
        signal: entry.ending.signal,
        [Symbol.dispose]() {
          if (--entry.watchers > 0) return;
          clearInterval(entry.timer);
          if (watched.get(id) === entry) watched.delete(id);
        },
      };
    },
    async end(id, error) {
      stop(id);
      await runs.update(id, { error });
    },
  };
}
