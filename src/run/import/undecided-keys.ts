import { KeySet } from '../../model/key-set.ts';
import type { Run } from '../../model/run.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { readHeld, readPlan, readRejections } from '../../plan/plan-file.ts';
import type { RunContext } from '../run-context.ts';
import { isSameTarget } from './stage-step.ts';

/**
 * The keys that earlier runs have rejected or held, of any job with the same target; undefined if there are none. A run that finds one of them
 * unchanged confirms it (`Ledger.confirm`), so that no later retry or release sends the older version.
 */
export async function undecidedKeys(
  { state, artifacts }: Pick<RunContext, 'state' | 'artifacts'>,
  run: Run,
): Promise<KeySet | undefined> {
  const keys = new KeySet();
  const note = (key: string | null) => key !== null && keys.add(key, true);
  for (const other of await state.runs.list({ kinds: ['run', 'retry'] })) {
    if (other.id === run.id || !isSameTarget(other, run)) continue;
    const { rejected = 0, held = 0 } = other.totals ?? {};
    if (rejected + held === 0) continue;
    const folder = artifacts.run(other.id);
    for await (const page of state.runs.refusals(other.id)) for (const { key } of page) note(key);
    try {
      const plan = await readPlan(folder);
      if (plan === undefined) continue;
      for await (const page of readRejections(folder)) for (const { key } of page) note(key);
      for await (const page of readHeld(folder, plan)) for (const { operation } of page) note(operation.key);
    } catch (error) {
      // Without its files, nothing of the run can be retried or released.
      if (!(error instanceof StateError)) throw error;
    }
  }
  return keys.size === 0 ? undefined : keys;
}
