import type * as PlotLibrary from '@observablehq/plot';
import type * as Linkedom from 'linkedom';
import { html, type Markup, trusted } from '../html/markup.ts';
import { printable } from '../printable.ts';

/** The marks and scales of a plot, built with the given library. */
export type Drawing = (plot: typeof PlotLibrary) => PlotLibrary.PlotOptions;

/** The libraries that draw plots. The dashboard loads them when it starts, so that the first page does not wait. */
export async function loadPlots(): Promise<[typeof PlotLibrary, typeof Linkedom]> {
  return await Promise.all([import('@observablehq/plot'), import('linkedom')]);
}

/**
 * Draws a plot as self-contained SVG: no ids, and no style elements or attributes (the policy of pages forbids them;
 * their stylesheet has the rules). Equal figures give equal SVG. `description` is the text alternative. The library
 * is loaded on the first call.
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

/** A colour of a plot and its meaning. `none` is a sign whose label explains itself. */
export interface LegendEntry {
  readonly kind: 'main' | 'second' | 'bad' | 'pause' | 'good' | 'quiet' | 'held' | 'none';
  readonly label: string;
}

/** A plot with its caption above and its legend below. */
export function plotFigure(caption: string, plot: Markup, legend: readonly LegendEntry[] = []): Markup {
  return html`<figure class="plot-figure"><figcaption>${caption}</figcaption>${plot}${
    legend.length > 0 &&
    html`<ul class="plot-legend">${legend.map(
      ({ kind, label }) =>
        html`<li>${kind !== 'none' && html`<span class="swatch plot-${kind}" aria-hidden="true"></span>`}${label}</li>`,
    )}</ul>`
  }</figure>`;
}
