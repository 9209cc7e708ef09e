import { hash } from 'node:crypto';
import { decodedPercents } from '../text/printable.ts';
import { isJsonObject, type JsonObject, member, objectsIn } from './json-object.ts';
import type { Product } from './mapped-record.ts';
import type { Reason } from './reason.ts';
import type { RowSpan } from './row.ts';

/** The members of a product, in the order in which mappings send them: the fingerprint of a body depends on it. */
export const PRODUCT_MEMBERS = [
  'type',
  'title',
  'description',
  'url',
  'hidden',
  'images',
  'categories',
  'options',
  'variants',
  'subscription',
  'file',
] as const satisfies readonly (keyof Product)[];

/** One planned request. */
export type Operation = UpsertProduct | UpdateContact | UpsertContact | DeleteProduct;

/** `POST /api/site/products?update_existing_product_by_url=true` (storefront-api.md, section 4.1). */
export interface UpsertProduct extends WithBody {
  readonly kind: 'upsert-product';
  /** The id in the store's last answer for this url, if the ledger knows it. */
  readonly knownId: number | null;
  /** Sends only a part of the body, where the store keeps the rest; left out: the whole body. */
  readonly part?: RecordPart | undefined;
  /** What the request has instead of the body's stock: the store's, which the plan does not change. Left out: the plan has not read it. */
  readonly stock?: VariantStock | undefined;
  /** The job that keeps the key although this run sends it: an update changes fields of a product of another job. Left out: the run's. */
  readonly owner?: string | undefined;
  /** The key that the product had before. */
  readonly renames?: string;
  /** Set if the store had the product before the first import. */
  readonly adopts?: true;
  /** Set if the product gets its new url by its id: `PUT /api/site/products/{id}`, which some stores have beyond the document. */
  readonly putId?: number;
}

/** The stock of variants, by their places in a body. */
export type VariantStock = readonly (readonly [place: number, quantity: number | null])[];

/** The body with this stock. */
export function withStock(body: string, stock: VariantStock): string {
  const product: unknown = JSON.parse(body);
  if (!isJsonObject(product)) return body;
  const byPlace = new Map(stock);
  const variants = [...objectsIn(product, 'variants')].map((variant, place) =>
    byPlace.has(place) ? { ...variant, quantity: byPlace.get(place) } : variant,
  );
  return JSON.stringify({ ...product, variants });
}

/** The part of a record that is sent: its changed top-level fields. */
export interface RecordPart {
  readonly fields: readonly string[];
  /** `PUT /api/site/products/{id}` by the known id; left out: an upsert, which also sends the title, because it must. */
  readonly byId?: true;
  /** The title that somebody gave it in the store, which an upsert repeats. */
  readonly title?: string;
}

/** The request body of a part: in the order of the whole body. */
export function bodyOfPart(body: string, part: RecordPart): string {
  const whole: unknown = JSON.parse(body);
  if (!isJsonObject(whole)) return body;
  const { byId, title } = part;
  const sent = fieldsInRequest(part);
  const fields = Object.fromEntries(Object.entries(whole).filter(([name]) => sent.has(name)));
  return JSON.stringify(byId === true || title === undefined ? fields : { ...fields, title });
}

/** The fields of the whole body that the request of a part has. One by id leaves the url alone: the store may have another by now. */
export function fieldsInRequest({ fields, byId }: RecordPart): ReadonlySet<string> {
  return new Set(byId === true ? fields : [...fields, 'url', 'title']);
}

/** The fields of the ledger's body that a part has sent. */
export function fieldsOfPart({ fields, byId, title }: RecordPart): readonly string[] {
  return byId === true || title !== undefined ? fields : [...fields, 'title'];
}

/** `PUT /api/site/contacts/{id}` (section 4.2); the id is the key. */
export interface UpdateContact extends WithBody {
  readonly kind: 'update-contact';
  /** Sends only the changed fields; left out: the whole body. */
  readonly part?: RecordPart | undefined;
}

