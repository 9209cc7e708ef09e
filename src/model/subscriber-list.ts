/** An email marketing list of a store, as the API answers it (storefront-api.md, section 2). */
export interface SubscriberList {
  readonly id: number;
  readonly name: string;
  /** Unix time in seconds; null when the store sent none. */
  readonly created: number | null;
  readonly subscribers: number | null;
  /** Open rate, 0 to 1. */
  readonly opens: number | null;
  /** Click rate, 0 to 1. */
  readonly clicks: number | null;
}

/** A list at one moment. */
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

/** One subscriber list at one moment, as stored in a history. */
export interface HistoryPoint {
  readonly id: string;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly readAt: number;
  readonly subscribers: number | null;
  /** Shares from 0 to 1. */
  readonly opens: number | null;
  readonly clicks: number | null;
}

/** The content of the history file of a job. */
export interface ListHistory {
  /** In the order of the file. */
  readonly points: readonly HistoryPoint[];
  /** Lines that are not readings: incomplete, or edited beyond recognition. */
  readonly unreadable: number;
}
