import type { Metric } from '../../report/prometheus-text.ts';
import type { StoreStats } from '../../run/store-clients.ts';

type Figure = (stats: StoreStats['stats']) => number | null;

const COUNTERS: readonly (readonly [name: string, help: string, figure: Figure])[] = [
  ['requests_total', 'Requests sent to the store, retries included.', ({ requests }) => requests],
  ['retries_total', 'Requests that were sent again.', ({ retries }) => retries],
  ['push_backs_total', 'Answers 429: too many requests.', ({ pushBacks }) => pushBacks],
];

const GAUGES: readonly (readonly [name: string, help: string, figure: Figure])[] = [
  ['requests_in_flight', 'Requests in flight.', ({ inFlight }) => inFlight],
  ['requests_waiting', 'Requests that wait for a slot.', ({ waiting }) => waiting],
  [
    'concurrency_limit',
    'Requests that may be in flight at once, as the limiter has found.',
    ({ limit }) => limit,
  ],
  [
    'requests_per_second_limit',
    'Requests a second that the store seems to allow, or the configuration does.',
    ({ requestsPerSecond }) => requestsPerSecond,
  ],
  ['paused_seconds', 'How long the store has asked to wait.', ({ pausedForMs }) => pausedForMs / 1_000],
  ['retry_budget', 'Retries that may be sent before they must wait.', ({ retryBudget }) => retryBudget],
  ['breaker_open', '1 while the store fails and is only probed.', ({ breakerOpen }) => (breakerOpen ? 1 : 0)],
];

/** Metrics of the stores that this process sends to. Counters go on when the configuration of a store changes. */
export function storeMetrics(stores: readonly StoreStats[]): readonly Metric[] {
  const byStore = [...Map.groupBy(stores, ({ store }) => store)];
  const metric = (
    [name, help, figure]: (typeof GAUGES)[number],
    type: Metric['type'],
    of: (values: readonly number[]) => number | undefined,
  ): Metric => ({
    name: `storeferry_store_${name}`,
    help,
    type,
    samples: byStore.flatMap(([store, clients]) => {
      const value = of(clients.flatMap(({ stats }) => figure(stats) ?? []));
      return value === undefined ? [] : [{ labels: { store }, value }];
    }),
  });
  return [
    ...COUNTERS.map((counter) =>
      metric(counter, 'counter', (values) => values.reduce((sum, value) => sum + value, 0)),
    ),
    ...GAUGES.map((gauge) => metric(gauge, 'gauge', (values) => values.at(-1))),
  ];
}
