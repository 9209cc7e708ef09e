import { Decimal } from '../../model/decimal.ts';
import type { RecordRows, SourceRow } from '../record-rows.ts';
import {
  mapDefined,
  type Path,
  Problems,
  resolveName,
  type Scope,
  slotOf,
  slotsOf,
  unknownName,
} from '../scope.ts';
import type { BlankRule, Condition, Flag, Value, ValueObject } from '../spec/value.ts';
import { slugify } from '../transforms/slug.ts';
import type { Transform } from '../transforms/transforms.ts';
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
import { asksFor, columnsOf, compileCondition, compileDecision, PRESENCES } from './compile-condition.ts';
import {
  applySteps,
  coerce,
  compileSteps,
  compileTemplate,
  readColumn,
  readMember,
  scopeBefore,
} from './compile-steps.ts';

const NONE: ReadonlySet<string> = new Set();

/** An expression that can always be read. */
function certain(kind: Kind, read: Expression): TypedExpression {
  return { read, kind, sources: NONE, certain: true };
}

/** An expression that combines others. */
function ofAll(parts: readonly TypedExpression[], kind: Kind, read: Expression): TypedExpression {
  return { read, kind, sources: new Set(parts.flatMap(({ sources }) => [...sources])), certain: false };
}

/** The kind of a value that a mapping or a job writes. */
function kindOf(value: string | number | boolean): Kind {
  return typeof value === 'string' ? 'text' : typeof value === 'number' ? 'number' : 'boolean';
}

/** Compiles a value to the wanted kind; reports a problem if that is not possible. */
export function compileAs(scope: Scope, path: Path, value: Value, wanted: Kind): TypedExpression {
  const expression = coerce(scope, path, compileValue(scope, path, value, wanted), wanted);
  const { trace } = scope;
  if (trace === undefined) return expression;
  const { read } = expression;
  return { ...expression, read: (row, n) => trace.evaluate(path, row, () => read(row, n)) };
}

/** Compiles a value of any kind; alternatives are converted to `wanted`, so that they agree. */
export function compileValue(scope: Scope, path: Path, value: Value, wanted?: Kind): TypedExpression {
  if (typeof value === 'number' || typeof value === 'boolean') return certain(kindOf(value), () => value);
  if (typeof value === 'string') return compileName(scope, path, value);
  return isPipeline(value) ? compilePipeline(scope, path, value) : compileObject(scope, path, value, wanted);
}

/** Whether a value is written as a pipeline. */
function isPipeline(value: Value): value is readonly [Value, ...Transform[]] {
  return Array.isArray(value);
}

function compileName(scope: Scope, path: Path, name: string): TypedExpression {
  const named = resolveName(scope, name);
  const ofCells = (kind: Kind, read: Expression): TypedExpression => {
    return { read, kind, sources: new Set([name]), certain: scope.readsAmounts !== true };
  };
  switch (named?.kind) {
    case 'column':
      return ofCells('text', readColumn(scope, path, named.slot));
    case 'family': {
      const { family } = named;
      const member = readMember(scope, path, family.slots);
      if (scope.eachMember) return ofCells('text', member);
      const members: Expression = (row) => {
        const items: string[] = [];
        for (const number of family.numbers) {
          const item = member(row, number);
          if (item !== undefined) items.push(item);
        }
        return items.length === 0 ? undefined : items;
      };
      return ofCells('text[]', members);
    }
    case 'param': {
      const { value } = named;
      const read = value === '' ? undefined : value;
      return certain(kindOf(value), () => read);
    }
    case undefined: {
      if (!name.includes('{')) {
        unknownName(scope, path, name);
        return certain('text', () => undefined);
      }
      const fill = compileTemplate(scope, path, name, false);
      return { ...certain('text', fill), certain: scope.readsAmounts !== true };
    }
    default:
      return named satisfies never;
  }
}

function compilePipeline(
  scope: Scope,
  path: Path,
  pipeline: readonly [Value, ...Transform[]],
): TypedExpression {
  const [first, ...transforms] = pipeline;
  const written = transforms.map((transform, index) => ({ path: [...path, index + 1], transform }));
  return withTransforms(scope, compileValue(scopeBefore(scope, transforms), [...path, 0], first), written);
}

