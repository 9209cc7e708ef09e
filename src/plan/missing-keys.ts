import type { Ledger } from '../state/state.ts';
import type { KeySet } from './key-set.ts';

/** A key the job last sent and the source no longer has; `id` is null when the store never answered one. */
export interface MissingKey {
  readonly key: string;
  readonly id: number | null;
}

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
