import type { Invocation } from './invocation.ts';
import { runCommand } from './run-command.ts';

export interface RunCommandOptions {
  readonly json?: true;
  readonly resend?: true;
}

/** Runs a job in this process: an import is planned and applied, an export read and written. */
export async function run(invocation: Invocation, name: string, options: RunCommandOptions): Promise<number> {
  return await runCommand(invocation, { json: options.json === true, job: name }, async () => {
    const { readRequest } = await import('./read-request.ts');
    const { executeRun, jobTask } = await import('../run/execute-run.ts');
    return async ({ context, workspace }) =>
      executeRun(context, jobTask(await readRequest(workspace, name, options.resend === true)));
  });
}
