import { hash } from 'node:crypto';
import { isJsonObject, type JsonObject, objectsIn } from '../model/json-object.ts';
import { type ProbedProperties, type PropertyName, probedProperties } from '../model/probed-properties.ts';
import { isTransientStatus, retryAfterMs } from '../remote/remote-client.ts';
import { cleanMessage } from './clean-message.ts';
import { type Exchange, exchange, NoAnswer, redirectedBase, type StoreRequest } from './exchange.ts';
import { expectDeleted, expectProduct, reportsFailure } from './proof.ts';
import { isDeeperThan, MAX_LEVELS, parseJson } from './read-page.ts';
import { abortListeners } from './wait-queue.ts';

/** The result of one harmless request to a store. */
export type StoreProbe =
  | {
      readonly kind: 'answers';
      readonly ms: number;
      readonly lists: number;
      /** A digest of the ids, names and dates of the lists, which differs between stores; null without lists. */
      readonly listsDigest: string | null;
      /** How far its clock is ahead of ours, in milliseconds; null if the answer has no date. */
      readonly aheadMs: number | null;
    }
  | { readonly kind: 'wrong-key'; readonly status: number; readonly message: string }
  /** Another service answers at the address; `what` describes the answer. */
  | { readonly kind: 'not-the-api'; readonly status: number; readonly what: string }
  /** `base`: the address of the store that it leads to; undefined where it names none. */
  | {
      readonly kind: 'redirect';
      readonly status: number;
      readonly to: string;
      readonly base: string | undefined;
    }
  | { readonly kind: 'failing'; readonly status: number; readonly message: string }
  /** No answer; `code` is the code of the system, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
  | { readonly kind: 'unreachable'; readonly code: string };

interface ProbeOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

const SITE = '/api/site';
const LISTS = `${SITE}/subscriber-lists`;
/** A check ends earlier, by its signal. */
const ATTEMPT_MS = 60_000;

/**
 * Requests the subscriber lists of the store (storefront-api.md, section 4.3) once; rejects only with the signal's
 * reason.
 */
export async function probeStore({ signal, ...store }: ProbeOptions): Promise<StoreProbe> {
  const wire = exchange({ ...store, connections: 1, attemptMs: ATTEMPT_MS, aborts: abortListeners() });
  const began = performance.now();
  try {
    const answer = await wire.send({ method: 'GET', path: LISTS, body: null }, signal);
    const { status, location, date, body: text } = answer;
    const ms = Math.round(performance.now() - began);
    return judgeAnswer({ status, location, date, text, ms }, { apiKey: store.apiKey, now: Date.now() });
  } catch (error) {
    signal.throwIfAborted();
    // The code of the system is more precise than ours: a certificate may have expired.
    return { kind: 'unreachable', code: codeOf(error instanceof NoAnswer ? (error.cause ?? error) : error) };
  } finally {
    await wire.close();
  }
}

interface ProbedAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly date: string | undefined;
  readonly text: string;
  readonly ms: number;
}

/** The conclusions from an answer about address and key. */
export function judgeAnswer(
  answer: ProbedAnswer,
  ours: { readonly apiKey: string; readonly now: number },
): StoreProbe {
  const { status, text, ms } = answer;
  const { json, what } = contentOf(text);
  const said = isJsonObject(json) ? json['message'] : undefined;
  const message = typeof said === 'string' ? cleanMessage(said, ours.apiKey) : '';
  if (status === 401 || status === 403) {
    // An answer without JSON does not come from the API: a gateway or a firewall may not know the key.
    const isForeign = json === undefined && text.trim() !== '';
    const foreign = `${what}; a proxy in front of the store may have answered`;
    return { kind: 'wrong-key', status, message: isForeign ? foreign : message };
  }
  if (status >= 300 && status < 400) {
    const base = redirectedBase(answer.location);
    return {
      kind: 'redirect',
      status,
      to: cleanMessage(answer.location ?? '', ours.apiKey),
      base: base === undefined ? undefined : cleanMessage(base, ours.apiKey),
    };
  }
  if (isTransientStatus(status)) return { kind: 'failing', status, message };
  const items = isJsonObject(json) ? json['items'] : json;
  if (status >= 400 || !Array.isArray(items)) {
    return {
      kind: 'not-the-api',
      status,
      what: message === '' || status < 400 ? what : `the message: ${message}`,
    };
  }
  const date = Date.parse(answer.date ?? '');
  const aheadMs = Number.isNaN(date) ? null : date - ours.now;
  return { kind: 'answers', ms, lists: items.length, listsDigest: digestOf(items), aheadMs };
}

