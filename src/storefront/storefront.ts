import { type Clock, systemClock } from '../model/clock.ts';
import { isJsonObject, type JsonObject } from '../model/json-object.ts';
import type { Outcome } from '../model/operation.ts';
import { StoreRefusedError, StoreUnavailableError } from '../model/storeferry-error.ts';
import { exchange, type Uncertainty } from './exchange.ts';
import { type GateStats, gate, type OnStorefrontEvent, type SharedPause } from './gate/gate.ts';
import type { SharedRate } from './gate/rate-limit.ts';
import {
  expectContact,
  expectContactByEmail,
  expectDeleted,
  expectProduct,
  expectSameProduct,
  expectUpdatedProduct,
} from './proof.ts';
import { type Page, type PageItem, type PageQuery, readPage } from './read-page.ts';
import { type OnAttempt, type SendOptions, type Sent, sender } from './sender.ts';
import { abortListeners } from './wait-queue.ts';

export type { StorefrontEvent } from './gate/gate.ts';
export {
  MAX_PROBE_REQUESTS,
  probeProperties,
  probeStore,
  type StoreProbe,
} from './probe-store.ts';
export type { Page, PageItem, PageQuery } from './read-page.ts';
export type { Attempt, OnEnded, SendOptions, Slot } from './sender.ts';

export interface StorefrontOptions {
  /** With a path, if the store has one; without `/api/site`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** `storeferry/<version>` (storefront-api.md, section 5). */
  readonly userAgent: string;
  readonly limits: {
    /** The most requests in flight; fewer if the store answers slowly or refuses. */
    readonly concurrency: number;
    readonly requestsPerSecond?: number | undefined;
  };
  readonly clock?: Clock;
  /** In [0, 1); Math.random by default. */
  readonly random?: () => number;
  readonly onEvent?: OnStorefrontEvent;
  readonly onAttempt?: OnAttempt | undefined;
  readonly sharedPause?: SharedPause | undefined;
  readonly sharedRate?: SharedRate | undefined;
  /** The deadline of an attempt, in milliseconds of the machine, independent of `clock`. */
  readonly attemptMs: number;
}

interface SentProduct {
  /** Its key. */
  readonly url: string;
  /** JSON, sent byte for byte. */
  readonly body: string;
  /** Of the product that gets this body, whatever its url is. */
  readonly id?: number | undefined;
  /** The body is a part: what the answer has beyond it is read as well. */
  readonly isPart?: boolean;
}

/**
 * One store, shared by all work in this process: contract, retries and limits. It knows nothing of runs.
 * Writing returns an outcome, because partial success is data. Every call rejects with UnauthorizedError (401; reads
 * also with 403), StoreUnavailableError (no proper answer for 15 minutes, eight equal redirects in succession; reads also after their last
 * retry) or the signal's reason.
 */
export interface Storefront extends AsyncDisposable {
  /**
   * `POST /api/site/products?update_existing_product_by_url=true` (section 4.1); with an id `PUT /api/site/products/{id}`, which some
   * stores have beyond the document.
   */
  upsertProduct(product: SentProduct, options: SendOptions): Promise<Outcome>;
  /** `PUT /api/site/products/{id}`, which some stores have beyond the document: sets the fields of the body. */
  updateProduct(id: number, product: SentProduct, options: SendOptions): Promise<Outcome>;
  /** `PUT /api/site/contacts/{id}` (section 4.2). */
  updateContact(id: string, body: string, options: SendOptions): Promise<Outcome>;
  /**
   * `POST /api/site/contacts`, which some stores have beyond the document: changes the contact with the `email` of the
   * body, or creates it; the outcome has its id. `key` is not sent.
   */
  upsertContact(key: string, body: string, options: SendOptions): Promise<Outcome>;
  /** `DELETE /api/site/products/{id}` (section 4.4). A 404 with the API's error body counts as deleted. */
  deleteProduct(id: number, options: SendOptions): Promise<Outcome>;
  /** `GET /api/site/subscriber-lists` (section 4.3), bare or in an envelope. Also StoreRefusedError. */
  subscriberLists(options: SendOptions & { readonly page?: PageQuery }): Promise<Page>;
  /** `GET /api/site/orders` (sections 4.5 and 8). Also StoreRefusedError. */
  orders(page: PageQuery, options: SendOptions): Promise<Page>;
  /** `GET /api/site/contacts`, which some stores have beyond the document; as `orders`. */
  contacts(page: PageQuery, options: SendOptions): Promise<Page>;
  /** `GET /api/site/products`, likewise. */
  products(page: PageQuery, options: SendOptions): Promise<Page>;
  /** `GET /api/site/products/categories`, likewise. */
  categories(page: PageQuery, options: SendOptions): Promise<Page>;
  /** `GET /api/site/products/{id}`, likewise; null where the store has no such product. Also StoreRefusedError. */
  product(id: number, options: SendOptions): Promise<JsonObject | null>;
  /** `GET /api/site/contacts/search-by-email`, as `contacts`: those with this address, mostly one or none. */
  contactsByEmail(email: string, options: SendOptions): Promise<readonly PageItem[]>;
  /**
   * Announces that many pages will be read. A client without any answer yet then begins with several concurrent
   * requests, because reading changes nothing; before writes it begins with one.
   */
  expectPages(): void;
  stats(): GateStats;
  /** Waits for requests in flight and rejects those that wait. */
  close(): Promise<void>;
}

