import { planRun } from '../run/plan-run.ts';
import type { Invocation } from './invocation.ts';
import { importRequest } from './open-context.ts';
import type { RunCommandOptions } from './run.ts';
import { runCommand } from './run-command.ts';

/** Plans a job and sends nothing. */
export async function plan(invocation: Invocation, job: string, options: RunCommandOptions): Promise<number> {
  return await runCommand(invocation, options.json === true, async ({ context, workspace }) =>
    planRun(context, await importRequest(workspace, job, options.resend === true)),
  );
}