/** Figures are left out, because they change from one request to the next. */
function digestOf(lists: readonly unknown[]) {
  const known = lists.flatMap((list) =>
    isJsonObject(list) && 'id' in list ? [JSON.stringify([list['id'], list['name'], list['created']])] : [],
  );
  if (known.length === 0 || known.length < lists.length) return null;
  return hash('sha256', known.sort().join('\n'), 'base64url');
}

/** The JSON of an answer, if it can be read, and the name for an unexpected answer. */
function contentOf(text: string): { readonly json: unknown; readonly what: string } {
  if (text.trim() === '') return { json: undefined, what: 'nothing' };
  if (/^\s*</.test(text)) return { json: undefined, what: 'a web page' };
  if (isDeeperThan(text, MAX_LEVELS))
    return { json: undefined, what: `JSON that nests more than ${MAX_LEVELS} levels` };
  const parsed = parseJson(text);
  return parsed === undefined
    ? { json: undefined, what: 'text that is not JSON' }
    : { json: parsed.value, what: 'JSON of another shape' };
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause instanceof Error ? codeOf(error.cause) : error.name;
}

interface PropertiesProbe {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly userAgent: string;
  readonly attemptMs: number;
  readonly signal: AbortSignal;
  /** The contact to try the properties of contacts with; nothing of it changes. */
  readonly contactId: string | null;
  /** The urls of products, and e-mail addresses of contacts, of probes that died; they are removed first. */
  readonly traces: readonly string[];
  /** Keeps those that it is about to create; resolves when they survive the death of the process. */
  readonly keepTraces: (traces: readonly string[]) => Promise<void>;
  /** Differs for each probe; letters and digits. */
  readonly unique: string;
  readonly wait: (ms: number) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The most requests of a probe, those that remove what it has made included. */
export const MAX_PROBE_REQUESTS = 40;
/** For removing a product and a contact: a request that finds the id, a delete, and one retry for each. */
const RESERVED_REQUESTS = 6;
const MAX_ATTEMPTS = 3;
const RETRY_WAIT_MS = 1_000;
const MAX_RETRY_WAIT_MS = 20_000;
/** How far the clock of a store and ours may differ. */
const NEW_WITHIN_MS = 60_000;

const PRODUCTS = `${SITE}/products`;
const UPSERT = `${PRODUCTS}?update_existing_product_by_url=true`;
const CONTACTS = `${SITE}/contacts`;
const ORDERS = `${SITE}/orders`;
const YEAR_S = 365 * 24 * 60 * 60;
const TITLE = 'Storeferry probe (removed again)';

/** An answer that decides. */
type Answer = ReturnType<typeof readAnswer>;

/** The answer to an upsert of a product of the probe. */
interface ProductAnswer extends Answer {
  /** Of the product that was sent, as the answer proves it; any other id may be that of a product of the shop. */
  readonly id: number | null;
}

/** The requests of a probe, and what they have shown so far. */
type Probe = ReturnType<typeof openProbe>;

function openProbe(options: PropertiesProbe, send: Exchange['send']) {
  const properties: { -readonly [Name in PropertyName]: ProbedProperties[Name] } = probedProperties.parse({});
  const evidence: Partial<Record<PropertyName, string>> = {};
  let { traces } = options;
  // `probeStore` has sent one before.
  let requests = 1;
  /** The request and the answer that the next conclusion rests on. */
  let last = '';
  const leftContacts: string[] = [];

  const learn = <Name extends PropertyName>(name: Name, value: ProbedProperties[Name]) => {
    properties[name] = value;
    evidence[name] = last;
  };
  /** Sends a request, again after a failure that may pass; null without an answer that decides, or without requests left. */
  const call = async (method: StoreRequest['method'], path: string, body?: object, isCleaning = false) => {
    const most = MAX_PROBE_REQUESTS - (isCleaning ? 0 : RESERVED_REQUESTS);
    const shown = `${method} ${path.replace(/\?email=.*/, '?email=…')}${body === undefined ? '' : ` {${Object.keys(body).join(', ')}}`}`;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS && requests < most; attempt += 1) {
      requests += 1;
      let waitMs = RETRY_WAIT_MS * attempt;
      try {
        const request = { method, path, body: body === undefined ? null : JSON.stringify(body) };
        // What a probe has made is removed also after an interrupt.
        const answer = await send(request, ...(isCleaning ? [] : [options.signal]));
        last = `${shown}: ${answer.status}`;
        const asked = retryAfterMs(answer.retryAfter, options.now());
        if (answer.status === 503) learn('retryAfterOn503', asked !== undefined);
        if (answer.status !== 429 && answer.status < 500) return readAnswer(answer.status, answer.body);
        waitMs = Math.min(asked ?? waitMs, MAX_RETRY_WAIT_MS);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        last = `${shown}: ${error.message}`;
      }
      if (attempt < MAX_ATTEMPTS) await options.wait(waitMs);
    }
    return null;
  };
  return {
    options,
    properties,
    evidence,
    /** Contacts that the store made and does not remove. */
    leftContacts,
    get requests() {
      return requests;
    },
    get traces() {
      return traces;
    },
    async keep(trace: string): Promise<void> {
      traces = [...traces, trace];
      await options.keepTraces(traces);
    },
    async forget(trace: string): Promise<void> {
      traces = traces.filter((one) => one !== trace);
      await options.keepTraces(traces);
    },
    learn,
    /** Learns a property from the answer to the last request, if there was one. */
    judge<Name extends PropertyName>(
      name: Name,
      answer: Answer | null,
      judge: (answer: Answer) => ProbedProperties[Name],
    ): void {
      if (answer !== null) learn(name, judge(answer));
    },
    call,
    get: (path: string) => call('GET', path),
    /** A hidden product in every request, since a store may empty what a body does not have. */
    async upsert(url: string, fields: object, isCleaning = false): Promise<ProductAnswer | null> {
      const body = { url, title: TITLE, hidden: true, ...fields };
      const answer = await call('POST', UPSERT, body, isCleaning);
      if (answer === null) return null;
      const proof = expectProduct(url, JSON.stringify(body)).prove(answer.json);
      return { ...answer, id: answer.ok && typeof proof !== 'string' ? proof.id : null };
    },
    async remove(id: number): Promise<boolean> {
      const answer = await call('DELETE', `${PRODUCTS}/${id}`, undefined, true);
      if (answer?.status === 404) return true;
      return answer?.ok === true && typeof expectDeleted(id).prove(answer.json) !== 'string';
    },
  };
}

