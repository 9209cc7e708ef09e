import type { Outcome } from '../../../src/model/operation.ts';
import { fingerprintOf } from '../../../src/plan/shard-writer.ts';
import {
  type Expectation,
  expectDeleted,
  expectProduct,
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
}

interface Product {
  id: number;
  body: string;
  /** Jobs whose upserts have taken effect since it was created. */
  readonly senders: Set<string>;
  /** The job whose upsert was acknowledged last. */
  acknowledged: string | null;
}

interface Late {
  readonly key: string;
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
  /** Urls that somebody outside has changed since anything was last sent to them: no client can know what they hold. */
  readonly #touched = new Set<string>();
  readonly #renumbered = new Set<string>();
  readonly #removedByHand = new Set<string>();
  #late: Late[] = [];
  #lastId = 100;
  /** Deletes of products that were not their sender's. */
  readonly strangersDeleted: string[] = [];

  constructor(normalises: boolean) {
    this.#normalises = normalises;
  }

  /** What it holds for the key: the fingerprint of the body; null for nothing, undefined where nobody can know. */
  truth(key: string): string | null | undefined {
    const url = this.#url(key);
    if (this.#touched.has(url)) return undefined;
    const product = this.#products.get(url);
    return product === undefined ? null : fingerprintOf(product.body);
  }

  /** The outcome of an upsert, as the storefront gives it. */
  upsert(sent: SentBy, body: string, fate: Fate): Outcome {
    const takeEffect = () => this.#put(sent, body);
    const outcome = this.#outcome(fate, sent, takeEffect, expectProduct(sent.key, body), () =>
      this.#answer(sent.key),
    );
    const product = this.#products.get(this.#url(sent.key));
    if (outcome.kind === 'applied' && product !== undefined) product.acknowledged = sent.job;
    return outcome;
  }

  /** The outcome of a delete, as the storefront gives it. */
  delete(sent: SentBy, id: number, fate: Fate): Outcome {
    const takeEffect = () => this.#remove(sent, id);
    return this.#outcome(fate, sent, takeEffect, expectDeleted(id), () => ({ success: true, message: '' }));
  }

  /** A request whose process has died: the store may still work on it. */
  leaveLate(key: string, lands: boolean, takeEffect: () => void): void {
    this.#late.push({ key, lands, takeEffect });
  }

  /** After a long enough wait nothing of the key is at work any more. */
  waitFor(keys: readonly string[]): void {
    const due = this.#late.filter(({ key }) => keys.includes(key));
    this.#late = this.#late.filter(({ key }) => !keys.includes(key));
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
  touch(key: string, how: 'edit' | 'create' | 'remove'): void {
    const url = this.#url(key);
    this.#touched.add(url);
    const product = this.#products.get(url);
    if (how === 'remove') {
      this.#removedByHand.add(url);
      this.#products.delete(url);
    } else if (product !== undefined) product.body = `{"title":"by hand","url":"${url}"}`;
    else if (how === 'create') this.#create(url, `{"title":"by hand","url":"${url}"}`);
  }

  renumber(key: string): void {
    const product = this.#products.get(this.#url(key));
    if (product !== undefined) product.id = ++this.#lastId;
    this.#renumbered.add(this.#url(key));
  }

  /**
   * Whether the product of the key has ever got another id, also by a request that made it again after somebody had deleted it by hand: a
   * delete by the old one finds nothing, which looks like success, and nobody has to know the new one.
   */
  wasRenumbered(key: string): boolean {
    return this.#renumbered.has(this.#url(key));
  }

  takeEffectOfUpsert(sent: SentBy, body: string): void {
    this.#put(sent, body);
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
        this.leaveLate(sent.key, fate.lands, takeEffect);
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

  #answer(key: string): unknown {
    const url = this.#url(key);
    const product = this.#products.get(url);
    if (product === undefined) throw new Error('it was just put');
    return { ...JSON.parse(product.body), id: product.id, url };
  }

  #url(key: string): string {
    return this.#normalises ? key.toLowerCase() : key;
  }

  #create(url: string, body: string): Product {
    const product = { id: ++this.#lastId, body, senders: new Set<string>(), acknowledged: null };
    this.#products.set(url, product);
    return product;
  }

  #put({ job, key }: SentBy, body: string): void {
    const url = this.#url(key);
    const found = this.#products.get(url);
    const product = found ?? this.#create(url, body);
    if (found === undefined && this.#removedByHand.has(url)) this.#renumbered.add(url);
    product.body = body;
    // What is only sent to look an id up does not make a product its sender's, but for one that it creates.
    if (found === undefined || !body.includes('"hidden":true')) product.senders.add(job);
    this.#touched.delete(url);
  }

  #remove({ job, key }: SentBy, id: number): void {
    const url = this.#url(key);
    for (const [at, product] of this.#products) {
      if (product.id !== id) continue;
      const isOwn = at === url && product.senders.has(job) && (product.acknowledged ?? job) === job;
      if (!isOwn) this.strangersDeleted.push(`${job} deletes ${at}, sent as ${key}`);
      this.#products.delete(at);
      this.#touched.delete(at);
    }
  }
}

/** As the storefront judges an answer of 2xx; what proves nothing is retried, and at last unsent. */
function judged(answer: unknown, expected: Expectation): Outcome {
  const proof = reportsFailure(answer) ? 'success' : expected.prove(answer);
  if (typeof proof === 'string') return { kind: 'unsent', reason: REASON, inDoubt: true };
  return { kind: 'applied', ...proof };
}
