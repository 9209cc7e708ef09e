import { escapeUTF8 } from 'entities/escape';
import type { Run, RunStatus } from '../../model/run.ts';
import { printable, truncate } from '../../text/printable.ts';
import { columnsOf, type NamedColumn, type TableColumn } from '../section.ts';
import { statusLabel, statusTone, statusWords } from '../status-words.ts';

/** HTML that is safe to show: made by `html`, or marked as safe by `trusted`. */
export class Markup {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** A value in a template. Text is escaped; absent and false values produce nothing. */
export type Slot = Markup | string | number | null | undefined | false | readonly Slot[];

/**
 * A piece of HTML. Every external value goes through a slot, which escapes it for text and quoted attributes, so that
 * nothing from a catalog can become an element. Use slots only in text and in quoted attributes.
 */
export function html(parts: TemplateStringsArray, ...slots: readonly Slot[]): Markup {
  let text = parts[0] ?? '';
  for (const [index, slot] of slots.entries()) text += rendered(slot) + (parts[index + 1] ?? '');
  return new Markup(text);
}

/** Marks HTML as safe that `html` did not make: our own stylesheet. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

function rendered(slot: Slot): string {
  if (slot instanceof Markup) return slot.toString();
  if (slot === null || slot === undefined || slot === false) return '';
  if (typeof slot === 'object') return slot.map(rendered).join('');
  return escapeUTF8(String(slot));
}

/** Longer than any readable reason. */
const MAX_TEXT_LENGTH = 600;

/** Text of a source or a store: without control characters, in its own direction, and shortened. */
export function foreign(text: string, length = MAX_TEXT_LENGTH): Markup {
  return html`<bdi>${truncate(printable(text), length)}</bdi>`;
}

/** A paragraph in a style of the stylesheet. */
export function styledText(style: string, words: Slot): Markup {
  return html`<p class="${style}">${words}</p>`;
}

/** Words that stand back beside others. */
export function quiet(words: Slot): Markup {
  return html`<span class="quiet">${words}</span>`;
}

/** A name or a value as files and commands have it. */
export function code(words: Slot): Markup {
  return html`<code>${words}</code>`;
}

/** A link within the pages. */
export function link(href: string, words: Slot): Markup {
  return html`<a href="${href}">${words}</a>`;
}

/** A list with a bullet for each item; absent ones are left out. */
export function bullets(items: readonly Slot[], style?: string): Markup {
  return html`<ul${style !== undefined && html` class="${style}"`}>${items.map((item) => item !== false && html`<li>${item}</li>`)}</ul>`;
}

/** Each of these lines as a paragraph. */
export function paragraphs(lines: readonly Slot[]): Markup[] {
  return lines.map((line) => html`<p>${line}</p>`);
}

/** Items in a sentence, with commas between them. */
export function enumerated(items: readonly Slot[]): readonly Slot[] {
  return items.map((item, index) => [index > 0 && ', ', item]);
}

/** A part of the report with its own heading. */
export function section(id: string, title: Slot, body: Slot): Markup {
  return html`<section class="part" id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${title}</h2>
${body}
</section>
`;
}

/** Each shape differs, for readers who cannot see the colours: check, cross, exclamation mark, dots, line. */
const SHAPES: Readonly<Record<ReturnType<typeof statusTone>, string>> = {
  good: 'M3.5 8.5 6.5 11.5 12.5 4.5',
  bad: 'M4.5 4.5 11.5 11.5 M11.5 4.5 4.5 11.5',
  warning: 'M8 3.5V9 M8 12v.5',
  strong: 'M4 8h.01 M8 8h.01 M12 8h.01',
  quiet: 'M4 8h8',
};

/** A status with its colour, shape and words. A settled run has no colour that asks for action. */
export function statusBadge(
  status: RunStatus,
  { settled = false, outcome }: { readonly settled?: boolean; readonly outcome?: string } = {},
): Markup {
  const tone = statusTone(status);
  const calls = tone === 'warning' || tone === 'bad';
  return badge(settled && calls ? 'quiet' : tone, statusLabel(status, outcome), tone);
}

/** The same of a run, which may have held records and no rejects. */
export function runBadge(
  { status, totals }: Run,
  { settled = false }: { readonly settled?: boolean } = {},
): Markup {
  return statusBadge(status, { settled, outcome: statusWords(status, totals ?? undefined) });
}

/** A highlighted word, with the shape of its tone or another shape. */
export function badge(tone: keyof typeof SHAPES, words: string, shape = tone): Markup {
  return html`<span class="badge ${tone}"><svg class="badge-icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false"><path d="${SHAPES[shape]}"/></svg>${words}</span>`;
}

/** The content of a table. The first cell of each row names the row. */
export interface TableParts {
  readonly caption: Slot;
  /** The heading above has the same text, so the caption is only for screen readers. */
  readonly captionHidden?: boolean;
  readonly columns: readonly NamedColumn[];
  readonly rows: readonly (readonly Slot[])[];
  /** Sums of the figures above. */
  readonly foot?: readonly (readonly Slot[])[];
}

/** A table. On a narrow screen it becomes a list of cards. */
export function dataTable({ caption, captionHidden = false, rows, foot = [], ...parts }: TableParts): Markup {
  const columns = columnsOf(parts.columns);
  return html`<table class="data">
<caption${captionHidden && html` class="unseen"`}>${caption}</caption>
<thead><tr>${columns.map(
    ({ header, numeric }) => html`<th scope="col"${numeric === true && html` class="num"`}>${header}</th>`,
  )}</tr></thead>
<tbody>
${rows.map((cells) => tableRow(columns, cells))}</tbody>
${foot.length > 0 && html`<tfoot>\n${foot.map((cells) => tableRow(columns, cells))}</tfoot>\n`}</table>
`;
}

function tableRow(columns: readonly TableColumn[], cells: readonly Slot[]) {
  return html`<tr>${cells.map((cell, index) => {
    const column = columns[index];
    const classes = classesOf(column);
    if (index === 0) return html`<th scope="row"${classes}>${cell}</th>`;
    const label = column?.bare !== true && html` data-label="${column?.header}"`;
    return html`<td${classes}${label}>${cell}</td>`;
  })}</tr>
`;
}

function classesOf(column: TableColumn | undefined) {
  if (column?.numeric === true) return html` class="num short"`;
  return column?.short === true && html` class="short"`;
}
