import type { Action } from '../../dashboard/dashboard-actions.ts';

/** The arguments of the command that carries an action out in the workspace of a folder. */
export function commandOf(action: Action, directory: string): string[] {
  const workspace = directory === '.' ? [] : ['-C', directory];
  // Whatever it is called, it is no option.
  return [...workspace, action.command, '--json', '--', 'run' in action ? action.run : action.job];
}
