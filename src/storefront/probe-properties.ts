import { isJsonObject, type JsonObject, objectsIn } from '../model/json-object.ts';
import { type ProbedProperties, type PropertyName, probedProperties } from '../model/probed-properties.ts';
import { retryAfterMs } from '../remote/remote-client.ts';
import { type Exchange, exchange, NoAnswer, type StoreRequest } from './exchange.ts';
import { expectDeleted, expectProduct, reportsFailure } from './proof.ts';
import { parseJson } from './read-page.ts';
import { abortListeners } from './wait-queue.ts';

/** What a probe may leave in the store if its process dies; kept until it is removed. */
export interface ProbeTraces {
  /** The urls of products that the probe is about to create. */
  readonly urls: readonly string[];
  /** A contact with a list that the probe is about to empty, and what the list had. */
  readonly contact: { readonly id: string; readonly field: string; readonly value: unknown } | null;
}

/** What a store was seen to do. */
interface ProbedStore {
  readonly properties: ProbedProperties;
  readonly requests: number;
  /** Urls of products, and contacts (`contact 7`), that could not be removed. */
  readonly left: readonly string[];
  /** For each property the request that showed it, and what was answered; no values of contacts. */
  readonly evidence: Readonly<Partial<Record<PropertyName, string>>>;
}

interface PropertiesProbe {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly userAgent: string;
  readonly attemptMs: number;
  readonly signal: AbortSignal;
  /** The contact to try the properties of contacts with; nothing of it changes. */
  readonly contactId: string | null;
  /** Traces of probes that died; they are removed first. */
  readonly traces: ProbeTraces;
  /** Keeps the traces; resolves when they survive the death of the process. */
  readonly keepTraces: (traces: ProbeTraces) => Promise<void>;
  /** Differs for each probe; letters and digits. */
  readonly unique: string;
  readonly wait: (ms: number) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The most requests of a probe, those that remove its product included. */
export const MAX_PROBE_REQUESTS = 40;
/** For removing a product: an upsert that finds its id, a delete, and one retry of each. */
const RESERVED_REQUESTS = 4;
const MAX_ATTEMPTS = 3;
const RETRY_WAIT_MS = 1_000;
const MAX_RETRY_WAIT_MS = 20_000;
/** How far the clock of a store and ours may differ. */
const NEW_WITHIN_MS = 60_000;

const SITE = '/api/site';
const PRODUCTS = `${SITE}/products`;
const UPSERT = `${PRODUCTS}?update_existing_product_by_url=true`;
const CONTACTS = `${SITE}/contacts`;
const ORDERS = `${SITE}/orders`;
const YEAR_S = 365 * 24 * 60 * 60;
const TITLE = 'Storeferry probe (removed again)';
/** Lists of a contact that nothing is sent for when they change, unlike subscriptions. */
const CONTACT_LISTS = ['tags', 'properties'] as const;

/** An answer; null where the store gave none that decides. */
interface Answer {
  readonly status: number;
  readonly json: unknown;
  /** A success, as JSON or without a body. */
  readonly ok: boolean;
}

/** The answer to an upsert of a product of the probe. */
interface ProductAnswer extends Answer {
  /** Of the product that was sent, as the answer proves it; any other id may be that of a product of the shop. */
  readonly id: number | null;
}

/**
 * Learns the properties of a store by at most `MAX_PROBE_REQUESTS` requests: reads, then writes to one hidden product
 * of its own, which is deleted again, and to the named contact, of which nothing changes. Rejects with the signal's
 * reason.
 */
export async function probeProperties(options: PropertiesProbe): Promise<ProbedStore> {
  const { apiKey, baseUrl, userAgent, attemptMs } = options;
  const wire = exchange({ baseUrl, apiKey, userAgent, attemptMs, connections: 1, aborts: abortListeners() });
  const probe = new Probe(options, (request, ...signals) => wire.send(request, ...signals));
  try {
    return await probe.run();
  } finally {
    await wire.close();
  }
}

class Probe {
  readonly #options: PropertiesProbe;
  readonly #send: Exchange['send'];
  readonly #properties: { -readonly [Name in PropertyName]: ProbedProperties[Name] } = probedProperties.parse(
    {},
  );
  readonly #evidence: Partial<Record<PropertyName, string>> = {};
  /** `probeStore` has sent one before. */
  #requests = 1;
  #traces: ProbeTraces;
  /** Contacts that the store made and does not remove. */
  readonly #left: string[] = [];
  /** The request and the answer that the next conclusion rests on. */
  #last = '';

