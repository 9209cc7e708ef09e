import type { JoinFacts } from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import { joinedName } from './columns/columns.ts';
import { type JoinTable, joinsOf, readyColumns } from './join-table.ts';
import type { RecordRows, SourceRow } from './record-rows.ts';
import type { Scope } from './scope.ts';
import type { MappingSpec } from './spec/mapping-spec.ts';
import { blankIfUnreadable, type Expression } from './values/cell.ts';
import { compileAs } from './values/compile-value.ts';

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
    /** Fills the joined cells of a row. If the key has no row in the table, the row gets no joined cells. */
    fill(row: SourceRow, cells: (string | undefined)[]) {
      for (const { table, key, slots } of joins) {
        const number = numberOf(table, key(row, 0));
        if (number === undefined) continue;
        for (const [index, slot] of slots.entries()) cells[slot] = table.cell(number, index);
      }
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

function countRows({ table, key, used, found }: Join, { rows }: RecordRows, isPersonal: boolean): void {
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

function numberOf(table: JoinTable, key: ReturnType<Expression>): number | undefined {
  return key === undefined ? undefined : table.find(String(key));
}
