import type { OnlineCheck } from '../run/online/finding.ts';
import { lookAtRedis } from '../state/redis/redis-connection.ts';
import { openQueues, waitingRuns } from './queues.ts';

/** Whether workers are there, which schedules and `enqueue` need; `scheduled` are the jobs with a schedule. */
export function workersCheck(redisUrl: string, scheduled: readonly string[]): OnlineCheck {
  return {
    subject: 'workers',
    async look() {
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
    },
  };
}
