import type { SubscriberList } from '../model/subscriber-list.ts';

/** A list as it was at one moment. */
export interface ListReading extends SubscriberList {
  /** `created` as a date in UTC, such as 2024-01-31; null when the store sent none. */
  readonly created_date: string | null;
  /** When the lists were read, ISO 8601 in UTC: the same in all lines of a run. */
  readonly read_at: string;
}

/** The columns of list statistics, in their usual order. */
export const LIST_COLUMNS = [
  'id',
  'name',
  'created',
  'created_date',
  'subscribers',
  'opens',
  'clicks',
  'read_at',
] as const satisfies readonly (keyof ListReading)[];

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
