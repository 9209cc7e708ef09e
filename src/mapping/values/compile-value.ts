import { Decimal } from '../../model/decimal.ts';
import type { SourceRow } from '../record-rows.ts';
import { given, type Path, resolveName, type Scope, unknownName } from '../scope.ts';
import type { Value, ValueObject } from '../spec/value.ts';
import type { Transform } from '../transforms/transforms.ts';
import { type Expression, type Item, isList, type Kind, type TypedExpression } from './cell.ts';
import { compileCondition } from './compile-condition.ts';
import { applySteps, coerce, compileSteps, compileTemplate } from './compile-steps.ts';

const NONE: ReadonlySet<string> = new Set();

/** An expression that can always be read. */
function certain(kind: Kind, read: Expression, sources = NONE): TypedExpression {
  return { read, kind, sources, certain: true };
}

/** An expression of others. */
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
export function isPipeline(value: Value): value is readonly [Value, ...Transform[]] {
  return Array.isArray(value);
}

function compileName(scope: Scope, path: Path, name: string): TypedExpression {
  const named = resolveName(scope, name);
  const { clean } = scope;
  switch (named?.kind) {
    case 'column': {
      const { slot } = named;
      return certain('text', (row) => clean(row.cells[slot]), new Set([name]));
    }
    case 'family': {
      const { family } = named;
      const sources = new Set([name]);
      const member = (row: SourceRow, n: number) => clean(row.cells[family.slots.get(n) ?? -1]);
      if (scope.eachMember) return certain('text', member, sources);
      const members: Expression = (row) => {
        const items: string[] = [];
        for (const number of family.numbers) {
          const item = member(row, number);
          if (item !== undefined) items.push(item);
        }
        return items.length === 0 ? undefined : items;
      };
      return certain('text[]', members, sources);
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
      return certain('text', fill);
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
  return withTransforms(scope, compileValue(scope, [...path, 0], first), written);
}

/** An expression followed by transforms. */
export function withTransforms(
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
  const test = (key: 'when' | 'unless') =>
    given(spec[key], (condition) => compileCondition(scope, [...path, key], condition));
  const [when, unless] = [test('when'), test('unless')];
  if (when === undefined && unless === undefined) return source;
  const { read } = source;
  return {
    ...source,
    read: (row, n) =>
      (when !== undefined && !when(row, n)) || unless?.(row, n) === true ? undefined : read(row, n),
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
  return ofAll(lists, 'text[]', (row, n) => {
    const items = new Set<Item>();
    for (const { read } of lists) {
      const list = read(row, n);
      if (isList(list)) for (const item of list) items.add(item);
    }
    return items.size === 0 ? undefined : [...items];
  });
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
