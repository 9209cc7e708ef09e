import { hasWholeReading } from '../../export/reading/reading.ts';
import { type Run, UNFINISHED } from '../../model/run.ts';
import type { RunContext } from '../context.ts';
import { exportDigest, keepsReading } from './export-digest.ts';
import type { ExportRequest } from './export-request.ts';

/** So many runs may wait to be written: eight days of readings, one an hour. */
export const MOST_KEPT_READINGS = 200;

/** Whether the run has not ended well and has a whole reading that is yet to be written to where the job writes. */
export async function hasKeptReading(
  { artifacts }: Pick<RunContext, 'artifacts'>,
  request: ExportRequest,
  run: Run,
): Promise<boolean> {
  if (!isUnfinished(run) || run.stagedAt === null) return false;
  if (!keepsReading(request) || run.digest !== exportDigest(request)) return false;
  return await hasWholeReading(artifacts.run(run.id));
}

/** Whether an export has not ended well. */
export function isUnfinished({ kind, status }: Run): boolean {
  return kind === 'export' && UNFINISHED.includes(status);
}
