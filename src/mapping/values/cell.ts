import type { Reason } from '../../model/reason.ts';
import type { SourceRow } from '../rows.ts';

/** A date or a moment. `wholeDay` when the source named no time: it then stands for the whole of that day. */
export class Moment {
  readonly at: number;
  readonly wholeDay: boolean;

  constructor(at: number, wholeDay: boolean) {
    this.at = at;
    this.wholeDay = wholeDay;
  }
}

/** Why a value cannot be had: it rejects the record. Line and column are known where a cell shows the cause. */
export class Unreadable {
  readonly code: string;
  readonly message: string;
  readonly line: number | undefined;
  readonly column: string | undefined;

  constructor(code: string, message: string, line?: number, column?: string) {
    this.code = code;
    this.message = message;
    this.line = line;
    this.column = column;
  }

  /** The same with the place that shows it, unless one is known already. */
  at(line: number, column: string | undefined): Unreadable {
    return this.line === undefined ? new Unreadable(this.code, this.message, line, column) : this;
  }

  /** As a reason for the field. */
  reason(field: string | undefined, fallbackLine?: number): Reason {
    const line = this.line ?? fallbackLine;
    return {
      code: this.code,
      message: this.message,
      ...(field === undefined ? {} : { field }),
      ...(line === undefined ? {} : { line }),
      ...(this.column === undefined ? {} : { column: this.column }),
    };
  }
}

/** One value. */
export type Item = string | number | boolean | Moment;

/** What an expression gives: a value, a list, nothing (blank), or why it cannot. */
export type Cell = Item | readonly Item[] | undefined | Unreadable;

/** A value that is there. */
export type Present = Item | readonly Item[];

/** The kinds of one value. */
export type ItemKind = 'text' | 'number' | 'boolean' | 'date';

/** What an expression gives, known before any row is read. */
export type Kind = ItemKind | `${ItemKind}[]`;

/** The kind of the items of a list; undefined for what is no list. */
export function itemKind(kind: Kind): ItemKind | undefined {
  switch (kind) {
    case 'text[]':
      return 'text';
    case 'number[]':
      return 'number';
    case 'boolean[]':
      return 'boolean';
    case 'date[]':
      return 'date';
    default:
      return undefined;
  }
}

/** How a kind is called in messages. */
export function nameOfKind(kind: Kind): string {
  const item = itemKind(kind);
  return item === undefined ? `a ${kind}` : `a list of ${item}s`;
}

/** Whether a cell is a list. */
export function isList(cell: Cell): cell is readonly Item[] {
  return Array.isArray(cell);
}

/** A cell without white space around it (no-break spaces and byte order marks too); undefined when blank. */
export function cleanCell(cell: string | undefined): string | undefined {
  if (cell === undefined || cell === '') return undefined;
  const trimmed = cell.trim();
  return trimmed === '' ? undefined : trimmed;
}

/** Reads a value from a row; `n` is the member of a family where one is gone through, otherwise 0. */
export type Read = (row: SourceRow, n: number) => Cell;

/** A compiled value. */
export interface Expression {
  readonly read: Read;
  readonly kind: Kind;
  /** The columns it takes its value from, by name. */
  readonly sources: ReadonlySet<string>;
  /** Whether it can always be read, so that nobody needs to look for why not. */
  readonly certain: boolean;
}
