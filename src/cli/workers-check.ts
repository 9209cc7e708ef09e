import { openQueues, waitingRuns } from '../queue/queues.ts';
import type { Facts, OnlineCheck } from '../run/online/online-check.ts';
import { lookAtRedis } from '../state/redis/redis-connection.ts';

/** Whether workers are running, which schedules and `enqueue` need. */
export const workersCheck: OnlineCheck = ({ settings, jobs }) => {
  const redisUrl = settings?.redisUrl;
  const scheduled = jobs.filter(({ schedule }) => schedule !== undefined).map(({ name }) => name);
  return redisUrl === undefined ? [] : [{ subject: 'workers', look: () => findWorkers(redisUrl, scheduled) }];
};

async function findWorkers(redisUrl: string, scheduled: readonly string[]): Promise<Facts[]> {
  // Queues wait for Redis without a limit, so they are opened only after it has answered.
  const redis = await lookAtRedis(redisUrl).catch(() => undefined);
  if (redis === undefined)
    return [{ verdict: 'not-checked', message: 'workers are found through Redis, which does not answer' }];
  await using queues = await openQueues({ redisUrl, patient: false, onError: () => {} });
  const count = await queues.runs.getWorkersCount();
  if (count > 0) return [{ verdict: 'ok', message: `${count} running` }];
  const waiting = (await waitingRuns(queues)).length;
  if (waiting > 0) {
    return [
      {
        verdict: 'warning',
        message: `none is running, and ${waiting === 1 ? '1 run waits' : `${waiting} runs wait`} for one`,
        hint: 'Start one: storeferry worker',
      },
    ];
  }
  return scheduled.length === 0
    ? [{ verdict: 'ok', message: 'none is running, and no job has a schedule' }]
    : [
        {
          verdict: 'warning',
          message: `none is running, so the schedules of ${scheduled.join(', ')} are inactive`,
          hint: 'Start one: storeferry worker',
        },
      ];
}
