import { createRequire } from 'node:module';
import { createColors } from 'picocolors';
import { sumOf } from '../model/json-object.ts';
import { formatDuration, printable } from '../text/printable.ts';
import type { DocumentHead, RunDocument } from './run-document.ts';
import {
  type Block,
  type List,
  leftOutWords,
  plainWords,
  type Section,
  shownIn,
  type Table,
  type Tone,
  type Words,
} from './section.ts';
import { statusTone } from './status-words.ts';

/** Renders a document as text for a terminal. The next commands come last, directly above the prompt. */
export function documentText({ head, sections }: RunDocument, options: PageOptions): string {
  const page = new Page(options);
  page.say(documentHeadline(head), { tone: statusTone(head.status) });
  const shown = shownIn(sections, 'text');
  const isNext = ({ id }: Section) => id === 'next';
  for (const section of [...shown.filter((section) => !isNext(section)), ...shown.filter(isNext)]) {
    // A terminal shows no drawings.
    const printed = section.blocks.filter((block) => block.kind !== 'bars' && block.kind !== 'plot');
    const blocks = shownIn(printed, 'text');
    if (blocks.length === 0) continue;
    if (section.title !== null) page.heading(plainWords(section.title, 'text'));
    for (const block of blocks) printBlock(page, block);
  }
  return page.toString();
}

type Printed = Exclude<Block, { readonly kind: 'bars' | 'plot' }>;

/** `nightly-catalog: done after 12.3 s (run k3f9)`. */
function documentHeadline({ kind, what, job, store, run, status, outcome, lastedMs }: DocumentHead) {
  const subject =
    kind === 'plan' ? `${what} ${job} for the store ${store}` : kind === 'verify' ? `${what} ${job}` : job;
  const after = status === 'running' ? 'for' : 'after';
  return `${subject}: ${outcome} ${after} ${formatDuration(lastedMs)} (run ${run})`;
}

function printBlock(page: Page, block: Printed) {
  switch (block.kind) {
    case 'heading':
      page.say(block.words, { indent: 2, tone: 'strong' });
      break;
    case 'paragraph': {
      const { role = 'hint', sentences } = block;
      const isStrong = role === 'headline' || role === 'file';
      const tone = role === 'problem' ? 'bad' : isStrong ? 'strong' : undefined;
      for (const words of sentences) page.say(words, { indent: 2, tone });
      break;
    }
    case 'table':
      printTable(page, block);
      break;
    case 'command':
      page.say(block.what, { indent: 2 });
      page.command(printable(block.command));
      break;
    case 'list':
      printList(page, block);
      break;
    case 'terms':
      page.figures(block.terms.map(([name, value]) => [name, '', plainWords(value, 'text')]));
      break;
    default:
      block satisfies never;
  }
}

/**
 * Cells in columns. A long first cell gets a line of its own, together with the leading cell; the others follow on
 * the next line.
 */
function printTable(page: Page, table: Table) {
  const { columns, rows, foot = [], shown } = table;
  const printed = shownIn([...rows.slice(0, shown?.text), ...foot], 'text').map(({ cells, tone }) => ({
    tone,
    texts: cells.map((cell) => plainWords(cell, 'text')),
  }));
  const lead = columns.findIndex(({ leads }) => leads === true);
  const restOf = (texts: readonly string[], skipped: number) =>
    texts.filter((text, column) => {
      const { only = 'text' } = columns[column] ?? {};
      return column > 0 && column !== skipped && text !== '' && only === 'text';
    });
  if (lead === -1) {
    const figure = columns.findIndex(({ numeric }) => numeric === true);
    page.figures(
      printed.map(({ texts }) => [texts[0] ?? '', texts[figure] ?? '', restOf(texts, figure).join(', ')]),
    );
  } else {
    for (const { texts, tone } of printed) {
      page.say(`${texts[lead]}: ${texts[0]}`, { indent: 2, tone });
      const rest = restOf(texts, lead).join(', ');
      if (rest !== '') page.say(rest, { indent: 4, tone: 'quiet' });
    }
  }
  const left = leftOutWords(table, 'text');
  if (left !== null) page.say(left, { indent: 2, tone: 'quiet' });
}