  constructor(options: PropertiesProbe, send: Exchange['send']) {
    this.#options = options;
    this.#send = send;
    this.#traces = options.traces;
  }

  async run(): Promise<ProbedStore> {
    const url = `storeferry-probe-${this.#options.unique}`;
    const left = await this.#removeTraces();
    await this.#readLists();
    const [category, contact] = await this.#readStore();
    await this.#tryContact(contact);
    try {
      await this.#tryProduct(url, category);
    } finally {
      left.push(...(await this.#removeTraces(left)));
    }
    return {
      properties: this.#properties,
      requests: this.#requests,
      left: [...left, ...this.#left],
      evidence: this.#evidence,
    };
  }

  /** Removes the products of this and of earlier probes, and restores a contact; gives what could not be removed. */
  async #removeTraces(known: readonly string[] = []): Promise<string[]> {
    const { contact } = this.#traces;
    if (contact !== null) {
      const restored = await this.#restoreContact(contact);
      if (restored) await this.#keep({ ...this.#traces, contact: null });
    }
    const left: string[] = [];
    for (const url of this.#traces.urls.filter((trace) => !known.includes(trace))) {
      const id = (await this.#upsert(url, {}, true))?.id ?? null;
      if (id === null || !(await this.#remove(id))) left.push(url);
      else await this.#keep({ ...this.#traces, urls: this.#traces.urls.filter((trace) => trace !== url) });
    }
    return left;
  }

  async #keep(traces: ProbeTraces): Promise<void> {
    this.#traces = traces;
    await this.#options.keepTraces(traces);
  }

  async #readLists(): Promise<void> {
    const all = await this.#call('GET', `${SITE}/subscriber-lists`);
    const lists = itemsOf(all?.json);
    if (!all?.ok || lists === null || lists.length < 2) return;
    const first = await this.#call('GET', `${SITE}/subscriber-lists?limit=1&skip=0`);
    const some = itemsOf(first?.json);
    if (!first?.ok || some === null) return;
    const limit = isJsonObject(all.json) ? all.json['limit'] : undefined;
    const counted = typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0;
    this.#learn('listPageLimit', some.length > 1 ? false : counted ? limit : lists.length);
  }

  /** Reads that change nothing: gives a category, and the contact to search for. */
  async #readStore(): Promise<readonly [category: JsonObject | undefined, contact: JsonObject | undefined]> {
    const products = await this.#call('GET', `${PRODUCTS}?limit=1`);
    this.#learn('readsProducts', isPage(products));
    const categories = await this.#call('GET', `${PRODUCTS}/categories`);
    const known = itemsOf(categories?.json)?.filter((entry) => typeof entry['id'] === 'number') ?? null;
    this.#learn('readsCategories', categories === null ? null : categories.ok && known !== null);
    const contacts = await this.#call('GET', `${CONTACTS}?limit=1`);
    this.#learn('readsContacts', isPage(contacts));
    await this.#tryOrders();
    return [categories?.ok ? known?.[0] : undefined, itemsOf(contacts?.json)?.[0]];
  }

  /** From the time of an order on there is one; from next year on there is none. */
  async #tryOrders(): Promise<void> {
    const createdIn = (answer: Answer | null) => itemsOf(answer?.json)?.[0]?.['created'];
    const created = createdIn(await this.#call('GET', `${ORDERS}?limit=1`));
    if (typeof created !== 'number' || !Number.isSafeInteger(created)) return;
    const from = await this.#call('GET', `${ORDERS}?limit=1&created_at_min=${created}`);
    const nextYear = Math.max(created, Math.floor(this.#options.now() / 1_000)) + YEAR_S;
    const later = await this.#call('GET', `${ORDERS}?limit=1&created_at_min=${nextYear}`);
    if (from === null || later === null) return;
    const found = createdIn(from);
    const isFound = from.ok && typeof found === 'number' && found >= created;
    this.#learn('readsOrdersSince', isFound && later.ok && itemsOf(later.json)?.length === 0);
  }

  async #tryContact(listed: JsonObject | undefined): Promise<void> {
    const { contactId } = this.#options;
    const named = contactId === null ? undefined : await this.#readContact(contactId);
    const contact = named ?? listed;
    const id = idIn({ ok: true, json: contact });
    const single = id === null ? null : await this.#call('GET', `${CONTACTS}/${id}`);
    if (single !== null) this.#learn('readsSingleContacts', idIn(single) === id);
    const email = textOf(contact?.['email']) ?? `nobody-${this.#options.unique}@storeferry.example`;
    const search = await this.#call('GET', `${CONTACTS}/search-by-email?email=${encodeURIComponent(email)}`);
    const found = search?.ok ? [...objectsOf(search.json)].map((one) => one['id']) : [];
    const isAbsent = contact === undefined && this.#properties.readsContacts !== false;
    if (search !== null && !(isAbsent && search.status === 404)) {
      this.#learn(
        'searchesContactsByEmail',
        search.ok && (contact === undefined || found.includes(contact['id'])),
      );
    }
    if (named === undefined || contactId === null) return;
    if (textOf(named['email']) !== null) {
      const posted = await this.#call('POST', CONTACTS, { email });
      if (posted !== null) {
        this.#learn('upsertsContactsByEmail', posted.ok && idIn(posted) === named['id']);
        await this.#removeMade(posted, named);
      }
    }
    await this.#tryEmptyList(contactId, named);
  }

  /**
   * Removes the contact that a store made although it has one with this e-mail address. Another one that was there before is not
   * ours: only a contact of this minute that has nothing but the address is removed.
   */
  async #removeMade(posted: Answer, named: JsonObject): Promise<void> {
    const id = idIn(posted);
    if (id === null || id === named['id'] || !isJsonObject(posted.json)) return;
    const { id: _id, email, createdOn, ...others } = posted.json;
    if (textOf(email)?.toLowerCase() !== textOf(named['email'])?.toLowerCase()) return;
    const isEmpty = Object.values(others).every((value) => !value || itemCount(value) === 0);
    const isNew =
      typeof createdOn === 'number' && Math.abs(createdOn * 1_000 - this.#options.now()) < NEW_WITHIN_MS;
    if (!isEmpty || !isNew) return;
    const removed = await this.#call('DELETE', `${CONTACTS}/${id}`, undefined, true);
    if (removed?.ok !== true) this.#left.push(`contact ${id}`);
  }

  /** The contact as an update that changes nothing answers it, or a read. */
  async #readContact(id: string): Promise<JsonObject | undefined> {
    const path = `${CONTACTS}/${encodeURIComponent(id)}`;
    const isWhole = (answer: Answer | null) =>
      answer?.ok === true && isJsonObject(answer.json) && textOf(answer.json['email']) !== null;
    let answer = await this.#call('PUT', path, {});
    if (answer !== null) this.#learn('emptyContactPutAnswersWhole', isWhole(answer));
    if (!isWhole(answer) && answer?.status !== 404) {
      answer = await this.#call('PUT', path, { email: '' });
      if (isWhole(answer)) this.#learn('emptyContactPutAnswersWhole', 'email');
    }
    if (!isWhole(answer) && this.#properties.readsContacts === true) answer = await this.#call('GET', path);
    return isWhole(answer) && isJsonObject(answer?.json) ? answer.json : undefined;
  }

  async #tryEmptyList(id: string, contact: JsonObject): Promise<void> {
    const field = CONTACT_LISTS.find((name) => itemCount(contact[name]) > 0);
    if (field === undefined) return;
    const trace = { id, field, value: contact[field] };
    await this.#keep({ ...this.#traces, contact: trace });
    // A field that is not empty, unchanged: some stores refuse a body without one.
    const emptied = await this.#call('PUT', `${CONTACTS}/${encodeURIComponent(id)}`, {
      email: contact['email'],
      [field]: [],
    });
    const after = isJsonObject(emptied?.json) ? emptied.json[field] : undefined;
    if (emptied !== null)
      this.#learn('emptyListClears', emptied.ok && Array.isArray(after) && after.length === 0);
    const isUntouched = emptied !== null && itemCount(after) === itemCount(contact[field]);
    if (isUntouched || (await this.#restoreContact(trace)))
      await this.#keep({ ...this.#traces, contact: null });
  }

  async #restoreContact({ id, field, value }: NonNullable<ProbeTraces['contact']>): Promise<boolean> {
    const path = `${CONTACTS}/${encodeURIComponent(id)}`;
    const restored = await this.#call('PUT', path, { [field]: value }, true);
    return restored?.ok === true || restored?.status === 404;
  }

