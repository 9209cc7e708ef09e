import { isJsonObject, type JsonObject } from '../../../src/model/json-object.ts';
import type { Outcome } from '../../../src/model/operation.ts';
import {
  type Expectation,
  expectDeleted,
  expectProduct,
  expectSameProduct,
  expectUpdatedProduct,
  reportsFailure,
} from '../../../src/storefront/proof.ts';

/** What an answer is that is none: of a proxy, or of another request. */
export const LIES = ['[]', 'null', 'no body', 'a failure as text', 'another product', 'an id alone'] as const;

/** What becomes of an operation at the store; retries are in it. */
export type Fate =
  | { readonly kind: 'done' }
  /** The product has got another id since. */
  | { readonly kind: 'renumbered' }
  /** A 4xx; before it an attempt may have `arrived`, `lost` its way, or there was `none`. */
  | { readonly kind: 'refused'; readonly before: 'none' | 'arrived' | 'lost' }
  /** Certainly not done. */
  | { readonly kind: 'unsent' }
  /** No answer: it arrived, or it did not. */
  | { readonly kind: 'unanswered'; readonly arrived: boolean }
  /** No answer in time: the store is at work on it until somebody waits for its end. */
  | { readonly kind: 'at-work'; readonly lands: boolean }
  | { readonly kind: 'lie'; readonly lie: (typeof LIES)[number]; readonly arrived: boolean };

/** Who sends for which key. */
export interface SentBy {
  readonly job: string;
  readonly key: string;
  /** Sent only to learn the id of a product that is to be deleted. */
  readonly isLookUp?: boolean;
  /** Sent only to look at a product: what is unknown of it stays so. */
  readonly isTouch?: boolean;
}

/** What a store does beyond the document, as its probe says. */
export interface StoreProfile {
  /** Without a probe, whole products are sent. */
  readonly isProbed: boolean;
  /** An upsert, or an update by id, leaves the fields alone that it does not have; else products are replaced. */
  readonly keepsByUrl: boolean;
  readonly keepsById: boolean;
  readonly reads: boolean;
  /** The probe has seen that it answers all fields as they were sent. */
  readonly unaltered: boolean;
}

/** A field that somebody has changed by hand and that nobody has sent since. */
export interface HandEdit {
  /** As JSON. */
  readonly value: string;
  readonly at: number;
  /** When the first answer that has shown it was in the state. */
  knownAt: number | null;
}

/** How somebody changes a product by hand. */
export const BY_HAND = ['title', 'description', 'variants', 'create', 'remove'] as const;

/** The fields of all products. */
const FIELDS = ['type', 'title', 'description', 'options', 'variants', 'hidden'];

interface Product {
  id: number;
  fields: Map<string, unknown>;
  /** Fields that somebody outside has changed since they were last sent: no client can know what they hold. */
  readonly unknown: Set<string>;
  readonly edits: Map<string, HandEdit>;
  /** Jobs whose upserts have taken effect since it was created. */
  readonly senders: Set<string>;
  /** The job whose upsert was acknowledged last. */
  acknowledged: string | null;
  /** Urls that it had before renames by its id. */
  readonly earlierUrls: Set<string>;
}

interface Late {
  readonly keys: readonly string[];
  readonly lands: boolean;
  readonly takeEffect: () => void;
}

const REASON = { code: 'model', message: 'as the history says' };

/**
 * A store in memory, which knows the truth: what it holds, who has sent it, and which of it somebody else has touched. Products are found by
 * their url, in lower case where it normalises.
 */