const PRODUCTS = '/api/site/products';
/** Reads start with this many requests in flight: while the limit grows from one, a few thousand orders would be read. */
const PAGES_AT_ONCE = 16;

function uncertaintyFlags({ mayHaveArrived, mayBeAtWork }: Uncertainty): { inDoubt?: true; atWork?: true } {
  return { ...(mayHaveArrived && { inDoubt: true }), ...(mayBeAtWork && { atWork: true }) };
}

function outcomeOf(sent: Sent, { onAnswer }: SendOptions): Outcome {
  switch (sent.kind) {
    case 'ok':
      onAnswer?.(sent.value);
      return { kind: 'applied', ...sent.proof };
    case 'refused':
      return { kind: 'rejected', reason: sent.reason, ...uncertaintyFlags(sent.uncertainty) };
    case 'unsent':
      return { kind: 'unsent', reason: sent.reason, ...uncertaintyFlags(sent.uncertainty) };
    default:
      throw new Error(`Unknown result: ${sent satisfies never}`);
  }
}

/** A 404 of the API means that there is no such object; a 404 of a gateway does not. */
function isAbsent(sent: Sent) {
  return sent.kind === 'refused' && sent.status === 404 && sent.isFromApi;
}

/** The outcome, with this advice where the store has no such object. */
function outcomeOrAbsent(sent: Sent, options: SendOptions, advice?: string): Outcome {
  if (!isAbsent(sent)) return outcomeOf(sent, options);
  const outcome = outcomeOf(advice === undefined ? sent : withAdvice(sent, advice), options);
  return outcome.kind === 'rejected' ? { ...outcome, absent: true } : outcome;
}

function queryOf({ limit, skip, createdAtMin }: PageQuery) {
  return `?limit=${limit}&skip=${skip}${createdAtMin === undefined ? '' : `&created_at_min=${createdAtMin}`}`;
}

function withAdvice(sent: Sent, advice: string): Sent {
  if (sent.kind !== 'refused') return sent;
  const { code, message } = sent.reason;
  return { ...sent, reason: { code, message: `${message}: ${advice}` } };
}

/** The API finds contacts by id only, and its 'not found' does not say where the id came from. */
const WRONG_CONTACT_ID =
  'no contact in the store has this id; correct it in the crosswalk or in the source, then retry';
const GONE_PRODUCT = 'the store no longer has this product; the next run creates it under its new url';
const UNCERTAIN_PRODUCT =
  'the store may have it, and no longer change urls; probe it again, or set `renames: false` in the job';
const NOT_OF_API = 'it is not an answer of the API ("success": false), so the product counts as not deleted';

