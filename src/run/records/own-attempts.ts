import type { Operation } from '../../model/operation.ts';
import { type Run, UNFINISHED } from '../../model/run.ts';
import { readPlan } from '../../plan/plan-file.ts';
import { importTarget } from '../../state/state.ts';
import type { RunContext } from '../run-context.ts';
import { unsentOperations } from '../send-operations.ts';

/**
 * Those of the keys that are in doubt only because an earlier undo or release of the run `of` was killed: it sent what this one sends. Its
 * operations are there until another run of the job begins to send.
 */
export async function ownAttempts(
  context: Pick<RunContext, 'state' | 'artifacts'>,
  by: Run,
  of: string,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const { state } = context;
  const attempted = new Set<string>();
  for (const run of await state.runs.list({
    job: by.job,
    kinds: ['undo', 'release'],
    statuses: UNFINISHED,
  })) {
    if ((run.undo ?? run.release)?.of !== of) continue;
    for await (const operations of openOperations(context, run)) {
      for (const { key } of operations) attempted.add(key);
    }
  }
  const doubted = keys.filter((key) => attempted.has(key));
  return await state.ledger(importTarget(by)).doubtedOnlyBy(by.job, doubted);
}

/** The operations of an unfinished run that have no outcome, or were not sent. */
export async function* openOperations(
  context: Pick<RunContext, 'state' | 'artifacts'>,
  run: Run,
): AsyncGenerator<readonly Operation[]> {
  const folder = context.artifacts.run(run.id);
  for (const shard of (await readPlan(folder))?.shards ?? []) {
    if (await folder.exists(shard.name)) yield await unsentOperations(context, run, shard);
  }
}
