import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, member, objectsIn, plainText, sumOf } from '../model/json-object.ts';
import {
  type DeferredRecord,
  type Mapped,
  type MappedRecord,
  type MappedRejection,
  membersOf,
  type Product,
  type ProductField,
  type ProductPatch,
  type UpdateMatch,
  VARIANT_MEMBERS,
  type VariantPatch,
  variantsDiffer,
} from '../model/mapped-record.ts';
import { PRODUCT_MEMBERS, type VariantStock } from '../model/operation.ts';
import type { DuplicatesFound, DuplicatesPolicy } from '../model/plan.ts';
import type { Reason } from '../model/reason.ts';
import { StateError } from '../model/storeferry-error.ts';
import { IN_DOUBT, type Ledger, type LedgerMark } from '../state/state.ts';
import { listed } from '../text/printable.ts';
import { type CopyGroup, CopySpool, CopyTally } from './copies/copy-spool.ts';
import { resolveCopies } from './copies/resolve-copies.ts';
import { fingerprintOf } from './shard-writer.ts';

/** A merged body has its members in this order, so that the same values always give the same text; those of a later version come last. */
const VARIANT_ORDER = ['options', ...VARIANT_MEMBERS];

/** A merged product, or why a patch cannot be merged into it. */
export type Merged = { readonly product: Product } | { readonly refused: Reason };

/**
 * The acknowledged product with the fields of the patches instead of its own; all other fields are unchanged. Variants are found
 * by SKU, else by options; a patch that names neither (blank cells) changes the only variant. Refused where a variant cannot be found, and
 * where two patches give the same field another value.
 */
export function patchProduct(
  acknowledged: JsonObject,
  patches: readonly ProductPatch[],
  advanced?: boolean,
  ownerOf: (sku: string) => string | undefined = () => undefined,
): Merged {
  const variants = variantsOf(acknowledged);
  const given = new Map<string, unknown>();
  const disagrees = (place: string, members: JsonObject) =>
    Object.entries(members).find(([name, value]) => {
      const before = given.has(place + name) ? given.get(place + name) : value;
      given.set(place + name, value);
      return !isDeepStrictEqual(before, value);
    })?.[0];
  let product = acknowledged;
  for (const { url: _key, variants: changes, ...fields } of patches) {
    const field = disagrees('', fields);
    if (field !== undefined) return { refused: disagreement(field) };
    product = { ...product, ...fields };
    for (const change of changes) {
      const { options = [], ...members } = change;
      if (options.length === 0 && Object.keys(members).length === 0) continue;
      const found = findVariant(variants, change);
      if (typeof found !== 'number') return { refused: found };
      const { sku } = members;
      const owner =
        sku === undefined || member(variants[found] ?? {}, 'sku') === sku ? undefined : ownerOf(sku);
      if (owner !== undefined) {
        const message = `the product '${owner}' has this SKU (${sku}), so this product would be the second; correct the row`;
        return { refused: { code: 'ambiguous-match', message, field: 'variants.sku' } };
      }
      const name = disagrees(`${found} `, members);
      if (name !== undefined) return { refused: disagreement(`variants.${name}`) };
      variants[found] = patchVariant(variants[found] ?? {}, members);
    }
  }
  return { product: withVariants(product, variants, advanced) };
}

/** A price without a sale ends an earlier sale. */
function patchVariant(variant: JsonObject, members: JsonObject): JsonObject {
  const { salePrice: _salePrice, ...rest } = variant;
  return inOrder({ ...('price' in members ? rest : variant), ...members }, VARIANT_ORDER);
}

