import type { Run, RunTotals } from '../model/run.ts';
import { counted } from './wording/words.ts';

/** Of fewer requests the limiter has hardly begun to find out what a store bears. */
const REQUESTS_THAT_TELL = 100;

/** How fast sending was in the end, and what that rested on; null where too little was sent to tell. */
export function limitsWords({
  run,
  totals,
}: {
  readonly run: Run;
  readonly totals: RunTotals;
}): string | null {
  if (run.limits === undefined || totals.requests < REQUESTS_THAT_TELL) return null;
  const { concurrency, because, rate } = run.limits;
  const atOnce = `Sending ended at ${counted(concurrency, 'request')} at once (${because})`;
  if (rate === null) return `${atOnce}.`;
  const perSecond = rate.requestsPerSecond.toLocaleString('en', { maximumSignificantDigits: 3 });
  return `${atOnce} and ${perSecond} a second (${rate.because}).`;
}
