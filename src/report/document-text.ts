import {
  type Block,
  type List,
  plainWords,
  type Section,
  shownIn,
  type Table,
  type TableColumn,
} from './document.ts';
import type { DocumentHead, RunDocument } from './run-document.ts';
import { formatDuration } from './wording/durations.ts';
import { Page, type PageOptions } from './wording/page.ts';
import { printable } from './wording/printable.ts';
import { statusTone, statusWords } from './wording/status-words.ts';

/** A document as a text for a terminal; what to type next is last, where the prompt follows. */
export function documentText({ head, sections }: RunDocument, options: PageOptions): string {
  const page = new Page(options);
  page.say(headline(head), { tone: statusTone(head.status) });
  const shown = shownIn(sections, 'text');
  const isNext = ({ id }: Section) => id === 'next';
  for (const section of [...shown.filter((section) => !isNext(section)), ...shown.filter(isNext)]) {
    const blocks = shownIn(section.blocks.filter(isPrinted), 'text');
    if (blocks.length === 0) continue;
    if (section.title !== null) page.heading(printable(section.title));
    for (const block of blocks) printBlock(page, block);
  }
  return page.toString();
}

type Printed = Exclude<Block, { readonly kind: 'bars' | 'plot' }>;

/** A terminal shows no drawings. */
function isPrinted(block: Block): block is Printed {
  return block.kind !== 'bars' && block.kind !== 'plot';
}

/** `nightly-catalog: done after 12.3 s (run k3f9)`. */
function headline({ kind, what, job, store, run, status, lastedMs }: DocumentHead): string {
  const subject =
    kind === 'plan' ? `${what} ${job} for the store ${store}` : kind === 'verify' ? `${what} ${job}` : job;
  const after = status === 'running' ? 'for' : 'after';
  return printable(`${subject}: ${statusWords(status)} ${after} ${formatDuration(lastedMs)} (run ${run})`);
}

function printBlock(page: Page, block: Printed): void {
  switch (block.kind) {
    case 'heading':
      page.say(plainWords(block.words, 'text'), { indent: 2, tone: 'strong' });
      break;
    case 'paragraph': {
      const tone =
        block.role === 'problem'
          ? 'bad'
          : block.role === 'headline' || block.role === 'file'
            ? 'strong'
            : undefined;
      for (const words of block.sentences) {
        page.say(plainWords(words, 'text'), { indent: 2, ...(tone === undefined ? {} : { tone }) });
      }
      break;
    }
    case 'table':
      printTable(page, block);
      break;
    case 'command':
      page.say(printable(block.what), { indent: 2 });
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

/** Cells in columns; a long first cell instead on a line with what leads to it, and the others on the next line. */
function printTable(page: Page, { columns, rows, foot = [], shown, more }: Table): void {
  const printed = shownIn([...rows.slice(0, shown?.text), ...foot], 'text').map(({ cells, tone }) => ({
    tone,
    texts: cells.map((cell) => plainWords(cell, 'text')),
  }));
  const lead = columns.findIndex(({ leads }) => leads === true);
  const restOf = (texts: readonly string[], skipped: number) =>
    texts.filter(
      (text, column) => column > 0 && column !== skipped && text !== '' && isShown(columns[column]),
    );
  if (lead === -1) {
    const figure = columns.findIndex(({ numeric }) => numeric === true);
    page.figures(
      printed.map(({ texts }) => [texts[0] ?? '', texts[figure] ?? '', restOf(texts, figure).join(', ')]),
    );
  } else {
    for (const { texts, tone } of printed) {
      page.say(`${texts[lead]}: ${texts[0]}`, { indent: 2, ...(tone === undefined ? {} : { tone }) });
      const rest = restOf(texts, lead).join(', ');
      if (rest !== '') page.say(rest, { indent: 4, tone: 'quiet' });
    }
  }
  const left = rows.length - (shown?.text ?? rows.length);
  if (left > 0 && more !== undefined) page.say(more(left), { indent: 2, tone: 'quiet' });
}

function isShown(column: TableColumn | undefined): boolean {
  return column?.only === undefined || column.only === 'text';
}

function printList(page: Page, { style, title = null, items, shown, more }: List): void {
  const texts = items
    .slice(0, shown?.text)
    .map(({ words, tone }) => ({ text: plainWords(words, 'text'), tone }));
  const left = items.length - texts.length;
  const rest = left > 0 && more !== undefined ? more(left) : null;
  const head = plainWords(title, 'text');
  if (style === 'names') {
    const names = texts.map(({ text }) => text).join(', ');
    page.say(`${head}: ${names}${rest === null ? '' : ` ${rest}`}`, { indent: 2 });
    return;
  }
  if (head !== '') page.heading(head);
  for (const { text, tone } of texts) page.say(text, { indent: 2, ...(tone === undefined ? {} : { tone }) });
  if (rest !== null) page.say(rest, { indent: 2, tone: 'quiet' });
}
