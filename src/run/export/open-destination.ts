import { resolve } from 'node:path';
import type { ExportJob } from '../../config/job/export-job.ts';
import type { Destination } from '../../export/destination/destination.ts';
import { localDestination } from '../../export/destination/local-destination.ts';
import { remoteDestination } from '../../export/destination/remote-destination.ts';

/** The destination of a job; nothing is written or connected to yet. DestinationError where it can never be one. */
export async function openDestination(
  workspaceDir: string,
  { destination }: ExportJob,
): Promise<Destination> {
  return destination.remote === undefined
    ? await localDestination(resolve(workspaceDir, destination.path))
    : remoteDestination(destination.remote);
}
