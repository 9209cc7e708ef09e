import { readFileSync } from 'node:fs';
import type { Action } from '../../model/action.ts';
import { sumOf } from '../../model/json-object.ts';
import {
  capitalise,
  formatDuration,
  formatMoment,
  formatShare,
  grouped,
  printable,
} from '../../text/printable.ts';
import { linePlots } from '../plots/line-plots.ts';
import type { RunDocument } from '../run-document.ts';
import {
  type Block,
  type Drawing,
  type List,
  leftOutWords,
  type Section,
  type Share,
  type Style,
  shownIn,
  type Table,
  type Words,
} from '../section.ts';
import { statusTone } from '../status-words.ts';
import {
  badge,
  dataTable,
  foreign,
  html,
  type Markup,
  type Slot,
  section,
  statusBadge,
  trusted,
} from './markup.ts';

// What pages draw beside documents.
export { historyPlot } from '../plots/history-plot.ts';

/** Minimum width of a small share, in percent of the bar. */
const MIN_SHARE_WIDTH = 2;
/** From this width on there is room for a percentage in the bar. */
const ROOM_FOR_TEXT = 9;
/**
 * A factor of 1,000 fills half of the bar. The scale is logarithmic: a tenth is as far from the middle as ten times.
 */
const MAX_DECADES = 3;

/** Shares of a whole as one bar, in proportion. Empty shares are left out. */
function shareBar(shares: readonly Share[], title: string) {
  const present = shares.filter(({ records }) => records > 0);
  const whole = sumOf(present, ({ records }) => records);
  const text = present.map(
    ({ label, records }) => `${grouped(records)} ${label} (${formatShare(records, whole)})`,
  );
  let x = 0;
  const drawn = widths(present.map(({ records }) => records));
  const parts = present.map((share, index) => {
    const [from, width = 0] = [x, drawn[index]];
    x += width;
    const name = html`<title>${text[index]}</title>`;
    const label =
      width >= ROOM_FOR_TEXT &&
      html`<text class="on-${share.kind}" x="${percent(from + width / 2)}" y="50%" dy="0.35em">${formatShare(share.records, whole)}</text>`;
    return html`<g>${name}<rect class="share-${share.kind}" x="${percent(from)}" y="0" width="${percent(width)}" height="100%"/>${label}</g>`;
  });
  return html`<svg class="share-bar" role="img" aria-label="${title}: ${text.join(', ')}" width="100%" height="44">
${parts}
</svg>
`;
}

/** Each figure's share of 100. Small shares are widened to be visible, at the cost of the others. */
export function widths(figures: readonly number[]): number[] {
  const whole = sumOf(figures);
  const isNarrow = (figure: number) => (figure / whole) * 100 < MIN_SHARE_WIDTH;
  const wide = figures.filter((figure) => !isNarrow(figure)).reduce((sum, figure) => sum + figure, 0);
  const room = 100 - MIN_SHARE_WIDTH * figures.filter(isNarrow).length;
  return figures.map((figure) => (isNarrow(figure) ? MIN_SHARE_WIDTH : (figure / wide) * room));
}

/** A drawing beside a number. It is hidden from screen readers, which read the number. */
function drawingMarkup(drawing: Drawing) {
  switch (drawing.of) {
    case 'outcome':
      return html`<span class="swatch share-${drawing.kind}" aria-hidden="true"></span>`;
    case 'share':
      return html`<svg class="count-bar" aria-hidden="true" width="100%" height="8"><rect class="count-track" x="0" y="0" width="100%" height="8"/><rect class="count-fill" x="0" y="0" width="${percent(Math.max(1, drawing.share * 100))}" height="8"/></svg>`;
    case 'change':
      return changeBar(drawing);
    case 'limit':
      return limitMeter(drawing);
    default:
      return drawing satisfies never;
  }
}

