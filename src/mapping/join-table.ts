import { Decimal } from '../model/decimal.ts';
import { MappingError } from '../model/storeferry-error.ts';
import { didYouMean } from '../text/nearest.ts';
import { columnsNamed, lookupKey } from './lookup-table.ts';
import { argument, type Path, type Scope } from './scope.ts';
import { type JoinColumn, type JoinSpec, joinColumns } from './spec/join-spec.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import { formatOf } from './transforms/number.ts';
import { type NumberFormat, PLAIN_NUMBER, readNumber } from './transforms/read-number.ts';
import { attempt, Unreadable } from './values/cell.ts';

/** What is wrong with a key of a table: records that need it are rejected. */
interface KeyFault {
  readonly code: string;
  readonly message: string;
}

/** A column of a join, and how its numbers are written. */
type ReadyColumn = JoinColumn & { readonly format: NumberFormat };

/** One value of a column, by the number of its key. */
type Values = (string | number | undefined)[];

/**
 * The second table of a join, read row by row. Rows of one key become one; the cells of other columns are not kept, so
 * that it takes about 150 bytes for a key with two columns.
 */
export class JoinTable {
  /** The name of the table in messages. */
  readonly file: string;
  readonly columns: readonly ReadyColumn[];
  readonly #numbers = new Map<string, number>();
  readonly #values: readonly Values[];
  /** The line of the first row of each key. */
  readonly #lines: number[] = [];
  readonly #faults = new Map<number, KeyFault>();
  readonly #matchAt: number;
  readonly #columnsAt: readonly number[];

  /** MappingError where the header lacks a column, or has it more than once. */
  constructor(file: string, header: readonly string[], match: string, columns: readonly ReadyColumn[]) {
    this.file = file;
    this.columns = columns;
    this.#values = columns.map(() => []);
    this.#matchAt = columnAt(file, header, [match]);
    this.#columnsAt = columns.map(({ headers }) => columnAt(file, header, headers));
  }

  /** How many keys the table has. */
  get size(): number {
    return this.#numbers.size;
  }

  /** Whether records may be rejected for what their key has in this table. */
  get isFaulty(): boolean {
    return this.#faults.size > 0;
  }

  /** Takes a row; one without a key is left out. `line` is for messages; `width` is how many cells a row has. */
  add(cells: readonly string[], line: number, width: number): void {
    const key = lookupKey(cells[this.#matchAt] ?? '');
    if (key === '') return;
    const known = this.#numbers.get(key);
    const number = known ?? this.#numbers.size;
    if (known === undefined) {
      this.#numbers.set(own(key), number);
      this.#lines.push(line);
    }
    if (cells.length !== width) {
      const message = `${this.file}, line ${line}: the row has ${cells.length} cells where others have ${width}: a quote or a delimiter may be missing, or there is one too many`;
      this.#faults.set(number, { code: 'join-unreadable', message });
    }
    for (const [index, column] of this.columns.entries()) {
      const values = this.#values[index];
      const cell = (cells[this.#columnsAt[index] ?? -1] ?? '').trim();
      if (values === undefined) continue;
      if (known === undefined) values.push(undefined);
      if (cell !== '') values[number] = this.#combined(column, values[number], cell, { number, line });
    }
  }

  /** The number of a key, from 0; undefined where no row has it. */
  find(key: string): number | undefined {
    return this.#numbers.get(lookupKey(key));
  }

  /** The cell of a column, by its position in `columns`; empty where it is blank. */
  cell(number: number, column: number): string {
    const value = this.#values[column]?.[number];
    if (value !== undefined) return String(value);
    return this.columns[column]?.take === 'count' ? '0' : '';
  }

  /** What is wrong with the rows of a key. */
  fault(number: number): KeyFault | undefined {
    return this.#faults.get(number);
  }

  #combined(
    { take, name, format }: ReadyColumn,
    known: string | number | undefined,
    cell: string,
    at: { readonly number: number; readonly line: number },
  ): string | number | undefined {
    switch (take) {
      case 'first':
        return known ?? own(cell);
      case 'count':
        return Number(known ?? 0) + 1;
      case 'only':
        if (known !== undefined && known !== cell) this.#differs(name, at);
        return known ?? own(cell);
      case 'sum':
      case 'min':
      case 'max': {
        const read = this.#number(name, cell, format, at.line);
        if (typeof read === 'number') {
          return typeof known === 'number' ? combinedNumbers(take, known, read) : read;
        }
        if (read !== undefined) this.#faults.set(at.number, read);
        return known;
      }
      default:
        return take satisfies never;
    }
  }

  #differs(name: string, { number, line }: { readonly number: number; readonly line: number }): void {
    if (this.#faults.has(number)) return;
    const lines = `lines ${this.#lines[number]} and ${line}`;
    this.#faults.set(number, {
      code: 'join-ambiguous',
      message: `${this.file} has different values of ${name} in ${lines}, which have the same key: correct the file, or write first, min, max or sum in the mapping`,
    });
  }

  #number(name: string, cell: string, format: NumberFormat, line: number): number | undefined | KeyFault {
    const read = attempt(() => readNumber(cell, format, () => 'the cell'), undefined, 0);
    if (!(read instanceof Unreadable)) return typeof read === 'number' ? read : undefined;
    const message = `${this.file}, line ${line}, ${name}: ${read.message}`;
    return { code: 'join-unreadable', message };
  }
}

function combinedNumbers(take: 'sum' | 'min' | 'max', known: number, read: number): number {
  switch (take) {
    case 'sum':
      return Decimal.of(known).plus(Decimal.of(read)).toNumber();
    case 'min':
      return Math.min(known, read);
    case 'max':
      return Math.max(known, read);
    default:
      return take satisfies never;
  }
}

function columnUnclear(file: string, what: string): MappingError {
  return new MappingError(`In the table to join, ${what}.`, {
    place: { file, line: 1 },
    hint: 'Correct the name in the mapping, or the header of the file.',
  });
}

/** The position of the first of these headers that the file has: an exact match, or else a loose one. */
function columnAt(file: string, header: readonly string[], names: readonly string[]): number {
  const [at, second] = columnsNamed(header, ...names);
  if (at !== undefined && second !== undefined)
    throw columnUnclear(file, `the column '${header[at]}' occurs more than once`);
  if (at !== undefined) return at;
  const [first = ''] = names;
  throw columnUnclear(
    file,
    `there is no column '${names.join("' or '")}'${didYouMean(first, header)} The columns are ${header.join(', ')}`,
  );
}

interface Joined {
  readonly name: string;
  readonly match: string;
  readonly join: JoinSpec;
}

/** The lookups of a mapping that are joined. */
export function joinsOf({ lookups = {} }: MappingSpec): readonly Joined[] {
  return Object.entries(lookups).flatMap(([name, { match, join }]) =>
    join === undefined ? [] : [{ name, match, join }],
  );
}

/** The columns of a join, and how their numbers are written. */
export function readyColumns(scope: Scope, lookup: string, join: JoinSpec): readonly ReadyColumn[] {
  return joinColumns(join).map((column) => {
    const at: Path = ['lookups', lookup, 'join', 'columns', column.name];
    const format =
      column.number === undefined
        ? PLAIN_NUMBER
        : formatOf(column.number, {
            argument: (within, text) => argument(scope, [...at, ...within], text),
            complain: (within, message) => scope.problems.add([...at, ...within], message),
          });
    return { ...column, format };
  });
}

/** A copy of the text: a parser cuts cells from the text of the file, which would stay in memory as long as any cell. */
function own(text: string): string {
  return Buffer.from(text).toString();
}
