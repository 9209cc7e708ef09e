import { SourceError } from '../model/errors.ts';
import { beyondLimit, DEFAULT_LIMITS, type InputLimits, raiseLimit } from '../model/input-limits.ts';

/** The most that a source may hold once unpacked: what protects the disk from a damaged or hostile archive. */
export type SourceLimits = Pick<InputLimits, 'bytes' | 'ratio' | 'fileCount' | 'pathBytes'>;

/** The limits where none are set. */
export const DEFAULT_SOURCE_LIMITS: SourceLimits = DEFAULT_LIMITS;

/** Below this size no ratio is suspicious: small files of equal rows pack very well. */
const RATIO_FREE_BYTES = 64 * 1024 ** 2;

/** The error for a file beyond a limit, with how to raise it; `found` fills the message. */
export function limitError(
  file: string,
  limits: SourceLimits,
  limit: keyof SourceLimits,
  found?: Readonly<Record<string, number>>,
): SourceError {
  return new SourceError(`The file is ${beyondLimit(limit, limits[limit], found)}`, {
    place: { file },
    hint: raiseLimit(limit),
  });
}

/** How far an archive, or a file that is none, has been unpacked. */
export interface Unpacking {
  /** What it takes up as it is. */
  readonly packedBytes: number;
  readonly unpackedBytes: number;
  /** With what was unpacked before, where a limit holds over several. */
  readonly totalBytes: number;
}

/** Refuses what unpacks to more than it may. */
export function refuseTooMuch(file: string, unpacking: Unpacking, limits: SourceLimits): void {
  const { packedBytes, unpackedBytes, totalBytes } = unpacking;
  if (totalBytes > limits.bytes) throw limitError(file, limits, 'bytes');
  if (unpackedBytes > RATIO_FREE_BYTES && unpackedBytes > packedBytes * limits.ratio) {
    throw limitError(file, limits, 'ratio');
  }
}
