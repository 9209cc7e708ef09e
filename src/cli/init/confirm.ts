import { existsSync } from 'node:fs';
import { InterruptedError } from '../../model/errors.ts';
import type { ComposedFile } from './compose-files.ts';
import type { Asking } from './init-options.ts';

/** Says what is about to happen; where there is a workspace already, a person must want a job in it. */
export async function confirmAdding(
  { options, prompter, dir, say }: Asking,
  workspace: boolean,
): Promise<void> {
  if (!workspace) {
    say(`This makes a workspace in ${dir}. Nothing is written before the end; Ctrl-C leaves nothing behind.`);
    return;
  }
  say(`${dir} is a workspace already: it gets a further job, and nothing in it is overwritten.`);
  if (prompter === null || options.yes === true || (await prompter.confirm('Add a job to it?', true))) return;
  throw new InterruptedError('Given up; nothing has been written.');
}

/** Shows what would be written; a person must want it. */
export async function confirmWriting(
  { options, prompter, say }: Asking,
  files: readonly ComposedFile[],
): Promise<void> {
  if (prompter === null || options.yes === true) return;
  say('');
  say('To be written:');
  for (const { name, path, existing, what } of files)
    say(`  ${name}${existing === 'add' && existsSync(path) ? ' (added to)' : ''}: ${what}`);
  if (!(await prompter.confirm('Write these files?', true))) {
    throw new InterruptedError('Given up; nothing has been written.');
  }
}
