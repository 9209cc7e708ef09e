import { isScheduled, readSchedules, schedulesVersion } from '../../config/job/read-schedules.ts';
import { openWorkspace, type Workspace } from '../../config/workspace.ts';
import { UsageError } from '../../model/errors.ts';
import type { WorkerFiles } from '../../queue/start-worker.ts';
import { readRequest } from '../read-request.ts';

/**
 * The workspace as it is whenever it is asked for: who edits a job need not restart the workers. `onSecret` is told
 * every secret that is read.
 */
export function workerFiles(directory: string, onSecret: (secret: string) => void): WorkerFiles {
  const remember = (workspace: Workspace): void => {
    for (const secret of workspace.secrets()) onSecret(secret);
  };
  const reading = <T>(read: (workspace: Workspace) => T): T => {
    const workspace = openWorkspace(directory, process.env);
    try {
      return read(workspace);
    } finally {
      remember(workspace);
    }
  };
  return {
    storeNames: () => reading((workspace) => workspace.storeNames()),
    jobNames: () => reading((workspace) => workspace.jobNames()),
    schedules: () => reading(readSchedules),
    isScheduled: (job) => reading((workspace) => isScheduled(workspace, job)),
    schedulesVersion: () => schedulesVersion(directory),
    requestFor: ({ job, resend }) =>
      reading((workspace) => readRequest(workspace, job, resend).finally(() => remember(workspace))),
    notifyOf: (job) => reading(({ inspection }) => inspection.job(job)?.value?.notify),
    configurationOf: (run) =>
      reading((workspace) => {
        const job = workspace.job(run.job);
        if (job.kind !== 'import') throw new UsageError(`The job ${run.job} is no import.`);
        return { job, store: workspace.store(run.store) };
      }),
  };
}
