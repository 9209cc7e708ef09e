import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { bodyOf, failure, send, sendBadly } from './store/answer.ts';
import { type Capacity, capacityGate } from './store/capacity.ts';
import { type FaultRule, faultPlan, type Misbehaviour } from './store/faults.ts';
import { seededRandom } from './store/random.ts';
import { type Figures, type LoggedRequest, requestLog } from './store/request-log.ts';
import { service } from './store/service.ts';
import { emptyShop, type Shop } from './store/shop.ts';

export interface StoreOptions {
  /** The one key that is good. */
  readonly apiKey?: string;
  /** Decides on probabilities and latencies; print it, so that a failure can be seen again. */
  readonly seed?: number;
  /** Milliseconds of work per request: fixed, from a range, or from how many requests are open. */
  readonly latencyMs?: number | { readonly min: number; readonly max: number } | ((open: number) => number);
  /** Hidden limits. */
  readonly capacity?: Capacity;
  readonly faults?: readonly FaultRule[];
  /** Ids of contacts that exist from the start. */
  readonly contacts?: Iterable<number>;
  readonly port?: number;
  /** Called for each request when its answer is sent, so that a test can inject a fault before the caller records it. */
  readonly onAnswer?: (request: LoggedRequest) => void;
}

/** A running store. */
export interface Store extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly seed: number;
  /** What the store contains; tests may read and change it. */
  readonly shop: Shop;
  /** Every request, in order of arrival. */
  readonly requests: readonly LoggedRequest[];
  /** Adds a fault from now on. */
  misbehave(rule: FaultRule): void;
  /** Takes all faults away. */
  behave(): void;
  /** Replaces the hidden limits. */
  limit(capacity: Capacity): void;
  /** How often each fault fired, by name. */
  fired(): Readonly<Record<string, number>>;
  figures(): Figures;
  /** Urls that stand for more than one product, with how many. */
  duplicates(): ReadonlyMap<string, number>;
  requestsOf(key: string): number;
  /** The body that last took effect for a product url or contact id. */
  lastBody(key: string): string | undefined;
  /** How requests strayed from storefront-api.md: headers, paths, fields, types. */
  readonly violations: readonly string[];
  /** Forgets the log of requests, not what the shop holds. */
  forget(): void;
  close(): Promise<void>;
}

/**
 * A store on loopback that speaks storefront-api.md and keeps what it is sent. It is the oracle of the tests: it
 * logs every request, looks products up and writes them in two moments (so two requests for one url at once
 * make two products, as a real server might), and misbehaves on request:
 *
 *     await using store = await startStore({ seed: 7, latencyMs: { min: 1, max: 5 }, contacts: [1, 2] });
 *     store.misbehave({ does: resetAfter, probability: 0.1 });
 *     store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['blue-mug'] });
 *     store.misbehave({ does: unauthorized, from: 200 });
 *     expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
 *
 * `store/faults.ts` has all it can do; `capacity` (`store/capacity.ts`) gives it limits it does not talk about.
 */
export async function startStore(options: StoreOptions = {}): Promise<Store> {
  const { apiKey = 'key-of-the-test-store', latencyMs = 0 } = options;
  const seed = options.seed ?? Math.floor(Math.random() * 0x1_0000_0000);
  const random = seededRandom(seed);
  const faults = faultPlan(random);
  for (const rule of options.faults ?? []) faults.add(rule);
  const shop = emptyShop();
  for (const id of options.contacts ?? []) shop.addContact(id);
  let log = requestLog();
  let capacity = options.capacity ?? {};
  let gate = capacityGate(capacity);
  const violations: string[] = [];
  let behaving = new AbortController();

  const latency = (): number => {
    if (typeof latencyMs === 'number') return latencyMs;
    if (typeof latencyMs === 'function') return latencyMs(log.openNow());
    return latencyMs.min + random() * (latencyMs.max - latencyMs.min);
  };

  const endpoints = service({
    shop,
    apiKey,
    work: async () => {
      const ms = latency() + gate.serviceTime(performance.now());
      await (ms > 0 ? sleep(ms) : new Promise(setImmediate));
    },
    onViolation: (message) => violations.push(message),
    onEffect: (key, body) => log.lastBodies.set(key, body),
  });

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedAt = performance.now();
    const { method = '', url: target = '/', headers } = request;
    const arrived = { method, url: new URL(target, 'http://store'), headers, body: await bodyOf(request) };
    const into = log;
    const bodyHash = createHash('sha256').update(arrived.body).digest('hex');
    const entry = into.open({ method, target, key: endpoints.keyOf(arrived), startedAt, bodyHash, headers });
    const over = () => into.close(entry, performance.now());
    const reply = { entry, response, over };
    response.once('close', over);

    let struck: Misbehaviour | undefined;
    for (const does of faults.strike(entry)) {
      if (does.kind === 'delay') await sleep(does.ms, null, { signal: behaving.signal }).catch(() => null);
      else struck = does;
    }
    const refused = endpoints.refuseHeaders(arrived);
    if (refused !== undefined) return send(reply, refused);
    if (!gate.admits(into.openNow(), performance.now())) {
      const { status = 429, retryAfter } = capacity.refusal ?? {};
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      return send(reply, { ...failure(status, 'Too many requests'), headers });
    }
    if (struck !== undefined && 'applied' in struck && !struck.applied) {
      return sendBadly(reply, struck, failure(500, 'Did not happen'));
    }
    const answer = await endpoints.perform(arrived);
    entry.applied = answer.status < 300 && method !== 'GET';
    if (struck === undefined) send(reply, answer);
    else sendBadly(reply, struck, answer);
    options.onAnswer?.(entry);
  };

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The store has no port');

  const duplicates = (): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { url = '' } of shop.products.values()) counts.set(url, (counts.get(url) ?? 0) + 1);
    return new Map([...counts].filter(([, count]) => count > 1));
  };
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };

  return {
    baseUrl: `http://127.0.0.1:${address.port}`,
    apiKey,
    seed,
    shop,
    get requests() {
      return log.requests;
    },
    misbehave: (rule) => faults.add(rule),
    behave() {
      faults.clear();
      behaving.abort();
      behaving = new AbortController();
    },
    limit(next) {
      capacity = next;
      gate = capacityGate(next);
    },
    fired: () => faults.fired(),
    figures: () => ({
      requests: log.requests.length,
      duplicates: [...duplicates().values()].reduce((sum, count) => sum + count - 1, 0),
      maxOverlap: log.maxOverlap(),
      maxOpen: log.maxOpen(),
      byStatus: log.byStatus(),
    }),
    duplicates,
    requestsOf: (key) => log.requestsByKey.get(key) ?? 0,
    lastBody: (key) => log.lastBodies.get(key),
    violations,
    forget() {
      log = requestLog();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