  async #tryProduct(url: string, category: JsonObject | undefined): Promise<void> {
    await this.#keep({ ...this.#traces, urls: [...this.#traces.urls, url] });
    const whole = wholeProduct(true);
    const created = await this.#upsert(url, whole);
    const id = created?.id ?? null;
    if (id === null || !isJsonObject(created?.json)) return;
    this.#learn('advancedKeepsVariantPrices', keepsPrices(created.json, whole));
    this.#learn('htmlAltered', created.json['description'] !== whole.description);
    this.#learn('pricesAltered', pricesOf(created.json)[0] !== pricesOf(whole)[0]);
    const plain = await this.#upsert(url, wholeProduct(false));
    if (plain?.ok) this.#learn('plainKeepsVariantPrices', keepsPrices(plain.json, whole));
    await this.#tryPartial(url, id, whole);
    await this.#tryCategories(url, category);
    const untracked = { ...whole, options: [], variants: [{ price: 10.99, quantity: null }] };
    const untrackedAnswer = await this.#upsert(url, untracked);
    if (untrackedAnswer !== null) {
      const [variant] = objectsIn(untrackedAnswer.json, 'variants');
      this.#learn('nullQuantity', untrackedAnswer.ok && variant?.['quantity'] === null);
    }
    if (!(await this.#remove(id))) return;
    const again = await this.#call('DELETE', `${PRODUCTS}/${id}`);
    if (again !== null) this.#learn('unknownDeleteStatus', again.status);
    const recreated = (await this.#upsert(url, {}))?.id ?? null;
    if (recreated === null) return;
    this.#learn('idSurvivesRecreation', recreated === id);
    if (await this.#remove(recreated)) {
      await this.#keep({ ...this.#traces, urls: this.#traces.urls.filter((trace) => trace !== url) });
    }
  }

  /** Sends a part of the product, in both ways in which stores take one. */
  async #tryPartial(url: string, id: number, whole: ReturnType<typeof wholeProduct>): Promise<void> {
    const partial = await this.#upsert(url, {});
    if (partial?.ok && isJsonObject(partial.json)) {
      const { json } = partial;
      const isWhole = 'description' in json && 'variants' in json && 'options' in json;
      this.#learn('partialProductAnswersWhole', isWhole);
      if (isWhole) this.#learn('absentFieldsStay', keepsFields(json));
    }
    if (this.#properties.readsProducts === true) {
      const read = await this.#call('GET', `${PRODUCTS}/${id}`);
      if (read !== null) this.#learn('readsProducts', read.ok && idIn(read) === id);
      if (read?.ok && this.#properties.absentFieldsStay === null)
        this.#learn('absentFieldsStay', keepsFields(read.json));
      await this.#tryFilter(id);
    }
    if (this.#properties.absentFieldsStay === false) await this.#upsert(url, whole);
    const changed = await this.#call('PUT', `${PRODUCTS}/${id}`, { title: TITLE });
    if (changed === null) return;
    this.#learn('updatesProductById', changed.ok && idIn(changed) === id && keepsFields(changed.json));
  }

  /** The product of the probe is listed by its title, and none by a title that was never used. */
  async #tryFilter(id: number): Promise<void> {
    const listed = async (title: string) =>
      itemsOf((await this.#call('GET', `${PRODUCTS}?limit=10&title=${encodeURIComponent(title)}`))?.json);
    const own = await listed(TITLE);
    const none = await listed(`nobody-${this.#options.unique}`);
    if (own !== null && none !== null)
      this.#learn('filtersProducts', own.some((one) => one['id'] === id) && none.length === 0);
  }

  async #tryCategories(url: string, category: JsonObject | undefined): Promise<void> {
    if (category === undefined) return;
    const isKept = async (form: unknown): Promise<boolean | null> => {
      const answer = await this.#upsert(url, { ...wholeProduct(true), categories: [form] });
      if (answer === null) return null;
      const kept = isJsonObject(answer.json) ? answer.json['categories'] : undefined;
      const ids = Array.isArray(kept) ? kept.map((one) => (isJsonObject(one) ? one['id'] : one)) : [];
      return answer.ok && ids.includes(category['id']);
    };
    const objects = await isKept(category);
    const ids = await isKept(category['id']);
    if (objects && ids) this.#learn('categoryForm', 'both');
    else if (objects || ids) this.#learn('categoryForm', objects ? 'objects' : 'ids');
  }

  /** A hidden product in every request, since a store may empty what a body does not have. */
  async #upsert(url: string, fields: object, isCleaning = false): Promise<ProductAnswer | null> {
    const body = { url, title: TITLE, hidden: true, ...fields };
    const answer = await this.#call('POST', UPSERT, body, isCleaning);
    if (answer === null) return null;
    const proof = expectProduct(url, JSON.stringify(body)).prove(answer.json);
    return { ...answer, id: answer.ok && typeof proof !== 'string' ? proof.id : null };
  }

  async #remove(id: number): Promise<boolean> {
    const answer = await this.#call('DELETE', `${PRODUCTS}/${id}`, undefined, true);
    if (answer?.status === 404) return true;
    return answer?.ok === true && typeof expectDeleted(id).prove(answer.json) !== 'string';
  }

  #learn<Name extends PropertyName>(name: Name, value: ProbedProperties[Name]): void {
    this.#properties[name] = value;
    this.#evidence[name] = this.#last;
  }

