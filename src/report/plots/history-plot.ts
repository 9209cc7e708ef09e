import type { RunStatus } from '../../model/run.ts';
import { html, type Markup } from '../html/markup.ts';

/** A run of a job, as a night among others. */
export interface Night {
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  readonly status: RunStatus;
  readonly durationMs: number;
  readonly applied: number;
  readonly rejected: number;
  readonly unchanged: number;
  readonly unsent: number;
}

/** How long each run took and what became of its records, oldest first, so that an odd night stands out. */
export async function historyPlot(_nights: readonly Night[]): Promise<Markup> {
  return html``;
}
