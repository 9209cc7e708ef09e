import { Decimal } from '../../model/decimal.ts';
import type { Mutable } from '../../model/json-object.ts';
import type { Subscription } from '../../model/mapped-record.ts';
import type { JudgedDates } from '../../model/plan.ts';
import { checkConverted } from '../currency-watch.ts';
import { roundPrice } from '../price-rules.ts';
import type { ProductRows, SourceRow } from '../record-rows.ts';
import { mapDefined, type Path, type Scope, slotOf } from '../scope.ts';
import type { PricingSpec, ProductSpec } from '../spec/product-spec.ts';
import { convertedFrom } from '../transforms/convert.ts';
import {
  attempt,
  type Cell,
  type Expression,
  isList,
  isPresent,
  Moment,
  refuse,
  Unreadable,
} from '../values/cell.ts';
import { compileCondition } from '../values/compile-condition.ts';
import { applySteps, coerce, compileSteps, compileTemplate } from '../values/compile-steps.ts';
import { compileAs, headerOf } from '../values/compile-value.ts';

/** The four price fields of a variant, which depend on each other. `salePrice` is absent without a sale. */
export interface Prices {
  readonly price: number;
  readonly onSale: boolean;
  readonly regularPrice: number;
  readonly salePrice?: number;
}

/** The prices of a variant row. */
export type Pricing = ReturnType<typeof compilePricing>;

/** Compiles the pricing block. Dated sales depend on the time. */
export function compilePricing(outer: Scope, path: Path, spec: PricingSpec, clock: Clock) {
  const convertsFrom = (spec.rule ?? []).flatMap((step) => convertedFrom(step) ?? [])[0];
  const scope = { ...outer, field: 'variants.price', convertsFrom };
  const ofAmounts = { ...scope, readsAmounts: true };
  const money = (key: 'was' | 'sale' | 'plus' | 'percent' | 'amount'): Expression | undefined => {
    const of = key === 'percent' ? scope : ofAmounts;
    return mapDefined(spec[key], (value) => compileAs(of, [...path, key], value, 'number').read);
  };
  const base = mapDefined(spec.price ?? spec.regular, (value) =>
    compileAs(ofAmounts, [...path, spec.price === undefined ? 'regular' : 'price'], value, 'number'),
  );
  const plus = money('plus');
  const was = money('was');
  const percent = money('percent');
  const amount = money('amount');
  const sale = money('sale');
  const onSale = compileSale(scope, path, spec, sale, clock);
  const ruled = compileRule({ ...ofAmounts, convertsFrom: undefined }, path, spec.rule);
  const checkCurrency = compileCurrency(scope, path, spec);
  const missingPrice = (row: SourceRow): never =>
    refuse('price-missing', 'the price is blank', row.line, base && headerOf(scope, base.sources, row));
  const pricesOf = (row: SourceRow): Prices => {
    checkCurrency(row, 0);
    const written = base?.read(row, 0);
    const basePrice = written === undefined ? missingPrice(row) : amountOf(written, 'price');
    const surcharge = plus === undefined ? 0 : numberOf(plus(row, 0));
    const price = surcharge === 0 ? basePrice : Decimal.of(basePrice).plus(Decimal.of(surcharge)).toNumber();
    if (price < 0) refuse('price-negative', 'the price with its surcharge is below 0');
    const before = was?.(row, 0);
    if (before !== undefined) return compareAt(price, amountOf(before, 'compare-at price'));
    const reduced = onSale?.(row, 0);
    if (reduced !== undefined) return duringSale(price, reduced);
    return discounted(
      price,
      numberOf(percent?.(row, 0)),
      numberOf(amount?.(row, 0)),
      scope.currencies.ofStore,
    );
  };
  // A file without the column does not show that its products have no price.
  const isThere = ({ table }: SourceRow) =>
    [...(base?.sources ?? [])].some((name) => table.headers[slotOf(scope, name) ?? -1] !== undefined);
  const others = [base?.read, sale, was, plus].filter((read) => read !== undefined);
  return {
    read: (row: SourceRow): Prices => ruled(pricesOf(row), row),
    /**
     * Whether the file has the column of the price, and the row has no price of any kind, neither compare-at nor sale
     * price.
     */
    isBlank: (row: SourceRow): boolean => !others.some((read) => isPresent(read, row, 0)) && isThere(row),
  };
}

