import { COMPLETED, KINDS_BUT_PLAN, type RunStatus } from '../../model/run.ts';
import type { Metric } from '../../report/prometheus-text.ts';
import type { Runs } from '../../state/state.ts';

const ENDED: readonly RunStatus[] = [...COMPLETED, 'stopped', 'failed', 'interrupted'];

/** What the state knows of the jobs, alike on every worker: when each last ran, last succeeded, and runs next. */
export async function jobMetrics(
  jobs: readonly string[],
  nextTicks: ReadonlyMap<string, number>,
  runs: Pick<Runs, 'list'>,
): Promise<readonly Metric[]> {
  const latest = async (job: string, statuses: readonly RunStatus[]) =>
    (await runs.list({ job, kinds: KINDS_BUT_PLAN, statuses, limit: 1 }))[0];
  const found = await Promise.all(
    jobs.map(async (job) => ({ job, last: await latest(job, ENDED), success: await latest(job, COMPLETED) })),
  );
  const gauge = (
    name: string,
    help: string,
    time: (entry: (typeof found)[number]) => number | null | undefined,
  ): Metric => ({
    name: `storeferry_job_${name}_timestamp_seconds`,
    help,
    type: 'gauge',
    samples: found.flatMap((entry) => {
      const at = time(entry);
      return at === null || at === undefined ? [] : [{ labels: { job: entry.job }, value: at / 1_000 }];
    }),
  });
  return [
    gauge('last_run', 'When a run of the job last ended, with any status.', ({ last }) => last?.finishedAt),
    gauge(
      'last_success',
      'When a run of the job last succeeded, with or without rejects.',
      ({ success }) => success?.finishedAt,
    ),
    gauge('next_run', 'When the job is due next.', ({ job }) => nextTicks.get(job)),
    {
      name: 'storeferry_job_last_run_status',
      help: '1 for the status with which the last run of the job ended.',
      type: 'gauge',
      samples: found.flatMap(({ job, last }) =>
        last === undefined ? [] : [{ labels: { job, status: last.status }, value: 1 }],
      ),
    },
  ];
}