/** The size of a change: a bar to the left for a decrease, to the right for an increase. */
function changeBar({ old, new: now, unusual }: Extract<Drawing, { readonly of: 'change' }>) {
  const reach = reachOf(old, now);
  const width = Math.max(1.5, Math.abs(reach) * 50);
  const x = reach < 0 ? 50 - width : 50;
  return html`<svg class="move-bar" aria-hidden="true" viewBox="0 0 100 12" preserveAspectRatio="none" width="100%" height="12"><rect class="${unusual ? 'move-unusual' : 'move-usual'}" x="${Number(x.toFixed(2))}" y="1" width="${Number(width.toFixed(2))}" height="10"/><rect class="move-middle" x="49.75" y="0" width="0.5" height="12"/></svg>`;
}

function reachOf(old: number, now: number) {
  if (old === now) return 0;
  if (old <= 0 || now <= 0) return now > old ? 1 : -1;
  return Math.max(-1, Math.min(1, Math.log10(now / old) / MAX_DECADES));
}

/** The distance of a figure from its limit. */
function limitMeter(meter: Extract<Drawing, { readonly of: 'limit' }>) {
  const { figure, allowed, whole, exceeded } = meter;
  const at = (value: number) => percent((value / whole) * 100);
  return html`<svg class="meter" aria-hidden="true" width="100%" height="16"><rect class="meter-track" x="0" y="5" width="100%" height="6"/><rect class="${exceeded ? 'meter-bad' : 'meter-good'}" x="0" y="5" width="${at(figure)}" height="6"/><rect class="meter-limit" x="${at(Math.min(allowed, whole * 0.996))}" y="0" width="2" height="16"/></svg>`;
}

function percent(width: number) {
  return `${Number(width.toFixed(3))}%`;
}

/** The policy forbids the page to load or run anything, whatever the facts contain. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** A document as one HTML file without script or network access. It can be opened, printed and mailed. */
export function reportFile(document: RunDocument): string {
  const { what, job, store, run, version } = document.head;
  return `<!doctype html>\n${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${what} ${printable(job)} · ${run}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>${trusted(readFileSync(STYLESHEET_URL, 'utf8'))}</style>
</head>
<body class="report-file">
<header class="report-head">
<p class="eyebrow">Storeferry</p>
<h1>${what} ${foreign(job)}</h1>
<p class="where">for the store <strong>${foreign(store)}</strong></p>
</header>
<main>
${documentSections(document)}
</main>
<footer class="report-foot"><p>Run ${run} of ${foreign(job)}, written by Storeferry ${version}.</p></footer>
</body>
</html>`}\n`;
}

/** The button for an action; null if the action has none and its command is shown instead. */
export type ButtonOf = (action: Action) => Markup | null;

/** The sections of a document, for a page that has its own h1. */
export function documentSections(document: RunDocument, buttonOf?: ButtonOf): Markup {
  const sections = shownIn(document.sections, 'page').map((part) =>
    part.title === null ? leadMarkup(document, part) : sectionMarkup(part, buttonOf),
  );
  return html`<div class="report">
${sections}</div>`;
}

function leadMarkup({ head }: RunDocument, { blocks }: Section) {
  const { status, outcome, at, timezone, lastedMs } = head;
  const lasted = `${status === 'running' ? 'running for' : 'took'} ${formatDuration(lastedMs)}`;
  return html`<section class="lead tone-${statusTone(status)}" aria-label="In short">
