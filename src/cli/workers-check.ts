import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openRunQueue, type RunQueue } from '../queue/run-queue.ts';
import type { CheckedWorkspace, Facts, OnlineCheck } from '../run/online/online-check.ts';
import { openState } from '../state/open-state.ts';
import { lookAtRedis } from '../state/redis/redis-connection.ts';

const START = 'Start one: storeferry worker';

/** Whether workers are running, which schedules and `enqueue` need. */
export const workersCheck: OnlineCheck = (checked) => {
  const { settings, jobs } = checked;
  const scheduled = jobs.filter(({ schedule }) => schedule !== undefined).map(({ name }) => name);
  if (settings === undefined || (settings.redisUrl === undefined && scheduled.length === 0)) return [];
  const { redisUrl } = settings;
  return [{ subject: 'workers', look: async () => [await findWorkers(checked, redisUrl, scheduled)] }];
};

async function findWorkers(
  { dir, newRunId }: CheckedWorkspace,
  redisUrl: string | undefined,
  scheduled: readonly string[],
): Promise<Facts> {
  const folder = join(dir, '.storeferry');
  // A check creates no state; and queues wait for Redis without a limit, so they are opened only when it answers.
  if (redisUrl === undefined && !existsSync(join(folder, 'state.db'))) return noWorker(0, scheduled);
  if (redisUrl !== undefined && (await lookAtRedis(redisUrl).catch(() => undefined)) === undefined)
    return { verdict: 'not-checked', message: 'workers are found through Redis, which does not answer' };
  await using state = await openState({ redisUrl, dir: folder });
  await using queue = await openRunQueue({ redisUrl, context: { state, newRunId } });
  return await judgeWorkers(queue, scheduled);
}

async function judgeWorkers(queue: RunQueue, scheduled: readonly string[]): Promise<Facts> {
  const count = await queue.workers();
  if (count > 0) return { verdict: 'ok', message: `${count} running` };
  return noWorker((await queue.waiting()).length, scheduled);
}

function noWorker(waiting: number, scheduled: readonly string[]): Facts {
  if (waiting > 0) {
    const runs = waiting === 1 ? '1 run waits' : `${waiting} runs wait`;
    return { verdict: 'warning', message: `none is running, and ${runs} for one`, hint: START };
  }
  return scheduled.length === 0
    ? { verdict: 'ok', message: 'none is running, and no job has a schedule' }
    : {
        verdict: 'warning',
        message: `none is running, so the schedules of ${scheduled.join(', ')} are inactive`,
        hint: START,
      };
}