export class SimulatedStore {
  readonly #products = new Map<string, Product>();
  readonly #normalises: boolean;
  readonly profile: StoreProfile;
  readonly #next: () => number;
  /** Urls that somebody outside has created or removed since anything was last sent to them: no client can know what they hold. */
  readonly #unknown = new Set<string>();
  /** Urls whose product has an id that no answer has shown. */
  readonly #unansweredIds = new Set<string>();
  readonly #removedByHand = new Set<string>();
  readonly #everEdited = new Map<string, Set<string>>();
  #late: Late[] = [];
  #lastId = 100;
  /** Deletes of products that were not their sender's. */
  readonly strangersDeleted: string[] = [];
  /** The keys, old and new, of renames by id that were refused because another product has the new url. */
  readonly refusedMoves = new Set<string>();

  /** `next` gives the present moment, each call a later one. */
  constructor(normalises: boolean, profile: StoreProfile, next: () => number) {
    this.#normalises = normalises;
    this.profile = profile;
    this.#next = next;
  }

  /** In which fields what it holds for the key differs from a body, or from nothing (null), as far as a client can know. */
  differences(key: string, body: string | null, leaveOut: readonly string[] = []): readonly string[] {
    const url = this.#url(key);
    if (this.#unknown.has(url)) return [];
    const product = this.#products.get(url);
    if (product === undefined) return body === null ? [] : ['nothing'];
    if (body === null) return ['a product'];
    const expected = objectIn(body);
    const names = [...new Set([...Object.keys(expected), ...product.fields.keys()])];
    return names.filter(
      (name) =>
        name !== 'url' &&
        !leaveOut.includes(name) &&
        !product.unknown.has(name) &&
        JSON.stringify(product.fields.get(name)) !== JSON.stringify(expected[name]),
    );
  }

  /** What was changed by hand in the product of the key, by field. */
  editsOf(key: string): ReadonlyMap<string, HandEdit> {
    return this.#products.get(this.#url(key))?.edits ?? new Map();
  }

  /** The changes by hand that a request would overwrite; `id`: of an update by id. */
  editsOverwritten(key: string, body: string, id: number | null): ReadonlyMap<string, HandEdit> {
    const product = id === null ? this.#products.get(this.#url(key)) : this.#byId(id);
    if (product === undefined) return new Map();
    const sent = objectIn(body);
    const replaces = id === null && !this.profile.keepsByUrl;
    return new Map(
      [...product.edits].filter(([field, { value }]) =>
        Object.hasOwn(sent, field) ? JSON.stringify(sent[field]) !== value : replaces,
      ),
    );
  }

  /** Whether somebody has ever given the field of the key this value by hand, or any. */
  wasEdited(key: string, field: string, value?: string): boolean {
    const edits = this.#everEdited.get(`${this.#url(key)} ${field}`);
    return edits !== undefined && (value === undefined || edits.has(value));
  }

  idOf(key: string): number | undefined {
    return this.#products.get(this.#url(key))?.id;
  }

  /** The outcome of an upsert, as the storefront gives it. */
  upsert(sent: SentBy, body: string, fate: Fate): Outcome {
    const takeEffect = () => this.#put(sent, body);
    const outcome = this.#outcome(fate, sent, takeEffect, expectProduct(sent.key, body), () =>
      this.answer(sent.key),
    );
    if (outcome.kind === 'applied') this.#acknowledge(sent);
    return outcome;
  }

