import type { ProductSpec } from '../../config/mapping/mapping-product.ts';
import type { Subscription } from '../../model/product.ts';
import type { Reason } from '../../model/reason.ts';
import type { RecordRows } from '../record-rows.ts';
import type { Scope } from '../scope.ts';
import { Unreadable } from '../values/cell.ts';
import { compileAs } from '../values/compile-value.ts';

/** Compiles recurring billing (storefront-api.md, section 2, Subscription); undefined where no cell says anything. */
export function compileSubscription(
  scope: Scope,
  spec: ProductSpec['subscription'],
): (rows: RecordRows) => Subscription | Reason | undefined {
  const fields = (['cycles', 'period', 'periodUnit'] as const).flatMap((key) => {
    const value = spec?.[key];
    const wanted = key === 'periodUnit' ? 'text' : 'number';
    return value === undefined
      ? []
      : [{ key, read: compileAs(scope, ['product', 'subscription', key], value, wanted).read }];
  });
  return ({ head }) => {
    if (head === undefined) {
      return undefined;
    }
    const found: { cycles?: number; period?: number; periodUnit?: string } = {};
    for (const { key, read } of fields) {
      const value = read(head, 0);
      if (value instanceof Unreadable) {
        return value.reason(`subscription.${key}`, head.line);
      }
      if (key === 'periodUnit') {
        if (typeof value === 'string') {
          found.periodUnit = value;
        }
      } else if (typeof value === 'number') {
        if (!Number.isSafeInteger(value) || value < 0) {
          return new Unreadable('not-an-integer', `${key} must be a whole number`).reason(
            `subscription.${key}`,
            head.line,
          );
        }
        found[key] = value;
      }
    }
    return Object.keys(found).length === 0 ? undefined : found;
  };
}
