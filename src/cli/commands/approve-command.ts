import { requiredArgument } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';

/** `storeferry approve`: applies the plan of a planned or stopped run. */
export const approveCommand = defineRunCommand({
  arguments: { run: requiredArgument('the id of a planned or stopped run, or its first characters') },
  options: {},
  examples: ['approve k3v9x2'],
  action: 'approve',
  task: ({ read }, { run }) => read({ does: 'approve', run }),
});
