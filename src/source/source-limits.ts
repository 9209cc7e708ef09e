import { SourceError } from '../model/errors.ts';

/** The most that a source may hold once unpacked: what protects the disk from a damaged or hostile archive. */
export interface SourceLimits {
  /** Bytes of all files together, unpacked. */
  readonly bytes: number;
  /** How many times larger than the archive its content may be. Judged from 64 MiB on. */
  readonly ratio: number;
  /** Files, those within zips counted one by one. */
  readonly fileCount: number;
}

const GIB = 1024 ** 3;

/** The limits where the job sets none. */
export const DEFAULT_SOURCE_LIMITS: SourceLimits = { bytes: 10 * GIB, ratio: 200, fileCount: 1000 };

/** Below this size no ratio is suspicious: small files of equal rows pack very well. */
export const RATIO_FREE_BYTES = 64 * 1024 ** 2;

/** The error for a source beyond a limit, with how to raise it. */
export function limitError(name: string, limit: keyof SourceLimits, most: number, what: string): SourceError {
  return new SourceError(`The source ${name} exceeds the limit ${limit} (${most}): ${what}.`, {
    place: { file: name },
    hint: `If the source is right, set a higher \`limits: { ${limit}: … }\` in the source of the job.`,
  });
}
