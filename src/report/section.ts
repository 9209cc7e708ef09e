import type { Action } from '../model/action.ts';
import type { TrafficSample } from '../model/run.ts';
import { counted, grouped, printable, truncate } from '../text/printable.ts';

/** Where a document is shown: an HTML page, text on a terminal, or a chat message. */
export type Medium = 'page' | 'text' | 'message';

/** How a line is emphasised. */
export type Tone = 'good' | 'warning' | 'bad' | 'quiet' | 'strong';

/** The outcome of a record. */
type OutcomeKind =
  | 'new'
  | 'changed'
  | 'resent'
  | 'applied'
  | 'unchanged'
  | 'rejected'
  | 'skipped'
  | 'held'
  | 'unsent';

/** A drawing beside a number. Text output leaves it out, because the number has the same information. */
export type Drawing =
  | { readonly of: 'outcome'; readonly kind: OutcomeKind }
  /** From 0 to 1. */
  | { readonly of: 'share'; readonly share: number }
  | { readonly of: 'change'; readonly old: number; readonly new: number; readonly unusual: boolean }
  | {
      readonly of: 'limit';
      readonly figure: number;
      readonly allowed: number;
      readonly whole: number;
      readonly exceeded: boolean;
    };

/** The markup of words. `foreign` is text of a source or a store, which keeps its own direction. */
export type Style =
  | 'foreign'
  | 'strong'
  | 'code'
  | 'setting'
  | 'removed'
  | 'added'
  | 'key'
  | 'examples'
  | 'places'
  | 'subject'
  | 'text'
  | 'unusual'
  | `tone-${Tone}`;

/** A part of a line. */
type Piece =
  | { readonly as: Style | 'plain'; readonly words: Words; readonly only?: Medium }
  | { readonly as: 'badge'; readonly words: string; readonly tone: Tone }
  | { readonly as: 'drawing'; readonly drawing: Drawing }
  | { readonly as: 'samples'; readonly items: readonly Words[] };

/** The words of a line. Absent and false values produce nothing. */
export type Words = string | Piece | false | null | readonly Words[];

interface Part {
  /** The only medium that shows it. Absent: all media show it. */
  readonly only?: Medium;
}

/** Sentences: one paragraph of a page, or one line each in a text. */
export interface Paragraph extends Part {
  readonly kind: 'paragraph';
  readonly sentences: readonly Words[];
  /** The purpose of the paragraph, if it affects the layout. */
  readonly role?: 'headline' | 'explanation' | 'problem' | 'file' | 'hint';
}

/** A column. Its header is above the column; on a narrow screen it precedes each cell. */
export interface TableColumn extends Part {
  readonly header: string;
  /** Figures are aligned to the right for comparison. */
  readonly numeric?: boolean;
  /** Short content: on a narrow screen several cells share a line, as figures do. */
  readonly short?: boolean;
  /** The meaning is clear without the header, so a narrow screen leaves it out. */
  readonly bare?: boolean;
  /** A text prints this cell first, with a colon, as in `3 rows: the price is not a number`. */
  readonly leads?: boolean;
}

type Property = 'numeric' | 'short' | 'bare' | 'leads' | 'page';

/** A column by its header, with its properties: `'Field'`, `['Records', 'numeric']`; false for none. `page`: only a page has it. */
export type NamedColumn = string | readonly [header: string, ...properties: Property[]] | TableColumn | false;

/** The columns of a table. */
export function columnsOf(named: readonly NamedColumn[]): readonly TableColumn[] {
  return named.flatMap((one) => {
    if (one === false) return [];
    if (typeof one === 'object' && 'header' in one) return one;
    const [header, ...properties]: readonly [string, ...Property[]] = typeof one === 'string' ? [one] : one;
    const has = (property: Property) => properties.includes(property);
    return {
      header,
      numeric: has('numeric'),
      short: has('short'),
      bare: has('bare'),
      leads: has('leads'),
      ...(has('page') && { only: 'page' }),
    };
  });
}

/** The cells of a row. The first cell names the row. */
export interface TableRow extends Part {
  readonly cells: readonly Words[];
  readonly tone?: Tone;
}

/** How many of many items are shown. */
export interface Shown {
  readonly page: number;
  readonly text: number;
}

/** How a medium shortens a table or a list. */
export interface Shortened extends Part {
  /** Absent: all items are shown. */
  readonly shown?: Shown;
  /** What the omitted items are, in the singular; empty if no noun is needed. Absent: nothing is said of them. */
  readonly more?: string;
  /** What is added to that. */
  readonly moreNote?: string;
}

/** Rows with the same columns. */
export interface Table extends Shortened {
  readonly kind: 'table';
  readonly caption: string;
  /** The caption is only for screen readers, as where the heading above has the same text. */
  readonly captionHidden?: boolean;
  readonly columns: readonly TableColumn[];
  readonly rows: readonly TableRow[];
  readonly foot?: readonly TableRow[];
}

