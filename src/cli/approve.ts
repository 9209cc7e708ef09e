import { approveRun } from '../run/approve-run.ts';
import { deliverHere } from '../run/import/apply-step.ts';
import type { Invocation } from './invocation.ts';
import { importRequest, knownRun } from './open-context.ts';
import { runCommand } from './run-command.ts';

/** Applies the plan of a planned or stopped run. */
export async function approve(
  invocation: Invocation,
  id: string,
  options: { readonly json?: true },
): Promise<number> {
  return await runCommand(invocation, options.json === true, async ({ context, workspace }) => {
    const planned = await knownRun(context, id);
    const request = await importRequest(workspace, planned.job, planned.resend);
    return await approveRun(context, request, planned, deliverHere);
  });
}
