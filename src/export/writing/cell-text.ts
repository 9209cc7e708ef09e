import { exactStringify, exactText, isMembers } from '../exact-json.ts';

/** Between the values of a list in one cell. */
const BETWEEN = '; ';

/**
 * A value of an order as one cell: text and numbers as they are, nothing for null, a list of them joined by `; `, and
 * JSON for whatever is nested deeper.
 */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return listText(value);
  if (isMembers(value)) return Object.keys(value).length === 0 ? '' : exactStringify(value);
  return exactText(value) ?? '';
}

function listText(values: readonly unknown[]): string {
  if (values.some((value) => Array.isArray(value) || isMembers(value))) return exactStringify(values);
  return values.map(cellText).join(BETWEEN);
}

/**
 * The value that a column names within an order. Within a list a number chooses one (`items.0.sku`, from 0), a name
 * takes that of each (`items.sku`). Undefined where there is none.
 */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(value)) {
    if (/^\d+$/.test(name)) return valueAt(value[Number(name)], rest);
    const values = value.map((element: unknown) => valueAt(element, path));
    return values.some((element) => element !== undefined) ? values : undefined;
  }
  if (!isMembers(value) || !Object.hasOwn(value, name)) return undefined;
  return valueAt(value[name], rest);
}