/** Checks the currency that a column or a header says. */
function compileCurrency(scope: Scope, path: Path, { currency }: PricingSpec): Expression {
  const { currencies, convertsFrom } = scope;
  if (currency === undefined) {
    return () => {
      currencies.price();
      return undefined;
    };
  }
  const written = compileAs(scope, [...path, 'currency'], currency, 'text');
  const from = mapDefined(convertsFrom, (one) => compileTemplate(scope, [...path, 'rule'], one, false));
  const checked = (row: SourceRow) => {
    currencies.price();
    const word = written.read(row, 0);
    if (typeof word !== 'string') return undefined;
    if (from === undefined) currencies.check(word);
    else checkConverted(word, from(row, 0) ?? '');
    return word;
  };
  return coerce(scope, path, { ...written, certain: false, read: checked }, 'text').read;
}

function compareAt(price: number, was: number): Prices {
  return was > price ? { price, onSale: true, regularPrice: was, salePrice: price } : regular(price);
}

/** Formats write a sale price of 0 for none; a sale price that is not lower is not a sale. */
function duringSale(price: number, sale: number): Prices {
  return sale > 0 && sale < price ? compareAt(sale, price) : regular(price);
}

function discounted(price: number, percent: number, amount: number, currency: string | undefined): Prices {
  if (percent === 0 && amount === 0) return regular(price);
  const exact = Decimal.of(price);
  const share = Decimal.of(100).minus(Decimal.of(percent)).times(Decimal.of(0.01));
  const left = roundPrice(exact.times(share).minus(Decimal.of(amount)), exact, currency).toNumber();
  if (percent < 0 || percent > 100 || amount < 0 || left < 0) {
    refuse('discount-out-of-range', 'the discount is below 0 or greater than the price');
  }
  return compareAt(left, price);
}

function regular(price: number): Prices {
  return { price, onSale: false, regularPrice: price };
}

/**
 * The rule of prices, for the regular price and the sale price of a row: first the source says whether there is a sale,
 * and last the prices that the rule gives, which may be equal.
 */
function compileRule(
  scope: Scope,
  path: Path,
  rule: PricingSpec['rule'],
): (prices: Prices, row: SourceRow) => Prices {
  if (rule === undefined) return (prices) => prices;
  const written = rule.map((transform, index) => ({ path: [...path, 'rule', index], transform }));
  const { steps, kind } = compileSteps(scope, 'number', written);
  if (kind !== 'number') scope.problems.add([...path, 'rule'], 'expected steps that give a number');
  const last = rule.at(-1);
  const isRounded = typeof last === 'object' && ('round' in last || 'convert' in last);
  const calculate = (price: number, row: SourceRow) => {
    const applied = applySteps(steps, price, row, 0);
    if (typeof applied !== 'number') {
      return refuse('price-rule-blank', 'a number that the price rule calculates with is blank', row.line);
    }
    const result = isRounded
      ? applied
      : roundPrice(Decimal.of(applied), Decimal.of(price), scope.currencies.ofStore).toNumber();
    if (result < 0) refuse('price-negative', 'the price rule gives a price below 0', row.line);
    if (result === 0 && price > 0) {
      refuse('price-rounded-to-zero', 'the price rule makes 0 of a price above 0', row.line);
    }
    return result;
  };
  const through = (price: number, row: SourceRow) =>
    scope.trace?.evaluate([...path, 'rule'], row, () => calculate(price, row), false, price) ??
    calculate(price, row);
  return ({ price, onSale, regularPrice }, row) =>
    onSale ? compareAt(through(price, row), through(regularPrice, row)) : regular(through(price, row));
}

function compileSale(
  scope: Scope,
  path: Path,
  spec: PricingSpec,
  sale: Expression | undefined,
  clock: Clock,
): Expression<number | undefined> | undefined {
  if (sale === undefined) return undefined;
  const when = mapDefined(spec.when, (condition) => compileCondition(scope, [...path, 'when'], condition));
  const moment = (key: 'from' | 'to') =>
    mapDefined(spec[key], (value) => compileAs(scope, [...path, key], value, 'date').read);
  const from = moment('from');
  const to = moment('to');
  const during = mapDefined(
    spec.during,
    (value) => compileAs(scope, [...path, 'during'], value, 'date[]').read,
  );
  return (row) => {
    const price = sale(row, 0);
    if (price === undefined || when?.(row, 0) === false) return undefined;
    const amount = amountOf(price, 'sale price');
    const both = during?.(row, 0);
    const begins = isList(both) ? both[0] : from?.(row, 0);
    const ends = isList(both) ? both[1] : to?.(row, 0);
    const begun = !(begins instanceof Moment) || clock.hasCome(begins.at);
    const over = ends instanceof Moment && clock.hasCome(ends.end());
    return begun && !over ? amount : undefined;
  };
}

/** Blank is 0. */
function numberOf(cell: Cell) {
  return typeof cell === 'number' ? cell : 0;
}

