import { defineCommand, flag, JSON_FLAG, required } from '../define-command.ts';
import { RUN_SUMMARY, runInWorkspace } from '../run-in-workspace.ts';

/** `storeferry plan`: plans a job and sends nothing. */
export const planCommand = defineCommand({
  arguments: { job: required('a job: the name of a file in jobs/') },
  options: {
    json: JSON_FLAG,
    resend: flag('plan to send every record, also unchanged ones'),
  },
  examples: ['plan nightly-catalog', 'plan nightly-catalog --json'],
  json: RUN_SUMMARY,
  run: (invocation, { job }, { json, resend }) =>
    runInWorkspace(invocation, { json, job }, async () => {
      const { executeRun } = await import('../../run/execute-run.ts');
      const { readImportRequest } = await import('../read-request.ts');
      return async ({ context, workspace }) => {
        const request = await readImportRequest(workspace, job, resend);
        return await executeRun(context, { kind: 'plan', request });
      };
    }),
});