  /** The outcome of an update by id, as the storefront gives it. */
  update(sent: SentBy, id: number, body: string, fate: Fate): Outcome {
    const answersIt = fate.kind === 'done' || fate.kind === 'renumbered';
    if (answersIt && this.#byId(id) === undefined) return { kind: 'rejected', reason: REASON, absent: true };
    const takeEffect = () => this.takeEffectOfUpdate(sent, id, body);
    const isRenumbered = fate.kind === 'renumbered';
    const expected = expectUpdatedProduct(id, sent.key);
    const now = isRenumbered ? ({ kind: 'done' } as const) : fate;
    const outcome = this.#outcome(now, sent, takeEffect, expected, () => this.answer(sent.key));
    if (outcome.kind === 'applied') this.#acknowledge(sent);
    if (isRenumbered) this.renumber(sent.key);
    return outcome;
  }

  /** The outcome of an update by id that also changes the url, as the storefront gives it; `from`: the key before. */
  move(sent: SentBy, from: string, id: number, body: string, fate: Fate): Outcome {
    const answersIt = fate.kind === 'done' || fate.kind === 'renumbered';
    if (answersIt && this.#byId(id) === undefined) return { kind: 'rejected', reason: REASON, absent: true };
    if (answersIt && this.#isTaken(sent.key, id)) {
      for (const key of [sent.key, from]) this.refusedMoves.add(key);
      return { kind: 'rejected', reason: REASON };
    }
    const takeEffect = () => this.takeEffectOfMove(sent, from, id, body);
    const isRenumbered = fate.kind === 'renumbered';
    const expected = expectSameProduct(id, sent.key, body);
    const now = isRenumbered ? ({ kind: 'done' } as const) : fate;
    const outcome = this.#outcome(now, sent, takeEffect, expected, () => this.answer(sent.key), [from]);
    if (outcome.kind === 'applied') this.#acknowledge(sent);
    if (isRenumbered) this.renumber(sent.key);
    return outcome;
  }

  #isTaken(key: string, id: number): boolean {
    const there = this.#products.get(this.#url(key));
    return there !== undefined && there.id !== id;
  }

  #acknowledge({ key, job, isTouch = false }: SentBy): void {
    const url = this.#url(key);
    this.#unansweredIds.delete(url);
    // What a comparison has made again, it removes again, and the ledger does not learn its id.
    if (!isTouch) this.#removedByHand.delete(url);
    const product = this.#products.get(url);
    if (product !== undefined) product.acknowledged = job;
  }

  /** The outcome of a delete, as the storefront gives it. */
  delete(sent: SentBy, id: number, fate: Fate): Outcome {
    const takeEffect = () => this.#remove(sent, id);
    return this.#outcome(fate, sent, takeEffect, expectDeleted(id), () => ({ success: true, message: '' }));
  }

  /** A request whose process has died: the store may still work on it. */
  leaveLate(keys: readonly string[], lands: boolean, takeEffect: () => void): void {
    this.#late.push({ keys, lands, takeEffect });
  }

  /** After a long enough wait nothing of the key is at work any more. */
  waitFor(keys: readonly string[]): void {
    const isDue = (late: Late) => late.keys.some((key) => keys.includes(key));
    const due = this.#late.filter(isDue);
    this.#late = this.#late.filter((late) => !isDue(late));
    for (const { lands, takeEffect } of due) if (lands) takeEffect();
  }

  /** One request that was at work takes effect now. */
  landOne(which: number): void {
    const at = this.#late.length === 0 ? 0 : which % this.#late.length;
    const [late] = this.#late.splice(at, 1);
    if (late?.lands) late.takeEffect();
  }

  landAll(): void {
    while (this.#late.length > 0) this.landOne(0);
  }

  /** Somebody changes, creates or removes a product by hand. */
  touch(key: string, how: (typeof BY_HAND)[number]): void {
    const url = this.#url(key);
    const product = this.#products.get(url);
    switch (how) {
      case 'remove':
        this.#unknown.add(url);
        this.#removedByHand.add(url);
        this.#unansweredIds.delete(url);
        this.#products.delete(url);
        return;
      case 'create':
        if (product !== undefined) return;
        this.#unknown.add(url);
        this.#create(url, FIELDS);
        return;
      case 'title':
      case 'description':
      case 'variants':
        if (product !== undefined) this.#edit(url, product, how);
        return;
      default:
        how satisfies never;
    }
  }

  #edit(url: string, product: Product, field: 'title' | 'description' | 'variants'): void {
    const at = this.#next();
    const price = {
      options: [],
      price: at + 1_000,
      onSale: false,
      regularPrice: at + 1_000,
      sku: `sku-${url}`,
    };
    const edited = field === 'variants' ? [price] : `by hand ${at}`;
    const value = JSON.stringify(edited);
    product.fields.set(field, edited);
    product.unknown.add(field);
    product.edits.set(field, { value, at, knownAt: null });
    const name = `${url} ${field}`;
    this.#everEdited.set(name, (this.#everEdited.get(name) ?? new Set()).add(value));
  }