function readAnswer(status: number, body: string) {
  const parsed = parseJson(body);
  const json = parsed?.value;
  const isReadable = parsed !== undefined || body.trim() === '';
  const object = isJsonObject(json) ? json : {};
  const items = isJsonObject(json) ? json['items'] : json;
  return {
    status,
    /** A success, as JSON or without a body. */
    ok: status >= 200 && status < 300 && isReadable && !reportsFailure(json),
    json,
    /** The same if it is an object, else an empty one. */
    object,
    /** The objects of a list, bare or in the envelope (storefront-api.md, section 2); null for anything else. */
    items: Array.isArray(items) ? items.filter(isJsonObject) : null,
  };
}

/**
 * Learns the properties of a store by at most `MAX_PROBE_REQUESTS` requests: reads, then writes to one hidden product
 * and, with a named contact, of which nothing changes, one contact of its own, which are deleted again. Rejects with the
 * signal's reason.
 */
export async function probeProperties(options: PropertiesProbe) {
  const { apiKey, baseUrl, userAgent, attemptMs } = options;
  const wire = exchange({ baseUrl, apiKey, userAgent, attemptMs, connections: 1, aborts: abortListeners() });
  const probe = openProbe(options, wire.send);
  try {
    const left = await removeTraces(probe, []);
    await tryLists(probe);
    const category = await tryReads(probe);
    const contact = await tryContacts(probe);
    try {
      await tryContact(probe, contact);
      await tryProduct(probe, category);
    } finally {
      left.push(...(await removeTraces(probe, left)));
    }
    const { properties, requests, evidence, leftContacts } = probe;
    return {
      properties,
      requests,
      /** Urls of products, and contacts (`contact 7`), that could not be removed. */
      left: [...left, ...leftContacts],
      /** For each property the request that showed it, and what was answered; no values of contacts. */
      evidence,
    };
  } finally {
    await wire.close();
  }
}

