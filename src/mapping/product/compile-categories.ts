import type { Category, CategoryReference } from '../../model/mapped-record.ts';
import { type LookupTable, lookupKey } from '../lookup-table.ts';
import type { RecordRows } from '../record-rows.ts';
import { mapDefined, type Path, resolveLookup, type Scope } from '../scope.ts';
import type { CategoriesSpec, ProductSpec } from '../spec/product-spec.ts';
import { splitText } from '../transforms/list-transforms.ts';
import { slugify } from '../transforms/slug.ts';
import { type Expression, isList, refuse } from '../values/cell.ts';
import { compileField } from '../values/compile-value.ts';
import { onOneLine } from './picture-addresses.ts';

/**
 * Compiles the categories: the last level of each path, by name and handle, without a parent, as the API document has them. Ids and
 * parents come from a lookup table, else from the store where it lists its categories.
 */
export function compileCategories(
  scope: Scope,
  path: Path,
  written: NonNullable<ProductSpec['categories']>,
  ofStore: StoreCategories | undefined,
): Expression<readonly CategoryReference[] | undefined, RecordRows> {
  const spec: CategoriesSpec = isCategories(written) ? written : { value: written };
  const valuePath = isCategories(written) ? [...path, 'value'] : path;
  const field = compileField(scope, valuePath, spec.value, 'text[]');
  const separators = spec.path === undefined ? [] : typeof spec.path === 'string' ? [spec.path] : spec.path;
  const except = new Set((spec.except ?? []).map((name) => name.toLowerCase()));
  const table = mapDefined(spec.table, (name) => resolveLookup(scope, [...path, 'table'], name));
  const findInStore = mapDefined(ofStore, categoryFinder);
  return (rows) => {
    const paths = field(rows, 0);
    if (!isList(paths)) return undefined;
    const found = new Map<string | number, CategoryReference>();
    for (const item of paths) {
      const levels =
        separators.length === 0 ? [String(item)] : splitText(String(item), separators, { escapedBy: '\\' });
      const name = mapDefined(levels.at(-1), onOneLine);
      if (
        name === undefined ||
        except.has(name.toLowerCase()) ||
        (spec.root === false && levels.length < 2)
      ) {
        continue;
      }
      const category = known(table, levels, name) ??
        findInStore?.(levels, name) ?? { name, url: slugify(name), parentCategory: 0 };
      const by = typeof category === 'number' ? category : (category.id ?? category.url);
      const same = found.get(by);
      if (by === '') scope.notes.push('categories: no url can be made of the name, left out');
      else if (same === undefined) found.set(by, category);
      if (typeof same === 'object' && signsOf(same.name) !== signsOf(name))
        scope.notes.push('categories: another one of the product has the same url, left out');
    }
    return found.size === 0 && paths.length > 0 ? undefined : [...found.values()];
  };
}

/** Differs where names differ in more than case, accents and punctuation. */
function signsOf(name: string) {
  return slugify(name, '+#*@%!?$€£=<>~^°');
}

function isCategories(written: NonNullable<ProductSpec['categories']>): written is CategoriesSpec {
  return (
    typeof written === 'object' &&
    !Array.isArray(written) &&
    ('path' in written || 'root' in written || 'table' in written || 'except' in written)
  );
}

/** The category in a lookup table, by its whole path (levels joined by ' > ') or by its name. */
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
    ...(Number.isSafeInteger(id) && { id }),
    name: row.get('name') || name,
    url: row.get('url') || slugify(row.get('name') || name),
    parentCategory: Number.isSafeInteger(parent) ? parent : 0,
  };
}

/** A category as the store lists it; `parentCategory` is 0 at the top. */
interface StoreCategory extends Category {
  readonly id: number;
}

/** The categories of a store, and how it takes those of a product, as a probe has seen it. */
export interface StoreCategories {
  readonly list: readonly StoreCategory[];
  readonly form: 'objects' | 'ids';
}

/**
 * Finds a category of the store by a path of names, leaf last: by as much of the path as the store has. A category under another
 * parent than the path names is not the same. Undefined where the store has none, so that it is sent by its name; one that the store
 * would make of the name alone is also left to its name, so that nothing changes once the store has made it.
 * @throws Unreadable (by the function that it returns) where several are meant equally well, and where the store takes ids only and has
 * none.
 */
export function categoryFinder({
  list,
  form,
}: StoreCategories): (levels: readonly string[], name: string) => CategoryReference | undefined {
  const byId = new Map(list.map((category) => [category.id, category]));
  const byName = Map.groupBy(list, ({ name }) => lookupKey(name));
  return (levels, name) => {
    const path = [...levels.slice(0, -1), name].map(lookupKey).reverse();
    let best: StoreCategory[] = [];
    let bestMatched = 0;
    for (const category of byName.get(lookupKey(name)) ?? []) {
      const matched = matchedLevels(category, path);
      if (matched === 0 || matched < bestMatched) continue;
      best = matched === bestMatched ? [...best, category] : [category];
      bestMatched = matched;
    }
    const [found, ...others] = best;
    if (others.length > 0) {
      refuse(
        'category-ambiguous',
        `the store has ${best.length} categories of this name; name the levels above it in the source, or its id in a lookup table (product.categories.table)`,
      );
    }
    if (form === 'ids') {
      if (found !== undefined) return found.id;
      refuse(
        'category-unknown',
        'the store has no category of this name, and takes only categories that it has; create it there first',
      );
    }
    return found === undefined || isMadeByName(found, name) ? undefined : found;
  };

  /** How many names of the path, from the leaf, are those of the category and its parents; 0 where one contradicts it. */
  function matchedLevels(category: StoreCategory, path: readonly string[]) {
    let matched = 0;
    let at: StoreCategory | undefined = category;
    for (const name of path) {
      if (at === undefined) break;
      if (lookupKey(at.name) !== name) return 0;
      matched += 1;
      at = byId.get(at.parentCategory);
    }
    return matched;
  }
}

function isMadeByName({ name: known, url, parentCategory }: StoreCategory, name: string) {
  return parentCategory === 0 && known === name && url === slugify(name);
}
