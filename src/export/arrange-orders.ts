import { createHmac } from 'node:crypto';
import type { ExportJob } from '../config/job/job.ts';
import { pathKey } from '../model/json-object.ts';
import { pathOf, pathsOverlap, timeOfDate } from '../model/mapped-record.ts';
import { DestinationError } from '../model/storeferry-error.ts';
import { listed } from '../text/printable.ts';
import { exactJson, exactStringify, exactText, isPlainObject } from './exact-json.ts';
import { CHANGE_FIELD } from './export-position.ts';

/**
 * The value of a column within an order. In a list a number selects one item (`items.0.sku`, from 0), a name selects
 * this member of each (`items.sku`). Undefined if there is none.
 */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(value)) {
    if (/^\d+$/.test(name)) return valueAt(value[Number(name)], rest);
    const values = value.map((element: unknown) => valueAt(element, path));
    return values.some((element) => element !== undefined) ? values : undefined;
  }
  if (!isPlainObject(value) || !Object.hasOwn(value, name)) return undefined;
  return valueAt(value[name], rest);
}

type Orders = AsyncIterable<readonly string[]>;

/** Orders, as JSON, that have the values of the job's `filter`. */
export async function* filterOrders(orders: Orders, { filter }: ExportJob): Orders {
  const wanted = Object.entries(filter ?? {}).map(([path, values]) => ({
    path: pathOf(path),
    texts: new Set([values].flat().map(String)),
  }));
  for await (const batch of orders) {
    if (wanted.length === 0) yield batch;
    else
      yield batch.filter((order) => {
        const fields = exactJson(order);
        return wanted.every(({ path, texts }) =>
          [valueAt(fields, path)].flat().some((value) => texts.has(exactText(value) ?? '')),
        );
      });
  }
}

/** Orders, as JSON, as the lines of the job have them: masked, and one for each item where it says `rows: items`. */
export async function* arrangeOrders(orders: Orders, { mask = {}, rows }: ExportJob): Orders {
  const masks = Object.entries(mask).map(([path, way]) => ({ path: pathOf(path), way }));
  if (masks.length === 0 && rows !== 'items') {
    yield* orders;
    return;
  }
  for await (const batch of orders) {
    yield batch.flatMap((order) => {
      const masked = masks.reduce((value, { path, way }) => maskedAt(value, path, way), exactJson(order));
      return (rows === 'items' ? itemsOf(masked) : [masked]).map(exactStringify);
    });
  }
}

/** The order once for each of its items, which takes the place of the list; once without any. */
function itemsOf(order: unknown) {
  if (!isPlainObject(order) || !Array.isArray(order['items'])) return [order];
  const { items, ...rest } = order;
  return items.length === 0 ? [rest] : items.map((item: unknown) => ({ ...order, items: item }));
}

/**
 * Reads all orders for the fields that the job names, and gives a note for each place that names some which no order has.
 * DestinationError where an order spells a masked field in other letter case.
 */