/** The place of the variant that the patch changes, or why it is unclear. A SKU and options that name two variants name none. */
function findVariant(variants: readonly JsonObject[], { sku, options = [] }: VariantPatch): number | Reason {
  const places = (has: (variant: JsonObject) => boolean) =>
    variants.flatMap((variant, place) => (has(variant) ? [place] : []));
  const bySku = sku === undefined ? [] : places((variant) => skuOf(variant) === sku);
  const both = bySku.filter((place) => {
    const values = member(variants[place] ?? {}, 'options');
    // Blank cells name no option, so a part of the options is no contradiction if it has their order.
    let from = 0;
    return options.every((value) => {
      from = Array.isArray(values) ? values.indexOf(value, from) + 1 : 0;
      return from > 0;
    });
  });
  const byOptions = places((variant) => {
    const isAbout = options.length > 0 || sku === undefined || skuOf(variant) === undefined;
    return isAbout && isDeepStrictEqual(member(variant, 'options'), options);
  });
  const exact = both.filter((place) => byOptions.includes(place));
  const [first, ...others] = bySku.length === 0 ? byOptions : exact.length > 0 ? exact : both;
  if (first !== undefined && others.length === 0) return first;
  if (first !== undefined) {
    const message = `${others.length + 1} variants of the product have this ${bySku.length > 0 ? 'SKU' : 'combination of options'}; make it unique in the store, or name the options as well`;
    return { code: 'ambiguous-match', message, field: 'variants.sku' };
  }
  if (sku === undefined && options.length === 0) {
    if (variants.length === 1) return 0;
    const message = `the product has ${variants.length} variants, and the row does not say which; map variants.sku or options`;
    return { code: 'ambiguous-match', message, field: 'variants.sku' };
  }
  const named = listed([
    ...(sku === undefined ? [] : [`this SKU (${sku})`]),
    ...(options.length === 0 ? [] : [`these options (${options.join(', ')})`]),
  ]);
  const message = `the product has no variant with ${named}, but ${variantNames(variants)}; correct the row, or let the job that owns the product add the variant first`;
  return { code: 'no-match', message, field: sku === undefined ? 'options' : 'variants.sku' };
}

const VARIANTS_NAMED = 3;

/** `D-S (S, Red) and D-M (M, Red)`. */
function variantNames(variants: readonly JsonObject[]): string {
  const named = variants.slice(0, VARIANTS_NAMED).map((variant) => {
    const options = member(variant, 'options');
    const values = Array.isArray(options) ? options.join(', ') : '';
    return `${plainText(skuOf(variant) ?? 'one without a SKU')}${values === '' ? '' : ` (${values})`}`;
  });
  return listed(variants.length > VARIANTS_NAMED ? [...named, 'others'] : named);
}

function disagreement(field: string): Reason {
  const message = 'rows of one product give this field different values; make them equal, or keep one';
  return { code: 'rows-disagree', message, field };
}

/**
 * The product with these fields as the store last acknowledged them; a field that the acknowledged product lacks is left out. A variant
 * that the store does not have yet keeps its own. `advanced`: what the mapping says of the options.
 */
export function keepFields(
  product: JsonObject,
  acknowledged: JsonObject,
  keep: readonly ProductField[],
  advanced?: boolean,
): Product {
  const members = membersOf(keep, 'variants');
  const kept = replaced(product, acknowledged, membersOf(keep, 'product'));
  const known = counterparts(product, acknowledged);
  const variants = variantsOf(product).map((variant, place) => {
    const before = known[place];
    return before === undefined ? variant : inOrder(replaced(variant, before, members), VARIANT_ORDER);
  });
  return withVariants(kept, variants, advanced);
}

/** The variants of another version of a product that are those of this one: by SKU where it is unique, else by options. */
function counterparts(product: JsonObject, other: JsonObject): readonly (JsonObject | undefined)[] {
  const variants = variantsOf(product);
  const bySku = Map.groupBy(variantsOf(other), skuOf);
  const nowBySku = Map.groupBy(variants, skuOf);
  nowBySku.delete(undefined);
  const byOptions = Map.groupBy(variantsOf(other), optionsOf);
  const nowByOptions = Map.groupBy(variants, optionsOf);
  return variants.map((variant) => {
    const sku = skuOf(variant);
    const options = optionsOf(variant);
    const [only, ...others] = nowBySku.get(sku)?.length === 1 ? (bySku.get(sku) ?? []) : [];
    const [alike, ...doubles] = nowByOptions.get(options)?.length === 1 ? (byOptions.get(options) ?? []) : [];
    const oldSku = alike && skuOf(alike);
    // Its SKU is now that of another variant, which is therefore the one that the store has.
    const isOther = doubles.length > 0 || (oldSku !== sku && nowBySku.has(oldSku));
    return (others.length === 0 ? only : undefined) ?? (isOther ? undefined : alike);
  });
}

function optionsOf(variant: JsonObject) {
  return JSON.stringify(member(variant, 'options') ?? []);
}

/**
 * The stock that a product has in the store, by the places of its acknowledged variants, where it has another one. Left out is what a
 * store may answer of stock that is not tracked: 0 for none, and `null` where nobody has seen that it takes that (`takesNull`).
 */
export function stockInStore(body: string, answer: JsonObject, takesNull: boolean): VariantStock {
  const acknowledged: unknown = JSON.parse(body);
  return isJsonObject(acknowledged) ? answeredStock(acknowledged, answer, takesNull) : [];
}

