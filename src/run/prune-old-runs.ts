import type { RunContext } from './context.ts';

/** Summary and rejects of this many runs of a job are kept. */
const RUNS_KEPT = 20;
const LOOK_BACK = 1_000;

/** Forgets the oldest runs of a job beyond those that are kept; runs under way are left alone. */
export async function pruneOldRuns(context: RunContext, job: string): Promise<void> {
  const runs = await context.state.runs.list({ job, limit: LOOK_BACK });
  for (const { id, status } of runs.slice(RUNS_KEPT)) {
    if (status === 'running') continue;
    await context.artifacts.remove(id);
    await context.state.runs.remove(id);
  }
}
