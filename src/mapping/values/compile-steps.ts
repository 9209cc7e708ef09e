import { Decimal } from '../../model/decimal.ts';
import { isMark } from '../../model/row.ts';
import { checkConverted } from '../currency-watch.ts';
import { refuseDamaged } from '../damage-check.ts';
import type { SourceRow } from '../record-rows.ts';
import {
  argument,
  namedAt,
  type Path,
  Problems,
  resolveLookup,
  resolveName,
  type Scope,
  slotOf,
} from '../scope.ts';
import { booleanStep } from '../transforms/boolean.ts';
import { convertedFrom } from '../transforms/convert.ts';
import { isoDateStep } from '../transforms/date.ts';
import {
  addStep,
  type CurrencyCheck,
  type Step,
  type TransformContext,
} from '../transforms/define-transform.ts';
import { currencyRead, numberStep } from '../transforms/number.ts';
import { PLAIN_NUMBER } from '../transforms/read-number.ts';
import { compileTransform, type Transform, transformName } from '../transforms/transforms.ts';
import {
  attempt,
  type Cell,
  cleanCell,
  type Expression,
  type Item,
  isList,
  itemKind,
  type Kind,
  listKind,
  nameOfKind,
  type Present,
  type TypedExpression,
  Unreadable,
} from './cell.ts';

/** Transforms of a mapping, each with its path. */
type WrittenSteps = readonly { readonly path: Path; readonly transform: Transform }[];

/** Compiles the transforms of a pipeline, and checks that each accepts the result of the previous one. */
export function compileSteps(
  scope: Scope,
  from: Kind,
  transforms: WrittenSteps,
): { readonly steps: readonly Step[]; readonly kind: Kind } {
  const steps: Step[] = [];
  let kind = from;
  for (const [index, { path, transform }] of transforms.entries()) {
    const later = transforms.slice(index + 1).map((one) => one.transform);
    const compiled = compileTransform(transform, contextOf(scopeBefore(scope, later), path));
    const step = scope.trace?.step(transform, transformName(transform), scope.params, compiled) ?? compiled;
    const reading = step.takes === 'number' ? readingStepFor(scope, kind, 'number') : undefined;
    if (reading !== undefined) {
      steps.push(reading.step);
      kind = reading.kind;
    }
    const next = kindAfter(step, kind);
    if (next === undefined) {
      const takes = nameOfKind(step.takes === 'any' ? 'text' : step.takes);
      const message = `${transformName(transform) ?? 'this'} works on ${takes}, but is given ${nameOfKind(kind)}`;
      scope.problems.add(path, message);
      return { steps, kind };
    }
    addStep(steps, step);
    kind = next;
  }
  return { steps, kind };
}

/** What a transform at this place of the mapping may use of it. */
export function contextOf(scope: Scope, at: Path): TransformContext {
  const { field, notes, quote } = scope;
  return {
    complain: (path, message) => scope.problems.add([...at, ...path], message),
    argument: (path, text) => argument(scope, [...at, ...path], text),
    operand: (path, written) => compileOperand(scope, [...at, ...path], written),
    template: (path, text) => compileTemplate(scope, [...at, ...path], text, true),
    lookupTable: (path, name) => resolveLookup(scope, [...at, ...path], name),
    note: (sentence) => {
      notes.push(`${field}: ${sentence}`);
    },
    quote,
    checkCurrency: compileCurrencyCheck(scope, at),
    checkFormat: compileFormatCheck(scope, at),
    refuseDamaged: (...of) => refuseDamaged(scope, ...of),
    custom: scope.custom,
    keepsPlaces: scope.keepsPlaces === true,
    patternLength: scope.limits.patternLength,
  };
}

function compileCurrencyCheck(scope: Scope, at: Path): CurrencyCheck {
  const { convertsFrom, currencies } = scope;
  if (convertsFrom === undefined) return (word) => currencies.check(word);
  const from = compileCode(scope, at, convertsFrom);
  return (word, row, n) => checkConverted(word, from(row, n) ?? '');
}

/** A code, or what the param or column in braces holds. */
function compileCode(scope: Scope, at: Path, code: string): Expression<string | undefined> {
  return compileTemplate({ ...scope, problems: new Problems(), readsAmounts: false }, at, code, false);
}

/** The scope of the value that these transforms read. */
export function scopeBefore(scope: Scope, transforms: readonly Transform[]): Scope {
  const [convertsFrom = scope.convertsFrom] = transforms.flatMap((step) => convertedFrom(step) ?? []);
  const [readsAs = scope.readsAs] = transforms.flatMap((step) => currencyRead(step) ?? []);
  const readsAmounts = scope.readsAmounts === true || readsAs !== undefined;
  return { ...scope, convertsFrom, readsAs, readsAmounts };
}

