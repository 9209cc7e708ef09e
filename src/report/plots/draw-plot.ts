import type * as PlotLibrary from '@observablehq/plot';
import type * as Linkedom from 'linkedom';
import { html, type Markup, trusted } from '../html/markup.ts';
import { printable } from '../printable.ts';

/** What is drawn: marks and scales, of the library that is handed in. */
export type Drawing = (plot: typeof PlotLibrary) => PlotLibrary.PlotOptions;

/** The libraries that draw. The dashboard loads them at its start, before somebody waits for a page. */
export async function loadPlots(): Promise<[typeof PlotLibrary, typeof Linkedom]> {
  return await Promise.all([import('@observablehq/plot'), import('linkedom')]);
}

/**
 * Draws a plot as SVG that stands by itself: no ids, no style elements or attributes (a page's policy forbids them,
 * its stylesheet has the rules), always the same for the same figures. `description` says what it shows, for
 * readers who cannot see it. The library is loaded when first drawn with.
 */
export async function drawPlot(drawing: Drawing, description: string): Promise<Markup> {
  const [plot, { parseHTML }] = await loadPlots();
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const svg = plot.plot({ ...drawing(plot), document, className: 'plot' });
  for (const style of svg.querySelectorAll('style')) style.remove();
  for (const styled of svg.querySelectorAll('[style]')) styled.removeAttribute('style');
  for (const labelled of svg.querySelectorAll('[aria-label]')) labelled.removeAttribute('aria-label');
  for (const attribute of ['font-family', 'font-size', 'width', 'height']) svg.removeAttribute(attribute);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', printable(description));
  return trusted(svg.outerHTML);
}

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