/** Removes what this and earlier probes have made; gives what could not be removed. */
async function removeTraces(probe: Probe, known: readonly string[]) {
  const left: string[] = [];
  for (const trace of probe.traces.filter((one) => !known.includes(one))) {
    const isGone = trace.includes('@') ? await removeByEmail(probe, trace) : await removeByUrl(probe, trace);
    if (isGone) await probe.forget(trace);
    else left.push(trace);
  }
  return left;
}

async function removeByUrl({ upsert, remove }: Probe, url: string) {
  const id = (await upsert(url, {}, true))?.id ?? null;
  return id !== null && (await remove(id));
}

/** Also true where the store removes no contacts: then a person must. */
async function removeByEmail(probe: Probe, email: string) {
  const made = await probe.call('POST', CONTACTS, { email }, true);
  if (made?.ok !== true) return made !== null;
  const id = answeredId(made);
  return id !== null && hasEmail(made, email) && (await removeContact(probe, id));
}

/** False without an answer. */
async function removeContact({ call, leftContacts }: Probe, id: number) {
  const removed = await call('DELETE', `${CONTACTS}/${id}`, undefined, true);
  if (removed?.ok !== true) leftContacts.push(`contact ${id}`);
  return removed !== null;
}

function hasEmail({ object }: Answer, email: string) {
  return textOf(object['email'])?.toLowerCase() === email.toLowerCase();
}

async function tryLists({ get, learn }: Probe) {
  const all = await get(LISTS);
  if (!all?.ok || all.items === null || all.items.length < 2) return;
  const first = await get(`${LISTS}?limit=1&skip=0`);
  if (!first?.ok || first.items === null) return;
  const { limit } = all.object;
  const counted = typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0;
  learn('listPageLimit', first.items.length > 1 ? false : counted ? limit : all.items.length);
}

/** Reads products and categories; gives a category. */
async function tryReads({ get, learn }: Probe) {
  learn('readsProducts', isPage(await get(`${PRODUCTS}?limit=1`)));
  const categories = await get(`${PRODUCTS}/categories`);
  const known = categories?.items?.filter(({ id }) => typeof id === 'number');
  learn('readsCategories', categories === null ? null : categories.ok && known !== undefined);
  return categories?.ok ? known?.[0] : undefined;
}

/** Reads contacts and orders; gives a contact. */
async function tryContacts(probe: Probe) {
  const contacts = await probe.get(`${CONTACTS}?limit=1`);
  probe.learn('readsContacts', isPage(contacts));
  await tryOrders(probe);
  return contacts?.items?.[0];
}

/** From the time of an order on there is one; from next year on there is none. */
async function tryOrders({ get, learn, options }: Probe) {
  const createdIn = (answer: Answer | null) => answer?.items?.[0]?.['created'];
  const created = createdIn(await get(`${ORDERS}?limit=1`));
  if (typeof created !== 'number' || !Number.isSafeInteger(created)) return;
  const from = await get(`${ORDERS}?limit=1&created_at_min=${created}`);
  const nextYear = Math.max(created, Math.floor(options.now() / 1_000)) + YEAR_S;
  const later = await get(`${ORDERS}?limit=1&created_at_min=${nextYear}`);
  if (from === null || later === null) return;
  const found = createdIn(from);
  const isFound = from.ok && typeof found === 'number' && found >= created;
  learn('readsOrdersSince', isFound && later.ok && later.items?.length === 0);
}

