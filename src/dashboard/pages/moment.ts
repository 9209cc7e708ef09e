import { html, type Markup } from '../../report/html/markup.ts';
import {
  DAY,
  formatAgo,
  formatDuration,
  formatMoment,
  MINUTE,
  serverTimezone,
} from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';

/** The context for times on a page. */
export interface Reading {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The time zone of shown times, such as `Europe/London`. */
  readonly timezone: string;
}

/** `<time>`: `Sat 21 Nov 02:15 GMT`, with the year if it is not the current one. */
export function moment(at: number, { now, timezone }: Reading): Markup {
  return html`<time datetime="${new Date(at).toISOString()}">${written(at, now, timezone)}</time>`;
}

/** The distance from now in words, with the exact time as its title: `3 h ago`, `in 5 h 12 min`. */
export function relativeTime(at: number, { now, timezone }: Reading): Markup {
  // Seconds are irrelevant for distant times.
  const distance = at - now < MINUTE ? at - now : Math.round((at - now) / MINUTE) * MINUTE;
  const words = at > now ? `in ${formatDuration(distance)}` : formatAgo(now - at);
  const title = written(at, now, timezone);
  return html`<time datetime="${new Date(at).toISOString()}" title="${title}">${words}</time>`;
}

/** The time and its distance from now. */
export function momentAndDistance(at: number, reading: Reading): Markup {
  return html`${moment(at, reading)} <span class="quiet">(${relativeTime(at, reading)})</span>`;
}

function written(at: number, now: number, timezone: string): string {
  return formatMoment(at, { timezone, year: Math.abs(at - now) > 300 * DAY });
}

/** Now, in the time zone of the visitor. */
export function readingOf(
  { clock }: { readonly clock: () => number },
  { timezone = serverTimezone() }: Pick<Viewer, 'timezone'>,
): Reading {
  return { now: clock(), timezone };
}
