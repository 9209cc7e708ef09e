import { type Block, type List, type Section, shownIn, type Table, type Terms } from '../document.ts';
import { plotFigure } from '../plots/plot-figure.ts';
import { trafficPlots } from '../plots/traffic-plots.ts';
import { trendPlot } from '../plots/trend-plot.ts';
import type { RunDocument } from '../run-document.ts';
import { formatDuration } from '../wording/durations.ts';
import { formatMoment } from '../wording/moments.ts';
import { printable } from '../wording/printable.ts';
import { statusTone } from '../wording/status-words.ts';
import { sentence } from '../wording/words.ts';
import { dataTable } from './data-table.ts';
import { shareBar } from './drawings.ts';
import { html, type Markup, type Slot, trusted } from './markup.ts';
import { section } from './section.ts';
import { statusBadge } from './status-badge.ts';
import { readStylesheet } from './stylesheet.ts';
import { foreign } from './text.ts';
import { wordsMarkup } from './words-markup.ts';

/** Nothing of the file may load or run anything, whatever the facts contain. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** A document as one whole HTML file: no script, no network; it can be opened, printed and mailed. */
export async function reportFile(document: RunDocument): Promise<string> {
  const { what, job, store, run, version } = document.head;
  return `<!doctype html>\n${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${what} ${printable(job)} · ${run}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>${trusted(readStylesheet())}</style>
</head>
<body class="report-file">
<header class="report-head">
<p class="eyebrow">Storeferry</p>
<h1>${what} ${foreign(job)}</h1>
<p class="where">for the store <strong>${foreign(store)}</strong></p>
</header>
<main>
${await documentSections(document)}
</main>
<footer class="report-foot"><p>Run ${run} of ${foreign(job)}, written by Storeferry ${version}.</p></footer>
</body>
</html>`}\n`;
}

/**
 * The sections of a document for a page that gives the h1; `actions` are the buttons that take the place of what to
 * type next.
 */
export async function documentSections(
  document: RunDocument,
  actions: Markup | null = null,
): Promise<Markup> {
  const sections = await Promise.all(
    shownIn(document.sections, 'page').map((part) =>
      part.title === null ? leadMarkup(document, part) : partMarkup(part, part.title),
    ),
  );
  const isLead = document.sections[0]?.title === null;
  const [lead, rest] = isLead ? [sections.slice(0, 1), sections.slice(1)] : [[], sections];
  return html`<div class="report">
${lead}${actions}${rest}</div>`;
}

async function leadMarkup({ head }: RunDocument, { blocks }: Section): Promise<Markup> {
  const { status, at, lastedMs } = head;
  const lasted = `${status === 'running' ? 'under way for' : 'took'} ${formatDuration(lastedMs)}`;
  return html`<section class="lead tone-${statusTone(status)}" aria-label="In short">
<p class="state">${statusBadge(status)} <span class="when">${formatMoment(at)}, ${lasted}</span></p>
${await blocksMarkup(blocks)}</section>
`;
}

async function partMarkup({ id, blocks }: Section, title: string): Promise<Markup> {
  return section(id, printable(title), await blocksMarkup(blocks));
}

async function blocksMarkup(blocks: readonly Block[]): Promise<Markup[]> {
  return await Promise.all(shownIn(blocks, 'page').map(blockMarkup));
}

async function blockMarkup(block: Block): Promise<Markup> {
  switch (block.kind) {
    case 'heading':
      return html`<h3>${wordsMarkup(block.words)}</h3>\n`;
    case 'paragraph': {
      const { role, sentences } = block;
      const words = sentences.map((each, index) => [index > 0 && ' ', wordsMarkup(each)]);
      return html`<p${role !== undefined && html` class="${role}"`}>${words}</p>\n`;
    }
    case 'table':
      return tableMarkup(block);
    case 'bars':
      return shareBar(block.shares, block.title);
    case 'plot':
      return await plotMarkup(block.of);
    case 'command':
      return html`<div class="step"><p>${block.what}</p><pre class="command"><code>${printable(block.command)}</code></pre></div>\n`;
    case 'list':
      return listMarkup(block);
    case 'terms':
      return termsMarkup(block);
    default:
      return block satisfies never;
  }
}

function tableMarkup({
  caption,
  captionHidden = false,
  columns,
  rows,
  foot = [],
  shown,
  more,
}: Table): Markup {
  const isShown = columns.map(({ only }) => only === undefined || only === 'page');
  const cellsOf = (part: readonly Table['rows'][number][]): Slot[][] =>
    shownIn(part, 'page').map(({ cells }) => cells.filter((_, column) => isShown[column]).map(wordsMarkup));
  const left = rows.length - (shown?.page ?? rows.length);
  return html`${dataTable({
    caption,
    captionHidden,
    columns: columns.filter((_, column) => isShown[column]),
    rows: cellsOf(rows.slice(0, shown?.page)),
    foot: cellsOf(foot),
  })}${moreMarkup(left, more)}`;
}

function moreMarkup(left: number, more: ((left: number) => string) | undefined): Markup | false {
  return left > 0 && more !== undefined && html`<p class="more">${sentence(more(left))}.</p>\n`;
}

function listMarkup({ style, title = null, explanation, items, shown, more }: List): Markup {
  const parts = items.slice(0, shown?.page);
  const left = items.length - parts.length;
  switch (style) {
    case 'alert':
      return html`<div class="look-first"><p>${wordsMarkup(title)}</p><ul>${parts.map(({ words }) => html`<li>${wordsMarkup(words)}</li>`)}</ul></div>\n`;
    case 'names':
      return html`<h3>${wordsMarkup(title)}</h3>
${explanation !== undefined && html`<p class="explanation">${explanation}</p>\n`}<ul class="chips">${parts.map(({ words }) => html`<li>${wordsMarkup(words)}</li>`)}${left > 0 && more !== undefined && html`<li class="more">${more(left)}</li>`}</ul>\n`;
    case 'notes':
      return html`<ul class="notes">${parts.map(({ words, tone }) =>
        tone === 'warning'
          ? html`<li class="warning"><span class="sign" aria-hidden="true">!</span> ${wordsMarkup(words)}</li>`
          : html`<li>${wordsMarkup(words)}</li>`,
      )}</ul>${moreMarkup(left, more)}\n`;
    default:
      return style satisfies never;
  }
}

function termsMarkup({ terms }: Terms): Markup {
  return html`<dl class="about">${terms.map(([name, value]) => html`<div><dt>${name}</dt><dd>${wordsMarkup(value)}</dd></div>`)}</dl>\n`;
}

async function plotMarkup(plot: Extract<Block, { readonly kind: 'plot' }>['of']): Promise<Markup> {
  if (plot.figure === 'traffic') return html`${await trafficPlots(plot.samples)}`;
  const figures = plot.trends.map(async ({ title, name, points }) =>
    plotFigure(title, await trendPlot([{ name, points }])),
  );
  return html`<div class="plots">${await Promise.all(figures)}</div>\n`;
}
