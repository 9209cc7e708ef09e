import type { Run } from '../model/run.ts';
import type { Artifacts } from './artifacts.ts';
import type { State } from './state.ts';

/** Summaries and rejects of this many runs of a job are kept (design: Mirror, ledger and continuing). */
export const RUNS_KEPT = 20;

/** How many runs are looked at together; what is older is pruned by a later call. */
const LOOK_AT = 1_000;

/** The runs of one job that need not be kept, given newest first. A run under way is never among them. */
export function runsToPrune(runs: readonly Run[], keep: number = RUNS_KEPT): Run[] {
  return runs.slice(keep).filter(({ status }) => status !== 'running');
}

/** Removes the job's old runs with their files, and gives their ids. The ledger keeps what they have sent. */
export async function pruneRuns(
  { runs }: Pick<State, 'runs'>,
  artifacts: Artifacts,
  job: string,
  keep: number = RUNS_KEPT,
): Promise<string[]> {
  const old = runsToPrune(await runs.list({ job, limit: keep + LOOK_AT }), keep);
  for (const { id } of old) {
    // The files first: a run that is still listed can be pruned again.
    await artifacts.remove(id);
    await runs.remove(id);
  }
  return old.map(({ id }) => id);
}
