import { member, objectsIn } from '../model/json-object.ts';

/** By what a product is found besides its key: a SKU of its acknowledged body, or the id that the store answered. */
export type ProductHandle = 'sku' | 'id';

/** How many products the index reads at a time: their bodies are unpacked. */
export const INDEXED_AT_ONCE = 1_000;

/** As the index stores a SKU or an id: in one table, told apart by their beginnings. */
export function storedHandle(by: ProductHandle, value: string): string {
  return `${by} ${value}`;
}

/** All handles of a product, each once: of the SKUs of its body, as text, and of its id. */
export function handlesOf(body: string | undefined, id: number | null): readonly string[] {
  const skus = objectsIn(JSON.parse(body ?? 'null'), 'variants').map((variant) => member(variant, 'sku'));
  const handles = skus.filter((sku) => typeof sku === 'string').map((sku) => storedHandle('sku', sku));
  if (id !== null) handles.push(storedHandle('id', String(id)));
  // NUL separates them in Redis.
  return [...new Set(handles)].filter((handle) => !handle.includes('\0'));
}
