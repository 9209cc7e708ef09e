import type { Ledger, OwnedKey } from '../state/state.ts';
import type { KeySet } from './key-set.ts';

/** A key the job last sent and the source no longer has. */
export type MissingKey = OwnedKey;

/** The job's keys in the ledger that the source did not show, in batches. Other jobs' keys are not looked at. */
export async function* missingKeys(
  ledger: Ledger,
  job: string,
  seen: KeySet,
): AsyncGenerator<readonly MissingKey[]> {
  for await (const batch of ledger.keysOf(job)) {
    yield batch.filter(({ key }) => !seen.has(key));
  }
}