function printList(page: Page, list: List) {
  const { style, title = null, items, shown } = list;
  const texts = items
    .slice(0, shown?.text)
    .map(({ words, tone }) => ({ text: plainWords(words, 'text'), tone }));
  const rest = leftOutWords(list, 'text');
  const head = plainWords(title, 'text');
  if (style === 'names') {
    const names = texts.map(({ text }) => text).join(', ');
    page.say(`${head}: ${names}${rest === null ? '' : ` ${rest}`}`, { indent: 2 });
    return;
  }
  if (head !== '') page.heading(head);
  for (const { text, tone } of texts) page.say(text, { indent: 2, tone });
  if (rest !== null) page.say(rest, { indent: 2, tone: 'quiet' });
}

/** The layout of a text for people. */
export interface PageOptions {
  /** Escape sequences for colours. Enable only if the terminal shows colours. */
  readonly colors: boolean;
  /** The width of the terminal in columns. Lines are wrapped at this width. */
  readonly width: number;
  /** The beginning of commands for this workspace, such as `storeferry -C shop`. Default: `storeferry`. */
  readonly program?: string;
}

type Paint = ReturnType<typeof createColors>;
const PAINTS = {
  good: 'green',
  warning: 'yellow',
  bad: 'red',
  quiet: 'dim',
  strong: 'bold',
} as const satisfies Readonly<Record<Tone, keyof Paint>>;
const MIN_WIDTH = 40;
const MAX_WIDTH = 120;

/** Builds text for people from top to bottom: headings, sentences, and figures in columns. */
export class Page {
  readonly #paint: Paint;
  readonly #width: number;
  readonly #lines: string[] = [];

  constructor({ colors, width }: PageOptions) {
    this.#paint = createColors(colors);
    this.#width = Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width));
  }