  /** Sends a request, again after a failure that may pass; null without an answer that decides, or without requests left. */
  async #call(
    method: StoreRequest['method'],
    path: string,
    body?: object,
    isCleaning = false,
  ): Promise<Answer | null> {
    const most = MAX_PROBE_REQUESTS - (isCleaning ? 0 : RESERVED_REQUESTS);
    const shown = `${method} ${path.replace(/\?email=.*/, '?email=…')}${body === undefined ? '' : ` {${Object.keys(body).join(', ')}}`}`;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS && this.#requests < most; attempt += 1) {
      this.#requests += 1;
      let waitMs = RETRY_WAIT_MS * attempt;
      try {
        const request = { method, path, body: body === undefined ? null : JSON.stringify(body) };
        // What a probe has made is removed also after an interrupt.
        const answer = await this.#send(request, ...(isCleaning ? [] : [this.#options.signal]));
        this.#last = `${shown}: ${answer.status}`;
        const asked = retryAfterMs(answer.retryAfter, this.#options.now());
        if (answer.status === 503) this.#learn('retryAfterOn503', asked !== undefined);
        if (answer.status !== 429 && answer.status < 500) {
          const parsed = parseJson(answer.body);
          const isReadable = parsed !== undefined || answer.body.trim() === '';
          const ok = answer.status >= 200 && answer.status < 300 && isReadable;
          return { status: answer.status, json: parsed?.value, ok: ok && !reportsFailure(parsed?.value) };
        }
        waitMs = Math.min(asked ?? waitMs, MAX_RETRY_WAIT_MS);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        this.#last = `${shown}: ${error.message}`;
      }
      if (attempt < MAX_ATTEMPTS) await this.#options.wait(waitMs);
    }
    return null;
  }
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