function answeredStock(acknowledged: JsonObject, answer: JsonObject, takesNull: boolean): VariantStock {
  const found = counterparts(acknowledged, answer);
  return variantsOf(acknowledged).flatMap((variant, place): VariantStock => {
    const known = member(variant, 'quantity');
    const answered = member(found[place] ?? {}, 'quantity');
    const now = typeof answered === 'string' && answered.trim() !== '' ? Number(answered) : answered;
    if (now === null) return takesNull && typeof known === 'number' ? [[place, null]] : [];
    // Oversold, which a store may refuse to be told.
    const quantity = typeof now === 'number' ? Math.max(0, now) : Number.NaN;
    if (!Number.isInteger(quantity) || quantity === known) return [];
    return quantity === 0 && known === undefined ? [] : [[place, quantity]];
  });
}

/** Of this stock, found for the acknowledged product, what the product does not change, by the places of its own variants. */
export function unchangedStock(
  product: JsonObject,
  acknowledged: JsonObject,
  stock: VariantStock,
): VariantStock {
  const known = variantsOf(acknowledged);
  const inStore = new Map(stock.map(([place, quantity]) => [known[place], quantity]));
  const before = counterparts(product, acknowledged);
  return variantsOf(product).flatMap((variant, place): VariantStock => {
    const quantity = inStore.get(before[place]);
    const isChanged = member(variant, 'quantity') !== member(before[place] ?? {}, 'quantity');
    return quantity === undefined || isChanged ? [] : [[place, quantity]];
  });
}

/** The stock that this answer has of a product, where the body does not change the acknowledged one, by the places of the body's variants. */
export function currentStock(
  body: string,
  acknowledged: string,
  answer: JsonObject,
  takesNull: boolean,
): VariantStock {
  const [product, known]: unknown[] = [JSON.parse(body), JSON.parse(acknowledged)];
  if (!isJsonObject(product) || !isJsonObject(known)) return [];
  return unchangedStock(product, known, answeredStock(known, answer, takesNull));
}

/** The object with these members of the other, or without them where the other has none. */
function replaced(object: JsonObject, other: JsonObject, members: readonly string[]): JsonObject {
  const own = Object.entries(object).filter(([name]) => !members.includes(name));
  const others = members.filter((name) => Object.hasOwn(other, name)).map((name) => [name, other[name]]);
  return Object.fromEntries([...own, ...others]);
}

/** The SKU; undefined also for a blank one. */
function skuOf(variant: JsonObject): unknown {
  return member(variant, 'sku') || undefined;
}

function variantsOf(product: JsonObject): JsonObject[] {
  return [...objectsIn(product, 'variants')];
}

/** With these variants. An acknowledged body has the members of a `Product`; a later version of Storeferry may have added others. */
function withVariants(
  product: JsonObject,
  variants: readonly JsonObject[],
  advanced: boolean | undefined,
): Product {
  const options = advancedOptions(product, variants, advanced);
  const whole: Product = inOrder({ ...product, ...options, variants }, PRODUCT_MEMBERS);
  return whole;
}

/**
 * The options of a product that gets these variants. Where `advanced` is not what the product's own variants make of it, a mapping
 * said so: it stays, else two jobs would undo each other.
 */
function advancedOptions(
  product: JsonObject,
  variants: readonly JsonObject[],
  said: boolean | undefined,
): { readonly options?: readonly JsonObject[] } {
  const options = objectsIn(product, 'options');
  const before = variantsDiffer(variantsOf(product));
  const follows = options.every((option) => member(option, 'advanced') === before);
  if (options.length === 0 || (said === undefined && !follows)) return {};
  const advanced = said ?? variantsDiffer(variants);
  return { options: options.map((option) => ({ ...option, advanced })) };
}

function inOrder(object: JsonObject, order: readonly string[]) {
  const known = order.filter((name) => Object.hasOwn(object, name));
  const others = Object.keys(object).filter((name) => !order.includes(name));
  return Object.fromEntries([...known, ...others].map((name): unknown[] => [name, object[name]]));
}

/** What merging patches into acknowledged products needs. */
export interface UpdateOptions {
  readonly ledger: Ledger;
  /** The name of the job. */
  readonly name: string;
  readonly match: UpdateMatch;
  readonly duplicates: DuplicatesPolicy;
  readonly maxMerged: number;
  /** What the mapping says of `options[].advanced`. */
  readonly advanced: boolean | undefined;
  readonly signal: AbortSignal;
}

/** Products of one look-up in the ledger; with 500 their bodies take a few megabytes. */
const PRODUCTS_AT_ONCE = 500;