  /** A heading with an empty line before it. */
  heading(text: string): void {
    if (this.#lines.length > 0) this.#lines.push('');
    this.#lines.push(this.#paint.bold(text));
  }

  /** A sentence, wrapped. Continuation lines are indented by two more columns. */
  say(words: Words, { indent = 0, tone }: { indent?: number; tone?: Tone | undefined } = {}): void {
    const margin = ' '.repeat(indent);
    for (const line of wrap(plainWords(words, 'text'), this.#width - indent, '  '))
      this.#lines.push(margin + (tone === undefined ? line : this.painted(line, tone)));
  }

  /** A command on its own line, never wrapped. */
  command(text: string): void {
    this.#lines.push(`    ${this.painted(text, 'strong')}`);
  }

  /** Rows of name, figure and note, in aligned columns. Without any figure there are two columns. */
  figures(rows: readonly (readonly [name: string, figure: string, note: string])[]): void {
    const nameWidth = Math.max(0, ...rows.map(([name]) => columnsOf(name)));
    const figureWidth = Math.max(0, ...rows.map(([, figure]) => columnsOf(figure)));
    const start = 2 + nameWidth + (figureWidth === 0 ? 0 : 2 + figureWidth) + 2;
    for (const [name, figure, note] of rows) {
      const [first = '', ...more] = wrap(note, Math.max(20, this.#width - start));
      const padded = figureWidth === 0 ? '' : `  ${blanks(figure, figureWidth)}${figure}`;
      const head = `  ${name}${blanks(name, nameWidth)}${padded}`;
      this.#lines.push(`${head}${first === '' ? '' : `  ${this.painted(first, 'quiet')}`}`);
      for (const line of more) this.#lines.push(' '.repeat(start) + this.painted(line, 'quiet'));
    }
  }

  /** A table with a header. The last column is wrapped below itself. */
  table(
    header: readonly string[],
    rows: readonly { readonly cells: readonly string[]; readonly tone: Tone }[],
  ): void {
    const widths = header.map((name, column) =>
      Math.max(columnsOf(name), ...rows.map(({ cells }) => columnsOf(cells[column] ?? ''))),
    );
    const start = sumOf(widths.slice(0, -1), (width) => width + 2);
    const room = Math.max(20, this.#width - start);
    const line = (cells: readonly string[]) => {
      const head = cells.slice(0, -1).map((cell, column) => cell + blanks(cell, widths[column] ?? 0));
      const [last = '', ...more] = wrap(cells.at(-1) ?? '', room);
      return [[...head, last].join('  ').trimEnd(), ...more.map((text) => ' '.repeat(start) + text)];
    };
    for (const text of line(header)) this.#lines.push(this.painted(text, 'quiet'));
    for (const { cells, tone } of rows) {
      for (const text of line(cells)) this.#lines.push(this.painted(text, tone));
    }
  }

  painted(text: string, tone: Tone): string {
    return this.#paint[PAINTS[tone]](text);
  }

  /** The whole text. It ends in a line break. */
  toString(): string {
    return `${this.#lines.join('\n')}\n`;
  }
}

/** The padding that fills a text up to a number of columns. A Chinese or Japanese character takes two columns. */
function blanks(text: string, columns: number) {
  return ' '.repeat(Math.max(0, columns - columnsOf(text)));
}

/** Letters and punctuation of Europe, each one column wide. */
const NARROW = /^[ -~\u{a0}-\u{ac}\u{ae}-\u{24f}\u{2010}-\u{2027}]*$/u;

/** The columns of a text in a terminal. The package is loaded for other characters only: its tables take 20 ms. */
export function columnsOf(text: string): number {
  if (NARROW.test(text)) return text.length;
  // In this form, so that the bundler finds it (`splitRequired` in rolldown.config.ts).
  const { default: stringWidth }: typeof import('string-width') = createRequire(import.meta.url)(
    'string-width',
  );
  return stringWidth(text);
}

/** Breaks a text into lines of at most `width` columns and indents all but the first. A longer word is not split. */
export function wrap(text: string, width: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line.trim() !== '' && columnsOf(line) + 1 + columnsOf(word) > width) {
      lines.push(line);
      line = indent + word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

/** The result of a check of one thing. */
export interface Finding {
  /** The subject, such as `store main`. */
  readonly subject: string;
  readonly verdict: 'ok' | 'warning' | 'error' | 'not-checked';
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

const MARGIN = 'not checked  '.length;

/** For each finding its verdict and result, and below it what to do. */
export function findingsText(findings: readonly Finding[], { colors, width }: PageOptions): string {
  const paint = createColors(colors);
  const tones = { ok: paint.green, warning: paint.yellow, error: paint.red, 'not-checked': paint.dim };
  const lines = findings.flatMap(({ subject, verdict, message, hint }) => {
    const room = Math.max(MIN_WIDTH, width - MARGIN);
    const [first = '', ...more] = wrap(printable(`${subject}: ${message}`), room);
    const advice = hint === undefined || verdict === 'ok' ? [] : wrap(printable(hint), room);
    return [
      `${tones[verdict](verdict.replace('-', ' ').padEnd(MARGIN))}${first}`,
      ...[...more, ...advice].map((line) => `${' '.repeat(MARGIN)}${line}`),
    ];
  });
  return `${lines.join('\n')}\n`;
}

/** The longest comment that GitHub takes has 65,536 characters. */
const MAX_COMMENT_LENGTH = 60_000;
const MARKDOWN_CUT = '\n*The rest is left out: see `storeferry runs`.*\n';

/**
 * Renders a document as Markdown for a comment on a pull request. Its first line is the same for every document of a job, so that a later
 * comment can replace the earlier one. Values of a source or a store are code: they become neither links, mentions nor HTML.
 */
export function documentMarkdown({ head, sections }: RunDocument): string {
  const parts = shownIn(sections, 'text').map((section) => sectionMarkdown(section));
  let text = `${commentMark(head)}\n### ${escapedMarkdown(documentHeadline(head))}\n`;
  for (const part of parts.filter((part) => part !== '')) {
    if (text.length + part.length > MAX_COMMENT_LENGTH) return text + MARKDOWN_CUT;
    text += `\n${part}`;
  }
  return text;
}

function commentMark({ kind, job }: DocumentHead) {
  return `<!-- storeferry ${kind} ${job} -->`;
}

function sectionMarkdown({ id, title, blocks }: Section) {
  const body = shownIn(blocks, 'text')
    .map(blockMarkdown)
    .filter((text) => text !== '')
    .join('\n');
  if (body === '' || title === null) return body;
  const heading = inlineMarkdown(title);
  // What is decided about stays open.
  if (id === 'safety' || id === 'records') return `#### ${heading}\n\n${body}`;
  return `<details><summary>${heading}</summary>\n\n${body}\n</details>\n`;
}

function blockMarkdown(block: Block) {
  switch (block.kind) {
    case 'bars':
    case 'plot':
      return '';
    case 'heading':
      return `**${inlineMarkdown(block.words)}**\n`;
    case 'paragraph':
      // The path of a file on this machine.
      if (block.role === 'file') return '';
      return `${block.sentences
        .map((sentence) => inlineMarkdown(sentence))
        .filter((text) => text !== '')
        .join(' ')}\n`;
    case 'command':
      return `${escapedMarkdown(block.what)}\n${codeSpan(block.command)}\n`;
    case 'list': {
      const items = block.items.slice(0, block.shown?.text).map(({ words }) => inlineMarkdown(words));
      const title = inlineMarkdown(block.title ?? null);
      const left = leftOut(block);
      if (block.style === 'names') return `${title}: ${items.join(', ')}\n${left}`;
      return `${title === '' ? '' : `**${title}**\n\n`}${items.map((item) => `- ${item}\n`).join('')}${left}`;
    }
    case 'table':
      return tableMarkdown(block);
    case 'terms':
      return block.terms
        .map(([name, value]) => `- ${escapedMarkdown(name)}: ${inlineMarkdown(value)}\n`)
        .join('');
    default:
      return block satisfies never;
  }
}

function tableMarkdown(table: Table) {
  const { columns, rows, foot = [], shown } = table;
  const places = columns.flatMap(({ only = 'text' }, place) => (only === 'text' ? [place] : []));
  const line = (cells: readonly string[]) => `| ${places.map((place) => cells[place] ?? '').join(' | ')} |\n`;
  const lines = shownIn([...rows.slice(0, shown?.text), ...foot], 'text').map(({ cells }) =>
    line(cells.map((cell) => inlineMarkdown(cell, true))),
  );
  const head = line(columns.map(({ header }) => escapedMarkdown(header)));
  const rule = line(columns.map(({ numeric }) => (numeric === true ? '--:' : '---')));
  return `${head}${rule}${lines.join('')}\n${leftOut(table)}`;
}

function leftOut(block: Table | List) {
  const left = leftOutWords(block, 'text');
  return left === null ? '' : `*${escapedMarkdown(left)}*\n`;
}

/** The words with their emphasis, in one line. */
function inlineMarkdown(words: Words, inTable = false): string {
  if (words === false || words === null) return '';
  if (typeof words === 'string') return escapedMarkdown(words);
  if (!('as' in words)) return words.map((part) => inlineMarkdown(part, inTable)).join('');
  switch (words.as) {
    case 'drawing':
      return '';
    case 'badge':
      return `**${escapedMarkdown(words.words)}**`;
    case 'samples':
      return words.items
        .slice(0, 3)
        .map((item) => inlineMarkdown(item, inTable))
        .join('; ');
    case 'foreign':
    case 'code':
    case 'key':
      return isShownInText(words) ? codeSpan(plainWords(words.words, 'text'), inTable) : '';
    case 'strong':
    case 'unusual':
      return isShownInText(words) ? `**${inlineMarkdown(words.words, inTable)}**` : '';
    default:
      return isShownInText(words) ? inlineMarkdown(words.words, inTable) : '';
  }
}

function isShownInText({ only = 'text' }: { readonly only?: string }) {
  return only === 'text';
}

/** Text in which nothing is a sign of Markdown, HTML or a mention. */
function escapedMarkdown(text: string) {
  return printable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/[\\`*_{}[\]#|~>]/g, '\\$&')
    .replaceAll(/@(?=\w)/g, '@<!-- -->');
}

/** A span of code. Its fence is longer than any in the text, and a cell of a table ends at an unescaped bar even there. */
function codeSpan(text: string, inTable = false) {
  const line = inTable ? printable(text).replaceAll('|', '\\|') : printable(text);
  if (line.trim() === '') return '';
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((fence) => fence.length));
  const fence = '`'.repeat(longest + 1);
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}