/** Reads the cell of a column. */
export function readColumn(scope: Scope, at: Path, slot: number): Expression<string | undefined> {
  const { clean } = scope;
  return watchFormat(
    scope,
    at,
    (row) => clean(row.cells[slot]),
    () => slot,
  );
}

/** Reads the cell of the member of a family of columns, by the slots of its members. */
export function readMember(
  scope: Scope,
  at: Path,
  slots: ReadonlyMap<number, number>,
): Expression<string | undefined> {
  const { clean } = scope;
  const slotOf = (n: number) => slots.get(n) ?? -1;
  return watchFormat(scope, at, (row, n) => clean(row.cells[slotOf(n)]), slotOf);
}

/** The same expression; where amounts are read, it refuses a cell whose format names another currency than what is sent. */
function watchFormat(
  scope: Scope,
  at: Path,
  read: Expression<string | undefined>,
  slotOf: (n: number) => number,
): Expression<string | undefined> {
  const check = compileFormatCheck(scope, at);
  if (check === undefined) return read;
  return (row, n) => {
    const text = read(row, n);
    const named = text === undefined ? undefined : row.currencies?.[slotOf(n)];
    if (named !== undefined) check(named, row, n);
    return text;
  };
}

/** Where amounts are read, refuses the currencies that the format of a cell names if one is not what is sent. */
function compileFormatCheck(scope: Scope, at: Path): CurrencyCheck | undefined {
  if (scope.readsAmounts !== true) return undefined;
  const check = compileCurrencyCheck(scope, at);
  const readsAs = compileCode(scope, at, scope.readsAs ?? '');
  return (named, row, n) => {
    for (const word of named.split(' ')) {
      if (isMark(word)) continue;
      const code = readsAs(row, n) || 'strip';
      if (code !== 'strip') checkConverted(word, code, 'reads it as');
      check(word, row, n);
    }
  };
}

/** As many as a number keeps exactly. */
const MAX_DIGITS = 15;

const OPERAND = /^\{([^{}]*(?:\{n\}[^{}]*)?)\}$/;

/** A number to calculate with: as written, or that of the param or column in braces. */
function compileOperand(scope: Scope, path: Path, written: number | string): Expression<Decimal | undefined> {
  if (typeof written === 'number') {
    const number = Decimal.of(written);
    if (
      String(written)
        .replace(/e.*/, '')
        .replaceAll(/^[-0.]+|\D/g, '')
        .replace(/(?<!0)0+$/, '').length > MAX_DIGITS
    ) {
      scope.problems.add(
        path,
        `expected a number of at most ${MAX_DIGITS} digits: more are not kept exactly`,
      );
    }
    return () => number;
  }
  const name = OPERAND.exec(written)?.[1];
  const named = name === undefined ? undefined : resolveName(scope, name);
  if (name === undefined) {
    scope.problems.add(path, `expected a number, or a param or column in braces, found '${written}'`);
    return () => undefined;
  }
  // The params of a check are blank where only a job can set them.
  if (named?.kind === 'param' && named.value !== '' && !Number.isFinite(Number(named.value))) {
    scope.problems.add(path, `expected a number as the param ${name}, found '${named.value}'`);
  }
  const fill = compileTemplate(scope, path, written, false);
  const text: TypedExpression = {
    read: (row, n) => cleanCell(fill(row, n)),
    kind: 'text',
    sources: new Set([name]),
    certain: true,
  };
  const { read } = coerce(scope, path, text, 'number');
  return (row, n) => {
    const number = read(row, n);
    return typeof number === 'number' ? Decimal.of(number) : undefined;
  };
}

/** The usual way to read a text as another kind, and the result for a list of texts. */
function readingStepFor(
  scope: Scope,
  from: Kind,
  wanted: Kind,
): { readonly step: Step; readonly kind: Kind } | undefined {
  if (from !== 'text' && from !== 'text[]') return undefined;
  const kind = from === 'text' ? wanted : listKind(wanted);
  switch (wanted) {
    case 'number':
      return { step: numberStep(PLAIN_NUMBER, scope.quote), kind };
    case 'boolean':
      return { step: booleanStep(scope.quote), kind };
    case 'date':
      return { step: isoDateStep('a date such as 2026-01-31', scope.quote), kind };
    default:
      return undefined;
  }
}

/**
 * Converts a value to the wanted kind if the conversion is obvious: a text is read as a number, a yes/no word or a
 * date in the usual way, and a single item becomes a list of one. The mapping must define every other conversion.
 */