/** The records of an update job: each product once, with its patches merged into the body that the store acknowledged. */
export class UpdatePass {
  readonly #options: UpdateOptions;
  #copies = new CopyTally();

  constructor(options: UpdateOptions) {
    this.#options = options;
  }

  /** SKUs, urls or ids that occurred more than once; null when there were none. Complete when all records were read. */
  get duplicates(): DuplicatesFound | null {
    return this.#copies.found(this.#options.duplicates);
  }

  /**
   * Finds the product of each patch, and keeps the patches on disk until all are read, because the rows of a product may be
   * anywhere in the file. Then yields the merged products, in the order of their first rows. A patch without a product, or
   * one that cannot be merged, is rejected. Such a rejection has no key: a retry recognises its rows by their lines, even
   * if the key is corrected.
   */
  async *records(
    batches: AsyncIterable<readonly (Mapped | DeferredRecord)[]>,
  ): AsyncGenerator<readonly Mapped[]> {
    this.#copies = new CopyTally();
    using spool = new CopySpool();
    for await (const batch of batches) {
      const mapped = batch.map((item) => (item.kind === 'deferred' ? item.map() : item));
      const patches = mapped.filter((item) => item.kind === 'record');
      const keys = await this.#keysOf(patches.map(({ key }) => key));
      const left: Mapped[] = mapped.filter((item) => item.kind === 'skipped');
      for (const item of mapped) if (item.kind === 'rejected') left.push({ ...item, key: null });
      for (const [index, patch] of patches.entries()) {
        const [key, ...others] = keys[index] ?? [];
        if (key === undefined) left.push(rejection([patch], this.#noMatch()));
        else if (others.length > 0) left.push(rejection([patch], this.#ambiguous([key, ...others])));
        else {
          // Another patch of the product may have its other rows.
          const { partial: _, ...whole } = patch;
          spool.add(this.#unitOf(patch), whole, fingerprintOf(JSON.stringify(patch.body)), key);
        }
      }
      yield left;
    }
    for (const products = spool.owners(); ; ) {
      // `take` would end the iterator of the spool.
      const some = new Map<string, readonly CopyGroup[]>();
      while (some.size < PRODUCTS_AT_ONCE) {
        const { done, value } = products.next();
        if (done === true) break;
        some.set(value.owner, value.groups);
      }
      if (some.size === 0) return;
      this.#options.signal.throwIfAborted();
      yield await this.#merged(some);
      // SQLite calls are synchronous: signals and locks are processed here.
      await setImmediate();
    }
  }

  async #keysOf(values: readonly string[]): Promise<(readonly string[])[]> {
    const { ledger, match } = this.#options;
    if (match !== 'url') return await ledger.keysBy(match, values);
    const marks = await ledger.marks(values);
    return values.map((key, index) => (marks[index] === undefined ? [] : [key]));
  }

  /** Patches of one product with the same unit are copies; patches with other units change other variants. */
  #unitOf({ key, body }: MappedRecord): string {
    if (this.#options.match === 'sku' || !('variants' in body)) return key;
    return JSON.stringify(body.variants.map(({ sku, options }) => [sku, options]));
  }

  async #merged(products: ReadonlyMap<string, readonly CopyGroup[]>): Promise<Mapped[]> {
    const { ledger, name, advanced } = this.#options;
    const keys = [...products.keys()];
    const [marks, bodies] = [await ledger.marks(keys), await ledger.bodies(keys)];
    const inDoubt = keys.filter((_, index) => marks[index]?.fingerprint === IN_DOUBT);
    // A whole body overwrites what an earlier run of this job may have sent, and only that.
    const own = inDoubt.length === 0 ? new Set() : await ledger.doubtedOnlyBy(name, inDoubt);
    const found = [...products].map(([key, groups], index) => {
      const copies = groups.map((group) => this.#resolve(key, group));
      const patches = copies.flatMap(({ kept }) => kept);
      return { key, copies, patches, mark: marks[index], acknowledged: bodies[index] };
    });
    const skus = found.flatMap(({ patches, acknowledged = '' }) =>
      skusOf(patches).filter((sku) => !acknowledged.includes(JSON.stringify(sku))),
    );
    const owners = skus.length === 0 ? [] : await ledger.keysBy('sku', skus);
    const bySku = new Map(skus.map((sku, index) => [sku, owners[index]]));
    return found.flatMap(({ key, copies, patches, mark, acknowledged }) => {
      const ownerOf = (sku: string) => bySku.get(sku)?.find((owner) => owner !== key);
      return [
        ...copies.flatMap(({ left }) => left),
        ...mergedInto(key, patches, { mark, isOwn: own.has(key), advanced, ownerOf }, acknowledged),
      ];
    });
  }

  /** The patch of a unit that is sent, if any, and the copies that are left out. */
  #resolve(
    key: string,
    group: CopyGroup,
  ): { readonly kept: readonly MappedRecord[]; readonly left: readonly Mapped[] } {
    if (group.copies > 1) this.#copies.count(group);
    const kept: MappedRecord[] = [];
    const skipped: Mapped[] = [];
    const rejected: MappedRejection[] = [];
    const rules = { ...this.#options, resource: 'products', keyField: this.#options.match } as const;
    for (const { item } of resolveCopies(group, rules)) {
      if (item.kind === 'record') kept.push(item);
      else if (item.kind === 'skipped') skipped.push({ ...item, key });
      else rejected.push(item);
    }
    const [first] = rejected;
    return { kept, left: first === undefined ? skipped : [...skipped, rejection(rejected, first.reason)] };
  }

  #noMatch(): Reason {
    const { match } = this.#options;
    const message = `no product that Storeferry has sent to this store has this ${WORDS[match]}; correct it, or let another job send the product first`;
    return { code: 'no-match', message, field: FIELDS[match] };
  }

  #ambiguous(keys: readonly string[]): Reason {
    const { match } = this.#options;
    const named = keys.slice(0, 3).map((key) => `'${key}'`);
    const message = `${keys.length} products have this ${WORDS[match]}: ${named.join(', ')}${keys.length > 3 ? ' …' : ''}; make it unique in the store, or match by url`;
    return { code: 'ambiguous-match', message, field: FIELDS[match] };
  }
}

const WORDS = { sku: 'SKU', url: 'url', id: 'id' } as const satisfies Record<UpdateMatch, string>;
const FIELDS = { sku: 'variants.sku', url: 'url', id: 'id' } as const satisfies Record<UpdateMatch, string>;

function mergedInto(
  key: string,
  patches: readonly MappedRecord[],
  {
    mark,
    isOwn,
    advanced,
    ownerOf,
  }: {
    readonly mark: LedgerMark | undefined;
    readonly isOwn: boolean;
    readonly advanced: boolean | undefined;
    readonly ownerOf: (sku: string) => string | undefined;
  },
  body: string | undefined,
): readonly Mapped[] {
  if (patches.length === 0) return [];
  if (mark === undefined) return [rejection(patches, GONE)];
  if (mark.fingerprint === IN_DOUBT && !isOwn) return [rejection(patches, inDoubt(mark))];
  const acknowledged: unknown = JSON.parse(body ?? 'null');
  if (!isJsonObject(acknowledged)) {
    throw new StateError(
      `The state has lost the acknowledged product ${JSON.stringify(key)}: no fields can be merged into it.`,
      { hint: `Send everything again: storeferry run ${mark.job} --resend` },
    );
  }
  const merged = patchProduct(
    acknowledged,
    patches.map(({ body }) => body).filter((body) => 'variants' in body),
    advanced,
    ownerOf,
  );
  if ('refused' in merged) return [rejection(patches, merged.refused)];
  const notes = patches.flatMap((patch) => patch.notes ?? []);
  return [
    {
      kind: 'record',
      key,
      body: merged.product,
      ...together(patches),
      ...(notes.length !== 0 && { notes: [...new Set(notes)] }),
    },
  ];
}

/** The SKUs that patches name. */
function skusOf(patches: readonly MappedRecord[]): string[] {
  const variants = patches.flatMap(({ body }) => ('variants' in body ? body.variants : []));
  return variants.flatMap(({ sku }) => sku ?? []);
}

const GONE: Reason = {
  code: 'no-match',
  message: 'the product was deleted while the plan was made; plan again',
};

function inDoubt({ job }: LedgerMark): Reason {
  const message = `a run ended while it sent this product, so the store may have another version than the last acknowledged one: first send the whole product${job === '' ? '' : ` (storeferry run ${job})`}, then retry`;
  return { code: 'in-doubt', message };
}

function rejection(items: readonly Pick<MappedRecord, 'rows' | 'spans'>[], reason: Reason): MappedRejection {
  const line = reason.line ?? items[0]?.spans[0]?.from;
  return {
    kind: 'rejected',
    key: null,
    ...together(items),
    reason: line === undefined ? reason : { ...reason, line },
  };
}

function together(items: readonly Pick<MappedRecord, 'rows' | 'spans'>[]) {
  return {
    rows: sumOf(items, ({ rows }) => rows),
    spans: items.flatMap(({ spans }) => spans),
  };
}
