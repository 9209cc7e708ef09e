import type { Category, CategoryReference } from '../../model/mapped-record.ts';
import { lookupKey } from '../lookup-table.ts';
import { slugify } from '../transforms/slug.ts';
import { Unreadable } from '../values/cell.ts';

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
      throw new Unreadable(
        'category-ambiguous',
        `the store has ${best.length} categories of this name; name the levels above it in the source, or its id in a lookup table (product.categories.table)`,
      );
    }
    if (form === 'ids') {
      if (found !== undefined) return found.id;
      throw new Unreadable(
        'category-unknown',
        'the store has no category of this name, and takes only categories that it has; create it there first',
      );
    }
    return found === undefined || isMadeByName(found, name) ? undefined : found;
  };

  /** How many names of the path, from the leaf, are those of the category and its parents; 0 where one contradicts it. */
  function matchedLevels(category: StoreCategory, path: readonly string[]): number {
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

function isMadeByName({ name: known, url, parentCategory }: StoreCategory, name: string): boolean {
  return parentCategory === 0 && known === name && url === slugify(name);
}
