import { CONFLICT_SIDES } from '../../model/observation.ts';
import { oneOf, repeatedArgument, requiredArgument } from '../define-command.ts';
import { defineRunCommand } from '../run-in-workspace.ts';

/** `storeferry release`: sends records that were held: by a guard, an edit in the store, or an uncertain url. */
export const releaseCommand = defineRunCommand({
  arguments: {
    run: requiredArgument('the id of a run with held records, or its first characters'),
    keys: repeatedArgument('only the records with these keys; default: all held records'),
  },
  options: {
    conflicts: oneOf(
      'whose',
      'of fields changed in the store and in the source: `source` sends those of the source; `store` keeps those of the store, also later until one of both changes',
      CONFLICT_SIDES,
    ),
  },
  notes: `Sends the values that were held; where the store was probed, only the changed fields, so that other edits stay. A record is
refused if another run has sent it or found it unchanged since, or if a newer run rejects it or holds it with other values. What
is no longer in the source is sent. If you repeat the command, it sends only what the store has not acknowledged.`,
  examples: [
    'release k3v9x2',
    'release k3v9x2 red-shirt blue-shirt',
    'release k3v9x2 red-shirt --conflicts store',
    'release k3v9x2 --json',
  ],
  action: 'release',
  task: ({ read }, { run, keys }, { conflicts }) =>
    read({ does: 'release', run, only: keys.length === 0 ? undefined : keys, conflicts }),
});
