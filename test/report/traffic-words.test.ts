import { describe, expect, it } from 'vitest';
import type { TrafficSample } from '../../src/model/run.ts';
import { trafficSection } from '../../src/report/sections/traffic-section.ts';
import { facts } from './run-facts.ts';

const sample = (changes: Partial<TrafficSample> = {}): TrafficSample => ({
  at: 0,
  ms: 1_000,
  requests: 20,
  failed: 0,
  retries: 0,
  p50: 80,
  p95: 200,
  concurrency: 4,
  pausedMs: 0,
  ...changes,
});

/** The sentences of the page about a run with this traffic. */
function trafficWords(samples: readonly TrafficSample[]) {
  const [words] = trafficSection(facts({}, { traffic: { samples } }))?.blocks ?? [];
  return words?.kind === 'paragraph' ? words.sentences : [];
}

describe('the traffic of a run in words', () => {
  it('gives rate and answers, and problems only where there were some', () => {
    expect(trafficWords([sample(), sample({ requests: 40, p50: 90, p95: 400 })])).toEqual([
      '60 requests in 2 s, 30 per second.',
      'Latency: median 90 ms, highest p95 400 ms.',
    ]);
    expect(trafficWords([sample({ failed: 3, retries: 1, pausedMs: 500 })]).slice(2)).toEqual([
      '3 failed; 1 request was a retry.',
      'Sending paused for 500 ms because the store failed or asked to wait.',
    ]);
  });

  it('gives a single request no rate, and no answer times where nothing answered', () => {
    expect(trafficWords([sample({ ms: 245, requests: 1, p50: 75, p95: 75 })])).toEqual([
      '1 request in 245 ms.',
      'Latency: 75 ms.',
    ]);
    expect(trafficWords([sample({ requests: 1, failed: 1, p50: null, p95: null })])).toEqual([
      '1 request in 1 s.',
      '1 failed.',
    ]);
  });
});
