import type { RecordRows, SourceRow } from '../record-rows.ts';
import { given, type Path, resolveName, type Scope, slotOf } from '../scope.ts';
import type { BlankRule, Condition, Flag, Value, ValueObject } from '../spec/value.ts';
import { slugify } from '../transforms/slug.ts';
import {
  blankIfUnreadable,
  type Cell,
  type Expression,
  type Item,
  isList,
  type Kind,
  refuse,
  type TypedExpression,
} from './cell.ts';
import { asksForBlank, columnsOf, compileCondition } from './compile-condition.ts';
import { coerce } from './compile-steps.ts';
import { compileAs, isPipeline, withTransforms } from './compile-value.ts';

interface FieldOptions {
  readonly wanted: Kind;
  /** The meaning of a blank if the mapping does not define it. */
  readonly blank: BlankRule;
}

/**
 * Compiles a field of the record as a whole, with the meaning of a blank and the rows of its value. A cleared field is an empty text or
 * list.
 */
export function compileField(
  outer: Scope,
  path: Path,
  value: Value,
  options: FieldOptions,
): Expression<Cell, RecordRows> {
  const scope = { ...outer, field: fieldName(path) };
  const { core, blank, from } = takeApart(value);
  const rule = blankRule(scope, path, options, blank);
  const { read, sources } =
    compileOverRows(scope, path, core, options.wanted) ??
    ofRows(compileAs(scope, path, core, options.wanted), from);
  return (rows) => {
    const found = read(rows, 0);
    return found === undefined ? whenBlank(rule, scope, sources, rows.head) : found;
  };
}