/**
 * `POST /api/site/contacts`, which some stores have beyond the document: changes the contact with the e-mail address of the
 * body, or creates it. The ledger has what it acknowledges under the answered id.
 */
interface UpsertContact extends WithBody {
  readonly kind: 'upsert-contact';
}

const NEW_CONTACT = 'new-';

/** The key of a contact that has no id yet; its e-mail address cannot be read from it. */
export function newContactKey(email: string): string {
  return `${NEW_CONTACT}${hash('sha256', comparedEmail(email), 'hex').slice(0, 24)}`;
}

/** Full-width and half-width forms, as keyboards for East Asian languages type them. */
const WIDE = /[\uff01-\uffee]/g;

/** An e-mail address in the form of Unicode in which addresses are sent: composed (NFC), with characters of the usual width. */
export function composedEmail(email: string): string {
  return email.replaceAll(WIDE, (wide) => wide.normalize('NFKC')).normalize('NFC');
}

/** The form in which e-mail addresses are compared: one contact has all spellings of it. */
export function comparedEmail(email: string): string {
  return composedEmail(email).trim().toLowerCase();
}

/** Whether an address is the one that somebody typed. */
export function isSameEmail(email: string | null, typed: string): boolean {
  return email !== null && comparedEmail(email) === comparedEmail(typed);
}

/** Whether a key of a contact is no id. */
export function isNewContactKey(key: string): boolean {
  return key.startsWith(NEW_CONTACT);
}

/** Where a body is among those that were packed together when they were planned, as the ledger keeps them. */
export interface PackedBody {
  /** The same object for all bodies of the block. */
  readonly block: Uint8Array;
  readonly place: number;
}

/**
 * `DELETE /api/site/products/{id}` (section 4.4), for a product that the source no longer has. With `idLookupBody`
 * the id must be proved again: that body is sent first as an upsert. The product is deleted by the id in the answer,
 * if the answer has exactly the sent url, or another spelling of it with the same id as before.
 */
export interface DeleteProduct extends FromRecord {
  readonly kind: 'delete-product';
  readonly id: number;
  readonly idLookupBody?: string | undefined;
  /** The key that the product has now: it is deleted only if that one is acknowledged. */
  readonly renamedTo?: string;
}

interface FromRecord {
  /** Position within its shard, from 0. */
  readonly index: number;
  readonly key: string;
  readonly rows: number;
  readonly spans: readonly RowSpan[];
}

interface WithBody extends FromRecord {
  /** The request body: serialised once, so that the fingerprint belongs to exactly these bytes. */
  readonly body: string;
  readonly fingerprint: string;
  /** The memo of the rows that made the body (DeferredRecord), to be stored with it; absent if there is none. */
  readonly memo?: string | undefined;
  readonly packed?: PackedBody | undefined;
}

/** The most operations of a shard. */
export const SHARD_SIZE = 500;

/** The result of an operation. */
export type Outcome = Applied | Rejected | Unsent | Left;

/** Whether a run is done with an operation of this outcome; absent: it has none yet. All else is sent when the run continues. */
export function isFinal(kind: Outcome['kind'] | undefined): boolean {
  switch (kind) {
    case undefined:
    case 'unsent':
      return false;
    case 'applied':
    case 'rejected':
    case 'left':
      return true;
    default:
      return kind satisfies never;
  }
}

/**
 * The store's own answer proved the operation. `id` is the answered id (null for a delete, or if the store answers
 * none). `answeredUrl`: the answered url, if it is another spelling of the sent one; such an id is used for a delete
 * only after it was answered twice.
 */
export interface Applied {
  readonly kind: 'applied';
  readonly id: number | null;
  readonly answeredUrl?: string;
  /** The top-level fields that were sent; absent: the whole body. */
  readonly part?: readonly string[] | undefined;
}

/** The store refused the operation with a 4xx, or it is no longer safe to send; this run does not send it again. */
export interface Rejected {
  readonly kind: 'rejected';
  readonly reason: Reason;
  /** An earlier attempt may have taken effect nevertheless. */
  readonly inDoubt?: true;
  /** The store may still be processing an earlier attempt. */
  readonly atWork?: true;
  /** The store says that it has nothing under the key: the acknowledged object is gone. */
  readonly absent?: true;
}

