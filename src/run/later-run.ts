import { KINDS_BUT_PLAN, type Run } from '../model/run.ts';
import type { RunContext } from './context.ts';

/**
 * The latest run of the same job that has begun since and may have sent something: what was planned or rejected before
 * then speaks of a store that is no more. Undefined when there is none; plans, and runs whose source could not be
 * read, do not count.
 */
export async function laterRun(
  { state }: Pick<RunContext, 'state'>,
  { job, sequence }: Run,
  counts: (later: Run) => boolean = () => true,
): Promise<Run | undefined> {
  const runs = await state.runs.list({ job, kinds: KINDS_BUT_PLAN });
  return runs.find((run) => run.sequence > sequence && run.digest !== null && counts(run));
}

/** As `laterRun`, but for a run whose rejects are to be retried: a retry of it that is not done is continued. */
export async function laterThanRejects(
  context: Pick<RunContext, 'state'>,
  rejected: Run,
): Promise<Run | undefined> {
  return await laterRun(
    context,
    rejected,
    ({ kind, retryOf, status }) =>
      !(kind === 'retry' && retryOf === rejected.id && status !== 'done' && status !== 'done-with-rejects'),
  );
}
