import { type JsonObject, member, objectsIn } from '../model/json-object.ts';
import { openTemporaryDatabase } from '../state/sqlite/open-row-scratch.ts';

/**
 * By what two products are the same, the surest first: the url, the SKUs of all variants, title and pictures, the title, a SKU of
 * some variant.
 */
export const MATCH_KINDS = ['url', 'skus', 'pictures', 'title', 'sku'] as const;
export type MatchKind = (typeof MATCH_KINDS)[number];

/** How sure a match is, from 0 to 1. */
export const MATCH_SCORES: Readonly<Record<MatchKind, number>> = {
  url: 1,
  skus: 0.95,
  pictures: 0.9,
  title: 0.8,
  sku: 0.5,
};
/** A match below it, like one of several, is for a person to decide. */
const MIN_CERTAIN_SCORE = 0.8;
/** A handle of more products identifies none of them, like a SKU `n/a`. */
const MAX_CANDIDATES = 5;

/** A known product that a new one may be. */
export interface MatchCandidate {
  readonly key: string;
  readonly by: MatchKind;
}

/** What a new product is: with one candidate and `isCertain`, that one; else it may be any of them. */
interface ProductMatch {
  readonly key: string;
  readonly candidates: readonly MatchCandidate[];
  readonly isCertain: boolean;
}

/**
 * Matches new products with known ones: what only one of either side has identifies it. In a temporary SQLite database: on disk
 * when they are many, and gone with the process.
 */
