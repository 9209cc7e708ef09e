import { StateError } from '../../model/errors.ts';
import type { PlannedShard } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { readShard } from '../../plan/files/read-shard.ts';
import { readPlan } from '../../plan/plan-file.ts';
import { importTarget } from '../../state/import-target.ts';
import type { RunContext } from '../context.ts';

/**
 * What a run had on its way when it ended may have arrived at the store, and once the run is superseded nobody sends it
 * again. Should the source say by then what the ledger last acknowledged, it would be taken for unchanged: a wrong
 * price would stay in the store, a deleted product be gone for good. So all that has no final outcome is put in doubt.
 * Of shards that somebody has cleared away or damaged nothing is known. May be repeated.
 */
export async function doubtUnsent(context: RunContext, run: Run): Promise<void> {
  if (!(await hasSent(context, run))) return;
  const folder = context.artifacts.run(run.id);
  const shards = (await unlessDamaged(readPlan(folder)))?.shards ?? [];
  const left = new Set(shards.length === 0 ? [] : await folder.list());
  for (const shard of shards) {
    if (!left.has(shard.name)) continue;
    const keys = (await unlessDamaged(keysLeft(context, run, shard))) ?? [];
    if (keys.length > 0) await context.state.ledger(importTarget(run)).doubt(keys);
  }
}

/** A run whose process was killed may have sent what it could not write down. */
async function hasSent({ state }: RunContext, { id, kind, status, step }: Run): Promise<boolean> {
  if (kind === 'plan' || kind === 'export') return false;
  switch (status) {
    case 'running':
      return step === 'apply' || step === 'finish';
    case 'failed':
    case 'interrupted':
    case 'stopped':
      return (await state.runs.tally(id)).requests > 0;
    case 'planned':
    case 'done':
    case 'done-with-rejects':
    case 'superseded':
      return false;
    default:
      return status satisfies never;
  }
}

async function keysLeft(
  { artifacts, state }: RunContext,
  { id }: Run,
  shard: PlannedShard,
): Promise<string[]> {
  const outcomes = await state.runs.outcomes(id, shard.number);
  const open = (await readShard(artifacts.run(id), shard)).filter(({ index }) => {
    const outcome = outcomes.get(index);
    return outcome === undefined || outcome === 'unsent';
  });
  return open.map(({ key }) => key);
}

async function unlessDamaged<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof StateError) return undefined;
    throw error;
  }
}
