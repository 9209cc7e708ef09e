import { defineCommand, JSON_FLAG, requiredArgument } from '../define-command.ts';
import { RUN_SUMMARY, runInWorkspace } from '../run-in-workspace.ts';

/** `storeferry approve`: applies the plan of a planned or stopped run. */
export const approveCommand = defineCommand({
  arguments: { run: requiredArgument('the id of a planned or stopped run, or its first characters') },
  options: { json: JSON_FLAG },
  examples: ['approve k3v9x2'],
  json: RUN_SUMMARY,
  run: (invocation, { run }, { json }) =>
    runInWorkspace(invocation, { json, action: 'approve', about: run }, (open, tools) =>
      tools.readTask(open, { does: 'approve', run }),
    ),
});
