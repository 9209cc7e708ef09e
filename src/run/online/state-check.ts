import { formatBytes } from '../../report/printable.ts';
import { checkEmbeddedState } from '../../state/open-state.ts';
import type { OnlineCheck } from './finding.ts';

/** Whether the embedded state in a folder (`.storeferry`) can be used, and is whole. */
export function stateCheck(folder: string): OnlineCheck {
  return {
    subject: 'state',
    async look() {
      const found = await checkEmbeddedState(folder);
      switch (found.kind) {
        case 'absent':
          return [{ verdict: 'ok', message: 'none yet: the first run begins it' }];
        case 'empty':
          return [
            {
              verdict: 'warning',
              message: `${folder}/state.db is empty: what the store has acknowledged is not known`,
              hint: 'Restore it from a backup; else the next run of each job sends everything again and deletes nothing.',
            },
          ];
        case 'sound':
          return [
            { verdict: 'ok', message: `state.db can be read and is whole (${formatBytes(found.bytes)})` },
          ];
        default:
          return found satisfies never;
      }
    },
  };
}
