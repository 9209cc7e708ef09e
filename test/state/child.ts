import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import type { State } from '../../src/state/state.ts';
import { applied, range, sampleRun, upsert } from './samples.ts';

/** How a process comes to the state under test. */
export type Opening = (
  | { readonly kind: 'sqlite'; readonly folder: string }
  | { readonly kind: 'redis'; readonly url: string; readonly prefix: string; readonly leaseMs: number }
) & {
  /** The folder of the artifacts; beside the embedded state, and none for the shared one, when left out. */
  readonly artifacts?: string;
};

export function openAs(opening: Opening): Promise<State> {
  const artifacts = opening.artifacts === undefined ? undefined : folderArtifacts(opening.artifacts);
  return opening.kind === 'sqlite'
    ? openSqliteState(opening.folder, { artifacts })
    : openRedisState({ ...opening, artifacts });
}

export const CHILD_BATCH = 5;

/** `hold`: takes the lock and keeps it. `record`: writes outcomes and says each batch that is acknowledged. */
async function main(opening: Opening, task: string, lock: string): Promise<void> {
  const state = await openAs(opening);
  const held = await state.locks.tryAcquire(lock, { job: 'of-child', run: 'run-of-child' });
  if ('heldBy' in held) throw new Error('lock is taken');
  process.stdout.write('held\n');
  held.lost.addEventListener('abort', () => process.stdout.write('lost\n'));
  if (task === 'hold') {
    setInterval(() => {}, 1_000);
    return;
  }
  const run = sampleRun({ id: 'run-of-child', job: 'of-child' });
  await state.runs.create(run);
  for (let batch = 0; ; batch++) {
    const results = range(CHILD_BATCH).map((index) =>
      applied(upsert(index, `key-${batch}-${index}`), batch * CHILD_BATCH + index + 1),
    );
    try {
      await state.runs.record(run, batch, results, CHILD_BATCH, held.fence);
      process.stdout.write(`recorded ${batch}\n`);
    } catch (error) {
      process.stdout.write(`refused ${error instanceof Error ? error.name : error}\n`);
      return;
    }
  }
}

const [, file, opening, task, lock] = process.argv;
if (file === import.meta.filename && opening !== undefined && task !== undefined && lock !== undefined) {
  await main(JSON.parse(opening), task, lock);
}
