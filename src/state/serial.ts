import type { StateLoss } from '../model/run.ts';
import type { StoredMoment } from './stored-moment.ts';

/** The position of a state: the value of a target increases when a group of its keys is put in doubt or confirmed, and after a loss. */
export interface Serial {
  /** Random id of the state, created with it. */
  readonly lineage: string;
  readonly value: number;
}

/** As `Ledger.position`. */
export function formatPosition(serial: Serial | null): string {
  return serial === null || serial.value === 0 ? '' : `${serial.lineage} ${serial.value}`;
}

/**
 * The value of the serial at an earlier position of a state that is now at another one; undefined if that was another state, of which nothing
 * is known.
 */
export function serialSince(earlier: string, now: string): number | undefined {
  if (earlier === '') return 0;
  const [lineage, value] = earlier.split(' ');
  return now.startsWith(`${lineage} `) ? Number(value) : undefined;
}

/** What a process that sends, or has sent, writes beside the state about one target, with the time of writing. */
export interface Witness extends StoredMoment {
  readonly serial: Serial;
  /** How long after that time its last request may run. `lastsMs` in the file. */
  readonly requestsEndWithinMs: number;
  /** The process noticed that the state lost data that it had written. */
  readonly lossSeen?: boolean | undefined;
}

/** A process starts no request if its last heartbeat is older. */
export const HEARTBEAT_VALID_MS = 2_000;

/** What a state with this serial has lost, according to its witnesses; null: nothing. */
export function detectLoss(witnesses: readonly Witness[], known: Serial | null): StateLoss['kind'] | null {
  if (witnesses.length === 0) return known === null || known.value === 0 ? null : 'unwitnessed';
  if (witnesses.some(({ serial, lossSeen }) => !lossSeen && serial.lineage !== known?.lineage)) return 'lost';
  const isBehind = ({ serial, lossSeen }: Witness) => lossSeen === true || serial.value > (known?.value ?? 0);
  return witnesses.some(isBehind) ? 'behind' : null;
}
