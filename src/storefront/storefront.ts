import { StoreRefusedError, StoreUnavailableError } from '../model/errors.ts';
import type { Outcome } from '../model/outcome.ts';
import { abortListeners } from './abort-listeners.ts';
import { type Clock, systemClock } from './clock.ts';
import type { OnAttempt, OnStorefrontEvent, SharedPause, SharedRate } from './events.ts';
import { ATTEMPT_DEADLINE_MS, exchange, type StoreRequest } from './exchange.ts';
import { type GateStats, gate } from './gate/gate.ts';
import { type Page, type PageQuery, readPage } from './page.ts';
import { expectContact, expectDeleted, expectProduct } from './proof.ts';
import { type SendOptions, type Sent, sender } from './send.ts';

export interface StorefrontOptions {
  /** With a path, if the store has one; without `/api/site`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** `storeferry/<version>` (storefront-api.md, section 5). */
  readonly userAgent: string;
  readonly limits: {
    /** The most requests in flight; the limiter finds out how many are good. */
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
  /** The longest that an attempt may take, in milliseconds of the machine whatever `clock` is; 40 seconds when left out. */
  readonly attemptMs?: number;
}

/** A product as it is sent. */
export interface SentProduct {
  /** Its key. */
  readonly url: string;
  /** JSON, sent byte for byte. */
  readonly body: string;
}

/**
 * One store, as all work in this process shares it: contract, retries and limits. Knows nothing of runs.
 *
 * Writing gives an outcome: partial success is data. Everything rejects with UnauthorizedError (401; reads also
 * with 403), StoreUnavailableError (the store has been unwell for 15 minutes) or the signal's reason.
 */
export interface Storefront extends AsyncDisposable {
  /** `POST /api/site/products?update_existing_product_by_url=true` (section 4.1). */
  upsertProduct(product: SentProduct, options: SendOptions): Promise<Outcome>;
  /** `PUT /api/site/contacts/{id}` (section 4.2). */
  updateContact(id: string, body: string, options: SendOptions): Promise<Outcome>;
  /** `DELETE /api/site/products/{id}` (section 4.4). A 404 with the API's error body counts as deleted. */
  deleteProduct(id: number, options: SendOptions): Promise<Outcome>;
  /** `GET /api/site/subscriber-lists` (section 4.3), bare or in an envelope. Also StoreRefusedError. */
  subscriberLists(options: SendOptions & { readonly page?: PageQuery }): Promise<Page>;
  /** `GET /api/site/orders` (sections 4.5 and 8). Also StoreRefusedError. */
  orders(page: PageQuery, options: SendOptions): Promise<Page>;
  /**
   * Says that many pages are to be read: a client that knows nothing of the store yet begins with some at once, since
   * reading does no harm, and not with one as before it writes.
   */
  expectPages(): void;
  stats(): GateStats;
  /** Lets requests under way end, turns away what waits. */
  close(): Promise<void>;
}

const PRODUCTS = '/api/site/products';
/** Reading a few thousand orders is over before the limit has grown from one; the configured ceiling holds all the same. */
const PAGES_AT_ONCE = 16;

function outcomeOf(sent: Sent, { onAnswer }: SendOptions): Outcome {
  switch (sent.kind) {
    case 'ok':
      onAnswer?.(sent.value);
      return { kind: 'applied', ...sent.proof };
    case 'refused':
      return {
        kind: 'rejected',
        reason: sent.reason,
        ...(sent.inDoubt && { inDoubt: true }),
        ...(sent.atWork && { atWork: true }),
      };
    case 'unsent':
      return {
        kind: 'unsent',
        reason: sent.reason,
        ...(sent.inDoubt && { inDoubt: true }),
        ...(sent.atWork && { atWork: true }),
      };
    default:
      throw new Error(`Unknown result: ${sent satisfies never}`);
  }
}

/** A 404 of the API says that there is no such thing; that of something before the store says nothing about it. */
function isAbsent(sent: Sent): boolean {
  return sent.kind === 'refused' && sent.status === 404 && sent.isFromApi;
}

function withAdvice(sent: Sent, advice: string): Sent {
  if (sent.kind !== 'refused') return sent;
  const { code, message } = sent.reason;
  return { ...sent, reason: { code, message: `${message}: ${advice}` } };
}

/** The API finds contacts by id only, and 'not found' does not say who gave a wrong one. */
const WRONG_CONTACT_ID =
  'no contact of the store has this id; correct it in the crosswalk or in the source, then retry';
const NOT_OF_API = 'it is not an answer of the API ("success": false), so the product counts as not deleted';

/** Connects to nothing yet. Close it when done. */
export function createStorefront(options: StorefrontOptions): Storefront {
  const { baseUrl, apiKey, userAgent, limits, clock = systemClock, random = Math.random } = options;
  const aborts = abortListeners();
  const wire = exchange({
    baseUrl,
    apiKey,
    userAgent,
    connections: limits.concurrency,
    attemptMs: options.attemptMs ?? ATTEMPT_DEADLINE_MS,
    aborts,
  });
  const onEvent = options.onEvent ?? (() => {});
  const { sharedPause, sharedRate } = options;
  const door = gate({ ...limits, clock, random, onEvent, sharedPause, sharedRate, aborts });
  const { onAttempt } = options;
  const { send } = sender({ exchange: wire, gate: door, apiKey, clock, random, onAttempt });

  const read = async (path: string, sendOptions: SendOptions): Promise<Page> => {
    const request: StoreRequest = { method: 'GET', path, body: null };
    const sent = await send(request, sendOptions);
    switch (sent.kind) {
      case 'ok':
        return readPage(sent.value, sent.text, path);
      case 'refused':
        throw new StoreRefusedError(`GET ${path}: ${sent.reason.message} (${sent.status})`);
      case 'unsent':
        throw new StoreUnavailableError(`GET ${path}: ${sent.reason.message}`);
      default:
        throw new Error(`Unknown result: ${sent satisfies never}`);
    }
  };

  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => {
    door.close(new Error('The storefront was closed'));
    closed ??= wire.close();
    return closed;
  };

  return {
    async upsertProduct({ url, body }, sendOptions) {
      const path = `${PRODUCTS}?update_existing_product_by_url=true`;
      const expected = expectProduct(url, body);
      return outcomeOf(await send({ method: 'POST', path, body, expected }, sendOptions), sendOptions);
    },
    async updateContact(id, body, sendOptions) {
      const path = `/api/site/contacts/${encodeURIComponent(id)}`;
      const expected = expectContact(id, body);
      const sent = await send({ method: 'PUT', path, body, expected }, sendOptions);
      if (!isAbsent(sent)) return outcomeOf(sent, sendOptions);
      const outcome = outcomeOf(withAdvice(sent, WRONG_CONTACT_ID), sendOptions);
      return outcome.kind === 'rejected' ? { ...outcome, absent: true } : outcome;
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
      const query = page === undefined ? '' : `?limit=${page.limit}&skip=${page.skip}`;
      return read(`/api/site/subscriber-lists${query}`, sendOptions);
    },
    orders({ limit, skip }, sendOptions) {
      return read(`/api/site/orders?limit=${limit}&skip=${skip}`, sendOptions);
    },
    expectPages: () => door.startAt(PAGES_AT_ONCE),
    stats: () => door.stats(),
    close,
    [Symbol.asyncDispose]: close,
  };
}