/** A part of the records. */
export interface Share {
  readonly kind: OutcomeKind;
  readonly label: string;
  readonly records: number;
}

/** A figure over time. */
export interface TrendSeries {
  readonly name: string;
  /** In ascending order of time (milliseconds since the epoch). */
  readonly points: readonly { readonly at: number; readonly value: number }[];
}

/** Plots of figures over time; only on a page. */
export interface Plot extends Part {
  readonly kind: 'plot';
  readonly of:
    | { readonly figure: 'traffic'; readonly samples: readonly TrafficSample[] }
    | {
        readonly figure: 'trends';
        /** Of the days; default: that of this machine. */
        readonly timezone?: string | undefined;
        readonly trends: readonly {
          readonly title: string;
          readonly series: readonly TrendSeries[];
        }[];
      };
}

/** Items of one kind. */
export interface List extends Shortened {
  readonly kind: 'list';
  /** `notes`: one per line; `names`: short, one after the other; `alert`: emphasised before all other content. */
  readonly style: 'notes' | 'names' | 'alert';
  readonly title?: Words;
  /** A page explains the title. */
  readonly explanation?: string;
  readonly items: readonly { readonly words: Words; readonly tone?: Tone }[];
}

/** Names with their values. */
export interface Terms extends Part {
  readonly kind: 'terms';
  readonly terms: readonly (readonly [name: string, value: Words])[];
}

/** A heading within a section, shares of a whole as one bar, or an action with its command. */
type Line =
  | { readonly kind: 'heading'; readonly words: Words }
  | { readonly kind: 'bars'; readonly title: string; readonly shares: readonly Share[] }
  | { readonly kind: 'command'; readonly what: string; readonly command: string; readonly action: Action };

/** A part of a section. */
export type Block = Paragraph | Table | Plot | List | Terms | (Line & Part);

/** A part of a document under a title. A section without a title is the beginning of the document. */
export interface Section extends Part {
  readonly id: string;
  readonly title: Words;
  readonly blocks: readonly Block[];
}

/** A page has room for more. */
const SAMPLES_IN_LINE = 3;

/** Text of a source or a store: without control characters, in its own direction, and shortened. */
export function foreign(text: string, length = 600): Piece {
  return { as: 'foreign', words: truncate(printable(text), length) };
}

/** Words in a style. */
export function styled(style: Style, words: Words): Piece {
  return { as: style, words };
}

/** The key of a record. */
export function recordKey(key: string): Piece {
  return styled('key', foreign(key, 60));
}

/** A table. Its caption is only for screen readers, unless `captionHidden` is false. */
export function table(
  caption: string,
  columns: readonly NamedColumn[],
  rows: readonly (TableRow | readonly Words[])[],
  options: Omit<Table, 'kind' | 'caption' | 'columns' | 'rows'> = {},
): Table {
  return {
    kind: 'table',
    caption,
    captionHidden: true,
    columns: columnsOf(columns),
    rows: rows.map((row) => ('cells' in row ? row : { cells: row })),
    ...options,
  };
}

/** Words that only one medium shows. */
export function onlyIn(medium: Medium, words: Words): Piece {
  return { as: 'plain', words, only: medium };
}

/** A paragraph of these sentences. Absent sentences are left out. */
export function paragraph(
  sentences: readonly Words[],
  options: Omit<Paragraph, 'kind' | 'sentences'> = {},
): Paragraph {
  return {
    kind: 'paragraph',
    sentences: sentences.filter((words) => words !== null && words !== false),
    ...options,
  };
}

/** What is said of the items that a medium leaves out; null where it shows all. */
export function leftOutWords(block: Table | List, medium: keyof Shown): string | null {
  const { shown, more, moreNote = '' } = block;
  const { length } = block.kind === 'table' ? block.rows : block.items;
  const left = length - (shown?.[medium] ?? length);
  if (left <= 0 || more === undefined) return null;
  return `and ${more === '' ? `${grouped(left)} more` : counted(left, `more ${more}`)}${moreNote}`;
}

/** The words without markup, as text or messages show them. Nothing in them acts on a terminal. */
export function plainWords(words: Words, medium: Medium): string {
  if (words === false || words === null) return '';
  if (typeof words === 'string') return printable(words);
  if (!('as' in words)) return words.map((part) => plainWords(part, medium)).join('');
  switch (words.as) {
    case 'drawing':
      return '';
    case 'samples':
      return words.items
        .slice(0, SAMPLES_IN_LINE)
        .map((item) => plainWords(item, medium))
        .join('; ');
    case 'badge':
      return printable(words.words);
    default:
      return words.only === undefined || words.only === medium ? plainWords(words.words, medium) : '';
  }
}

/** The parts that a medium shows. */
export function shownIn<Some extends { readonly only?: Medium }>(
  parts: readonly Some[],
  medium: Medium,
): Some[] {
  return parts.filter(({ only: where }) => where === undefined || where === medium);
}
