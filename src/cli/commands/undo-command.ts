import { requiredArgument, SAMPLE_OPTIONS } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';

/** `storeferry undo`: plans the inverse of a run and sends nothing. */
export const undoCommand = defineRunCommand({
  arguments: { run: requiredArgument('the id of a run that sent something, or its first characters') },
  options: { only: SAMPLE_OPTIONS.only },
  notes: `The plan is made from the history: changed records get their earlier values, products that the run created are deleted,
and those that it deleted are created again, under new ids. Contacts that it created stay. It names what cannot be undone. To
send it: approve. The source stays as it is.`,
  examples: ['undo k3v9x2', 'undo k3v9x2 --only red-shirt,blue-shirt', 'undo k3v9x2 --json'],
  action: 'undo',
  task: ({ read }, { run }, { only }) => read({ does: 'undo', run, only }),
});