function pricesOf(product: unknown): unknown[] {
  return objectsIn(product, 'variants').map(({ price }) => price);
}

/** Whether each variant has another price, as it was sent; a store may alter prices of all alike. */
function keepsPrices(product: unknown, sent: object): boolean {
  const kept = pricesOf(product);
  return kept.length === pricesOf(sent).length && new Set(kept).size === kept.length;
}

/** Whether description and variants of a whole product are still there. */
function keepsFields(product: unknown): boolean {
  return isJsonObject(product) && Boolean(product['description']) && pricesOf(product).length === 2;
}

function idIn(answer: Pick<Answer, 'ok' | 'json'> | null): number | null {
  const id = answer?.ok && isJsonObject(answer.json) ? answer.json['id'] : undefined;
  const value = typeof id === 'string' && /^\d+$/.test(id) ? Number(id) : id;
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function itemCount(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

/** The objects of a list, bare or in the envelope (storefront-api.md, section 2); null for anything else. */
function itemsOf(json: unknown): readonly JsonObject[] | null {
  const items = isJsonObject(json) ? json['items'] : json;
  return Array.isArray(items) ? items.filter(isJsonObject) : null;
}

/** The objects of a search: one, a list or an envelope. */
function objectsOf(json: unknown): readonly JsonObject[] {
  return itemsOf(json) ?? (isJsonObject(json) ? [json] : []);
}

/** Whether an answer is the envelope with at most the one item that was asked for; null without an answer. */
function isPage(answer: Answer | null): boolean | null {
  if (answer === null) return null;
  const { json, ok } = answer;
  return ok && isJsonObject(json) && Array.isArray(json['items']) && json['items'].length <= 1;
}
