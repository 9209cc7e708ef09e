import { isJsonObject, member, objectsIn } from '../model/json-object.ts';

/** What identifies a product besides its key: a SKU of its acknowledged body, or the id that the store answered. */
export type ProductHandle = 'sku' | 'id';

/** Products that are indexed at a time. Limits memory, because their bodies are unpacked. */
export const INDEXED_AT_ONCE = 1_000;

/** A SKU or an id as the index stores it: both are in one table, so each has its kind as prefix. */
export function storedHandle(by: ProductHandle, value: string): string {
  return `${by} ${value}`;
}

/** Characters of url and title together that the index stores; the rest is not searched. */
const MAX_NAME_LENGTH = 500;
const NAME = 'name ';

/** The range of handles that hold url and title of a product in lower case, for searches by a part of them. */
export const NAME_HANDLES = { from: NAME, to: 'name!' } as const;

/** All handles of a product, each once: the SKUs of its body, as text, its id, and its name (`NAME_HANDLES`). */
export function handlesOf(key: string, body: string | undefined, id: number | null): readonly string[] {
  const product: unknown = JSON.parse(body ?? 'null');
  const skus = objectsIn(product, 'variants').map((variant) => member(variant, 'sku'));
  const handles = skus.filter((sku) => typeof sku === 'string').map((sku) => storedHandle('sku', sku));
  if (id !== null) handles.push(storedHandle('id', String(id)));
  const title = isJsonObject(product) ? member(product, 'title') : undefined;
  const name = `${key}\n${typeof title === 'string' ? title : ''}`;
  handles.push(`${NAME}${name.slice(0, MAX_NAME_LENGTH).toWellFormed().toLowerCase().replaceAll('\0', ' ')}`);
  // NUL separates them in Redis.
  return [...new Set(handles)].filter((handle) => !handle.includes('\0'));
}