/** An expression followed by transforms. */
function withTransforms(
  scope: Scope,
  source: TypedExpression,
  transforms: readonly { readonly path: Path; readonly transform: Transform }[],
): TypedExpression {
  if (transforms.length === 0) return source;
  const { steps, kind } = compileSteps(scope, source.kind, transforms);
  const { read, sources } = source;
  return { read: (row, n) => applySteps(steps, read(row, n), row, n), kind, sources, certain: false };
}

function compileObject(
  scope: Scope,
  path: Path,
  spec: ValueObject,
  wanted: Kind | undefined,
): TypedExpression {
  for (const key of ['blank', 'from', 'order'] as const) {
    if (spec[key] !== undefined) {
      scope.problems.add([...path, key], `${key} belongs to the field itself, not to a value within it`);
    }
  }
  const source = compileMain(scope, path, spec, wanted);
  // Of a constant yes or no the condition decides, and of lists who has objected to them.
  const isConstant = source.kind === 'boolean' && source.sources.size === 0;
  const joinsLists = scope.field === 'subscriberLists';
  const compile = isConstant || joinsLists ? compileDecision : compileCondition;
  const test = (key: 'when' | 'unless') =>
    mapDefined(spec[key], (condition) => compile(scope, [...path, key], condition));
  const [when, unless] = [test('when'), test('unless')];
  if (when === undefined && unless === undefined) return source;
  const { read } = source;
  return {
    ...source,
    read: (row, n) => {
      if (when !== undefined && when(row, n) !== true) return undefined;
      const excluded = unless === undefined ? false : unless(row, n);
      if (excluded === false) return read(row, n);
      if (excluded === undefined && joinsLists && read(row, n) !== undefined) {
        const headers = columnsOf(spec.unless ?? {}).flatMap((name) => scope.columns.headersOf(name));
        const message = `whether the contact may be in lists is not known: the file has no column ${headers.map((header) => `'${header}'`).join(' or ')}`;
        refuse('exclusion-unknown', message, row.line);
      }
      return undefined;
    },
  };
}

function compileMain(scope: Scope, path: Path, spec: ValueObject, wanted: Kind | undefined): TypedExpression {
  const { value, const: constant, first, all, join } = spec;
  if (value !== undefined) return compileValue(scope, [...path, 'value'], value, wanted);
  if (constant !== undefined) return certain(kindOf(constant), () => constant);
  if (first !== undefined) return compileFirst(scope, [...path, 'first'], first, wanted);
  if (all !== undefined) return compileAll(scope, [...path, 'all'], all);
  if (join !== undefined) return compileJoin(scope, [...path, 'join'], join, spec.with ?? ' ');
  const { sum, min, max } = spec;
  if (sum !== undefined) return compileFold(scope, [...path, 'sum'], sum, (a, b) => a.plus(b));
  return min === undefined
    ? compileFold(scope, [...path, 'max'], max ?? [], (a, b) => (a.compare(b) < 0 ? b : a))
    : compileFold(scope, [...path, 'min'], min, (a, b) => (a.compare(b) > 0 ? b : a));
}

function compileFirst(
  scope: Scope,
  path: Path,
  values: readonly Value[],
  wanted: Kind | undefined,
): TypedExpression {
  const plain = values.map((value, index) => compileValue(scope, [...path, index], value, wanted));
  const kind = wanted ?? plain[0]?.kind ?? 'text';
  const choices = plain.map((choice, index) => coerceFirst(scope, [...path, index], choice, kind));
  return ofAll(choices, kind, (row, n) => {
    for (const { read } of choices) {
      const found = read(row, n);
      if (found !== undefined) return found;
    }
    return undefined;
  });
}

