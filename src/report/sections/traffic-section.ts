import { sumOf, withoutAbsent } from '../../model/json-object.ts';
import type { TrafficSample } from '../../model/run.ts';
import { counted, formatDuration, grouped } from '../../text/printable.ts';
import type { RunFacts } from '../run-facts.ts';
import { type Block, paragraph, type Section } from '../section.ts';

/** With fewer requests a rate says nothing. */
const MIN_REQUESTS_FOR_RATE = 10;
/** With fewer requests the limits of the store are not known yet. */
const MIN_REQUESTS_FOR_LIMITS = 100;

/** The requests, the latency of the store and the final sending rate; null if nothing was sent. */
export function trafficSection(facts: RunFacts): Section | null {
  const samples = facts.traffic?.samples ?? [];
  const limits = describeLimits(facts);
  if (samples.length === 0 && limits === null) return null;
  const words = samples.length === 0 ? [] : describeTraffic(samples);
  // A text has room for the limits alone.
  const blocks: Block[] = withoutAbsent([
    words.length !== 0 && paragraph([...words, limits], { only: 'page' }),
    limits !== null && paragraph([limits], words.length === 0 ? {} : { only: 'text' }),
    samples.length !== 0 && ({ kind: 'plot', of: { figure: 'traffic', samples } } as const),
  ]);
  return { id: 'traffic', title: 'Requests', blocks };
}

/** Sentences about the requests of a run and the answers of the store. */
function describeTraffic(samples: readonly TrafficSample[]) {
  const sum = (of: (sample: TrafficSample) => number) => sumOf(samples, of);
  const [requests, failed, retries] = [
    sum((one) => one.requests),
    sum((one) => one.failed),
    sum((one) => one.retries),
  ];
  const [pausedMs, busyMs] = [sum((one) => one.pausedMs), sum((one) => one.ms)];
  const perSecond = requests / Math.max(0.001, busyMs / 1000);
  const rate =
    requests < MIN_REQUESTS_FOR_RATE
      ? ''
      : `, ${perSecond.toLocaleString('en', { maximumSignificantDigits: 3 })} per second`;
  const repeated = retries > 0 ? `; ${counted(retries, 'request was a retry', 'requests were retries')}` : '';
  return withoutAbsent([
    `${counted(requests, 'request')} in ${formatDuration(busyMs)}${rate}.`,
    ...describeLatency(samples),
    failed > 0 && `${grouped(failed)} failed${repeated}.`,
    pausedMs > 0 &&
      `Sending paused for ${formatDuration(pausedMs)} because the store failed or asked to wait.`,
  ]);
}

/**
 * The percentiles of a run cannot be computed from those of its samples, so it gives the median of the medians and
 * the highest p95.
 */
function describeLatency(samples: readonly TrafficSample[]) {
  const medians = samples.flatMap(({ p50 }) => (p50 === null ? [] : [p50]));
  const slow = samples.flatMap(({ p95 }) => (p95 === null ? [] : [p95]));
  if (medians.length === 0 || slow.length === 0) return [];
  const middle = medians.toSorted((a, b) => a - b)[Math.floor(medians.length / 2)] ?? 0;
  const slowest = Math.max(...slow);
  if (slowest === middle) return [`Latency: ${formatDuration(middle)}.`];
  return [`Latency: median ${formatDuration(middle)}, highest p95 ${formatDuration(slowest)}.`];
}

/** The concurrency and rate at the end, with their causes; null if too little was sent. */
function describeLimits({ run, totals }: RunFacts) {
  if (run.limits === undefined || totals.requests < MIN_REQUESTS_FOR_LIMITS) return null;
  const { concurrency, because, rate } = run.limits;
  const atOnce = `Concurrency at the end: ${counted(concurrency, 'request')} (${because})`;
  if (rate === null) return `${atOnce}.`;
  const perSecond = rate.requestsPerSecond.toLocaleString('en', { maximumSignificantDigits: 3 });
  return `${atOnce}; rate: ${perSecond} per second (${rate.because}).`;
}
