/** Separates a job file from one of its stores; no file of a job has it in its name. */
const STORE_SIGN = '@';

/** The name of a job for one store: `catalog@uk`. */
export function jobForStore(job: string, store: string): string {
  return `${jobFileName(job)}${STORE_SIGN}${store}`;
}

/** The parts of the name of a job; undefined if it is none. */
export function jobNameParts(
  job: string,
): { readonly file: string; readonly store: string | undefined } | undefined {
  const [file = '', store, ...rest] = job.split(STORE_SIGN);
  return rest.length > 0 ? undefined : { file, store };
}

/** The name of the file that a job is in, without its ending. */
export function jobFileName(job: string): string {
  return jobNameParts(job)?.file ?? job;
}

/** The file that a job is in, relative to the workspace. */
export function jobFile(job: string): string {
  return `jobs/${jobFileName(job)}.yaml`;
}

/** Has no file: its records come from the history of another store. */
export const CLONE_JOB = 'clone';
