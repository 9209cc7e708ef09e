import { deliverHere } from '../run/apply-step.ts';
import { importRun } from '../run/import-run.ts';
import type { Invocation } from './invocation.ts';
import { importRequest } from './open-context.ts';
import { runCommand } from './run-command.ts';

export interface RunCommandOptions {
  readonly json?: true;
  readonly resend?: true;
}

/** Plans and applies a job in this process. */
export async function run(invocation: Invocation, job: string, options: RunCommandOptions): Promise<number> {
  return await runCommand(invocation, options.json === true, async ({ context, workspace }) =>
    importRun(context, await importRequest(workspace, job, options.resend === true), deliverHere),
  );
}
