import type { Run } from '../model/run.ts';

/**
 * Whether workers may send for the run. An error on a running run says that it is about to end: it is written by
 * whoever meets it first, so that all stop. An interrupted run is on its way from one worker to the next, and its
 * shards need not wait for that.
 */
export function maySend(run: Run | undefined): run is Run {
  return run?.status === 'interrupted' || (run?.status === 'running' && run.error === null);
}
