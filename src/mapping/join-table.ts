import { Decimal } from '../model/decimal.ts';
import type { JoinFacts } from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import type { CellCurrencies, Row } from '../model/row.ts';
import { MappingError } from '../model/storeferry-error.ts';
import { didYouMean } from '../text/printable.ts';
import { joinedName } from './columns/columns.ts';
import { columnsNamed, lookupKey } from './lookup-table.ts';
import type { RecordRows, SourceRow } from './record-rows.ts';
import type { Path, Scope } from './scope.ts';
import { type JoinColumn, type JoinSpec, joinColumns } from './spec/join-spec.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import { formatOf } from './transforms/number.ts';
import { type NumberFormat, PLAIN_NUMBER, readNumber } from './transforms/read-number.ts';
import { attempt, blankIfUnreadable, type Expression, Unreadable } from './values/cell.ts';
import { contextOf } from './values/compile-steps.ts';
import { compileAs } from './values/compile-value.ts';

/** What is wrong with a key of a table: records that need it are rejected. */
interface KeyFault {
  readonly code: string;
  readonly message: string;
}

/** A column of a join, and how its numbers are written. */
export type ReadyColumn = JoinColumn & { readonly format: NumberFormat };

/** One value of a column, by the number of its key. */
type Values = (string | number | undefined)[];

/** The second table of a join. */
export type JoinTable = ReturnType<typeof joinTable>;

/**
 * The second table of a join, read row by row. Rows of one key become one; the cells of other columns are not kept, so
 * that it takes about 150 bytes for a key with two columns. `file`: its name in messages. MappingError where the header
 * lacks a column, or has it more than once.
 */
export function joinTable(
  file: string,
  header: readonly string[],
  match: string,
  columns: readonly ReadyColumn[],
) {
  const numbers = new Map<string, number>();
  const matchAt = columnAt(file, header, [match]);
  const read = columns.map((column) => {
    const values: Values = [];
    return {
      column,
      values,
      currencies: new Map<number, string>(),
      at: columnAt(file, header, column.headers),
    };
  });
  /** The line of the first row of each key. */
  const lines: number[] = [];
  const faults = new Map<number, KeyFault>();
  let rows = 0;

  const differs = (name: string, number: number, line: number) => {
    if (faults.has(number)) return;
    faults.set(number, {
      code: 'join-ambiguous',
      message: `${file} has different values of ${name} in lines ${lines[number]} and ${line}, which have the same key: correct the file, or write first, min, max or sum in the mapping`,
    });
  };
  const numberIn = ({ name, format }: ReadyColumn, cell: string, line: number) => {
    const found = attempt(() => readNumber(cell, format, () => 'the cell'), undefined, 0);
    if (!(found instanceof Unreadable)) return typeof found === 'number' ? found : undefined;
    return { code: 'join-unreadable', message: `${file}, line ${line}, ${name}: ${found.message}` };
  };
  const combined = (
    column: ReadyColumn,
    known: string | number | undefined,
    cell: string,
    number: number,
    line: number,
  ) => {
    const { take, name } = column;
    switch (take) {
      case 'first':
        return known ?? own(cell);
      case 'count':
        return Number(known ?? 0) + 1;
      case 'only':
        if (known !== undefined && known !== cell) differs(name, number, line);
        return known ?? own(cell);
      case 'sum':
      case 'min':
      case 'max': {
        const found = numberIn(column, cell, line);
        if (typeof found === 'number')
          return typeof known === 'number' ? COMBINED[take](known, found) : found;
        if (found !== undefined) faults.set(number, found);
        return known;
      }
      default:
        return take satisfies never;
    }
  };
  return {
    file,
    columns,
    /** How many keys the table has. */
    get size() {
      return numbers.size;
    },
    /** How many rows with a key it has. */
    get rows() {
      return rows;
    },
    /** Whether records may be rejected for what their key has in this table. */
    get isFaulty() {
      return faults.size > 0;
    },
    /** Takes a row; one without a key is left out. `width` is how many cells a row has. */
    add({ cells, line, currencies }: Omit<Row, 'file'>, width: number) {
      const key = lookupKey(cells[matchAt] ?? '');
      if (key === '') return;
      rows++;
      const known = numbers.get(key);
      const number = known ?? numbers.size;
      if (known === undefined) {
        numbers.set(own(key), number);
        lines.push(line);
      }
      if (cells.length !== width) {
        const message = `${file}, line ${line}: the row has ${cells.length} cells where others have ${width}: a quote or a delimiter may be missing, or there is one too many`;
        faults.set(number, { code: 'join-unreadable', message });
      }
      for (const { column, values, currencies: kept, at } of read) {
        const cell = (cells[at] ?? '').trim();
        if (known === undefined) values.push(undefined);
        if (cell === '') continue;
        const named = currencies?.[at];
        const isTaken = column.take !== 'first' || values[number] === undefined;
        if (named !== undefined && isTaken) {
          const before = kept.get(number)?.split(' ') ?? [];
          kept.set(number, [...new Set([...before, ...named.split(' ')])].join(' '));
        }
        values[number] = combined(column, values[number], cell, number, line);
      }
    },
    /** The number of a key, from 0; undefined where no row has it. */
    find: (key: string): number | undefined => numbers.get(lookupKey(key)),
    /** The cell of a column, by its position in `columns`; empty where it is blank. */
    cell(number: number, column: number): string {
      const value = read[column]?.values[number];
      if (value !== undefined) return String(value);
      return columns[column]?.take === 'count' ? '0' : '';
    },
    /** The currencies that the formats of its cells name, separated by blanks. */
    currency: (number: number, column: number): string | undefined => read[column]?.currencies.get(number),
    /** What is wrong with the rows of a key. */
    fault: (number: number): KeyFault | undefined => faults.get(number),
  };
}

