/** One subscriber list at one moment, as a kept history has it. */
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

/** What the file of a job that keeps history holds. */
export interface ListHistory {
  /** In the order of the file. */
  readonly points: readonly HistoryPoint[];
  /** Lines that are no readings: half lines, or edited beyond recognition. */
  readonly unreadable: number;
}
