import { withoutUndefined } from '../../model/json-object.ts';
import type { Reason } from '../../model/reason.ts';
import type { ProductRows, RecordRows, SourceRow } from '../record-rows.ts';

/** A moment, or a whole day if the source named no time. */
export class Moment {
  readonly at: number;
  /** When it is over: for a day when the next one begins. */
  readonly end: () => number;

  constructor(at: number, end = () => at) {
    this.at = at;
    this.end = end;
  }
}

/**
 * Thrown if a cell cannot be read, or the cells of a record make no record: it rejects the record. `placed` adds the line and the
 * column of the cell, `Faults` the field. Not an Error: a source may have a million such rows, and the stack would not help a person
 * with a wrong cell.
 */
export class Unreadable {
  readonly code: string;
  readonly message: string;
  #field: string | undefined;
  #line: number | undefined;
  #column: string | undefined;

  /** The line and the header of the cell that is the cause, if they are known. */
  constructor(code: string, message: string, line?: number, column?: string) {
    this.code = code;
    this.message = message;
    this.#line = line;
    this.#column = column;
  }

  /** Adds the place, unless one is known. */
  at(line: number | undefined, column?: string): this {
    this.#column = this.#line === undefined ? column : this.#column;
    this.#line ??= line;
    return this;
  }

  /** Adds the field that cannot be filled, unless one is known. */
  in(field: string): this {
    this.#field ??= field;
    return this;
  }

  /** As the reason of a rejection. */
  reason(fallbackLine?: number): Reason {
    return withoutUndefined({
      code: this.code,
      message: this.message,
      field: this.#field,
      line: this.#line ?? fallbackLine,
      column: this.#column,
    });
  }
}

/** Rejects the record that is being mapped. */
export function refuse(code: string, message: string, line?: number, column?: string): never {
  throw new Unreadable(code, message, line, column);
}