/** If one item is wanted, a list gives its first one: the first of a family of columns. */
function coerceFirst(scope: Scope, path: Path, choice: TypedExpression, kind: Kind): TypedExpression {
  if (choice.kind === 'text[]' && !kind.endsWith('[]')) {
    const { read } = choice;
    const first: TypedExpression = {
      ...choice,
      kind: 'text',
      read: (row, n) => {
        const list = read(row, n);
        return isList(list) ? list[0] : list;
      },
    };
    return coerce(scope, path, first, kind);
  }
  return coerce(scope, path, choice, kind);
}

function compileAll(scope: Scope, path: Path, values: readonly Value[]): TypedExpression {
  const lists = values.map((value, index) => compileAs(scope, [...path, index], value, 'text[]'));
  return ofAll(lists, 'text[]', (row, n) => gather(lists, [row], n));
}

function compileJoin(scope: Scope, path: Path, values: readonly Value[], separator: string): TypedExpression {
  const texts = values.map((value, index) => compileAs(scope, [...path, index], value, 'text'));
  return ofAll(texts, 'text', (row, n) => {
    const parts: string[] = [];
    for (const { read } of texts) {
      const part = read(row, n);
      if (part !== undefined) parts.push(String(part));
    }
    return parts.length === 0 ? undefined : parts.join(separator);
  });
}

/** One number of several, blanks left out; a family of columns counts with all its members. */
function compileFold(
  scope: Scope,
  path: Path,
  values: readonly Value[],
  combine: (a: Decimal, b: Decimal) => Decimal,
): TypedExpression {
  const numbers = values.map((value, index) => compileAs(scope, [...path, index], value, 'number[]'));
  return ofAll(numbers, 'number', (row, n) => {
    let result: Decimal | undefined;
    for (const { read } of numbers) {
      const list = read(row, n);
      for (const item of isList(list) ? list : []) {
        if (typeof item !== 'number') continue;
        const number = Decimal.of(item);
        result = result === undefined ? number : combine(result, number);
      }
    }
    return result?.toNumber();
  });
}

/**
 * Compiles a field of the record as a whole, with the meaning of a blank and the rows of its value. A cleared field is an empty text or
 * list; `clear` needs the column in the file. `usual`: the meaning of a blank if the mapping does not define it.
 */
export function compileField(
  outer: Scope,
  path: Path,
  value: Value,
  wanted: Kind,
  usual: BlankRule = 'leave-out',
): Expression<Cell, RecordRows> {
  const scope = { ...outer, field: fieldName(path) };
  const { core, blank, from } = takeApart(value);
  const rule = blankRule(scope, path, wanted, blank ?? usual);
  const { read, sources } =
    compileOverRows(scope, path, core, wanted) ?? ofRows(compileAs(scope, path, core, wanted), from);
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
export function compileRowField(outer: Scope, path: Path, value: Value, wanted: Kind): Expression {
  const scope = { ...outer, field: fieldName(path) };
  const { core, blank, from } = takeApart(value);
  if (from !== undefined) {
    scope.problems.add([...path, 'from'], 'a variant is read from its own row; see variants.inherit');
  }
  const rule = blankRule(scope, path, wanted, blank ?? 'leave-out');
  const { read, sources } = compileAs(scope, path, core, wanted);
  return rule === 'leave-out'
    ? read
    : (row, n) => {
        const found = read(row, n);
        return found === undefined ? whenBlank(rule, scope, sources, row) : found;
      };
}

function fieldName(path: Path) {
  return path
    .filter((part) => part !== 'product' && part !== 'contact' && typeof part === 'string')
    .join('.');
}

function blankRule(scope: Scope, path: Path, wanted: Kind, rule: BlankRule) {
  const clearable = wanted === 'text' || wanted === 'text[]';
  if (rule === 'clear' && scope.contacts) {
    scope.problems.add(
      [...path, 'blank'],
      'the API cannot clear a field of a contact: empty fields do not overwrite; use leave-out',
    );
  } else if (rule === 'clear' && !clearable) {
    scope.problems.add([...path, 'blank'], 'only texts and lists can be cleared; use leave-out or reject');
  }
  return rule === 'clear' ? (wanted === 'text' ? 'clear-text' : 'clear-list') : rule;
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
    case 'clear-list': {
      const isThere = row !== undefined && headerOf(scope, sources, row) !== undefined;
      return isThere ? (rule === 'clear-text' ? '' : []) : undefined;
    }
    default:
      return rule satisfies never;
  }
}

