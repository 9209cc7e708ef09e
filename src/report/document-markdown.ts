import { printable } from '../text/printable.ts';
import { documentHeadline } from './document-text.ts';
import type { DocumentHead, RunDocument } from './run-document.ts';
import { type Block, plainWords, type Section, shownIn, type Table, type Words } from './section.ts';

/** The longest comment that GitHub takes has 65,536 characters. */
const MAX_CHARACTERS = 60_000;
const CUT = '\n*The rest is left out: see `storeferry runs`.*\n';

/**
 * Renders a document as Markdown for a comment on a pull request. Its first line is the same for every document of a job, so that a later
 * comment can replace the earlier one. Values of a source or a store are code: they become neither links, mentions nor HTML.
 */
export function documentMarkdown({ head, sections }: RunDocument): string {
  const parts = shownIn(sections, 'text').map((section) => sectionText(section));
  let text = `${mark(head)}\n### ${escaped(documentHeadline(head))}\n`;
  for (const part of parts.filter((part) => part !== '')) {
    if (text.length + part.length > MAX_CHARACTERS) return text + CUT;
    text += `\n${part}`;
  }
  return text;
}

function mark({ kind, job }: DocumentHead): string {
  return `<!-- storeferry ${kind} ${job} -->`;
}

function sectionText({ id, title, blocks }: Section): string {
  const body = shownIn(blocks, 'text')
    .map(blockText)
    .filter((text) => text !== '')
    .join('\n');
  if (body === '' || title === null) return body;
  const heading = inline(title);
  // What is decided about stays open.
  if (id === 'safety' || id === 'records') return `#### ${heading}\n\n${body}`;
  return `<details><summary>${heading}</summary>\n\n${body}\n</details>\n`;
}

function blockText(block: Block): string {
  switch (block.kind) {
    case 'bars':
    case 'plot':
      return '';
    case 'heading':
      return `**${inline(block.words)}**\n`;
    case 'paragraph':
      // The path of a file on this machine.
      if (block.role === 'file') return '';
      return `${block.sentences
        .map(inline)
        .filter((text) => text !== '')
        .join(' ')}\n`;
    case 'command':
      return `${escaped(block.what)}\n${code(block.command)}\n`;
    case 'list': {
      const items = block.items.slice(0, block.shown?.text).map(({ words }) => inline(words));
      const title = inline(block.title ?? null);
      const left = rest(block, block.items.length);
      if (block.style === 'names') return `${title}: ${items.join(', ')}\n${left}`;
      return `${title === '' ? '' : `**${title}**\n\n`}${items.map((item) => `- ${item}\n`).join('')}${left}`;
    }
    case 'table':
      return tableText(block);
    case 'terms':
      return block.terms.map(([name, value]) => `- ${escaped(name)}: ${inline(value)}\n`).join('');
    default:
      return block satisfies never;
  }
}

function tableText(table: Table): string {
  const { columns, rows, foot = [], shown } = table;
  const places = columns.flatMap(({ only = 'text' }, place) => (only === 'text' ? [place] : []));
  const line = (cells: readonly string[]) => `| ${places.map((place) => cells[place] ?? '').join(' | ')} |\n`;
  const lines = shownIn([...rows.slice(0, shown?.text), ...foot], 'text').map(({ cells }) =>
    line(cells.map(inline)),
  );
  const head = line(columns.map(({ header }) => escaped(header)));
  const rule = line(columns.map(({ numeric }) => (numeric === true ? '--:' : '---')));
  return `${head}${rule}${lines.join('')}\n${rest(table, rows.length)}`;
}

function rest({ shown, more }: Pick<Table, 'shown' | 'more'>, count: number): string {
  const left = count - (shown?.text ?? count);
  return left > 0 && more !== undefined ? `*${escaped(more(left))}*\n` : '';
}

/** The words with their emphasis, in one line. */
function inline(words: Words): string {
  if (words === false || words === null) return '';
  if (typeof words === 'string') return escaped(words);
  if (!('as' in words)) return words.map(inline).join('');
  switch (words.as) {
    case 'drawing':
      return '';
    case 'badge':
      return `**${escaped(words.words)}**`;
    case 'samples':
      return words.items.slice(0, 3).map(inline).join('; ');
    case 'foreign':
    case 'code':
    case 'key':
      return isShown(words) ? code(plainWords(words.words, 'text')) : '';
    case 'strong':
    case 'unusual':
      return isShown(words) ? `**${inline(words.words)}**` : '';
    default:
      return isShown(words) ? inline(words.words) : '';
  }
}

function isShown({ only = 'text' }: { readonly only?: string }): boolean {
  return only === 'text';
}

/** Text in which nothing is a sign of Markdown, HTML or a mention. */
function escaped(text: string): string {
  return printable(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/[\\`*_{}[\]#|~>]/g, '\\$&')
    .replaceAll(/@(?=\w)/g, '@<!-- -->');
}

/** A span of code. Its fence is longer than any in the text, and a cell of a table ends at an unescaped bar even there. */
function code(text: string): string {
  const line = printable(text).replaceAll('|', '\\|');
  if (line.trim() === '') return '';
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((fence) => fence.length));
  const fence = '`'.repeat(longest + 1);
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${line}${pad}${fence}`;
}
