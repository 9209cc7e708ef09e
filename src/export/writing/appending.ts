import type { Readable } from 'node:stream';
import { DestinationError } from '../../model/errors.ts';
import { changedMeanwhile } from '../destination/as-destination-error.ts';
import type { Destination, DestinationWriteOptions } from '../destination/destination.ts';
import type { RowShape } from './row-shape.ts';

/** The key of a line, from the values of its key columns. */
export function lineKey(values: readonly string[]): string {
  return values.join('\u001f');
}

/** The content once more, to be written again with what is added. DestinationChangedError when it is another. */
export async function readAgain(
  destination: Destination,
  version: string | null,
  signal: AbortSignal,
): Promise<Readable> {
  const again = await destination.read(signal);
  if (again !== undefined && again.version === version) return again.content;
  again?.content.destroy();
  throw changedMeanwhile(destination.location);
}

/** Writes only over the version that was read, where the destination has versions. */
export function overVersion(version: string | null, signal: AbortSignal): DestinationWriteOptions {
  return version === null ? { signal } : { signal, ifVersion: version };
}

/** An order without an id cannot be compared with the orders in the file. */
export function withoutId({ location }: Destination): DestinationError {
  return new DestinationError(
    `An order has no id, so it cannot be compared with the orders in ${location}; nothing was added.`,
    { hint: 'Set `mode: replace` under destination in the job.' },
  );
}

/** The note on lines that were in the file already; expected for orders, noted for a history only. */
export function alreadyThere(lines: number, { isHistory }: RowShape): string[] {
  return lines > 0 && isHistory ? [`${lines} lines were in the file already and were not added again.`] : [];
}
