import type { PricingSpec } from '../../config/mapping/mapping-product.ts';
import type { Clock } from '../clock.ts';
import type { SourceRow } from '../rows.ts';
import type { Path, Scope } from '../scope.ts';
import { type Cell, isList, Moment, type Read, Unreadable } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';
import { compileCondition } from '../values/condition.ts';
import { addDecimals, roundDecimal } from './decimal.ts';

/** The four price fields of a variant, which follow from each other. `salePrice` is absent when there is no sale. */
export interface Prices {
  readonly price: number;
  readonly onSale: boolean;
  readonly regularPrice: number;
  readonly salePrice?: number;
}

/** The prices of a variant row. */
export interface Pricing {
  readonly read: (row: SourceRow) => Prices | Unreadable;
  /** Whether the file has the column of the price, and the row has no price of any kind: compare-at and sale neither. */
  readonly isBlank: (row: SourceRow) => boolean;
}

const DAY_MS = 86_400_000;

/** Compiles the pricing block. Dated sales are judged by the clock. */
export function compilePricing(outer: Scope, path: Path, spec: PricingSpec, clock: Clock): Pricing {
  const scope = { ...outer, field: 'variants.price' };
  const money = (key: 'was' | 'sale' | 'plus' | 'percent' | 'amount'): Read | undefined => {
    const value = spec[key];
    return value === undefined ? undefined : compileAs(scope, [...path, key], value, 'number').read;
  };
  const basis = spec.price ?? spec.regular;
  const base =
    basis === undefined
      ? undefined
      : compileAs(scope, [...path, spec.price === undefined ? 'regular' : 'price'], basis, 'number');
  const plus = money('plus');
  const was = money('was');
  const percent = money('percent');
  const amount = money('amount');
  const sale = money('sale');
  const onSale = compileSale(scope, path, spec, sale, clock);
  const pricesOf = (row: SourceRow): Prices | Unreadable => {
    const written = base?.read(row, 0);
    const basePrice = written === undefined ? missingPrice(scope, spec, row) : amountOf(written, 'price');
    if (basePrice instanceof Unreadable) return basePrice.at(row.line, undefined);
    const surcharge = plus === undefined ? 0 : numberOf(plus(row, 0));
    if (surcharge instanceof Unreadable) return surcharge.at(row.line, undefined);
    const price = surcharge === 0 ? basePrice : addDecimals(basePrice, surcharge);
    if (price < 0) {
      return new Unreadable('price-negative', 'the price with its surcharge is below 0', row.line);
    }
    const before = was?.(row, 0);
    if (before !== undefined) return compareAt(price, amountOf(before, 'compare-at price'), row);
    const reduced = onSale === undefined ? undefined : onSale(row);
    if (reduced !== undefined) {
      return reduced instanceof Unreadable ? reduced.at(row.line, undefined) : duringSale(price, reduced);
    }
    return discounted(price, percent?.(row, 0), amount?.(row, 0), row);
  };
  // Of a file without the column, nobody can say that its products have no price.
  const isThere = ({ table }: SourceRow) =>
    [...(base?.sources ?? [])].some(
      (name) => table.headers[scope.columns.declared.get(name)?.slot ?? -1] !== undefined,
    );
  return {
    read: pricesOf,
    isBlank: (row) =>
      base?.read(row, 0) === undefined &&
      [sale, was, plus].every((read) => read?.(row, 0) === undefined) &&
      isThere(row),
  };
}

function compareAt(price: number, was: number | Unreadable, row: SourceRow): Prices | Unreadable {
  if (was instanceof Unreadable) return was.at(row.line, undefined);
  return was > price ? { price, onSale: true, regularPrice: was, salePrice: price } : regular(price);
}

/** A sale price of 0 is how formats write that there is none; one that is no cheaper is no sale. */
function duringSale(price: number, sale: number): Prices {
  return sale > 0 && sale < price
    ? { price: sale, onSale: true, regularPrice: price, salePrice: sale }
    : regular(price);
}

function discounted(price: number, percent: Cell, amount: Cell, row: SourceRow): Prices | Unreadable {
  const share = numberOf(percent);
  const money = numberOf(amount);
  if (share instanceof Unreadable) return share.at(row.line, undefined);
  if (money instanceof Unreadable) return money.at(row.line, undefined);
  if (share === 0 && money === 0) return regular(price);
  if (share < 0 || share > 100 || money < 0 || money > price) {
    return new Unreadable(
      'discount-out-of-range',
      'the discount is below 0 or greater than the price',
      row.line,
    );
  }
  const sale = roundDecimal(price * (1 - share / 100) - money, price);
  return sale < price ? { price: sale, onSale: true, regularPrice: price, salePrice: sale } : regular(price);
}

function regular(price: number): Prices {
  return { price, onSale: false, regularPrice: price };
}

type Sale = (row: SourceRow) => number | undefined | Unreadable;

function compileSale(
  scope: Scope,
  path: Path,
  spec: PricingSpec,
  sale: Read | undefined,
  clock: Clock,
): Sale | undefined {
  if (sale === undefined) return undefined;
  const when = spec.when === undefined ? undefined : compileCondition(scope, [...path, 'when'], spec.when);
  const moment = (key: 'from' | 'to'): Read | undefined => {
    const value = spec[key];
    return value === undefined ? undefined : compileAs(scope, [...path, key], value, 'date').read;
  };
  const from = moment('from');
  const to = moment('to');
  const during =
    spec.during === undefined ? undefined : compileAs(scope, [...path, 'during'], spec.during, 'date[]').read;
  return (row) => {
    const price = sale(row, 0);
    if (price === undefined) return undefined;
    if (!(price instanceof Unreadable) && when !== undefined && !when(row, 0)) return undefined;
    const amount = amountOf(price, 'sale price');
    if (amount instanceof Unreadable) return amount;
    const both = during?.(row, 0);
    if (both instanceof Unreadable) return both;
    const begins = isList(both) ? both[0] : from?.(row, 0);
    const ends = isList(both) ? both[1] : to?.(row, 0);
    if (begins instanceof Unreadable) return begins;
    if (ends instanceof Unreadable) return ends;
    const begun = !(begins instanceof Moment) || clock.hasCome(begins.at);
    const over = ends instanceof Moment && clock.hasCome(ends.at + (ends.wholeDay ? DAY_MS : 0));
    return begun && !over ? amount : undefined;
  };
}

/** Blank is 0. */
function numberOf(cell: Cell): number | Unreadable {
  return cell instanceof Unreadable ? cell : typeof cell === 'number' ? cell : 0;
}

function amountOf(cell: Cell, what: string): number | Unreadable {
  const read = numberOf(cell);
  return typeof read === 'number' && read < 0
    ? new Unreadable('price-negative', `the ${what} is below 0`)
    : read;
}

function missingPrice(scope: Scope, spec: PricingSpec, row: SourceRow): Unreadable {
  const value = spec.price ?? spec.regular;
  const name = typeof value === 'string' ? value : Array.isArray(value) ? value[0] : undefined;
  const slot = typeof name === 'string' ? scope.columns.declared.get(name)?.slot : undefined;
  const header = slot === undefined ? undefined : row.table.headers[slot];
  return new Unreadable('price-missing', 'the price is blank', row.line, header);
}