const COMBINED = {
  sum: (known: number, read: number) => Decimal.of(known).plus(Decimal.of(read)).toNumber(),
  min: Math.min,
  max: Math.max,
} as const;

function columnUnclear(file: string, what: string) {
  return new MappingError(`In the table to join, ${what}.`, {
    place: { file, line: 1 },
    hint: 'Correct the name in the mapping, or the header of the file.',
  });
}

/** The position of the first of these headers that the file has: an exact match, or else a loose one. */
function columnAt(file: string, header: readonly string[], names: readonly string[]) {
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

/** A lookup of a mapping that is joined. */
export interface Joined {
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
    const format = column.number === undefined ? PLAIN_NUMBER : formatOf(column.number, contextOf(scope, at));
    return { ...column, format };
  });
}

/** A copy of the text: a parser cuts cells from the text of the file, which would stay in memory as long as any cell. */
function own(text: string) {
  return Buffer.from(text).toString();
}

/** The joins of a mapping, ready for the rows of one source. */
export type Joins = ReturnType<typeof compileJoins>;

/** A join with its table. */
interface Join {
  readonly name: string;
  readonly table: JoinTable;
  readonly key: Expression;
  readonly slots: readonly number[];
  readonly rejectsMissing: boolean;
  /** By the number of a key: 1 where a row asked for it. */
  readonly used: Uint8Array;
  readonly found: { records: number; without: number; readonly examples: Set<string> };
}

const EXAMPLES_KEPT = 3;

/** Compiles the joins. Without a table, in a check, their columns stay blank. */
export function compileJoins(
  outer: Scope,
  spec: MappingSpec,
  tables: ReadonlyMap<string, JoinTable> = new Map(),
) {
  // A key is a code: a key whose digits a spreadsheet has lost must not match.
  const scope = { ...outer, field: 'group' };
  const joins = joinsOf(spec).flatMap(({ name, join }): Join[] => {
    const path = ['lookups', name, 'join'];
    scope.used.add(`lookup ${name}`);
    readyColumns(scope, name, join);
    const { read } = compileAs(scope, [...path, 'on'], join.on, 'text');
    const table = tables.get(name);
    if (table === undefined) return [];
    return [
      {
        name,
        table,
        key: blankIfUnreadable(read),
        slots: table.columns.map(
          (column) => scope.columns.declared.get(joinedName(name, column.name))?.slot ?? -1,
        ),
        rejectsMissing: join.missing === 'reject',
        used: new Uint8Array(table.size),
        found: { records: 0, without: 0, examples: new Set() },
      },
    ];
  });
  const mayFault = joins.filter(({ table, rejectsMissing }) => rejectsMissing || table.isFaulty);
  return {
    any: joins.length > 0,
    /**
     * Fills the joined cells of a row, and gives the currencies of their formats by slot. If the key has no row in the table, the row
     * gets no joined cells.
     */
    fill(row: SourceRow, cells: (string | undefined)[]): CellCurrencies | undefined {
      let currencies: Record<number, string> | undefined;
      for (const { table, key, slots } of joins) {
        const number = numberOf(table, key(row, 0));
        if (number === undefined) continue;
        for (const [index, slot] of slots.entries()) {
          cells[slot] = table.cell(number, index);
          const currency = table.currency(number, index);
          if (currency !== undefined) currencies = { ...currencies, [slot]: currency };
        }
      }
      return currencies;
    },
    /** Why a record cannot be imported: its key has no row, or contradictory rows. */
    fault(rows: RecordRows): Reason | undefined {
      for (const join of mayFault) {
        for (const row of rows.rows) {
          const reason = faultOf(join, row, scope);
          if (reason !== undefined) return reason;
        }
      }
      return undefined;
    },
    /** Counts the rows of a record; once for each record. */
    count(rows: RecordRows) {
      for (const join of joins) countRows(join, rows, scope.contacts);
    },
    /** What was counted. */
    facts: (): readonly JoinFacts[] =>
      joins.map(({ name, table, used, found }) => ({
        name,
        file: table.file,
        records: found.records,
        without: found.without,
        examples: [...found.examples],
        keys: table.size,
        unused: used.reduce((sum, one) => sum - one, table.size),
      })),
  };
}

function countRows({ table, key, used, found }: Join, { rows }: RecordRows, isPersonal: boolean) {
  let asks = false;
  let lacks = false;
  for (const row of rows) {
    const value = key(row, 0);
    if (value === undefined) continue;
    asks = true;
    const number = numberOf(table, value);
    if (number !== undefined) {
      used[number] = 1;
      continue;
    }
    lacks = true;
    if (!isPersonal && found.examples.size < EXAMPLES_KEPT) found.examples.add(String(value));
  }
  if (asks) found.records++;
  if (lacks) found.without++;
}

function faultOf(
  { table, key, rejectsMissing }: Join,
  row: SourceRow,
  { contacts, quote }: Scope,
): Reason | undefined {
  const value = key(row, 0);
  const number = numberOf(table, value);
  const named = contacts ? 'this key' : `the key ${quote(String(value))}`;
  if (number === undefined) {
    if (value === undefined || !rejectsMissing) return undefined;
    const message = `no row of ${table.file} has ${named}: add one, or correct the key`;
    return { code: 'join-missing', message, line: row.line };
  }
  const fault = table.fault(number);
  return fault && { code: fault.code, message: `${fault.message} (${named})`, line: row.line };
}

function numberOf(table: JoinTable, key: ReturnType<Expression>) {
  return key === undefined ? undefined : table.find(String(key));
}