async function tryContact(probe: Probe, listed: JsonObject | undefined) {
  const { get, judge, properties, options } = probe;
  const { contactId } = options;
  const named = contactId === null ? undefined : await readContact(probe, contactId);
  const contact = named ?? listed;
  const id = idIn(contact);
  const single = id === null ? null : await get(`${CONTACTS}/${id}`);
  judge('readsSingleContacts', single, (answer) => answeredId(answer) === id);
  const email = textOf(contact?.['email']) ?? `nobody-${options.unique}@storeferry.example`;
  const search = await get(`${CONTACTS}/search-by-email?email=${encodeURIComponent(email)}`);
  const isAbsent = contact === undefined && properties.readsContacts !== false && search?.status === 404;
  judge('searchesContactsByEmail', isAbsent ? null : search, ({ ok, items, json }) => {
    const found = items ?? (isJsonObject(json) ? [json] : []);
    return (
      ok && (contact === undefined || found.some((one) => idIn(one) !== null && one['id'] === contact['id']))
    );
  });
  if (named === undefined || contactId === null) return;
  if (textOf(named['email']) !== null) {
    const posted = await probe.call('POST', CONTACTS, { email });
    judge('upsertsContactsByEmail', posted, (answer) => answer.ok && answeredId(answer) === named['id']);
    if (posted !== null) await removeMade(probe, posted, named['id'], email);
    if (properties.upsertsContactsByEmail === true) await tryEmptyList(probe);
  }
}

/**
 * Removes the contact that a store made although it has one with this e-mail address. Another one that was there before is not
 * ours: only a contact of this minute that has nothing but the address is removed.
 */
async function removeMade(probe: Probe, posted: Answer, namedId: unknown, address: string) {
  const made = answeredId(posted);
  if (made === null || made === namedId || !hasEmail(posted, address)) return;
  const { id: _id, email: _email, createdOn, ...others } = posted.object;
  const isEmpty = Object.values(others).every((value) => !value || itemCount(value) === 0);
  const isNew =
    typeof createdOn === 'number' && Math.abs(createdOn * 1_000 - probe.options.now()) < NEW_WITHIN_MS;
  if (isEmpty && isNew) await removeContact(probe, made);
}

/** The contact as an update that changes nothing answers it, or a read. */
async function readContact({ call, get, judge, properties }: Probe, id: string) {
  const path = contactPath(id);
  const isWhole = (answer: Answer | null) => answer?.ok === true && textOf(answer.object['email']) !== null;
  let answer = await call('PUT', path, {});
  judge('emptyContactPutAnswersWhole', answer, isWhole);
  if (!isWhole(answer) && answer?.status !== 404) {
    answer = await call('PUT', path, { email: '' });
    if (isWhole(answer)) judge('emptyContactPutAnswersWhole', answer, () => 'email');
  }
  if (!isWhole(answer) && properties.readsContacts === true) answer = await get(path);
  return isWhole(answer) ? answer?.object : undefined;
}

/** Empties a list of a contact of its own: nobody loses a tag. */
async function tryEmptyList(probe: Probe) {
  const email = `storeferry-probe-${probe.options.unique}@storeferry.example`;
  await probe.keep(email);
  const made = await probe.call('POST', CONTACTS, { email, tags: ['storeferry-probe'] });
  const id = made !== null && hasEmail(made, email) ? answeredId(made) : null;
  if (id === null || itemCount(made?.object['tags']) === 0) return;
  const emptied = await probe.call('PUT', `${CONTACTS}/${id}`, { email, tags: [] });
  probe.judge(
    'emptyListClears',
    emptied,
    ({ ok, object: { tags } }) => ok && Array.isArray(tags) && tags.length === 0,
  );
}

async function tryProduct(probe: Probe, category: JsonObject | undefined) {
  const { upsert, judge, learn, remove } = probe;
  const url = `storeferry-probe-${probe.options.unique}`;
  await probe.keep(url);
  const whole = wholeProduct(true);
  const created = await upsert(url, whole);
  const id = created?.id ?? null;
  if (created === null || id === null) return;
  learn('advancedKeepsVariantPrices', keepsPrices(created.json, whole));
  learn('htmlAltered', created.object['description'] !== whole.description);
  learn('pricesAltered', pricesOf(created.json)[0] !== pricesOf(whole)[0]);
  const plain = await upsert(url, wholeProduct(false));
  if (plain?.ok) learn('plainKeepsVariantPrices', keepsPrices(plain.json, whole));
  await tryPartial(probe, url, id, whole);
  if (category !== undefined) await tryCategories(probe, url, category);
  const untracked = { ...whole, options: [], variants: [{ price: 10.99, quantity: null }] };
  judge('nullQuantity', await upsert(url, untracked), ({ ok, json }) => {
    const [variant] = objectsIn(json, 'variants');
    return ok && variant?.['quantity'] === null;
  });
  if (!(await remove(id))) return;
  judge('unknownDeleteStatus', await probe.call('DELETE', `${PRODUCTS}/${id}`), ({ status }) => status);
  const recreated = (await upsert(url, {}))?.id ?? null;
  if (recreated === null) return;
  learn('idSurvivesRecreation', recreated === id);
  if (await remove(recreated)) await probe.forget(url);
}

