import { UsageError } from '../model/errors.ts';
import { deliverHere } from '../run/apply-step.ts';
import { exportRun } from '../run/export-run.ts';
import { importRun } from '../run/import-run.ts';
import type { Invocation } from './invocation.ts';
import { exportRequest, importRequest } from './open-context.ts';
import { runCommand } from './run-command.ts';

export interface RunCommandOptions {
  readonly json?: true;
  readonly resend?: true;
}

/** Runs a job in this process: an import is planned and applied, an export read and written. */
export async function run(invocation: Invocation, name: string, options: RunCommandOptions): Promise<number> {
  return await runCommand(invocation, options.json === true, async ({ context, workspace }) => {
    const resend = options.resend === true;
    const job = workspace.job(name);
    if (job.kind === 'import') {
      return await importRun(context, await importRequest(workspace, name, resend), deliverHere);
    }
    if (resend) {
      throw new UsageError(`--resend sends records anew, and the job ${name} is an export.`, {
        hint: `Leave it out: storeferry run ${name}`,
      });
    }
    return await exportRun(context, exportRequest(workspace, job));
  });
}
