import type { Category } from '../../model/product.ts';
import { type LookupTable, lookupKey } from '../lookup-table.ts';
import type { RecordRows } from '../rows.ts';
import { type Path, resolveLookup, type Scope } from '../scope.ts';
import type { CategoriesSpec, ProductSpec } from '../spec/product-spec.ts';
import { slugify } from '../transforms/slug.ts';
import { splitText } from '../transforms/split.ts';
import { isList } from '../values/cell.ts';
import { compileField } from '../values/field.ts';

/** Reads the categories of a product; undefined where it has none. */
type CategoriesField = (rows: RecordRows) => readonly Category[] | undefined;

/**
 * Compiles the categories: of each path the last level, by name and handle, without a parent. Ids cannot be read
 * from the API (storefront-api.md has no look-up of categories); only a lookup table gives them.
 */
export function compileCategories(
  scope: Scope,
  path: Path,
  written: NonNullable<ProductSpec['categories']>,
): CategoriesField {
  const spec: CategoriesSpec = isCategories(written) ? written : { value: written };
  const valuePath = isCategories(written) ? [...path, 'value'] : path;
  const field = compileField(scope, valuePath, spec.value, { wanted: 'text[]', blank: 'leave-out' });
  const separators = spec.path === undefined ? [] : typeof spec.path === 'string' ? [spec.path] : spec.path;
  const except = new Set((spec.except ?? []).map((name) => name.toLowerCase()));
  const table = spec.table === undefined ? undefined : resolveLookup(scope, [...path, 'table'], spec.table);
  return (rows) => {
    const paths = field(rows);
    if (!isList(paths)) return undefined;
    const byUrl = new Map<string, Category>();
    for (const item of paths) {
      const levels =
        separators.length === 0 ? [String(item)] : splitText(String(item), separators, { escapedBy: '\\' });
      const name = levels.at(-1);
      if (
        name === undefined ||
        except.has(name.toLowerCase()) ||
        (spec.root === false && levels.length < 2)
      ) {
        continue;
      }
      const category = known(table, levels, name) ?? { name, url: slugify(name), parentCategory: 0 };
      if (category.url !== '' && !byUrl.has(category.url)) byUrl.set(category.url, category);
    }
    return byUrl.size === 0 && paths.length > 0 ? undefined : [...byUrl.values()];
  };
}

function isCategories(written: NonNullable<ProductSpec['categories']>): written is CategoriesSpec {
  return (
    typeof written === 'object' &&
    !Array.isArray(written) &&
    ('path' in written || 'root' in written || 'table' in written || 'except' in written)
  );
}

/** The category as a lookup table has it, by its whole path (levels joined by ' > ') or by its name. */
function known(
  table: LookupTable | undefined,
  levels: readonly string[],
  name: string,
): Category | undefined {
  const row = table?.rows.get(lookupKey(levels.join(' > '))) ?? table?.rows.get(lookupKey(name));
  if (row === undefined) return undefined;
  const id = Number(row.get('id') || Number.NaN);
  const parent = Number(row.get('parentCategory') ?? 0);
  return {
    ...(Number.isSafeInteger(id) ? { id } : {}),
    name: row.get('name') || name,
    url: row.get('url') || slugify(row.get('name') || name),
    parentCategory: Number.isSafeInteger(parent) ? parent : 0,
  };
}
