import type { TrafficSample } from '../model/traffic.ts';
import { formatDuration } from './wording/durations.ts';
import { counted, grouped } from './wording/words.ts';

/** Fewer have no rate. */
const REQUESTS_OF_A_RATE = 10;

/** What the traffic of a run comes to, in sentences. */
export function trafficWords(samples: readonly TrafficSample[]): string[] {
  const sum = (of: (sample: TrafficSample) => number) =>
    samples.reduce((whole, sample) => whole + of(sample), 0);
  const [requests, failed, retries, pausedMs] = [
    sum((sample) => sample.requests),
    sum((sample) => sample.failed),
    sum((sample) => sample.retries),
    sum((sample) => sample.pausedMs),
  ];
  const busyMs = sum(({ ms }) => ms);
  const perSecond = requests / Math.max(0.001, busyMs / 1000);
  const rate =
    requests < REQUESTS_OF_A_RATE
      ? ''
      : `, ${perSecond.toLocaleString('en', { maximumSignificantDigits: 3 })} a second`;
  return [
    `${counted(requests, 'request')} in ${formatDuration(busyMs)}${rate}.`,
    ...answerWords(samples),
    ...(failed > 0
      ? [
          `${grouped(failed)} failed${retries > 0 ? `; ${counted(retries, 'request')} ${retries === 1 ? 'was a further try' : 'were further tries'}` : ''}.`,
        ]
      : []),
    ...(pausedMs > 0
      ? [`Sending paused for ${formatDuration(pausedMs)}, since the store failed or asked to wait.`]
      : []),
  ];
}

/** Percentiles of the whole cannot be told from those of its parts: the range of the halves can. */
function answerWords(samples: readonly TrafficSample[]): string[] {
  const halves = samples.flatMap(({ p50 }) => (p50 === null ? [] : [p50]));
  const slow = samples.flatMap(({ p95 }) => (p95 === null ? [] : [p95]));
  if (halves.length === 0 || slow.length === 0) return [];
  const middle = halves.toSorted((a, b) => a - b)[Math.floor(halves.length / 2)] ?? 0;
  const slowest = Math.max(...slow);
  if (slowest === middle) return [`An answer took ${formatDuration(middle)}.`];
  return [
    `An answer usually took ${formatDuration(middle)}; in the slowest stretch one in twenty took ${formatDuration(slowest)} or longer.`,
  ];
}
