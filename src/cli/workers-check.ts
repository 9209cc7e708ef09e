import { openQueues, waitingRuns } from '../queue/queues.ts';
import type { Facts, OnlineCheck } from '../run/online/online-check.ts';
import { lookAtRedis } from '../state/redis/redis-connection.ts';

/** Whether workers are there, which schedules and `enqueue` need. */
export const workersCheck: OnlineCheck = ({ settings, jobs }) => {
  const redisUrl = settings?.redisUrl;
  const scheduled = jobs.filter(({ schedule }) => schedule !== undefined).map(({ name }) => name);
  return redisUrl === undefined ? [] : [{ subject: 'workers', look: () => findWorkers(redisUrl, scheduled) }];
};

async function findWorkers(redisUrl: string, scheduled: readonly string[]): Promise<Facts[]> {
  // Queues wait for Redis as long as it takes: they are opened only when it is there.
  const there = await lookAtRedis(redisUrl).catch(() => undefined);
  if (there === undefined) return [{ verdict: 'not-checked', message: 'they are found through Redis' }];
  await using queues = await openQueues({ redisUrl, patient: false, onError: () => {} });
  const count = await queues.runs.getWorkersCount();
  if (count > 0) return [{ verdict: 'ok', message: `${count} ${count === 1 ? 'is' : 'are'} there` }];
  const waiting = (await waitingRuns(queues)).length;
  if (waiting > 0) {
    return [
      {
        verdict: 'warning',
        message: `none is there, and ${waiting === 1 ? '1 run waits' : `${waiting} runs wait`} for one`,
        hint: 'Start one: storeferry worker',
      },
    ];
  }
  return scheduled.length === 0
    ? [{ verdict: 'ok', message: 'none is there, and no job has a schedule' }]
    : [
        {
          verdict: 'warning',
          message: `none is there to run ${scheduled.join(', ')} by schedule`,
          hint: 'Start one: storeferry worker',
        },
      ];
}