/** The store failed for too long, or never answered: the operation is sent when the run continues. */
export interface Unsent {
  readonly kind: 'unsent';
  readonly reason: Reason;
  /** An attempt may have taken effect. */
  readonly inDoubt?: true;
  /** The store may still be processing an attempt. */
  readonly atWork?: true;
}

/** A delete that was not sent: its key or id is no longer certain, or the new url of its product was not acknowledged. */
interface Left {
  readonly kind: 'left';
}

/** Stands for the value of an answer that repeats the sent body as it is, and so was not parsed. */
export const AS_SENT: unique symbol = Symbol('the body as it was sent');

/**
 * The top-level fields of a sent body that an answer repeats with another value. Numbers may be answered as text,
 * text with other blanks, and empty values as null; a member that is missing in the answer is not repeated.
 */
export function changedFields(sent: JsonObject, answer: JsonObject): string[] {
  return Object.keys(sent).filter(
    (name) => Object.hasOwn(answer, name) && !isAlike(sent[name], answer[name], name),
  );
}

/** A field in which a store has another value than is believed of a record. */
interface StoreDifference {
  /** The member of the body: `variants`. */
  readonly field: string;
  /** As reports name it, with the members that differ: `title`, `variants.price`. */
  readonly paths: readonly string[];
  readonly believed: unknown;
  /** What the store has; null if it has none. */
  readonly found: unknown;
}

/**
 * The differences between what is believed of a record and a whole record that the store answered. Compared are the
 * fields that were sent: what nobody sent belongs to the store. Values count as equal where a store may have written
 * them in another way (`changedFields`).
 */
export function storeDifferences(believed: JsonObject, found: JsonObject): StoreDifference[] {
  const altered = alteredFields(believed, found);
  const missing = Object.keys(believed).filter(
    (name) => !Object.hasOwn(found, name) && !isEmpty(believed[name]),
  );
  return [...altered, ...missing.map((field) => ({ field, paths: [field] }))].map((difference) => ({
    ...difference,
    believed: member(believed, difference.field),
    found: member(found, difference.field) ?? null,
  }));
}

/**
 * The fields of a sent body that the answer (as `SendOptions.onAnswer` gives it) repeats with another value, and those that it leaves out: `title`,
 * `variants.price`. `respelled`: the url, where it is another spelling of the one that was sent. Some stores answer little more than the id:
 * where an answer repeats less than half of the fields, `compared` is false, and none counts as dropped.
 */
export function answeredDifferences(
  body: string,
  answer: unknown,
): Readonly<Record<'altered' | 'dropped' | 'respelled', string[]>> & { readonly compared: boolean } {
  const nothing = { altered: [], dropped: [], respelled: [] };
  if (answer === AS_SENT) return { ...nothing, compared: true };
  const sent: unknown = JSON.parse(body);
  if (!isJsonObject(sent) || !isJsonObject(answer)) return { ...nothing, compared: false };
  const altered = alteredFields(sent, answer).flatMap(({ paths }) => paths);
  const names = Object.keys(sent);
  const missing = names.filter((name) => !Object.hasOwn(answer, name));
  const compared = 2 * missing.length <= names.length;
  const dropped = compared ? missing.filter((name) => !isEmpty(sent[name])) : [];
  const [sentUrl, url] = [member(sent, 'url'), member(answer, 'url')];
  const isRespelled =
    typeof sentUrl === 'string' && url !== undefined && url !== sentUrl && !altered.includes('url');
  return { altered, dropped, respelled: isRespelled ? ['url'] : [], compared };
}

function alteredFields(sent: JsonObject, answer: JsonObject): Pick<StoreDifference, 'field' | 'paths'>[] {
  return changedFields(sent, { ...answer, ...arranged(sent, answer) }).map((field) => ({
    field,
    paths: field === 'variants' ? variantFields(member(sent, field), member(answer, field)) : [field],
  }));
}

