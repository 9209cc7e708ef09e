import { createColors } from 'picocolors';
import columnsOf from 'string-width';
import type { Tone } from '../document.ts';

/** How a text for people is laid out. */
export interface PageOptions {
  /** Escape sequences for colours, only where a terminal shows them. */
  readonly colors: boolean;
  /** Columns of the terminal; lines are wrapped to it. */
  readonly width: number;
  /** How commands for this workspace begin, such as `storeferry -C shop`; `storeferry` when left out. */
  readonly program?: string | undefined;
}

type Paint = ReturnType<typeof createColors>;
const NARROWEST = 40;
const WIDEST = 120;

/** Lines for people, built from top to bottom: headings, sentences, and figures in columns. */
export class Page {
  readonly #paint: Paint;
  readonly #width: number;
  readonly #lines: string[] = [];

  constructor({ colors, width }: PageOptions) {
    this.#paint = createColors(colors);
    this.#width = Math.min(WIDEST, Math.max(NARROWEST, width));
  }

  /** A heading with an empty line before it. */
  heading(text: string): void {
    if (this.#lines.length > 0) this.#lines.push('');
    this.#lines.push(this.#paint.bold(text));
  }

  /** A sentence, wrapped; continued lines and all lines of an indented one stand in by two more. */
  say(text: string, { indent = 0, tone }: { indent?: number; tone?: Tone } = {}): void {
    const margin = ' '.repeat(indent);
    for (const line of wrap(text, this.#width - indent, '  ')) {
      this.#lines.push(margin + (tone === undefined ? line : this.painted(line, tone)));
    }
  }

  /** A command on a line of its own, never broken. */
  command(text: string): void {
    this.#lines.push(`    ${this.painted(text, 'strong')}`);
  }

  /** Rows of a name, a figure and a note, in columns of even width; without any figure, of two columns. */
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

  /** A table with a header; the last column is wrapped below itself. */
  table(
    header: readonly string[],
    rows: readonly { readonly cells: readonly string[]; readonly tone: Tone }[],
  ): void {
    const widths = header.map((name, column) =>
      Math.max(columnsOf(name), ...rows.map(({ cells }) => columnsOf(cells[column] ?? ''))),
    );
    const start = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
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
    switch (tone) {
      case 'good':
        return this.#paint.green(text);
      case 'warning':
        return this.#paint.yellow(text);
      case 'bad':
        return this.#paint.red(text);
      case 'quiet':
        return this.#paint.dim(text);
      case 'strong':
        return this.#paint.bold(text);
      default:
        return tone satisfies never;
    }
  }

  /** The whole text, ending in a line break. */
  toString(): string {
    return `${this.#lines.join('\n')}\n`;
  }
}

/** What fills a text up to a number of columns; a Chinese or Japanese character takes two. */
function blanks(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - columnsOf(text)));
}

/** Breaks a text into lines of at most `width` columns, all but the first indented; a longer word stays whole. */
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
