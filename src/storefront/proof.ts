import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject, textsIn } from '../model/json-object.ts';
import { changedFields, comparedEmail, isEmpty, isNormalisedUrl } from '../model/operation.ts';

/** What the store's own answer proves about its request. */
export interface Proof {
  /** The answered id; null for a delete and for reads. */
  readonly id: number | null;
  /** The answered url, if it is a normalised form of the url that was sent. */
  readonly answeredUrl?: string;
}

/** What a 2xx answer must contain to acknowledge a request (storefront-api.md, section 4). */
export interface Expectation {
  /** The proof in a parsed answer (`undefined`: it has no body), or else the expected content as a noun phrase. */
  readonly prove: (answer: unknown) => Proof | string;
  /**
   * The same for the text of an answer that repeats the sent body unchanged: both need no parsing. Undefined if the text
   * does not prove it in this way; then parse it and call `prove`.
   */
  readonly proveRepeated?: (text: string) => Proof | undefined;
  /** The answer has personal data: messages show its shape, but neither its values nor those of the request. */
  readonly personalData: (() => readonly string[]) | null;
}

/**
 * Expects the product that was sent (section 4.1): an integer id, or its decimal text, with the sent url and a field
 * that identifies the product, or with a normalised form of the url and all other repeated fields as they were sent.
 * `body` is read only if url and title are not both answered as they were sent.
 */
export function expectProduct(url: string, body: string): Expectation {
  return {
    personalData: null,
    proveRepeated(text) {
      const id = idIn(besideRepeated(text, body) ?? {});
      return id === null || !body.includes(`"url":${JSON.stringify(url)}`) ? undefined : { id };
    },
    prove(answer) {
      if (!isJsonObject(answer)) return 'the product that was sent';
      const id = idIn(answer);
      if (id === null) return 'the product that was sent, with an integer id';
      if (answer['url'] === url && repeatsTitle(body, answer['title'])) return { id };
      return proveByFields(asObject(JSON.parse(body)), answer, id);
    },
  };
}

/** The same of the product with this id. */
export function expectSameProduct(id: number, url: string, body: string): Expectation {
  const expected = expectProduct(url, body);
  return {
    personalData: null,
    prove(answer) {
      const proof = expected.prove(answer);
      return typeof proof === 'string' || proof.id === id ? proof : `the product with the id ${id}`;
    },
  };
}

/** Expects the product with the id that was sent. It may have another url by now, which the request does not change. */
export function expectUpdatedProduct(id: number, url: string): Expectation {
  return {
    personalData: null,
    prove(answer) {
      if (!isJsonObject(answer) || idIn(answer) !== id) return 'the product with the id that was sent';
      const { url: answered } = answer;
      const isRespelled = typeof answered === 'string' && answered !== url && isNormalisedUrl(url, answered);
      return isRespelled ? { id, answeredUrl: answered } : { id };
    },
  };
}

/** Expects the contact with this id (section 4.2). */
export function expectContact(id: string, body: string): Expectation {
  return {
    personalData: () => textsIn(JSON.parse(body)),
    proveRepeated(text) {
      const rest = besideRepeated(text, body);
      // That the contact was subscribed without our doing is observed.
      if (rest === undefined || rest['subscribed'] === true || !isId(id, rest['id'])) return undefined;
      return { id: idIn(rest) };
    },
    prove(answer) {
      if (!isJsonObject(answer) || !isId(id, answer['id'])) return 'the contact with the id that was sent';
      return { id: idIn(answer) };
    },
  };
}

/** Expects the contact with the e-mail address that was sent, and its id. */
export function expectContactByEmail(body: string): Expectation {
  const sent = emailIn(JSON.parse(body));
  return {
    personalData: () => textsIn(JSON.parse(body)),
    prove(answer) {
      const id = isJsonObject(answer) ? idIn(answer) : null;
      if (id === null || sent === undefined || emailIn(answer) !== sent)
        return 'the contact with the e-mail address that was sent, with an integer id';
      return { id };
    },
  };
}

function emailIn(contact: unknown) {
  const email = isJsonObject(contact) ? contact['email'] : undefined;
  return typeof email === 'string' ? comparedEmail(email) : undefined;
}

