import { monitorEventLoopDelay } from 'node:perf_hooks';
import { sumOf } from '../model/json-object.ts';
import { COMPLETED, EXECUTING_KINDS, type Run, type RunStatus } from '../model/run.ts';
import type { StoreStats } from '../run/run-context.ts';
import type { Runs, State } from '../state/state.ts';

const STARTED_AT_SECONDS = Date.now() / 1_000 - process.uptime();

/** A metric of a worker, from which `/metrics` and the list in docs/operation.md derive. */
interface MetricDefinition extends Omit<Metric, 'samples'> {
  /** The labels of each of its samples. */
  readonly labels: readonly string[];
  readonly read: (reading: Reading) => readonly MetricSample[];
}

/** All metrics, in order of output. To add one, add its definition here and run `npm run docs`. */
export const METRICS: readonly MetricDefinition[] = [
  {
    name: 'storeferry_operations_total',
    help: 'Operations by outcome (applied, deleted, rejected, unsent, left); unsent ones count again when sent.',
    type: 'counter',
    labels: ['store', 'resource', 'outcome'],
    read: ({ operations }) => operations,
  },
  {
    name: 'storeferry_runs_total',
    help: 'Runs that this worker ended, by status.',
    type: 'counter',
    labels: ['job', 'store', 'status'],
    read: ({ runs }) => runs,
  },
  storeCounter('requests', 'Requests sent to the store, retries included.', ({ requests }) => requests),
  storeCounter('retries', 'Requests that were sent again.', ({ retries }) => retries),
  storeCounter('push_backs', 'Answers 429: too many requests.', ({ pushBacks }) => pushBacks),
  storeGauge('requests_in_flight', 'Requests in flight.', ({ inFlight }) => inFlight),
  storeGauge('requests_waiting', 'Requests that wait for a slot.', ({ waiting }) => waiting),
  storeGauge('concurrency_limit', 'Requests that the limiter allows in flight.', ({ limit }) => limit),
  storeGauge(
    'requests_per_second_limit',
    'Requests per second that the limiter allows.',
    ({ requestsPerSecond }) => requestsPerSecond,
  ),
  storeGauge(
    'paused_seconds',
    'Waiting time that the store has asked for.',
    ({ pausedForMs }) => pausedForMs / 1_000,
  ),
  storeGauge('retry_budget', 'Retries that need not wait.', ({ retryBudget }) => retryBudget),
  storeGauge('breaker_open', '1 while the store fails and is only probed.', ({ breakerOpen }) =>
    breakerOpen ? 1 : 0,
  ),
  {
    name: 'storeferry_queue_jobs',
    help: 'Jobs in a queue, by state.',
    type: 'gauge',
    labels: ['queue', 'state'],
    read: ({ queued }) => queued,
  },
  jobTimestamp('last_run', 'When a run of the job last ended.', ({ last }) => last?.finishedAt),
  jobTimestamp(
    'last_success',
    'When a run of the job last succeeded, with or without rejects.',
    ({ success }) => success?.finishedAt,
  ),
  jobTimestamp('next_run', 'When the job runs next.', ({ next }) => next),
  {
    name: 'storeferry_job_last_run_status',
    help: '1 for the status of the last run of the job.',
    type: 'gauge',
    labels: ['job', 'status'],
    read: ({ jobs }) =>
      jobs.flatMap(({ job, last }) =>
        last === undefined ? [] : [{ labels: { job, status: last.status }, value: 1 }],
      ),
  },
  processGauge('process_start_time_seconds', 'When the process began.', () => STARTED_AT_SECONDS),
  processGauge('process_resident_memory_bytes', 'Memory that the process uses.', () =>
    process.memoryUsage.rss(),
  ),
  processGauge(
    'nodejs_eventloop_lag_p99_seconds',
    'Event loop lag, 99th percentile.',
    ({ eventLoopLagMs }) => eventLoopLagMs / 1_000,
  ),
];

/** The values that are read once for all metrics. */
interface Reading {
  readonly operations: readonly MetricSample[];
  readonly runs: readonly MetricSample[];
  readonly stores: readonly StoreStats[];
  readonly queued: readonly MetricSample[];
  readonly jobs: readonly JobReading[];
  readonly eventLoopLagMs: number;
}

/** The latest runs of a job, and when it is due next in milliseconds since the epoch. */
interface JobReading {
  readonly job: string;
  /** Of any executing kind: the totals of a release or an undo are those of its own records. */
  readonly last: Run | undefined;
  readonly success: Run | undefined;
  readonly next: number | undefined;
}

interface MetricSources {
  /** The queues from which this worker takes jobs. */
  readonly queued: () => Promise<readonly QueueCounts[]>;
  /** When each job is due next: milliseconds since the epoch. */
  readonly nextTicks: () => Promise<ReadonlyMap<string, number>>;
  readonly runs: Pick<Runs, 'list'>;
  readonly counts: Pick<ReturnType<typeof countOutcomes>, 'operations' | 'runs'>;
  readonly jobNames: () => readonly string[];
  readonly storeStats: () => readonly StoreStats[];
}

