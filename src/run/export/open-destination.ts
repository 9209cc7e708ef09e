import type { ExportJob } from '../../config/job/export-job.ts';
import type { Destination } from '../../export/destination/destination.ts';
import { localDestination } from '../../export/destination/local-destination.ts';
import { remoteDestination } from '../../export/destination/remote-destination.ts';
import type { FileAccess } from '../../state/file-access.ts';

/** The destination of a job; nothing is written or connected to yet. DestinationError where it can never be one. */
export async function openDestination(access: FileAccess, { destination }: ExportJob): Promise<Destination> {
  return destination.remote === undefined
    ? await localDestination(destination.path, access)
    : remoteDestination(destination.remote);
}
