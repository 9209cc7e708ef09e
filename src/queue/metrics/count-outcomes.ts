import type { Run } from '../../model/run.ts';
import type { Metric, MetricSample } from '../../report/prometheus-text.ts';
import type { State } from '../../state/state.ts';

/** The counters of this process since it began. */
export interface WorkCounts {
  /** The state, counting what is recorded through it. */
  readonly state: State;
  runEnded(run: Run): void;
  metrics(): readonly Metric[];
}

/** Counts where outcomes are recorded, so that only recorded outcomes are counted. */
export function countOutcomes(state: State): WorkCounts {
  const operations = labelledCounter();
  const runs = labelledCounter();
  const { record } = state.runs;
  const counting: State = {
    ...state,
    runs: {
      ...state.runs,
      async record(run, shard, results, ...rest) {
        await record(run, shard, results, ...rest);
        const { store, resource } = run;
        for (const { operation, outcome } of results) {
          const deleted = operation.kind === 'delete-product' && outcome.kind === 'applied';
          operations.add({ store, resource, outcome: deleted ? 'deleted' : outcome.kind });
        }
      },
    },
  };
  return {
    state: counting,
    runEnded: ({ job, store, status }) => runs.add({ job, store, status }),
    metrics: () => [
      {
        name: 'storeferry_operations_total',
        help: 'Operations by outcome; an unsent one is counted again when it is sent later.',
        type: 'counter',
        samples: operations.samples(),
      },
      {
        name: 'storeferry_runs_total',
        help: 'Runs that this worker ended, by status.',
        type: 'counter',
        samples: runs.samples(),
      },
    ],
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