/** Does not connect yet. Close it when done. */
export function createStorefront(options: StorefrontOptions): Storefront {
  const { baseUrl, apiKey, userAgent, limits, clock = systemClock, random = Math.random } = options;
  const aborts = abortListeners();
  const wire = exchange({
    baseUrl,
    apiKey,
    userAgent,
    connections: limits.concurrency,
    attemptMs: options.attemptMs,
    aborts,
  });
  const onEvent = options.onEvent ?? (() => {});
  const { sharedPause, sharedRate } = options;
  const access = gate({ ...limits, clock, onEvent, sharedPause, sharedRate, aborts });
  const { onAttempt } = options;
  const send = sender({ exchange: wire, gate: access, apiKey, clock, random, onAttempt });

  const answeredBy = (path: string, sent: Sent) => {
    switch (sent.kind) {
      case 'ok':
        return sent;
      case 'refused':
        throw new StoreRefusedError(`GET ${path}: ${sent.reason.message} (${sent.status})`, {
          unquoted: `GET ${path}: the store refused it (${sent.status})`,
        });
      case 'unsent':
        throw new StoreUnavailableError(`GET ${path}: ${sent.reason.message}`, {
          unquoted: `GET ${path}: the store gave no proper answer`,
        });
      default:
        throw new Error(`Unknown result: ${sent satisfies never}`);
    }
  };
  const get = (path: string, sendOptions: SendOptions) =>
    send({ method: 'GET', path, body: null }, sendOptions);
  const readList = async (path: string, sendOptions: SendOptions) => {
    const { value, text } = answeredBy(path, await get(path, sendOptions));
    return readPage(value, text, path);
  };

  /** A store that has lost the endpoint answers a change of a product as if the product were gone. */
  const isGone = async (path: string, sendOptions: SendOptions) => {
    const { onAnswer: _, onNotApplied: __, ...reading } = sendOptions;
    const list = await get(`${PRODUCTS}${queryOf({ limit: 1, skip: 0 })}`, reading);
    return list.kind === 'ok' && isAbsent(await get(path, reading));
  };

  let closed: Promise<void> | null = null;
  const close = () => {
    access.close(new Error('The storefront was closed'));
    closed ??= wire.close();
    return closed;
  };

  return {
    async upsertProduct({ url, body, id, isPart = false }, sendOptions) {
      if (id === undefined) {
        const path = `${PRODUCTS}?update_existing_product_by_url=true`;
        const { proveRepeated, ...parsed } = expectProduct(url, body);
        const expected = isPart || proveRepeated === undefined ? parsed : { ...parsed, proveRepeated };
        return outcomeOf(await send({ method: 'POST', path, body, expected }, sendOptions), sendOptions);
      }
      const expected = expectSameProduct(id, url, body);
      const path = `${PRODUCTS}/${id}`;
      const sent = await send({ method: 'PUT', path, body, expected }, sendOptions);
      if (!isAbsent(sent) || (await isGone(path, sendOptions)))
        return outcomeOrAbsent(sent, sendOptions, GONE_PRODUCT);
      return outcomeOf(withAdvice(sent, UNCERTAIN_PRODUCT), sendOptions);
    },
    async updateProduct(id, { url, body }, sendOptions) {
      const path = `${PRODUCTS}/${id}`;
      const sent = await send(
        { method: 'PUT', path, body, expected: expectUpdatedProduct(id, url) },
        sendOptions,
      );
      return outcomeOrAbsent(sent, sendOptions);
    },
    async updateContact(id, body, sendOptions) {
      const path = `/api/site/contacts/${encodeURIComponent(id)}`;
      const expected = expectContact(id, body);
      const sent = await send({ method: 'PUT', path, body, expected }, sendOptions);
      return outcomeOrAbsent(sent, sendOptions, WRONG_CONTACT_ID);
    },
    async upsertContact(_key, body, sendOptions) {
      const expected = expectContactByEmail(body);
      const request = { method: 'POST', path: '/api/site/contacts', body, expected } as const;
      return outcomeOf(await send(request, sendOptions), sendOptions);
    },
    async deleteProduct(id, sendOptions) {
      const path = `${PRODUCTS}/${id}`;
      const expected = expectDeleted(id);
      const sent = await send({ method: 'DELETE', path, body: null, expected }, sendOptions);
      if (isAbsent(sent)) return { kind: 'applied', id: null };
      const isForeign = sent.kind === 'refused' && sent.status === 404;
      return outcomeOf(isForeign ? withAdvice(sent, NOT_OF_API) : sent, sendOptions);
    },
    subscriberLists({ page, ...sendOptions }) {
      const query = page === undefined ? '' : queryOf(page);
      return readList(`/api/site/subscriber-lists${query}`, sendOptions);
    },
    orders: (page, sendOptions) => readList(`/api/site/orders${queryOf(page)}`, sendOptions),
    contacts: (page, sendOptions) => readList(`/api/site/contacts${queryOf(page)}`, sendOptions),
    products: (page, sendOptions) => readList(`${PRODUCTS}${queryOf(page)}`, sendOptions),
    categories: (page, sendOptions) => readList(`${PRODUCTS}/categories${queryOf(page)}`, sendOptions),
    async product(id, sendOptions) {
      const path = `${PRODUCTS}/${id}`;
      const sent = await get(path, sendOptions);
      if (isAbsent(sent)) return null;
      const { value } = answeredBy(path, sent);
      if (isJsonObject(value) && value['id'] === id) return value;
      throw new StoreRefusedError(`GET ${path}: expected the product with this id, but got something else`);
    },
    async contactsByEmail(email, sendOptions) {
      const path = '/api/site/contacts/search-by-email';
      const sent = await get(`${path}?email=${encodeURIComponent(email)}`, sendOptions);
      if (isAbsent(sent)) return [];
      // Without the address, which is personal data.
      const { value, text } = answeredBy(path, sent);
      return isJsonObject(value) && !('items' in value) ? [value] : readPage(value, text, path).items;
    },
    expectPages: () => access.startAt(PAGES_AT_ONCE),
    stats: () => access.stats(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