<p class="state">${statusBadge(status, { outcome })} <span class="when">${formatMoment(at, { timezone })}, ${lasted}</span></p>
${blocksMarkup(blocks)}</section>
`;
}

/** One section under its title, for a page with other content. */
export function sectionMarkup({ id, title, blocks }: Section, buttonOf?: ButtonOf): Markup {
  const body = blocksMarkup(blocks, buttonOf);
  const isList = blocks.some(({ kind }) => kind === 'command');
  return section(id, wordsMarkup(title), isList ? html`<div class="next-list">${body}</div>` : body);
}

function blocksMarkup(blocks: readonly Block[], buttonOf?: ButtonOf) {
  return shownIn(blocks, 'page').map((block) => blockMarkup(block, buttonOf));
}

function blockMarkup(block: Block, buttonOf: ButtonOf = () => null) {
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
      return linePlots(block.of);
    case 'command':
      return html`<div class="step"><p>${block.what}</p>${buttonOf(block.action) ?? html`<pre class="command"><code>${printable(block.command)}</code></pre>`}</div>\n`;
    case 'list':
      return listMarkup(block);
    case 'terms':
      return html`<dl class="about">${block.terms.map(([name, value]) => html`<div><dt>${name}</dt><dd>${wordsMarkup(value)}</dd></div>`)}</dl>\n`;
    default:
      return block satisfies never;
  }
}

function tableMarkup(table: Table) {
  const { columns, rows, foot = [], shown, caption, captionHidden = false } = table;
  const isShown = columns.map(({ only }) => only === undefined || only === 'page');
  const cellsOf = (part: readonly Table['rows'][number][]): Slot[][] =>
    shownIn(part, 'page').map(({ cells }) => cells.filter((_, column) => isShown[column]).map(wordsMarkup));
  return html`${dataTable({
    caption,
    captionHidden,
    columns: columns.filter((_, column) => isShown[column]),
    rows: cellsOf(rows.slice(0, shown?.page)),
    foot: cellsOf(foot),
  })}${moreMarkup(leftOutWords(table, 'page'))}`;
}

function moreMarkup(left: string | null) {
  return left !== null && html`<p class="more">${capitalise(left)}.</p>\n`;
}

function listMarkup(list: List) {
  const { style, title = null, explanation, items, shown } = list;
  const parts = items.slice(0, shown?.page);
  const left = leftOutWords(list, 'page');
  switch (style) {
    case 'alert':
      return html`<div class="look-first"><p>${wordsMarkup(title)}</p><ul>${parts.map(({ words }) => html`<li>${wordsMarkup(words)}</li>`)}</ul></div>\n`;
    case 'names':
      return html`<h3>${wordsMarkup(title)}</h3>
${explanation !== undefined && html`<p class="explanation">${explanation}</p>\n`}<ul class="chips">${parts.map(({ words }) => html`<li>${wordsMarkup(words)}</li>`)}${left !== null && html`<li class="more">${left}</li>`}</ul>\n`;
    case 'notes':
      return html`<ul class="notes">${parts.map(({ words, tone }) =>
        tone === 'warning'
          ? html`<li class="warning">${WARNING_SIGN} ${wordsMarkup(words)}</li>`
          : html`<li>${wordsMarkup(words)}</li>`,
      )}</ul>${moreMarkup(left)}\n`;
    default:
      return style satisfies never;
  }
}

/** Words of a document with their markup. All text is escaped, so nothing in it can act. */
export function wordsMarkup(words: Words): Markup {
  if (words === false || words === null) return html``;
  if (typeof words === 'string') return html`${printable(words)}`;
  if (!('as' in words)) return html`${words.map(wordsMarkup)}`;
  switch (words.as) {
    case 'drawing':
      return drawingMarkup(words.drawing);
    case 'badge':
      return badge(words.tone, printable(words.words));
    case 'samples':
      return html`<ul class="samples">${words.items.map((item) => html`<li>${wordsMarkup(item)}</li>`)}</ul>`;
    default:
      break;
  }
  if (words.only !== undefined && words.only !== 'page') return html``;
  return styled(words.as, wordsMarkup(words.words));
}

const WARNING_SIGN = html`<span class="sign" aria-hidden="true">!</span>`;

function styled(style: Style | 'plain', text: Markup) {
  switch (style) {
    case 'plain':
      return text;
    case 'unusual':
      return html`<strong class="unusual">${WARNING_SIGN} ${text}<span class="unseen">, unusual</span></strong>`;
    case 'setting':
      return html`<code class="setting">${text}</code>`;
    case 'key':
      return html`<span class="sample-key">${text}</span>`;
    case 'foreign':
    case 'strong':
    case 'code':
    case 'removed':
    case 'added': {
      const tag = trusted(TAGS[style]);
      return html`<${tag}>${text}</${tag}>`;
    }
    default:
      return html`<span class="${style}">${text}</span>`;
  }
}

const TAGS = { foreign: 'bdi', strong: 'strong', code: 'code', removed: 'del', added: 'ins' } as const;

/** The stylesheet of report and dashboard. It is beside this file, also in `dist/`. */
export const STYLESHEET_URL = new URL('report.css', import.meta.url);
