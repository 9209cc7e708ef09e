import { Decimal } from '../../model/decimal.ts';
import type { Path, Scope } from '../scope.ts';
import type { VariantsSpec } from '../spec/product-spec.ts';
import { formatOf } from '../transforms/number.ts';
import { readNumber } from '../transforms/read-number.ts';
import { type Expression, refuse, type TypedExpression } from '../values/cell.ts';
import { coerce, contextOf } from '../values/compile-steps.ts';
import { compileAs, compileValue } from '../values/compile-value.ts';
import weightUnits from './weight-units.json' with { type: 'json' };

/** The units in which a store may weigh. */
export type WeightUnit = 'g' | 'kg' | 'lb' | 'oz';

/** The units by their names in several languages, in lower case. */
const UNITS = new Map(
  weightUnits.flatMap(({ unit, grams, words }) =>
    words.split(' ').map((word) => [word, { unit, grams: Decimal.of(grams) }] as const),
  ),
);

function unitOf(word: string) {
  return UNITS.get(word) ?? UNITS.get(word.trim().toLowerCase().replace(/\.$/, ''));
}

/** The unit of weight that a word names, as mappings write it; undefined for other words. */
export function weightUnit(word: string): string | undefined {
  return unitOf(word)?.unit;
}

/** The longest name of a unit. */
const MAX_UNIT_LENGTH = 12;

/** Weights are sent with a precision of a millionth of the store's unit: further digits are noise of the conversion. */
const DIGITS = 6;
/** A quotient with more digits is rounded to 15 of them. */
const MAX_GRAMS = 1e15;

/** Compiles the weight of a variant into the store's unit. */
export function compileWeight(
  outer: Scope,
  path: Path,
  spec: NonNullable<VariantsSpec['weight']>,
  storeUnit: WeightUnit,
): Expression {
  const scope = { ...outer, field: 'variants.weight' };
  if (spec.unit === 'cell') return weightInCell(scope, path, spec, storeUnit);
  const { read } = compileAs(scope, [...path, 'value'], spec.value, 'number');
  const unit = compileUnit(scope, [...path, 'unit'], spec.unit, storeUnit);
  return (row, n) => {
    const value = read(row, n);
    if (typeof value !== 'number') return value;
    const named = unit(row, n);
    return typeof named === 'string'
      ? inStoreUnit(value, named, storeUnit, scope.quote)
      : refuse('weight-unit-missing', 'the weight has no unit');
  };
}

function compileUnit(scope: Scope, path: Path, written: string, storeUnit: WeightUnit): Expression {
  if (written === 'store') return () => storeUnit;
  if (unitOf(written) !== undefined) return () => written;
  return compileAs(scope, path, written, 'text').read;
}

function weightInCell(
  scope: Scope,
  path: Path,
  { value, number = {} }: NonNullable<VariantsSpec['weight']>,
  storeUnit: WeightUnit,
): Expression {
  const valuePath = [...path, 'value'];
  const written = compileValue(scope, valuePath, value);
  if (written.kind !== 'text') {
    scope.problems.add(valuePath, 'with unit: cell, expected the text with number and unit');
  }
  const commaAdvice = 'weight: { ..., unit: cell, number: { decimal: "," } }';
  const format = { ...formatOf(number, contextOf(scope, path)), commaAdvice };
  const weight: TypedExpression = {
    ...written,
    kind: 'number',
    certain: false,
    read: (row, n) => {
      const cell = written.read(row, n);
      if (typeof cell !== 'string') return cell;
      const unit = /(?<!\p{L})\p{L}+\.?$/u.exec(cell.slice(-MAX_UNIT_LENGTH))?.[0] ?? '';
      const digits = cell.slice(0, cell.length - unit.length).trim();
      const amount = /\p{Nd}/u.test(digits) ? readNumber(digits, format, scope.quote) : undefined;
      return typeof amount === 'number'
        ? inStoreUnit(amount, unit === '' ? storeUnit : unit, storeUnit, scope.quote)
        : refuse('weight-unreadable', `${scope.quote(cell)} is not a weight such as 0.5 kg`);
    },
  };
  return coerce(scope, valuePath, weight, 'number').read;
}

function inStoreUnit(weight: number, unit: string, storeUnit: WeightUnit, quote: (text: string) => string) {
  if (weight < 0) refuse('weight-negative', 'the weight is below 0');
  const from = unitOf(unit);
  const to = unitOf(storeUnit);
  if (from?.unit === storeUnit) return weight;
  // The usual case, without a decimal: a quotient of integers is the nearest number to it, as below.
  if (from?.unit === 'g' && storeUnit === 'kg' && Number.isInteger(weight) && weight < MAX_GRAMS)
    return weight / 1000;
  return from === undefined || to === undefined
    ? refuse('weight-unit-unknown', `${quote(unit)} is not a unit of weight; expected g, kg, lb or oz`)
    : Decimal.of(weight).times(from.grams).dividedBy(to.grams).rounded(DIGITS).toNumber();
}