/** What the expression gives, or why a cell cannot be read: the only place that catches Unreadable. */
export function attempt<Result, Of>(
  read: Expression<Result, Of>,
  of: Of,
  member: number,
): Result | Unreadable {
  try {
    return read(of, member);
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}

/** The same expression, but blank if a cell cannot be read, for places where that decides nothing. */
export function blankIfUnreadable(read: Expression): Expression {
  return (row, n) => {
    const found = attempt(read, row, n);
    return found instanceof Unreadable ? undefined : found;
  };
}

/** Whether there is a value, readable or not. */
export function isPresent(read: Expression, row: SourceRow, n: number): boolean {
  return attempt(read, row, n) !== undefined;
}

/** One value. */
export type Item = string | number | boolean | Moment;

/** The result of an expression: a value, a list, or undefined for a blank. */
export type Cell = Item | readonly Item[] | undefined;

/** A value that is there. */
export type Present = Item | readonly Item[];

/** The kinds of one value. */
export type ItemKind = (typeof ITEM_KINDS)[number];

/** The type of an expression, known before any row is read. */
export type Kind = ItemKind | `${ItemKind}[]`;

/** The kind of the items of a list; undefined for other types. */
export function itemKind(kind: Kind): ItemKind | undefined {
  return ITEM_KINDS.find((item) => kind === `${item}[]`);
}

const ITEM_KINDS = ['text', 'number', 'boolean', 'date'] as const;

/** A list of these; the kind itself if it is a list. */
export function listKind(kind: Kind): Kind {
  const item = ITEM_KINDS.find((one) => kind === one);
  return item === undefined ? kind : `${item}[]`;
}

/** The name of a kind in messages. */
export function nameOfKind(kind: Kind): string {
  const item = itemKind(kind);
  return item === undefined ? `a ${kind}` : `a list of ${item}s`;
}

/** Whether a cell is a list. */
export function isList(cell: Cell): cell is readonly Item[] {
  return Array.isArray(cell);
}

/** A cell without surrounding white space (including no-break spaces and byte order marks); undefined if blank. */
export function cleanCell(cell: string | undefined): string | undefined {
  if (cell === undefined || cell === '') return undefined;
  const trimmed = cell.trim();
  return trimmed === '' ? undefined : trimmed;
}

/** Words of CRMs and databases for a value that nobody has entered, in lower case; `[…]` and `(…)` around them are left out. */
const NOT_GIVEN: ReadonlySet<string> = new Set(
  (
    'null|\\n|n/a|n.a.|n.a|#n/a|-|--|---|–|—|unknown|not provided|not given|not available|not specified|not set|unspecified|undefined|none given|no value|unbekannt|keine angabe|keine angaben|k.a.|k. a.|nicht angegeben|nicht bekannt|' +
    'inconnu|inconnue|non renseigné|non renseignée|non communiqué|non disponible|desconocido|desconocida|no disponible|no proporcionado|no especificado|sin datos|sconosciuto|sconosciuta|non specificato|non fornito|non disponibile|' +
    'desconhecido|desconhecida|não informado|não disponível|não especificado|onbekend|niet opgegeven|niet bekend|nieznany|nieznana|nieznane|nie podano|brak danych|neznámý|neznámá|neznámé|neuvedeno|nezadáno|' +
    'неизвестно|неизвестный|не указано|не указан|не указана|нет данных|bilinmiyor|belirtilmemiş|belirtilmedi|girilmemiş|不明|未入力|未設定|未登録|未知|未提供|未填写|未填寫|不详|不詳'
  ).split('|'),
);
const MAX_NOT_GIVEN = 24;

/** The same for a cell of a contact, where words for a missing value are blank too: `n/a`, `[not provided]`, `-`. */
export function cleanContactCell(cell: string | undefined): string | undefined {
  const text = cleanCell(cell);
  if (text === undefined || text.length > MAX_NOT_GIVEN) return text;
  const word = text
    .normalize('NFC')
    .toLowerCase()
    .replace(/^(?:\[(.*)\]|\((.*)\)|<(.*)>)$/, '$1$2$3')
    .trim();
  // Null is the name of people.
  return NOT_GIVEN.has(word) && text !== 'Null' ? undefined : text;
}

/**
 * A compiled part of a mapping: what it gives for a row, or for all rows of a record. `member`: the column of a family during a pass over
 * it, else 0. `value`: within a pipeline, what the steps before it gave. Throws Unreadable.
 */
export type Expression<Result = Cell, Of = SourceRow> = (of: Of, member: number, value?: Present) => Result;

/** An expression for the value of a field, with what is known of it before any row is read. */
export interface TypedExpression {
  readonly read: Expression;
  readonly kind: Kind;
  /** The columns of its value, by name. */
  readonly sources: ReadonlySet<string>;
  /** Whether it can always be read, and never throws. */
  readonly certain: boolean;
}

/** The faults of a record of many rows that its rejection names. */
const MAX_FAULTS = 50;

/**
 * The faults of the record that is being mapped. At first it is left at its first fault; then it is built once more, and each field
 * that cannot be read counts as absent, so that a person sees all faults at once.
 */
export class Faults {
  #found: Unreadable[] | undefined;

  /**
   * The expression of a field: its error gets the name of the field, and the line of a row. While faults are collected, it is taken, and
   * the field is blank.
   */
  field<Result, Of extends RecordRows | SourceRow | ProductRows>(
    name: string,
    read: Expression<Result, Of>,
  ): Expression<Result | undefined, Of> {
    return (of, member) => {
      const found = attempt(read, of, member);
      if (!(found instanceof Unreadable)) return found;
      found.in(name);
      if ('line' in of) found.at(of.line);
      if (this.#found === undefined) throw found;
      this.#found.push(found);
      return undefined;
    };
  }

  /** The result of `read`; where that fails while faults are collected, those of `others` are taken, too. */
  alsoOf<Result>(read: () => Result, others: () => unknown): Result {
    const found = attempt(read, undefined, 0);
    if (!(found instanceof Unreadable)) return found;
    if (this.#found !== undefined) others();
    throw found;
  }

  /** The reason of a rejection with all faults, which `build` shows when it is called again. */
  all(first: Reason, build: () => unknown, fallbackLine: number | undefined): Reason {
    const collected: Unreadable[] = [];
    this.#found = collected;
    // What fields make together says nothing where some of them are missing.
    attempt(build, undefined, 0);
    this.#found = undefined;
    const named = new Set([nameOf(first)]);
    const also: Reason[] = [];
    for (const fault of collected) {
      const reason = fault.reason(fallbackLine);
      if (named.has(nameOf(reason)) || also.length === MAX_FAULTS - 1) continue;
      named.add(nameOf(reason));
      also.push(reason);
    }
    return also.length === 0 ? first : { ...first, also };
  }
}

function nameOf({ code, field, line, column }: Reason) {
  return JSON.stringify([code, field, line, column]);
}