/** The fields that differ in any variant, compared by place; `variants` where the answer has more or fewer. */
function variantFields(sent: unknown, answered: unknown) {
  if (!Array.isArray(sent) || !Array.isArray(answered) || sent.length !== answered.length)
    return ['variants'];
  const fields = sent.flatMap((variant: unknown, index) => {
    const other: unknown = answered[index];
    return isJsonObject(variant) && isJsonObject(other) ? changedFields(variant, other) : [];
  });
  return fields.length === 0 ? ['variants'] : [...new Set(fields)].map((field) => `variants.${field}`);
}

/**
 * Lists of a contact in the order in which they were sent: a store may sort them, and may have more properties than
 * were sent.
 */
function arranged(sent: JsonObject, answer: JsonObject): JsonObject {
  const lists = ['tags', 'subscriberLists'].flatMap((name) => {
    const [before, after] = [member(sent, name), member(answer, name)];
    if (!Array.isArray(before) || !Array.isArray(after)) return [];
    const places = new Map(before.map((value, index) => [String(value), index]));
    const placeOf = (value: unknown) => places.get(String(value)) ?? before.length;
    return [[name, after.toSorted((one, other) => placeOf(one) - placeOf(other))] as const];
  });
  const [before, after] = [member(sent, 'properties'), member(answer, 'properties')];
  if (!Array.isArray(before) || !Array.isArray(after)) return Object.fromEntries(lists);
  const held = new Map(after.filter(isJsonObject).map((property) => [member(property, 'name'), property]));
  const properties = before.map((property) =>
    isJsonObject(property) ? held.get(member(property, 'name')) : undefined,
  );
  return { ...Object.fromEntries(lists), properties };
}

function isAlike(sent: unknown, answered: unknown, name: string): boolean {
  if (sent === answered) return true;
  if (isEmpty(sent)) return isEmpty(answered);
  if (Array.isArray(sent)) {
    return (
      Array.isArray(answered) &&
      answered.length === sent.length &&
      sent.every((element, index) => isAlike(element, answered[index], name))
    );
  }
  if (isJsonObject(sent)) {
    if (!isJsonObject(answered)) return false;
    const repeated = Object.keys(sent).filter((member) => Object.hasOwn(answered, member));
    return repeated.length > 0 && repeated.every((member) => isAlike(sent[member], answered[member], member));
  }
  if (typeof answered !== 'string') {
    return answered === sent || (typeof answered !== 'object' && String(answered) === sent);
  }
  switch (typeof sent) {
    case 'number':
      return answered.trim() !== '' && Number(answered) === sent;
    case 'string':
      return plain(answered) === plain(sent) || (name === 'url' && isNormalisedUrl(sent, answered));
    default:
      return answered === String(sent);
  }
}

function plain(text: string): string {
  return text.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
}

/** Latin letters that do not decompose into a letter and an accent, and their usual replacements in shops. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
};

/** A text in lower case with plain letters, such as `ss` instead of `ß`. Accents stay. */
export function withPlainLetters(text: string): string {
  return text.replaceAll(/[ßæœøđðþłħı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter);
}

/**
 * Whether a store may have made `answered` of `sent`: case, accents, Unicode form, punctuation to dashes, a number
 * after it.
 */
export function isNormalisedUrl(sent: string, answered: string): boolean {
  if (answered === sent) return true;
  const made = handleOf(answered);
  return [sent, sent.normalize('NFC').replaceAll(/[äöüÄÖÜ]/g, '$&e')].some((url) => {
    const handle = handleOf(url);
    return handle !== '' && made.startsWith(handle) && /^(-\d{1,6})?$/.test(made.slice(handle.length));
  });
}

/** A url as most shops would write it: plain lower-case letters and digits with dashes between. */
function handleOf(url: string): string {
  return withPlainLetters(
    (decodedPercents(url) ?? url).normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase(),
  )
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '');
}

/** Whether a value is empty: a store need not repeat it. */
export function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === '' || value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}
