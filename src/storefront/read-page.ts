import { isJsonObject } from '../model/json-object.ts';
import { StoreRefusedError } from '../model/storeferry-error.ts';

/** Which items of a list: `limit` 1 to 50, `skip` from 0 (storefront-api.md, section 8). */
export interface PageQuery {
  readonly limit: number;
  readonly skip: number;
  /** Of orders: only those created since then, in seconds since the epoch, where a store takes that. */
  readonly createdAtMin?: number;
}

/** An item as the store sent it; only objects are accepted. */
export type PageItem = Readonly<Record<string, unknown>>;

/** Items of a list. Envelope values are null if the store sent none (a bare list). */
export type Page = ReturnType<typeof readPage>;

function count(value: unknown) {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** Real answers have a few levels; the code that reads and writes them is recursive. */
export const MAX_LEVELS = 100;

/** Reads a bare list or one in the envelope of section 8; StoreRefusedError for other content or excessive nesting. */
export function readPage(value: unknown, text: string, path: string) {
  if (isDeeperThan(text, MAX_LEVELS)) {
    throw new StoreRefusedError(
      `GET ${path}: the answer nests objects or lists more than ${MAX_LEVELS} levels deep`,
    );
  }
  const envelope: PageItem = isJsonObject(value) ? value : { items: value };
  const { items, totalCount, limit } = envelope;
  if (!Array.isArray(items) || !items.every(isJsonObject)) {
    throw new StoreRefusedError(
      `GET ${path}: expected a list of objects, or an object with "items", but got something else`,
    );
  }
  return {
    items,
    /** The items as the store wrote them, each on one line: numbers keep all their digits. */
    texts: () => arrayItemTexts(text),
    totalCount: count(totalCount),
    limit: count(limit),
  };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** `[` and `]` differ from `{` and `}` by this bit. */
const CURLY = 0x20;

/**
 * Whether objects and arrays of a JSON text are nested more than `most` levels deep, or are more than `mostContainers`. Recursive
 * code would overflow the stack on such a value.
 */
export function isDeeperThan(json: string, most: number, mostContainers = Number.POSITIVE_INFINITY): boolean {
  let depth = 0;
  let containers = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      for (at += 1; at < json.length && json.charCodeAt(at) !== QUOTE; at += 1) {
        if (json.charCodeAt(at) === BACKSLASH) at += 1;
      }
    } else if ((code & ~CURLY) === OPEN_BRACKET) {
      depth += 1;
      containers += 1;
      if (depth > most || containers > mostContainers) return true;
    } else if ((code & ~CURLY) === CLOSE_BRACKET) {
      depth -= 1;
    }
  }
  return false;
}

/**
 * The elements of the first array in a JSON text that is an array, or an object with an array as its member `items`.
 * Each element is text as the store wrote it, on one line: line breaks outside of strings mean nothing in JSON. The
 * text must be valid JSON.
 * Own code: JSON.parse with a reviver and JSON.rawJSON take 1.4 ms for a page of 50 orders (55 kB), this 0.17 ms.
 */
export function arrayItemTexts(json: string): string[] {
  const start = arrayStart(json);
  if (start < 0) return [];
  const texts: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start + 1; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++;
        break;
      case CLOSE_BRACE:
        depth--;
        break;
      case CLOSE_BRACKET:
        if (depth > 0) {
          depth--;
          break;
        }
        pushText(texts, json.slice(from, at));
        return texts;
      case COMMA:
        if (depth > 0) break;
        pushText(texts, json.slice(from, at));
        from = at + 1;
        break;
      default:
    }
  }
  return texts;
}

function pushText(texts: string[], text: string) {
  const line = text.trim().replaceAll(/[\r\n]+/g, ' ');
  if (line !== '') texts.push(line);
}

/** The offset of the closing quote of the string that begins at `start`. */
function endOfString(json: string, start: number) {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return json.length;
}

/** The bracket that opens the array: the text's own, or that of its last member `items`, as JSON.parse decides. */
function arrayStart(json: string) {
  const first = /\S/.exec(json.charCodeAt(0) === 0xfeff ? json.slice(1) : json)?.[0];
  if (first === '[') return json.indexOf('[');
  let found = -1;
  let depth = 0;
  let key: string | null = null;
  for (let at = json.indexOf('{'); at >= 0 && at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(json, at);
        if (depth === 1 && key === null) key = json.slice(at + 1, end);
        at = end;
        break;
      }
      case OPEN_BRACKET:
        if (depth === 1 && isItemsKey(key)) found = at;
        depth++;
        break;
      case OPEN_BRACE:
        depth++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case COMMA:
        if (depth === 1) key = null;
        break;
      default:
    }
  }
  return found;
}

function isItemsKey(key: string | null) {
  return key !== null && JSON.parse(`"${key}"`) === 'items';
}

/** A shorter text cannot take much memory, whatever it contains. */
const HARMLESS_LENGTH = 64 * 1_024;
/** Each takes up to 60 bytes of memory for two bytes of text. */
export const MAX_CONTAINERS = 1_000_000;

/**
 * The value of a JSON text, with or without a byte order mark; undefined for other text, and for a long one of more levels, or of
 * more objects and lists, than any answer has: parsing it would take fifty times its size.
 */
export function parseJson(body: string): { readonly value: unknown } | undefined {
  if (isExcessive(body)) return undefined;
  try {
    return { value: JSON.parse(body.charCodeAt(0) === 0xfeff ? body.slice(1) : body) };
  } catch {
    return undefined;
  }
}

/** Whether `parseJson` refuses a text without reading it. */
export function isExcessive(body: string): boolean {
  return body.length > HARMLESS_LENGTH && isDeeperThan(body, MAX_LEVELS, MAX_CONTAINERS);
}
