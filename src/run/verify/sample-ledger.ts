import type { Resource } from '../../model/mapped-record.ts';
import { AS_ACKNOWLEDGED, type Observation } from '../../model/observation.ts';
import { fingerprintOf } from '../../plan/plan-import.ts';
import { FORGOTTEN_BODY, IN_DOUBT, type Ledger, type LedgerMark } from '../../state/state.ts';
import type { ShardOperation } from '../send-operations.ts';

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

/** What the ledger has of a key. */
export interface KnownRecord {
  readonly key: string;
  readonly mark: LedgerMark;
  readonly body: string;
  /** What answers have shown beside the body. */
  readonly observation: Observation;
}

/** What the ledger has of each key; undefined where it has no body. */
export async function knownRecords(
  ledger: Ledger,
  keys: readonly string[],
): Promise<(KnownRecord | undefined)[]> {
  const [marks, bodies, views] = await Promise.all([
    ledger.marks(keys),
    ledger.bodies(keys),
    ledger.views(keys),
  ]);
  return keys.map((key, index) => {
    const [mark, body] = [marks[index], bodies[index]];
    if (mark === undefined || body === undefined || body === FORGOTTEN_BODY) return undefined;
    return { key, mark, body, observation: views[index]?.observation ?? AS_ACKNOWLEDGED };
  });
}

/** An operation that repeats what the ledger has, so that recording it can only change an id. */
export function repeatingOperation(
  { key, mark, body }: KnownRecord,
  resource: Resource,
  index: number,
  shard = 1,
): ShardOperation {
  const { memo, id: knownId } = mark;
  const fingerprint = mark.fingerprint === IN_DOUBT ? fingerprintOf(body) : mark.fingerprint;
  const operation = { index, key, rows: 0, spans: [], body, fingerprint, memo, shard };
  return resource === 'contacts'
    ? { kind: 'update-contact', ...operation }
    : { kind: 'upsert-product', ...operation, knownId };
}
