import type { Queue } from 'bullmq';
import type { Metric } from '../../report/prometheus-text.ts';

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

/** How much lies in the queues, alike on every worker. */
export async function queueMetrics(queues: readonly Queue[]): Promise<readonly Metric[]> {
  const samples = await Promise.all(
    queues.map(async (queue) => {
      const counts = await queue.getJobCounts(...STATES);
      return STATES.map((state) => ({ labels: { queue: queue.name, state }, value: counts[state] ?? 0 }));
    }),
  );
  return [
    {
      name: 'storeferry_queue_jobs',
      help: 'Jobs in a queue, by state.',
      type: 'gauge',
      samples: samples.flat(),
    },
  ];
}
