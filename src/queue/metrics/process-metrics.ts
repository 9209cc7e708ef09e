import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metric } from '../../report/prometheus-text.ts';

/** Metrics of the worker process. */
export function processMetrics(): () => readonly Metric[] {
  const delays = monitorEventLoopDelay();
  delays.enable();
  const startedAt = Date.now() / 1_000 - process.uptime();
  const gauge = (name: string, help: string, value: number): Metric => ({
    name,
    help,
    type: 'gauge',
    samples: [{ value }],
  });
  return () => [
    gauge('process_start_time_seconds', 'When the process began.', startedAt),
    gauge('process_resident_memory_bytes', 'Memory the process holds.', process.memoryUsage.rss()),
    gauge(
      'nodejs_eventloop_lag_p99_seconds',
      'How late timers are: the 99th percentile.',
      delays.percentile(99) / 1e9,
    ),
  ];
}