/** The header of the first of these columns that the file has. */
export function headerOf(scope: Scope, sources: ReadonlySet<string>, row: SourceRow): string | undefined {
  for (const name of sources) {
    const column = scope.columns.declared.get(name);
    const slot = slotOf(scope, name) ?? column?.family?.slots.values().next().value;
    const header = slot === undefined ? undefined : row.table.headers[slot];
    if (header !== undefined) return header;
  }
  return undefined;
}

/** The header of the first column of a text field that the file has. */
export function compileHeader(
  scope: Scope,
  path: Path,
  value: Value,
): (row: SourceRow | undefined) => string | undefined {
  const { sources } = compileAs({ ...scope, problems: new Problems() }, path, takeApart(value).core, 'text');
  return (row) => row && headerOf(scope, sources, row);
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
  const [, ...written] = isPipeline(value) ? value : [value];
  const ofLists = scopeBefore(scope, written);
  const lists = source.all.map((one, index) =>
    compileAs(ofLists, [...sourcePath, 'all', index], one, 'text[]'),
  );
  const order = mapDefined(source.order, (column) =>
    compileAs(scope, [...sourcePath, 'order'], column, 'number'),
  );
  const transforms = written.map((transform, index) => ({ path: [...path, index + 1], transform }));
  // The collected list replaces a cell: transforms are applied to it.
  let gathered: Cell;
  const list = { ...ofAll(lists, 'text[]', () => gathered), certain: true };
  const finished = coerce(scope, path, withTransforms(scope, list, transforms), wanted);
  return {
    sources: list.sources,
    read: ({ head, rows }) => {
      const read = () => {
        gathered = gather(lists, order === undefined ? rows : ordered(rows, order));
        return head === undefined ? gathered : finished.read(head, 0);
      };
      return scope.trace === undefined ? read() : scope.trace.evaluate(path, head, read);
    },
  };
}

/** Column by column, each through all rows, without repeats: values of the first column precede those of the next. */
function gather(lists: readonly TypedExpression[], rows: readonly SourceRow[], n = 0): Cell {
  const items = new Set<Item>();
  for (const { read } of lists) {
    for (const row of rows) {
      const list = read(row, n);
      if (isList(list)) for (const item of list) items.add(item);
    }
  }
  return items.size === 0 ? undefined : [...items];
}

/** Rows by the number in a column; rows without a number come last, in their order. */
function ordered(rows: readonly SourceRow[], order: TypedExpression) {
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
 * Compiles a yes/no field. A condition on columns that the file does not have at all gives no value, except by `missing`; with
 * `blank: 'leave-out'`, one whose cells are all blank gives none either, unless it asks for blank cells.
 */
export function compileFlag(
  outer: Scope,
  path: Path,
  flag: Flag,
  blank: 'false' | 'leave-out' = 'false',
): Expression {
  const scope = { ...outer, field: String(path.at(-1)) };
  if (!isCondition(flag)) return compileAs(scope, path, flag, 'boolean').read;
  const test = compileDecision(scope, path, flag);
  const known = columnsOf(flag).map((name) => resolveName(scope, name));
  const leavesOut = blank === 'leave-out' && !asksFor(flag, PRESENCES);
  const isThere = (cell: string | undefined) => (leavesOut ? scope.clean(cell) : cell) !== undefined;
  const present = ({ cells }: SourceRow) =>
    known.some((named) => named?.kind === 'param' || slotsOf(named).some((slot) => isThere(cells[slot])));
  if (leavesOut) return (row, n) => (present(row) ? test(row, n) : undefined);
  return (row, n) => {
    const holds = test(row, n);
    return holds === false && !present(row) ? undefined : holds;
  };
}

function isCondition(flag: Flag): flag is Condition {
  return typeof flag === 'object' && !Array.isArray(flag);
}
