import { join } from 'node:path';
import { checkEmbeddedState } from '../../state/open-state.ts';
import { formatBytes } from '../../text/printable.ts';
import type { Facts, OnlineCheck } from '../run-context.ts';

/** Whether the embedded state can be used and is intact. */
export const stateCheck: OnlineCheck = ({ settings, dir }) =>
  settings === undefined || settings.redisUrl !== undefined
    ? []
    : [{ subject: 'state', look: async () => [await judgeState(join(dir, '.storeferry'))] }];

async function judgeState(folder: string): Promise<Facts> {
  const found = await checkEmbeddedState(folder);
  switch (found.kind) {
    case 'absent':
      return { verdict: 'ok', message: 'no state yet: the first run creates it' };
    case 'empty':
      return {
        verdict: 'warning',
        message: `${folder}/state.db is empty: it has no record of what the store acknowledged`,
        hint: 'Restore it from a backup; otherwise the next run of each job sends everything again and deletes nothing.',
      };
    case 'sound':
      return { verdict: 'ok', message: `state.db can be read and is intact (${formatBytes(found.bytes)})` };
    default:
      return found satisfies never;
  }
}
