import type { Resource } from '../../model/mapped-record.ts';
import { IN_DOUBT, type Ledger, type LedgerMark } from '../../state/state.ts';

/** A sample of keys from the ledger, and counts of all keys of the job: `known` includes those that `includes` leaves out. */
export interface LedgerSample {
  readonly keys: readonly string[];
  /** Acknowledged keys of the job whose answers can be compared: for products those with an id. */
  readonly known: number;
  /** The other keys of the job. */
  readonly notComparable: number;
}

interface Sampling {
  readonly job: string;
  readonly resource: Resource;
  /** The most keys to draw. */
  readonly size: number;
  /** Which keys may be drawn; left out: all. */
  readonly includes?: ((key: string) => boolean) | undefined;
  /** In [0, 1), like Math.random. */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Draws keys of a job at random with equal probability. Memory is used for the sample only (a reservoir). */
export async function sampleLedger(
  ledger: Pick<Ledger, 'keysOf' | 'marks'>,
  { job, resource, size, includes = () => true, random, signal }: Sampling,
): Promise<LedgerSample> {
  const keys: string[] = [];
  let known = 0;
  let eligible = 0;
  let notComparable = 0;
  for await (const batch of ledger.keysOf(job)) {
    signal.throwIfAborted();
    const marks = await ledger.marks(batch.map(({ key }) => key));
    for (const [position, { key }] of batch.entries()) {
      if (!isComparable(marks[position], resource)) {
        notComparable++;
        continue;
      }
      known++;
      if (!includes(key)) continue;
      const place = eligible < size ? eligible : Math.floor(random() * (eligible + 1));
      if (place < size) keys[place] = key;
      eligible++;
    }
  }
  return { keys, known, notComparable };
}

/** The key of a contact is its id; a product is recognised by the id that the store answered. */
export function isComparable(mark: LedgerMark | undefined, resource: Resource): mark is LedgerMark {
  if (mark === undefined || mark.fingerprint === IN_DOUBT) return false;
  return resource === 'contacts' || mark.id !== null;
}
