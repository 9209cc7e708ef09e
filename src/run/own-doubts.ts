import { isSameTarget, type Run, SENDING_KINDS } from '../model/run.ts';
import { importTarget } from '../state/state.ts';
import type { RunContext } from './run-context.ts';

/** Keys in doubt that only this job has sent, by whose run sent them last. */
export type OwnDoubts = Awaited<ReturnType<typeof ownDoubts>>;

/**
 * Those of the keys that are in doubt by this job alone. As no two runs of a job send at once, the newest run after whose beginning
 * (`Run.beginPosition`) a key was written is the one that has sent it last.
 */
export async function ownDoubts(
  { state }: Pick<RunContext, 'state'>,
  by: Run,
  keys: readonly string[],
  isAttempt: (run: Run) => boolean,
) {
  const ledger = state.ledger(importTarget(by));
  const others = new Set(keys.length === 0 ? [] : await ledger.doubtedOnlyBy(by.job, keys));
  const attempted = new Set<string>();
  const runs = others.size === 0 ? [] : await state.runs.list({ job: by.job, kinds: SENDING_KINDS });
  let unassigned = [...others];
  for (const run of runs) {
    if (unassigned.length === 0) break;
    if (run.beginPosition === undefined || !isSameTarget(run, by)) continue;
    const sent = await ledger.writtenSince(run.beginPosition, unassigned);
    unassigned = unassigned.filter((key) => !sent.has(key));
    if (sent.size === 0 || !isAttempt(run) || (await ledger.lostSince(run))) continue;
    for (const key of sent) {
      others.delete(key);
      attempted.add(key);
    }
  }
  return {
    /** Earlier attempts to do the same have sent them last: they were killed, or got no answer. */
    attempted,
    /** Other runs have, or nobody knows which. */
    others,
  };
}
