import { UsageError } from '../model/errors.ts';
import { failedVerification } from '../report/run-summary.ts';
import type { Invocation } from './invocation.ts';
import { runCommand } from './run-command.ts';

/** Sends a random sample of what the store acknowledged for a job again, to estimate how much it has forgotten. */
export async function verify(
  invocation: Invocation,
  name: string,
  { sample, json }: { readonly sample: number; readonly json?: true },
): Promise<number> {
  const result = { json: json === true, job: name, summarise: failedVerification };
  return await runCommand(invocation, result, async () => {
    const { executeRun } = await import('../run/execute-run.ts');
    return async ({ context, workspace }) => {
      const job = workspace.job(name);
      if (job.kind !== 'import') {
        throw new UsageError(`The job ${name} is an export: it sends nothing that could be verified.`, {
          hint: 'Name an import job.',
        });
      }
      const request = { job, store: workspace.store(job.store), sample, random: Math.random };
      return await executeRun(context, { kind: 'verify', request });
    };
  });
}
