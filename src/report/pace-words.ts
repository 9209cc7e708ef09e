import { formatDuration } from './wording/durations.ts';
import { grouped } from './wording/words.ts';

/** How fast requests will go and what that rests on, such as 'the limit in stores.yaml'. */
export interface Pace {
  readonly requestsPerSecond: number;
  readonly because: string;
}

/** `about 4 min at 20 a second, the limit in stores.yaml`; null where nobody knows how fast requests will go. */
export function paceWords(requests: number, pace: Pace | null): string | null {
  if (pace === null || pace.requestsPerSecond <= 0) return null;
  const ms = Math.max(1000, (requests / pace.requestsPerSecond) * 1000);
  const rate = `${grouped(Math.round(pace.requestsPerSecond * 10) / 10)} a second, ${pace.because}`;
  return `about ${formatDuration(Math.ceil(ms / 1000) * 1000)} at ${rate}`;
}