export async function noteUnknownFields(orders: Orders, job: ExportJob): Promise<string[]> {
  const { mask = {}, filter = {}, columns = [], rows } = job;
  const pathsOf = (names: readonly string[]) => new Map(names.map((name) => [name, pathOf(name)]));
  const masks = pathsOf(Object.keys(mask));
  const masked = new Set([...masks.values()].map(pathKey));
  const read = columns.map(({ path }) => [path, timeOfDate(pathOf(path)) ?? pathOf(path)] as const);
  const isWritten = (found: readonly string[]) =>
    read.length === 0 || read.some(([, path]) => pathsOverlap(path, found));
  const unknown = {
    mask: new Map(masks),
    filter: pathsOf(Object.keys(filter)),
    columns: new Map(read.filter(([name]) => name !== CHANGE_FIELD)),
  };
  const unmet = new Map(
    Object.entries(filter).map(([name, values]) => {
      const texts = new Set([values].flat().map(String));
      return [name, { path: pathOf(name), texts, found: new Set<string>() }];
    }),
  );
  let count = 0;
  for await (const batch of orders) {
    if (masked.size === 0 && unmet.size === 0 && unknown.columns.size === 0) return [];
    count += batch.length;
    for (const text of batch) {
      const order = exactJson(text);
      for (const [name, path] of masks)
        for (const found of spellingsOf(order, path)) {
          if (!masked.has(pathKey(found)) && isWritten(found))
            throw new DestinationError(
              `The orders have a field ${found.join('.')}, which \`mask\` names as ${name}: it would not be masked.`,
              { hint: 'Write it under `mask` in the job as the orders do.' },
            );
          unknown.mask.delete(name);
        }
      for (const [name, path] of unknown.filter)
        if (valueAt(order, path) !== undefined) unknown.filter.delete(name);
      for (const [name, { path, texts, found }] of unmet)
        for (const value of [valueAt(order, path)].flat()) {
          const text = exactText(value) ?? '';
          if (texts.has(text)) unmet.delete(name);
          else if (text !== '' && found.size < MAX_VALUES_KEPT) found.add(text);
        }
      const lines = rows === 'items' && unknown.columns.size > 0 ? itemsOf(order) : [order];
      for (const [name, path] of unknown.columns) {
        if (lines.some((line) => valueAt(line, path) !== undefined)) unknown.columns.delete(name);
      }
    }
  }
  if (count === 0) return [];
  const absent = Object.entries(unknown)
    .filter(([, { size }]) => size > 0)
    .map(
      ([key, names]) => `No order has ${[...names.keys()].join(', ')}, as \`${key}\` of the job names it.`,
    );
  for (const [name, { texts, found }] of unmet)
    if (found.size > 0)
      absent.push(
        `No order that was read has ${name} ${[...texts].join(' or ')}, as \`filter\` of the job writes it${meantWords(name, texts, found)}.`,
      );
  return absent;
}

const MAX_VALUES_KEPT = 1_000;
const MAX_VALUES_NAMED = 12;
/** Fields whose values are no data of persons. */
const KINDS = /(?:status|state|currency|type|method|channel)$/i;

/** What the orders have instead: the same in another spelling, or all values of a field that says of which kind an order is. */
function meantWords(name: string, texts: ReadonlySet<string>, found: ReadonlySet<string>) {
  const alike = (text: string) =>
    text.trim() === '' || Number.isNaN(Number(text)) ? text.trim().toLowerCase() : Number(text);
  const wanted = new Set([...texts].map(alike));
  const meant = [...found].filter((text) => wanted.has(alike(text)));
  if (meant.length > 0) return `; they have ${listed(meant)}`;
  const isShort = KINDS.test(name) && found.size <= MAX_VALUES_NAMED;
  return isShort ? `; they have ${listed([...found].sort())}` : '';
}

/** The paths of the values that a mask of this path has, whatever the case of their names. */
function* spellingsOf(value: unknown, path: readonly string[]): Generator<string[]> {
  const [name, ...rest] = path;
  if (name === undefined) yield [];
  else if (Array.isArray(value)) {
    const isIndex = /^\d+$/.test(name);
    for (const part of isIndex ? value.slice(Number(name), Number(name) + 1) : value)
      for (const found of spellingsOf(part, isIndex ? rest : path)) yield isIndex ? [name, ...found] : found;
  } else if (isPlainObject(value))
    for (const [own, part] of Object.entries(value))
      if (own.toLowerCase() === name.toLowerCase())
        for (const found of spellingsOf(part, rest)) yield [own, ...found];
}

type Mask = NonNullable<ExportJob['mask']>[string];

function maskedAt(value: unknown, path: readonly string[], way: Mask): unknown {
  const [name, ...rest] = path;
  if (Array.isArray(value)) {
    if (name === undefined || !/^\d+$/.test(name))
      return value.map((part: unknown) => maskedAt(part, path, way));
    return value.map((part: unknown, at) => (at === Number(name) ? maskedAt(part, rest, way) : part));
  }
  if (isPlainObject(value)) {
    // Whatever a masked field contains is masked.
    const names = name === undefined ? Object.keys(value) : [name].filter((one) => Object.hasOwn(value, one));
    const changed = names.map((one) => [one, maskedAt(value[one], rest, way)]);
    return { ...value, ...Object.fromEntries(changed) };
  }
  const text = name === undefined ? exactText(value) : undefined;
  return text === undefined || text === '' ? value : maskedText(text, way);
}

function maskedText(text: string, way: Mask) {
  if (way === 'redact') return '***';
  if ('key' in way) return createHmac('sha256', way.key).update(text).digest('hex');
  const characters = Array.from(text);
  // A short text would be left whole.
  return characters.length <= way.keepLast ? '***' : `***${characters.slice(-way.keepLast).join('')}`;
}