/**
 * Expects no body, or an object that names no other product (section 4.4). `success: false` was already handled as a
 * failure.
 */
export function expectDeleted(id: number): Expectation {
  return {
    personalData: null,
    prove(answer) {
      const deleted = answer === undefined || (isJsonObject(answer) && namesNoOther(answer, id));
      return deleted ? { id: null } : 'the confirmation of a delete ("success": true, or no body)';
    },
  };
}

/** Whether an answer says that the request failed, whatever its status is: `success: false`, also as text. */
export function reportsFailure(answer: unknown): boolean {
  if (!isJsonObject(answer)) return false;
  const { success } = answer;
  return success === false || (typeof success === 'string' && success.trim().toLowerCase() === 'false');
}

/** Replaces the repeated body. Random, so that no answer contains it. */
const MARKER = `repeated-${randomUUID()}`;

/**
 * The fields of an answer besides the sent body, if the answer repeats the body character by character at its top level.
 * Undefined for any other answer, and for one that reports a failure or may have a field twice. Does not parse the body and
 * does not compare its fields, which for 30 000 products took a tenth of the event loop (test/bench/README.md).
 */
function besideRepeated(text: string, body: string) {
  const members = body.slice(1, -1);
  // Mostly the answer begins with them, and a comparison is cheaper than a search.
  const at = members === '' ? -1 : text.startsWith(members, 1) ? 1 : text.indexOf(members);
  const end = at + members.length;
  if (at < 1 || !'{,'.includes(text.charAt(at - 1)) || !',}'.includes(text.charAt(end))) return undefined;
  try {
    const rest: unknown = JSON.parse(`${text.slice(0, at)}"${MARKER}":1${text.slice(end)}`);
    if (!isJsonObject(rest) || rest[MARKER] !== 1 || reportsFailure(rest)) return undefined;
    const isRepeatedOnce = Object.keys(rest).every((name) => !body.includes(`${JSON.stringify(name)}:`));
    return isRepeatedOnce ? rest : undefined;
  } catch {
    return undefined;
  }
}

/** The url decides whether the answer may be another product's; the other fields decide whether it is. */
function proveByFields(sent: JsonObject, answer: JsonObject, id: number): Proof | string {
  const { url } = sent;
  const answered = answer['url'];
  if (typeof url !== 'string' || typeof answered !== 'string' || !isNormalisedUrl(url, answered)) {
    return 'the product that was sent (different: url)';
  }
  const changed = changedFields(sent, answer).filter((name) => name !== 'url');
  const repeated = Object.keys(sent).filter((name) => name !== 'url' && Object.hasOwn(answer, name));
  const isIdentified = repeated.some(
    (name) => identifiesProduct(name, sent[name]) && !changed.includes(name),
  );
  const differs = `the product that was sent (different: ${changed.join(', ') || 'url'})`;
  if (answered === url) return isIdentified || repeated.length === 0 ? { id } : differs;
  return isIdentified && changed.length === 0 ? { id, answeredUrl: answered } : differs;
}

/** Many products share a type, a flag and empty values: such values do not identify a product. */
function identifiesProduct(name: string, sent: unknown) {
  return name !== 'type' && typeof sent !== 'boolean' && !isEmpty(sent);
}

/** Bodies are written by JSON.stringify, so each member appears in them as it would be written alone. */
function repeatsTitle(body: string, title: unknown) {
  return typeof title === 'string' && title !== '' && body.includes(`"title":${JSON.stringify(title)}`);
}

/** The id in an answer: a safe integer or its decimal text; null if there is none that can be stored. */
function idIn({ id }: JsonObject) {
  const number = typeof id === 'string' && /^-?\d{1,16}$/.test(id) ? Number(id) : id;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : null;
}

function isId(sent: string, answered: unknown) {
  if (answered === sent) return true;
  const id = idIn({ id: answered });
  return id !== null && id === idIn({ id: sent });
}

function namesNoOther(answer: JsonObject, id: number) {
  return !Object.hasOwn(answer, 'id') || idIn(answer) === id;
}

function asObject(value: unknown) {
  return isJsonObject(value) ? value : {};
}
