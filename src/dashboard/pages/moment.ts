import { html, type Markup } from '../../report/html/markup.ts';
import { formatAgo, formatDuration } from '../../report/wording/durations.ts';

/** Where and when a page is read. */
export interface Reading {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whose clock times are shown by, such as `Europe/London`. */
  readonly timezone: string;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** `<time>`: `Sat 21 Nov, 02:15 GMT`, with the year where it is another one. */
export function moment(at: number, { now, timezone }: Reading): Markup {
  return html`<time datetime="${new Date(at).toISOString()}">${written(at, now, timezone)}</time>`;
}

/** How far from now, in words, with the exact time as its title: `3 h ago`, `in 5 h 12 min`. */
export function relative(at: number, { now, timezone }: Reading): Markup {
  const words = at > now ? `in ${formatDuration(roughly(at - now))}` : formatAgo(now - at);
  const title = written(at, now, timezone);
  return html`<time datetime="${new Date(at).toISOString()}" title="${title}">${words}</time>`;
}

/** When, and how far from now that is. */
export function momentAndDistance(at: number, reading: Reading): Markup {
  return html`${moment(at, reading)} <span class="quiet">(${relative(at, reading)})</span>`;
}

/** The first part of a day on which something happened: `Sat 21 Nov`. */
function written(at: number, now: number, timezone: string): string {
  const sameYear = Math.abs(at - now) < 300 * DAY_MS;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    ...(sameYear ? {} : { year: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
  return format.format(at).replace(',', '').replace(' at ', ', ');
}

/** Seconds do not matter hours ahead. */
function roughly(ms: number): number {
  return ms < 60_000 ? ms : Math.round(ms / 60_000) * 60_000;
}
