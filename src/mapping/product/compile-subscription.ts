import type { Subscription } from '../../model/mapped-record.ts';
import type { ProductRows, SourceRow } from '../record-rows.ts';
import { given, type Scope } from '../scope.ts';
import type { ProductSpec } from '../spec/product-spec.ts';
import { attempt, type Expression, refuse, Unreadable } from '../values/cell.ts';
import { compileCondition } from '../values/compile-condition.ts';
import { compileAs } from '../values/compile-value.ts';

type SubscriptionSpec = NonNullable<ProductSpec['subscription']>;
type Draft = { -readonly [Field in keyof Subscription]: Subscription[Field] };

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
  const isOne = given(spec.when, (when) => compileCondition(scope, [...path, 'when'], when));
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
    return given(spec[key], (value) => compileAs(scope, [...path, key], value, wanted).read);
  };
  const unit = read('periodUnit');
  const numbers = (['cycles', 'period', 'length'] as const).map((key) => ({ key, read: read(key) }));
  let part: keyof SubscriptionSpec = 'cycles';
  const billingOf = (row: SourceRow): Subscription | undefined => {
    const found: Draft = {};
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
