import type { Invocation } from './invocation.ts';
import { knownRun } from './open-context.ts';
import { runCommand } from './run-command.ts';

/** Applies the plan of a planned or stopped run. */
export async function approve(
  invocation: Invocation,
  id: string,
  options: { readonly json?: true },
): Promise<number> {
  return await runCommand(invocation, { json: options.json === true, job: null }, async () => {
    const { executeRun } = await import('../run/execute-run.ts');
    const { readImportRequest } = await import('./read-request.ts');
    return async ({ context, workspace }) => {
      const planned = await knownRun(context, id);
      const request = await readImportRequest(workspace, planned.job, planned.resend);
      return await executeRun(context, { kind: 'approve', request, planned });
    };
  });
}
