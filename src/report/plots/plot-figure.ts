import { html, type Markup } from '../html/markup.ts';

/** A colour of a plot, and what has it; `none` is a sign that the label names itself. */
export interface LegendEntry {
  readonly kind: 'main' | 'second' | 'bad' | 'pause' | 'good' | 'quiet' | 'none';
  readonly label: string;
}

/** A plot below what it shows, and above what its colours mean. */
export function plotFigure(caption: string, plot: Markup, legend: readonly LegendEntry[] = []): Markup {
  return html`<figure class="plot-figure"><figcaption>${caption}</figcaption>${plot}${
    legend.length > 0 &&
    html`<ul class="plot-legend">${legend.map(
      ({ kind, label }) =>
        html`<li>${kind !== 'none' && html`<span class="swatch plot-${kind}" aria-hidden="true"></span>`}${label}</li>`,
    )}</ul>`
  }</figure>`;
}