export class ProductMatcher implements Disposable {
  readonly #database = openTemporaryDatabase(`
      CREATE TABLE handles (
        kind TEXT NOT NULL, value TEXT NOT NULL, is_new INTEGER NOT NULL, key TEXT NOT NULL,
        PRIMARY KEY (kind, value, is_new, key)) WITHOUT ROWID;
      CREATE INDEX handles_of_key ON handles (key, is_new);
    `);
  readonly #kinds: readonly MatchKind[];
  readonly #trustsSkus: boolean;
  readonly #insert;
  readonly #sharing;
  readonly #handles;

  /** `kinds`: by what they are matched. `trustsSkus`: products of which all SKUs are others are not the same by title or pictures. */
  constructor(kinds: readonly MatchKind[], trustsSkus = false) {
    this.#trustsSkus = trustsSkus;
    this.#kinds = MATCH_KINDS.filter((kind) => kinds.includes(kind));
    this.#insert = this.#database.prepare('INSERT OR IGNORE INTO handles VALUES (?, ?, ?, ?)');
    this.#sharing = this.#database.prepare(
      `SELECT key FROM handles WHERE kind = ? AND value = ? AND is_new = ? ORDER BY key LIMIT ${MAX_CANDIDATES + 1}`,
    );
    this.#handles = this.#database.prepare('SELECT kind, value FROM handles WHERE key = ? AND is_new = ?');
  }

  addNew(key: string, body: JsonObject): void {
    for (const [kind, value] of handlesOf(key, body, this.#kinds)) this.#insert.run(kind, value, 1, key);
  }

  /** Adds a known product if a new one, added before, shares a handle with it; whether it does. */
  addKnown(key: string, body: JsonObject): boolean {
    const handles = handlesOf(key, body, this.#kinds);
    if (handles.every(([kind, value]) => this.#sharing.get(kind, value, 1) === undefined)) return false;
    for (const [kind, value] of handles) this.#insert.run(kind, value, 0, key);
    return true;
  }

  /** The new products that may be known ones; all others have no match. */
  matches(): ProductMatch[] {
    const news = this.#database.prepare(
      `SELECT DISTINCT new.key AS key FROM handles AS new
       JOIN handles AS known ON known.kind = new.kind AND known.value = new.value AND known.is_new = 0
       WHERE new.is_new = 1 ORDER BY 1`,
    );
    const found = news.all().map((row) => {
      const key = String(row['key']);
      return { key, candidates: this.#candidatesOf(key) };
    });
    const owners = new Map<string, string>();
    for (const by of this.#kinds) {
      for (const { key, candidates } of found) {
        const [first] = candidates;
        if (first?.by === by && first.isOnly && !owners.has(first.key)) owners.set(first.key, key);
      }
    }
    return found.flatMap(({ key, candidates }): ProductMatch[] => {
      const [first] = candidates;
      if (first !== undefined && owners.get(first.key) === key)
        return [{ key, candidates: [first], isCertain: true }];
      // What has other SKUs, and is another product by a surer match, is not this one.
      const open = candidates.filter((one) => !(one.hasOtherSkus && owners.has(one.key)));
      return open.length === 0 ? [] : [{ key, candidates: open, isCertain: false }];
    });
  }

  /** The surest first. */
  #candidatesOf(key: string): Candidate[] {
    const handles = this.#handlesOf(key, true);
    const skus = handles.filter(([kind]) => kind === 'sku');
    const candidates: Candidate[] = [];
    for (const by of this.#kinds) {
      for (const [, value] of handles.filter(([kind]) => kind === by)) {
        const [known, news] = [this.#keysWith(by, value, 0), this.#keysWith(by, value, 1)];
        if (known.length > MAX_CANDIDATES || news.length > MAX_CANDIDATES) continue;
        const isUnique = known.length === 1 && news.length === 1 && MATCH_SCORES[by] >= MIN_CERTAIN_SCORE;
        for (const other of known) {
          if (candidates.some((one) => one.key === other)) continue;
          if (this.#trustsSkus && by !== 'url' && areUnlike(handles, this.#handlesOf(other, false))) continue;
          const hasOtherSkus = by === 'title' && this.#hasOtherSkus(other, skus);
          candidates.push({ key: other, by, isOnly: isUnique && !hasOtherSkus, hasOtherSkus });
        }
      }
    }
    return candidates;
  }

  #keysWith(kind: string, value: string, isNew: 0 | 1): string[] {
    return this.#sharing.all(kind, value, isNew).map((row) => String(row['key']));
  }

  #handlesOf(key: string, isNew: boolean): (readonly [kind: string, value: string])[] {
    return this.#handles
      .all(key, isNew ? 1 : 0)
      .map((row) => [String(row['kind']), String(row['value'])] as const);
  }

  /** Whether both products have SKUs, and none in common. */
  #hasOtherSkus(known: string, skus: readonly (readonly [string, string])[]): boolean {
    const own = new Set(
      this.#handlesOf(known, false).flatMap(([kind, value]) => (kind === 'sku' ? [value] : [])),
    );
    return own.size > 0 && skus.length > 0 && skus.every(([, value]) => !own.has(value));
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

type Handles = readonly (readonly [kind: string, value: string])[];

/** Whether both have an SKU for each variant, and none is, or contains, one of the other: `SS-12`, `ss12` and `DE-SS-12` are alike. */
function areUnlike(product: Handles, other: Handles) {
  const known = foldedSkus(other);
  return foldedSkus(product).every((sku) => !known.some((one) => one.includes(sku) || sku.includes(one)));
}

/** Without case and punctuation; an empty one, which is like any other, where a variant has none. */
function foldedSkus(handles: Handles): readonly string[] {
  const skus: readonly string[] = JSON.parse(handles.find(([kind]) => kind === 'skus')?.[1] ?? '[""]');
  return skus.map((sku) =>
    sku
      .normalize('NFKC')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]/gu, ''),
  );
}

interface Candidate extends MatchCandidate {
  /** The match is certain enough, its handle is that of one product on each side, and their SKUs do not differ. */
  readonly isOnly: boolean;
  readonly hasOtherSkus: boolean;
}

/** What identifies a product, as far as it has it. */
function handlesOf(
  key: string,
  body: JsonObject,
  kinds: readonly MatchKind[],
): (readonly [kind: MatchKind, value: string])[] {
  const variants = variantSkus(body).map((sku) => sku.normalize());
  const skus = [...new Set(variants.filter((sku) => sku !== ''))].sort();
  const title = textOf(member(body, 'title')).normalize('NFKC').toLowerCase().replaceAll(/\s+/g, ' ');
  const images = member(body, 'images');
  const pictures = Array.isArray(images)
    ? images.map((image) => textOf(image).normalize()).filter((image) => image !== '')
    : [];
  const handles: Readonly<Record<MatchKind, readonly string[]>> = {
    url: [key.normalize()],
    skus: skus.length > 0 && !variants.includes('') ? [JSON.stringify(skus)] : [],
    pictures: title !== '' && pictures.length > 0 ? [JSON.stringify([title, ...pictures.sort()])] : [],
    title: title === '' ? [] : [title],
    sku: skus,
  };
  return kinds.flatMap((kind) => handles[kind].map((value) => [kind, value] as const));
}

function textOf(value: unknown) {
  return typeof value === 'string' ? value.trim() : '';
}

/** The SKU of each variant; empty where it has none. */
function variantSkus(body: JsonObject) {
  return objectsIn(body, 'variants').map((variant) => textOf(member(variant, 'sku')));
}

/** The SKUs of a product as they are written, each once. */
export function skusOf(body: JsonObject): readonly string[] {
  return [...new Set(variantSkus(body))].filter((sku) => sku !== '');
}
