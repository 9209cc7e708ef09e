import type * as PlotLibrary from '@observablehq/plot';
import type * as Linkedom from 'linkedom';
import { type Markup, trusted } from '../html/markup.ts';
import { printable } from '../wording/printable.ts';

/** What is drawn: marks and scales, of the library that is handed in. */
export type Drawing = (plot: typeof PlotLibrary) => PlotLibrary.PlotOptions;

/** The libraries that draw. Whoever will surely draw loads them before anybody waits for a page. */
export async function loadPlots(): Promise<[typeof PlotLibrary, typeof Linkedom]> {
  return await Promise.all([import('@observablehq/plot'), import('linkedom')]);
}

/**
 * Draws a plot as SVG that stands by itself: no ids, no style elements or attributes (a page's policy forbids them,
 * its stylesheet has the rules), always the same for the same figures. `description` says what is to be seen, for
 * whoever cannot see it. The library is loaded when first drawn with.
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
