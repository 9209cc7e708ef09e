import type { ProductSpec } from '../../config/mapping/mapping-product.ts';
import type { ProductMappingSpec } from '../../config/mapping/mapping-spec.ts';
import { PRODUCT_TYPES, type ProductType } from '../../model/product.ts';
import type { Reason } from '../../model/reason.ts';
import type { RecordRows, SourceRow } from '../rows.ts';
import type { Scope } from '../scope.ts';
import { Unreadable } from '../values/cell.ts';
import { compileCondition, type Test } from '../values/condition.ts';
import { compileField, type Field } from '../values/field.ts';

export type TypeOf = (
  rows: RecordRows,
  variantRows: readonly SourceRow[],
  hasFile: boolean,
) => ProductType | Reason;

/** As the mapping says; else digital with a file, service when nothing of it is shipped, else physical. */
export function compileType(scope: Scope, { product }: ProductMappingSpec): TypeOf {
  const unshipped =
    product.unshipped === undefined
      ? undefined
      : compileCondition(scope, ['product', 'unshipped'], product.unshipped);
  const said = compileSaidType(scope, product.type);
  return (rows, variantRows, hasFile) => {
    const named = said(rows, variantRows);
    if (named !== undefined) {
      return named instanceof Unreadable ? named.reason('type', rows.head?.line) : named;
    }
    if (hasFile) return 'digital';
    return unshipped !== undefined && variantRows.every((row) => unshipped(row, 0)) ? 'service' : 'physical';
  };
}

function compileSaidType(
  scope: Scope,
  type: ProductSpec['type'],
): (rows: RecordRows, variantRows: readonly SourceRow[]) => ProductType | Unreadable | undefined {
  if (type === undefined) return () => undefined;
  if (isByCondition(type)) {
    const tests: { readonly name: ProductType; readonly test: Test }[] = [];
    for (const name of PRODUCT_TYPES) {
      const condition = type.is[name];
      if (condition !== undefined) {
        tests.push({ name, test: compileCondition(scope, ['product', 'type', 'is', name], condition) });
      }
    }
    const met = (rows: readonly SourceRow[]) =>
      tests.find(({ test }) => rows.length > 0 && rows.every((row) => test(row, 0)))?.name;
    return ({ head }, variantRows) => met(head === undefined ? [] : [head]) ?? met(variantRows);
  }
  const field: Field = compileField(scope, ['product', 'type'], type, { wanted: 'text', blank: 'leave-out' });
  return (rows) => {
    const found = field(rows);
    if (found === undefined || found instanceof Unreadable) return found;
    return (
      PRODUCT_TYPES.find((name) => name === found) ??
      new Unreadable('type-unknown', `expected one of ${PRODUCT_TYPES.join(', ')}`)
    );
  };
}

type TypeSpec = NonNullable<ProductSpec['type']>;

function isByCondition(type: TypeSpec): type is Extract<TypeSpec, { readonly is: unknown }> {
  return typeof type === 'object' && !Array.isArray(type) && 'is' in type;
}