/** Reads all metrics of a worker, as the text for Prometheus. */
export function metricsReader(sources: MetricSources): () => Promise<string> {
  const { queued, nextTicks, runs, counts, jobNames, storeStats } = sources;
  // Measuring costs a little, so it begins with the first request.
  let lag: ReturnType<typeof monitorEventLoopDelay> | null = null;
  return async () => {
    if (lag === null) {
      lag = monitorEventLoopDelay();
      lag.enable();
    }
    const reading: Reading = {
      operations: counts.operations(),
      runs: counts.runs(),
      stores: storeStats(),
      queued: queueSamples(await queued()),
      jobs: await readLatestRuns(jobNames(), runs, await nextTicks()),
      eventLoopLagMs: lag.percentile(99) / 1e6,
    };
    return prometheusText(METRICS.map((metric) => ({ ...metric, samples: metric.read(reading) })));
  };
}

/** Totals of this process since its start. Counts at the place of recording, so that only recorded outcomes are counted. */
export function countOutcomes(state: State) {
  const operations = labelledCounter();
  const runs = labelledCounter();
  const { record } = state.runs;
  return {
    /** The state, with counting of everything that is recorded through it. */
    state: {
      ...state,
      runs: {
        ...state.runs,
        async record(...[run, shard, results, ...rest]: Parameters<typeof record>) {
          await record(run, shard, results, ...rest);
          const { store, resource } = run;
          for (const { operation, outcome } of results) {
            const deleted = operation.kind === 'delete-product' && outcome.kind === 'applied';
            operations.add({ store, resource, outcome: deleted ? 'deleted' : outcome.kind });
          }
        },
      },
    },
    runEnded: ({ job, store, status }: Run) => runs.add({ job, store, status }),
    operations: operations.samples,
    runs: runs.samples,
  };
}

function labelledCounter() {
  const counts = new Map<string, { labels: Readonly<Record<string, string>>; value: number }>();
  return {
    add(labels: Readonly<Record<string, string>>): void {
      const key = Object.values(labels).join('\0');
      const entry = counts.get(key);
      if (entry === undefined) counts.set(key, { labels, value: 1 });
      else entry.value++;
    },
    samples: (): readonly MetricSample[] => [...counts.values()].map((entry) => ({ ...entry })),
  };
}

type Figure = (stats: StoreStats['stats']) => number | null;

/** A counter continues when the configuration of a store changes, although the client is replaced. */
function storeCounter(name: string, help: string, figure: Figure): MetricDefinition {
  return storeMetric(`${name}_total`, help, 'counter', (clients) =>
    sumOf(clients, (stats) => figure(stats) ?? 0),
  );
}

function storeGauge(name: string, help: string, figure: Figure): MetricDefinition {
  return storeMetric(name, help, 'gauge', (clients) =>
    clients.flatMap((stats) => figure(stats) ?? []).at(-1),
  );
}

function storeMetric(
  name: string,
  help: string,
  type: Metric['type'],
  figure: (clients: readonly StoreStats['stats'][]) => number | undefined,
): MetricDefinition {
  return {
    name: `storeferry_store_${name}`,
    help,
    type,
    labels: ['store'],
    read: ({ stores }) =>
      [...Map.groupBy(stores, ({ store }) => store)].flatMap(([store, clients]) => {
        const value = figure(clients.map(({ stats }) => stats));
        return value === undefined ? [] : [{ labels: { store }, value }];
      }),
  };
}

function jobTimestamp(
  name: string,
  help: string,
  time: (job: JobReading) => number | null | undefined,
): MetricDefinition {
  return {
    name: `storeferry_job_${name}_timestamp_seconds`,
    help,
    type: 'gauge',
    labels: ['job'],
    read: ({ jobs }) =>
      jobs.flatMap((entry) => {
        const at = time(entry);
        return at == null ? [] : [{ labels: { job: entry.job }, value: at / 1_000 }];
      }),
  };
}

function processGauge(name: string, help: string, value: (reading: Reading) => number): MetricDefinition {
  return { name, help, type: 'gauge', labels: [], read: (reading) => [{ value: value(reading) }] };
}

/** The states of jobs in a queue. */
export const QUEUE_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

/** How many jobs are in a queue, by state; a state that is left out has none. */
export interface QueueCounts {
  readonly queue: string;
  readonly counts: { readonly [State in (typeof QUEUE_STATES)[number]]?: number };
}

function queueSamples(queues: readonly QueueCounts[]): readonly MetricSample[] {
  return queues.flatMap(({ queue, counts }) =>
    QUEUE_STATES.map((state) => ({ labels: { queue, state }, value: counts[state] ?? 0 })),
  );
}

async function readLatestRuns(
  jobs: readonly string[],
  runs: Pick<Runs, 'list'>,
  nextTicks: ReadonlyMap<string, number>,
): Promise<readonly JobReading[]> {
  const ended: readonly RunStatus[] = [...COMPLETED, 'stopped', 'failed', 'interrupted'];
  const latest = async (job: string, statuses: readonly RunStatus[]) =>
    (await runs.list({ job, kinds: EXECUTING_KINDS, statuses, limit: 1 }))[0];
  return await Promise.all(
    jobs.map(async (job) => ({
      job,
      last: await latest(job, ended),
      success: await latest(job, COMPLETED),
      next: nextTicks.get(job),
    })),
  );
}

/** One figure of a metric, identified by its labels. */
interface MetricSample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric with all its figures. A counter only grows, and its name ends in `_total`. */
interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly MetricSample[];
}

/** Metrics in the text format of Prometheus. A metric without figures is left out. */
export function prometheusText(metrics: readonly Metric[]): string {
  const lines = metrics
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ labels = {}, value }) => `${name}${formatLabels(labels)} ${value}`),
    ]);
  return `${lines.join('\n')}\n`;
}

function formatLabels(labels: Readonly<Record<string, string>>) {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
