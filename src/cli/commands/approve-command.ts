import { defineCommand, JSON_FLAG, required } from '../define-command.ts';
import { RUN_SUMMARY, runInWorkspace } from '../run-in-workspace.ts';

/** `storeferry approve`: applies the plan of a planned or stopped run. */
export const approveCommand = defineCommand({
  arguments: { run: required('the id of a planned or stopped run, or its first characters') },
  options: { json: JSON_FLAG },
  examples: ['approve k3v9x2'],
  json: RUN_SUMMARY,
  run: (invocation, { run }, { json }) =>
    runInWorkspace(invocation, { json, job: null, action: 'approve', named: run }, async () => {
      const { executeRun } = await import('../../run/execute-run.ts');
      const { knownRun } = await import('../open-context.ts');
      const { readImportRequest } = await import('../read-request.ts');
      return async ({ context, workspace }) => {
        const planned = await knownRun(context, run);
        const request = await readImportRequest(workspace, planned.job, planned.resend);
        return await executeRun(context, { kind: 'approve', request, planned });
      };
    }),
});
