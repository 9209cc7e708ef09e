import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ExportJob } from '../../config/job/job.ts';
import { openExportFile } from '../../export/writing/export-file.ts';
import { probeRemote } from '../../remote/fetch-file.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { accessOf, type Facts, type OnlineCheck } from '../run-context.ts';
import { nearestFolder } from './disk-check.ts';

/** Whether the destination folder of an export can be written. */
export const destinationCheck: OnlineCheck = (workspace) =>
  workspace.jobs.flatMap((job) =>
    job.kind === 'export'
      ? [
          {
            subject: `job ${job.name}`,
            look: async (signal) => [await tryDestination(job, accessOf(workspace), signal)],
          },
        ]
      : [],
  );

async function tryDestination(job: ExportJob, files: FileAccess, signal: AbortSignal): Promise<Facts> {
  const { destination } = job;
  if (destination.path === undefined) {
    await probeRemote(destination.remote, signal);
    const message = `its destination ${destination.remote.location} is reached; writing is not tried`;
    return { verdict: 'ok', message };
  }
  const { location } = await openExportFile(files, job);
  const folder = await nearestFolder(dirname(location));
  const writable = await access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
  return writable
    ? { verdict: 'ok', message: `its destination ${destination.path} can be written` }
    : {
        verdict: 'error',
        message: `its destination ${destination.path} cannot be written: this user may not write into ${folder}`,
        hint: 'Give this user the right to write there, or name another place.',
      };
}