  renumber(key: string): void {
    const product = this.#products.get(this.#url(key));
    if (product === undefined) return;
    product.id = ++this.#lastId;
    this.#unansweredIds.add(this.#url(key));
  }

  /**
   * Whether the product of the key has an id that no answer has shown: the store has changed it since, or a request without an answer has
   * made the product again after somebody had deleted it by hand. A delete by the id before finds nothing, which looks like success.
   */
  hasUnansweredId(key: string): boolean {
    return this.#unansweredIds.has(this.#url(key));
  }

  takeEffectOfUpsert(sent: SentBy, body: string): void {
    this.#put(sent, body);
  }

  takeEffectOfUpdate(sent: SentBy, id: number, body: string): void {
    const url = this.#url(sent.key);
    const product = this.#byId(id);
    if (product === undefined) return;
    if (this.#products.get(url) !== product)
      this.strangersDeleted.push(`${sent.job} changes ${id}, sent as ${url}`);
    this.#set(product, objectIn(body), !this.profile.keepsById);
    product.senders.add(sent.job);
  }

  takeEffectOfMove(sent: SentBy, from: string, id: number, body: string): void {
    const [before, url] = [this.#url(from), this.#url(sent.key)];
    const product = this.#byId(id);
    // A store has one product for each url.
    if (product === undefined || this.#isTaken(sent.key, id)) return;
    const at = this.#products.get(before) === product ? before : url;
    const isOwn = this.#products.get(at) === product && (product.acknowledged ?? sent.job) === sent.job;
    if (!isOwn) this.strangersDeleted.push(`${sent.job} renames ${id}, sent as ${url}`);
    for (const [other, held] of this.#products) if (held === product) this.#products.delete(other);
    this.#products.set(url, product);
    if (url !== at) product.earlierUrls.add(at);
    this.#unknown.delete(url);
    if (this.#unansweredIds.delete(before)) this.#unansweredIds.add(url);
    this.#set(product, objectIn(body), !this.profile.keepsById);
    product.senders.add(sent.job);
  }

  /** What it answers for the product of the key. */
  answer(key: string): JsonObject {
    const url = this.#url(key);
    const product = this.#products.get(url);
    if (product === undefined) throw new Error('it was just put');
    return answered(url, product);
  }

  /** The product with the id, as a read gives it. */
  read(id: number): JsonObject | null {
    const found = this.readAll().find((product) => product['id'] === id);
    return found ?? null;
  }

  readAll(): readonly JsonObject[] {
    return [...this.#products].map(([url, product]) => answered(url, product));
  }

  takeEffectOfDelete(sent: SentBy, id: number): void {
    this.#remove(sent, id);
  }

  #outcome(
    fate: Fate,
    sent: SentBy,
    takeEffect: () => void,
    expected: Expectation,
    truth: () => unknown,
    further: readonly string[] = [],
  ): Outcome {
    switch (fate.kind) {
      case 'renumbered':
        takeEffect();
        this.renumber(sent.key);
        return judged(truth(), expected);
      case 'done':
        takeEffect();
        return judged(truth(), expected);
      case 'refused':
        if (fate.before === 'arrived') takeEffect();
        return { kind: 'rejected', reason: REASON, ...(fate.before !== 'none' && { inDoubt: true }) };
      case 'unsent':
        return { kind: 'unsent', reason: REASON };
      case 'unanswered':
        if (fate.arrived) takeEffect();
        return { kind: 'unsent', reason: REASON, inDoubt: true };
      case 'at-work':
        this.leaveLate([sent.key, ...further], fate.lands, takeEffect);
        return { kind: 'unsent', reason: REASON, inDoubt: true, atWork: true };
      case 'lie':
        if (fate.arrived) takeEffect();
        return judged(this.#lie(fate.lie), expected);
      default:
        return fate satisfies never;
    }
  }

  #lie(lie: (typeof LIES)[number]): unknown {
    switch (lie) {
      case '[]':
        return [];
      case 'null':
        return null;
      case 'no body':
        return 'no JSON';
      case 'a failure as text':
        return { success: 'false', message: 'busy' };
      case 'another product':
        return { id: 7, url: 'somebody-elses', title: 'Somebody else’s' };
      case 'an id alone':
        return { id: 7 };
      default:
        return lie satisfies never;
    }
  }

  #byId(id: number): Product | undefined {
    return this.#products.values().find((product) => product.id === id);
  }

  #url(key: string): string {
    return this.#normalises ? key.toLowerCase() : key;
  }

  #create(url: string, unknown: readonly string[] = []): Product {
    const product: Product = {
      id: ++this.#lastId,
      fields: new Map(),
      unknown: new Set(unknown),
      edits: new Map(),
      senders: new Set(),
      acknowledged: null,
      earlierUrls: new Set(),
    };
    this.#products.set(url, product);
    return product;
  }

  /** Sets the fields of a body; `replaces`: and removes all others. */
  #set(product: Product, body: JsonObject, replaces: boolean): void {
    const { fields, unknown, edits } = product;
    if (replaces) {
      unknown.clear();
      fields.clear();
    }
    for (const [name, value] of Object.entries(body)) {
      if (name === 'url') continue;
      fields.set(name, value);
      if (edits.get(name)?.value === JSON.stringify(value)) continue;
      unknown.delete(name);
      edits.delete(name);
    }
    for (const name of edits.keys()) if (!fields.has(name)) edits.delete(name);
  }

  #put({ job, key, isLookUp = false, isTouch = false }: SentBy, body: string): void {
    const url = this.#url(key);
    const found = this.#products.get(url);
    const product = found ?? this.#create(url);
    if (found === undefined && this.#removedByHand.has(url)) this.#unansweredIds.add(url);
    const wasUnknown = isTouch ? this.#unknown.has(url) : this.#unknown.delete(url);
    this.#set(product, objectIn(body), !this.profile.keepsByUrl);
    // Of a part that has made it again, nobody can know the rest.
    if (found === undefined && wasUnknown)
      for (const name of FIELDS) if (!product.fields.has(name)) product.unknown.add(name);
    // What is only sent to look an id up does not make a product its sender's, but for one that it creates.
    if (found === undefined || !isLookUp) product.senders.add(job);
  }

  #remove({ job, key }: SentBy, id: number): void {
    const url = this.#url(key);
    for (const [at, product] of this.#products) {
      if (product.id !== id) continue;
      // A rename whose answer was lost may have landed: it is the same product.
      const isHere = at === url || product.earlierUrls.has(url);
      const isOwn = isHere && product.senders.has(job) && (product.acknowledged ?? job) === job;
      if (!isOwn) this.strangersDeleted.push(`${job} deletes ${at}, sent as ${key}`);
      this.#products.delete(at);
      this.#unansweredIds.delete(at);
    }
  }
}

function answered(url: string, { id, fields }: Product): JsonObject {
  return { ...Object.fromEntries(fields), id, url };
}

function objectIn(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  if (!isJsonObject(value)) throw new Error('a body is an object');
  return value;
}

/** As the storefront judges an answer of 2xx; what proves nothing is retried, and at last unsent. */
function judged(answer: unknown, expected: Expectation): Outcome {
  const proof = reportsFailure(answer) ? 'success' : expected.prove(answer);
  if (typeof proof === 'string') return { kind: 'unsent', reason: REASON, inDoubt: true };
  return { kind: 'applied', ...proof };
}
