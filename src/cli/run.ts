import { exportRun } from '../run/export-run.ts';
import { deliverHere } from '../run/import/apply-step.ts';
import { importRun } from '../run/import-run.ts';
import { isExportRequest } from '../run/run-request.ts';
import type { Invocation } from './invocation.ts';
import { runRequest } from './open-context.ts';
import { runCommand } from './run-command.ts';

export interface RunCommandOptions {
  readonly json?: true;
  readonly resend?: true;
}

/** Runs a job in this process: an import is planned and applied, an export read and written. */
export async function run(invocation: Invocation, name: string, options: RunCommandOptions): Promise<number> {
  return await runCommand(invocation, options.json === true, async ({ context, workspace }) => {
    const request = await runRequest(workspace, name, options.resend === true);
    return isExportRequest(request)
      ? await exportRun(context, request)
      : await importRun(context, request, deliverHere);
  });
}
