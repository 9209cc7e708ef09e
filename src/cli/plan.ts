import type { Invocation } from './invocation.ts';
import type { RunCommandOptions } from './run.ts';
import { runCommand } from './run-command.ts';

/** Plans a job and sends nothing. */
export async function plan(invocation: Invocation, job: string, options: RunCommandOptions): Promise<number> {
  return await runCommand(invocation, { json: options.json === true, job }, async () => {
    const { executeRun } = await import('../run/execute-run.ts');
    const { readImportRequest } = await import('./read-request.ts');
    return async ({ context, workspace }) => {
      const request = await readImportRequest(workspace, job, options.resend === true);
      return await executeRun(context, { kind: 'plan', request });
    };
  });
}
