import { StateError } from '../model/errors.ts';

/** Undefined when there is no such file or folder. */
export async function found<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The system's name of an error, such as ENOSPC. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return error.code;
}

/** Awaits the file system; what it refuses becomes a StateError that says where, why and what to do. */
export async function told<Value>(path: string, done: string, asked: Promise<Value>): Promise<Value> {
  try {
    return await asked;
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new StateError(`The artifact ${path} cannot be ${done}: ${describe(code)}.`, {
      hint: adviceOn(code),
      cause: error,
    });
  }
}

function describe(code: string): string {
  const known: Readonly<Record<string, string>> = {
    ENOENT: 'it does not exist',
    ENOSPC: 'the disk is full',
    EDQUOT: 'the quota is used up',
    EFBIG: 'it would be larger than files may be here',
    EIO: 'the disk or the shared folder fails',
    EACCES: 'permission is denied',
    EPERM: 'permission is denied',
    EROFS: 'the disk is read-only',
    ELOOP: 'it is a symbolic link',
  };
  return known[code] ?? code;
}

function adviceOn(code: string): string {
  switch (code) {
    case 'ENOENT':
      return 'Check that ARTIFACTS_URL names the same folder on every machine and that nobody has tidied it.';
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return 'Make room, then run again: what was acknowledged is kept, the run is continued.';
    default:
      return 'Check the folder that ARTIFACTS_URL names, then run again to continue.';
  }
}
