import type { Invocation } from './invocation.ts';
import { runCommand } from './run-command.ts';

export interface RunCommandOptions {
  readonly json?: true;
  readonly resend?: true;
}

/** Runs a job in this process: an import is planned and applied, an export read and written. */
export async function run(invocation: Invocation, name: string, options: RunCommandOptions): Promise<number> {
  return await runCommand(invocation, { json: options.json === true, job: name }, async () => {
    const { runRequest } = await import('./read-request.ts');
    const { isExportRequest } = await import('../run/run-request.ts');
    const { deliverHere } = await import('../run/import/apply-step.ts');
    const { importRun } = await import('../run/import-run.ts');
    return async ({ context, workspace }) => {
      const request = await runRequest(workspace, name, options.resend === true);
      if (!isExportRequest(request)) return await importRun(context, request, deliverHere);
      const { exportRun } = await import('../run/export-run.ts');
      return await exportRun(context, request);
    };
  });
}
