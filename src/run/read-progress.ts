import type { Run, RunProgress } from '../model/run.ts';
import type { RunContext } from './context.ts';

/**
 * How far a run has come that any process is at work on, at most about a second ago; null when it is over, or when
 * nothing is known yet. Rate and time left are for the reader to find out: see ProgressMeter.
 */
export async function readProgress(
  { state }: Pick<RunContext, 'state'>,
  { id }: Pick<Run, 'id'>,
): Promise<RunProgress | null> {
  const run = await state.runs.get(id);
  return run?.status === 'running' ? (run.progress ?? null) : null;
}
