import { html, type Markup } from '../html/markup.ts';

/** A figure over time. */
export interface TrendSeries {
  readonly name: string;
  /** Rising in time (milliseconds since the epoch). */
  readonly points: readonly { readonly at: number; readonly value: number }[];
}

/** Lines over time, each with its name at its end. */
export async function trendPlot(_series: readonly TrendSeries[]): Promise<Markup> {
  return html``;
}
