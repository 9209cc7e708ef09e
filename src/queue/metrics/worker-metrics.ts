import type { Metric } from '../../report/prometheus-text.ts';
import type { StoreStats } from '../../run/store-clients.ts';
import type { Runs } from '../../state/state.ts';
import type { Queues } from '../open-queues.ts';
import { nextTicks } from '../schedules/next-ticks.ts';
import type { WatchedWorker } from '../worker-health.ts';
import type { WorkCounts } from './count-outcomes.ts';
import { jobMetrics } from './job-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import { queueMetrics } from './queue-metrics.ts';
import { storeMetrics } from './store-metrics.ts';

export interface MeteredWorker {
  readonly queues: Queues;
  readonly watched: readonly WatchedWorker[];
  readonly runs: Pick<Runs, 'list'>;
  readonly counts: WorkCounts;
  readonly files: { readonly jobNames: () => readonly string[] };
  readonly storeStats: () => readonly StoreStats[];
}

/** Gathers everything that is measured about a worker, its stores, the queues and the jobs. */
export function workerMetrics(metered: MeteredWorker): () => Promise<readonly Metric[]> {
  const { queues, watched, runs, counts, files, storeStats } = metered;
  // Measuring costs a little, so it begins when somebody asks.
  let ofProcess: ReturnType<typeof processMetrics> | null = null;
  return async () => {
    ofProcess ??= processMetrics();
    return [
      ...counts.metrics(),
      ...storeMetrics(storeStats()),
      ...(await queueMetrics(watched.map(({ queue }) => queue))),
      ...(await jobMetrics(files.jobNames(), await nextTicks(queues), runs)),
      ...ofProcess(),
    ];
  };
}
