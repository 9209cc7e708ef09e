import type { ListReading, SubscriberList } from '../../model/subscriber-list.ts';

/** The last second that a date of JavaScript can be. */
const LAST_SECOND = 8_640_000_000_000;

/** A list with the moment of its reading, its members in the order of the columns. */
export function listReading(list: SubscriberList, readAt: string): ListReading {
  const { id, name, created, subscribers, opens, clicks } = list;
  return { id, name, created, created_date: dateOf(created), subscribers, opens, clicks, read_at: readAt };
}

function dateOf(seconds: number | null): string | null {
  if (seconds === null || Math.abs(seconds) > LAST_SECOND) return null;
  return new Date(seconds * 1_000).toISOString().split('T')[0] ?? null;
}