/** Sends a part of the product, in both ways in which stores take one. */
async function tryPartial(probe: Probe, url: string, id: number, whole: object) {
  const { upsert, get, judge, learn, properties } = probe;
  const path = `${PRODUCTS}/${id}`;
  const partial = await upsert(url, {});
  if (partial?.ok && isJsonObject(partial.json)) {
    const { json } = partial;
    const isWhole = 'description' in json && 'variants' in json && 'options' in json;
    learn('partialProductAnswersWhole', isWhole);
    if (isWhole) learn('absentFieldsStay', keepsFields(json));
  }
  if (properties.readsProducts === true) {
    const read = await get(path);
    judge('readsProducts', read, (answer) => answeredId(answer) === id);
    if (read?.ok && properties.absentFieldsStay === null) learn('absentFieldsStay', keepsFields(read.json));
  }
  if (properties.absentFieldsStay === false) await upsert(url, whole);
  const changed = await probe.call('PUT', path, { title: TITLE });
  judge('updatesProductById', changed, (answer) => answeredId(answer) === id && keepsFields(answer.json));
}

async function tryCategories({ upsert, learn }: Probe, url: string, category: JsonObject) {
  const isKept = async (form: unknown) => {
    const answer = await upsert(url, { ...wholeProduct(true), categories: [form] });
    const kept = answer?.ok ? answer.object['categories'] : undefined;
    const ids = Array.isArray(kept) ? kept.map((one) => (isJsonObject(one) ? one['id'] : one)) : [];
    return ids.includes(category['id']);
  };
  const objects = await isKept(category);
  const ids = await isKept(category['id']);
  if (objects || ids) learn('categoryForm', objects && ids ? 'both' : objects ? 'objects' : 'ids');
}

const DESCRIPTION =
  '<p>A <strong>test</strong> of this store, <em>removed again</em>.</p><ul><li>one &amp; two</li></ul>';

/** A product with all that a probe looks at; its variants have prices and stock of their own. */
function wholeProduct(advanced: boolean) {
  return {
    type: 'physical',
    description: DESCRIPTION,
    options: [{ name: 'Size', values: ['S', 'L'], advanced }],
    variants: [
      { options: ['S'], price: 10.99, quantity: 3, sku: 'STOREFERRY-PROBE-S', weight: 0.25 },
      { options: ['L'], price: 12.49, quantity: 5, sku: 'STOREFERRY-PROBE-L', weight: 0.5 },
    ],
  };
}

function pricesOf(product: unknown) {
  return objectsIn(product, 'variants').map(({ price }) => price);
}

/** Whether each variant has another price, as it was sent; a store may alter prices of all alike. */
function keepsPrices(product: unknown, sent: object) {
  const kept = pricesOf(product);
  return kept.length === pricesOf(sent).length && new Set(kept).size === kept.length;
}

/** Whether description and variants of a whole product are still there. */
function keepsFields(product: unknown) {
  return isJsonObject(product) && Boolean(product['description']) && pricesOf(product).length === 2;
}

function contactPath(id: string) {
  return `${CONTACTS}/${encodeURIComponent(id)}`;
}

function idIn(object: JsonObject | undefined) {
  const id = object?.['id'];
  const value = typeof id === 'string' && /^\d+$/.test(id) ? Number(id) : id;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** The id in the answer to a request that succeeded. */
function answeredId({ ok, object }: Answer) {
  return ok ? idIn(object) : null;
}

function textOf(value: unknown) {
  return typeof value === 'string' && value !== '' ? value : null;
}

function itemCount(value: unknown) {
  return Array.isArray(value) ? value.length : 0;
}

/** Whether an answer is the envelope with at most the one item that was asked for; null without an answer. */
function isPage(answer: Answer | null) {
  if (answer === null) return null;
  const { items } = answer.object;
  return answer.ok && Array.isArray(items) && items.length <= 1;
}