export function coerce(scope: Scope, path: Path, from: TypedExpression, wanted: Kind): TypedExpression {
  if (from.kind === wanted) return placed(scope, from);
  if (`${from.kind}[]` === wanted) {
    const { read } = placed(scope, from);
    return {
      ...from,
      kind: wanted,
      read: (row, n) => {
        const item = read(row, n);
        return item === undefined || isList(item) ? item : [item];
      },
    };
  }
  const reading = readingStepFor(scope, from.kind, itemKind(wanted) ?? wanted);
  if (reading !== undefined) {
    const { read } = from;
    const steps = [reading.step];
    const changed: TypedExpression = {
      ...from,
      kind: reading.kind,
      certain: false,
      read: (row, n) => applySteps(steps, read(row, n), row, n),
    };
    return coerce(scope, path, changed, wanted);
  }
  if (wanted === 'text' && (from.kind === 'number' || from.kind === 'boolean')) {
    const { read } = placed(scope, from);
    return {
      ...from,
      kind: 'text',
      read: (row, n) => {
        const value = read(row, n);
        return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
      },
    };
  }
  scope.problems.add(path, `expected ${nameOfKind(wanted)} here, but this gives ${nameOfKind(from.kind)}`);
  return { ...from, kind: wanted, read: () => undefined };
}

/** Adds the row, and the column if only one is read, to an unreadable value. */
function placed(scope: Scope, from: TypedExpression): TypedExpression {
  if (from.certain) return from;
  const { read, sources } = from;
  const [name] = sources;
  const column = name === undefined || sources.size > 1 ? undefined : scope.columns.declared.get(name);
  return {
    ...from,
    read: (row, n) => {
      const found = attempt(read, row, n);
      if (!(found instanceof Unreadable)) return found;
      const slot = (column && slotOf(scope, column.name)) ?? column?.family?.slots.get(n);
      throw found.at(row.line, slot === undefined ? undefined : row.table.headers[slot]);
    },
  };
}

/** The resulting kind; undefined if the step does not accept the input. */
function kindAfter(step: Step, given: Kind) {
  if (step.takes === 'any') return step.gives(given);
  if (step.takes === 'text[]') return given === 'text[]' ? step.gives(given) : undefined;
  if (given === step.takes) return step.gives(given);
  if (itemKind(given) !== step.takes) return undefined;
  const item = step.gives(step.takes);
  return listKind(item);
}

/** Applies the steps to a value; steps that do not handle blanks are skipped for them. */
export function applySteps(steps: readonly Step[], from: Cell, row: SourceRow, n: number): Cell {
  let value = from;
  for (const step of steps) {
    value = value === undefined ? step.blank?.() : applyStep(step, value, row, n);
  }
  return value;
}

/** Applies a step to a value, or to each item of a list. */
function applyStep(step: Step, value: Present, row: SourceRow, n: number) {
  if (!isList(value) || step.takes === 'text[]') return step.run(row, n, value);
  const items: Item[] = [];
  for (const item of value) {
    // A blank part keeps its place.
    const result = item === '' ? item : step.run(row, n, item);
    if (result === undefined) continue;
    if (isList(result)) items.push(...result);
    else items.push(result);
  }
  return items.length === 0 ? undefined : items;
}

/** Compiles `text {column} text {param}`, blank if any of them is; `{value}` only within a pipeline. */
export function compileTemplate(
  scope: Scope,
  path: Path,
  written: string,
  hasValue: boolean,
): Expression<string | undefined> {
  // Every second piece is a name in braces.
  const pieces = written.split(/\{([^{}]*(?:\{n\}[^{}]*)?)\}/);
  const parts = pieces.flatMap((piece, index): Expression<string | undefined>[] => {
    if (index % 2 === 0) return piece === '' ? [] : [() => piece];
    return [
      hasValue && piece === 'value' ? (_row, _n, value) => String(value) : namedPart(scope, path, piece),
    ];
  });
  return (row, n, value) => {
    let text = '';
    for (const part of parts) {
      const filled = part(row, n, value);
      if (filled === undefined) return undefined;
      text += filled;
    }
    return text;
  };
}

function namedPart(scope: Scope, path: Path, name: string): Expression<string | undefined> {
  const named = namedAt(scope, path, name);
  switch (named?.kind) {
    case 'column':
      return readColumn(scope, path, named.slot);
    case 'family':
      return readMember(scope, path, named.family.slots);
    case 'param': {
      const text = String(named.value);
      return () => text;
    }
    case undefined:
      return () => undefined;
    default:
      return named satisfies never;
  }
}