/** A value of the row that describes the record, or of the first row that has one. */
function ofRows({ read, sources }: TypedExpression, from: Parts['from']): FieldOfRows {
  if (from !== 'any') return { sources, read: ({ head }) => head && read(head, 0) };
  const first: FieldOfRows['read'] = ({ rows }) => {
    for (const row of rows) {
      const found = read(row, 0);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return { sources, read: first };
}

interface FieldOfRows {
  readonly read: Expression<Cell, RecordRows>;
  readonly sources: ReadonlySet<string>;
}

/** Compiles a field that every row has separately. */
export function compileRowField(outer: Scope, path: Path, value: Value, options: FieldOptions): Expression {
  const scope = { ...outer, field: fieldName(path) };
  const { core, blank, from } = takeApart(value);
  if (from !== undefined) {
    scope.problems.add([...path, 'from'], 'a variant is read from its own row; see variants.inherit');
  }
  const rule = blankRule(scope, path, options, blank);
  const { read, sources } = compileAs(scope, path, core, options.wanted);
  return rule === 'leave-out'
    ? read
    : (row, n) => {
        const found = read(row, n);
        return found === undefined ? whenBlank(rule, scope, sources, row) : found;
      };
}

function fieldName(path: Path): string {
  return path
    .filter((part) => part !== 'product' && part !== 'contact' && typeof part === 'string')
    .join('.');
}

function blankRule(scope: Scope, path: Path, options: FieldOptions, written: BlankRule | undefined) {
  const clearable = options.wanted === 'text' || options.wanted === 'text[]';
  if (written === 'clear' && scope.contacts) {
    scope.problems.add(
      [...path, 'blank'],
      'the API cannot clear a field of a contact: empty fields do not overwrite; use leave-out',
    );
  } else if (written === 'clear' && !clearable) {
    scope.problems.add([...path, 'blank'], 'only texts and lists can be cleared; use leave-out or reject');
  }
  const rule = written ?? options.blank;
  return rule === 'clear' ? (options.wanted === 'text' ? 'clear-text' : 'clear-list') : rule;
}

function whenBlank(
  rule: 'leave-out' | 'reject' | 'clear-text' | 'clear-list',
  scope: Scope,
  sources: ReadonlySet<string>,
  row: SourceRow | undefined,
): Cell {
  switch (rule) {
    case 'leave-out':
      return undefined;
    case 'reject':
      return refuse(
        `${slugify(scope.field.split('.').at(-1) ?? '')}-missing`,
        `${scope.field} is blank`,
        row?.line,
        row === undefined ? undefined : headerOf(scope, sources, row),
      );
    case 'clear-text':
      return row !== undefined && headerOf(scope, sources, row) !== undefined ? '' : undefined;
    case 'clear-list':
      return row !== undefined && headerOf(scope, sources, row) !== undefined ? [] : undefined;
    default:
      return rule satisfies never;
  }
}

/** The header of the first source column that the file has. */
function headerOf(scope: Scope, sources: ReadonlySet<string>, row: SourceRow): string | undefined {
  for (const name of sources) {
    const column = scope.columns.declared.get(name);
    const slot = slotOf(scope, name) ?? column?.family?.slots.values().next().value;
    const header = slot === undefined ? undefined : row.table.headers[slot];
    if (header !== undefined) return header;
  }
  return undefined;
}

interface Parts {
  readonly core: Value;
  readonly blank: BlankRule | undefined;
  readonly from: 'head' | 'any' | undefined;
}

function takeApart(value: Value): Parts {
  if (!isObject(value)) return { core: value, blank: undefined, from: undefined };
  const { blank, from, ...core } = value;
  return { core, blank, from };
}

function isObject(value: Value): value is ValueObject {
  return typeof value === 'object' && !isPipeline(value);
}

/** `{ all: … }`, alone or at the start of a pipeline: a list that is collected from all rows. */
function compileOverRows(scope: Scope, path: Path, value: Value, wanted: Kind): FieldOfRows | undefined {
  const source = isPipeline(value) ? value[0] : value;
  if (!isObject(source) || source.all === undefined || 'when' in source || 'unless' in source)
    return undefined;
  const sourcePath = isPipeline(value) ? [...path, 0] : path;
  const lists = source.all.map((one, index) =>
    compileAs(scope, [...sourcePath, 'all', index], one, 'text[]'),
  );
  const order = given(source.order, (column) => compileAs(scope, [...sourcePath, 'order'], column, 'number'));
  const [, ...written] = isPipeline(value) ? value : [value];
  const transforms = written.map((transform, index) => ({ path: [...path, index + 1], transform }));
  const sources = new Set(lists.flatMap((list) => [...list.sources]));
  // The collected list replaces a cell: transforms are applied to it.
  let gathered: Cell;
  const list: TypedExpression = { read: () => gathered, kind: 'text[]', sources, certain: true };
  const finished = coerce(scope, path, withTransforms(scope, list, transforms), wanted);
  return {
    sources,
    read: ({ head, rows }) => {
      const read = () => {
        gathered = gather(lists, order === undefined ? rows : ordered(rows, order));
        return head === undefined ? gathered : finished.read(head, 0);
      };
      return scope.trace === undefined ? read() : scope.trace.evaluate(path, head, read);
    },
  };
}

/** Column by column, each through all rows: values of the first column precede those of the next. */
function gather(lists: readonly TypedExpression[], rows: readonly SourceRow[]): Cell {
  const items = new Set<Item>();
  for (const { read } of lists) {
    for (const row of rows) {
      const list = read(row, 0);
      if (isList(list)) for (const item of list) items.add(item);
    }
  }
  return items.size === 0 ? undefined : [...items];
}

/** Rows by the number in a column; rows without a number come last, in their order. */
function ordered(rows: readonly SourceRow[], order: TypedExpression): readonly SourceRow[] {
  if (rows.length < 2) return rows;
  const read = blankIfUnreadable(order.read);
  let isOrdered = true;
  let last = Number.NEGATIVE_INFINITY;
  const places = rows.map((row) => {
    const number = read(row, 0);
    const place = typeof number === 'number' ? number : Number.POSITIVE_INFINITY;
    if (place < last) isOrdered = false;
    last = place;
    return { row, place };
  });
  if (isOrdered) return rows;
  return places.sort((a, b) => (a.place === b.place ? 0 : a.place - b.place)).map(({ row }) => row);
}

/**
 * Compiles a yes/no field. A condition on columns that the file does not have at all gives no value; with `blank: 'leave-out'`, one
 * whose cells are all blank gives none either, unless it asks for blank cells.
 */
export function compileFlag(
  outer: Scope,
  path: Path,
  flag: Flag,
  blank: 'false' | 'leave-out' = 'false',
): Expression {
  const scope = { ...outer, field: String(path.at(-1)) };
  if (!isCondition(flag)) return compileAs(scope, path, flag, 'boolean').read;
  const test = compileCondition(scope, path, flag);
  const known = columnsOf(flag).map((name) => resolveName(scope, name));
  const leavesOut = blank === 'leave-out' && !asksForBlank(flag);
  const isThere = (cell: string | undefined) => (leavesOut ? scope.clean(cell) : cell) !== undefined;
  const present = (row: SourceRow) =>
    known.some((named) => {
      switch (named?.kind) {
        case 'column':
          return isThere(row.cells[named.slot]);
        case 'family':
          return named.family.numbers.some((number) =>
            isThere(row.cells[named.family.slots.get(number) ?? -1]),
          );
        default:
          return named !== undefined;
      }
    });
  if (leavesOut) return (row, n) => (present(row) ? test(row, n) : undefined);
  return (row, n) => (test(row, n) ? true : present(row) ? false : undefined);
}

function isCondition(flag: Flag): flag is Condition {
  return typeof flag === 'object' && !Array.isArray(flag);
}