function amountOf(cell: Cell, what: string) {
  const read = numberOf(cell);
  return read < 0 ? refuse('price-negative', `the ${what} is below 0`) : read;
}

type SubscriptionSpec = NonNullable<ProductSpec['subscription']>;

/**
 * Compiles recurring billing (storefront-api.md, section 2, Subscription): that of the head row, otherwise of the variant rows. If the mapping declares a product as a
 * subscription but its billing is unknown, the product is rejected: otherwise it would be charged once.
 */
export function compileSubscription(
  outer: Scope,
  spec: SubscriptionSpec,
): Expression<Subscription | undefined, ProductRows> {
  const path = ['product', 'subscription'];
  const scope = { ...outer, field: 'subscription' };
  const billingOf = compileBilling(scope, path, spec);
  const isOne = mapDefined(spec.when, (when) => compileCondition(scope, [...path, 'when'], when));
  return ({ record: { head }, variantRows }) => {
    const rows = head === undefined ? variantRows : [head, ...variantRows.filter((row) => row !== head)];
    const meant = isOne === undefined ? rows : rows.filter((row) => isOne(row, 0));
    const [first] = meant;
    if (first === undefined) return undefined;
    let found: Subscription | undefined;
    for (const row of meant) {
      const billing = billingOf(row, 0);
      if (billing === undefined) continue;
      if (found !== undefined && JSON.stringify(billing) !== JSON.stringify(found)) {
        const message =
          'its variants are billed in different ways, but the store bills each product in one way';
        refuse('subscription-differs', message, row.line);
      }
      found = billing;
    }
    if (found !== undefined || isOne === undefined) return found;
    const message =
      'it is a subscription, but the file does not say how often it is billed: export it with these columns';
    return refuse('subscription-unknown', message, first.line);
  };
}

/** The billing data of one row; undefined if it has none. */
function compileBilling(
  scope: Scope,
  path: readonly string[],
  spec: SubscriptionSpec,
): Expression<Subscription | undefined> {
  const read = (key: 'cycles' | 'length' | 'period' | 'periodUnit'): Expression | undefined => {
    const wanted = key === 'periodUnit' ? 'text' : 'number';
    return mapDefined(spec[key], (value) => compileAs(scope, [...path, key], value, wanted).read);
  };
  const unit = read('periodUnit');
  const numbers = (['cycles', 'period', 'length'] as const).map((key) => ({ key, read: read(key) }));
  let part: keyof SubscriptionSpec = 'cycles';
  const billingOf = (row: SourceRow): Subscription | undefined => {
    const found: Mutable<Subscription> = {};
    let length: number | undefined;
    for (const { key, read: readNumber } of numbers) {
      part = key;
      const value = readNumber?.(row, 0);
      if (typeof value !== 'number') continue;
      if (!Number.isSafeInteger(value) || value < 0)
        refuse('not-an-integer', `${key} must be a whole number`);
      if (key === 'length') length = value;
      else found[key] = value;
    }
    part = 'periodUnit';
    const named = unit?.(row, 0);
    if (typeof named === 'string') found.periodUnit = named;
    if (Object.keys(found).length === 0) return undefined;
    // A length of 0 has no end, and so no number of cycles.
    if (length !== undefined && length > 0) {
      part = 'length';
      found.cycles = length / (found.period ?? 1);
      if (!Number.isSafeInteger(found.cycles)) {
        refuse('not-an-integer', 'the length must be a whole number of periods');
      }
    }
    return found;
  };
  return (row) => {
    const found = attempt(billingOf, row, 0);
    if (found instanceof Unreadable) throw found.in(`subscription.${part}`).at(row.line);
    return found;
  };
}

/** The moment at which a source was staged, which also records what was judged by it. */
export class Clock {
  /** Whether a date was judged since this was last set to false. */
  asked = false;
  readonly #now: number;
  #since = Number.NEGATIVE_INFINITY;
  #until = Number.POSITIVE_INFINITY;

  /** In milliseconds since the epoch. */
  constructor(now: number) {
    this.#now = now;
  }

  /** Whether that moment has come, in milliseconds since the epoch. */
  hasCome(moment: number): boolean {
    this.asked = true;
    const has = moment <= this.#now;
    if (has) this.#since = Math.max(this.#since, moment);
    else this.#until = Math.min(this.#until, moment);
    return has;
  }

  /** The interval in which every date would be judged the same; null if none was judged. */
  judged(): JudgedDates | null {
    const [since, until] = [this.#since, this.#until].map((at) => (Number.isFinite(at) ? at : null));
    if (since == null && until == null) return null;
    return { since: since ?? null, until: until ?? null };
  }
}
