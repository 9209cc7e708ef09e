import { hash } from 'node:crypto';
import { canonicalJson, isJsonObject, type JsonObject, member } from './json-object.ts';
import { AS_SENT, changedFields, isEmpty, isNormalisedUrl, PRODUCT_MEMBERS } from './operation.ts';

/** A field that somebody changed in the store since it was acknowledged. */
export interface StoreEdit {
  /** The whole top-level field as the store answered it. */
  readonly value: unknown;
  /** When an answer showed this value first, in milliseconds since the epoch. */
  readonly since: number;
  /** Somebody has accepted it: comparisons with the store report it no more. */
  readonly accepted?: true;
  /** The digest of a value of the source against which somebody has decided to keep this one. */
  readonly declined?: string;
}

/**
 * What answers of the store have shown of a record, against its body in the ledger. A field in neither was last answered as it was
 * sent.
 */
export interface Observation {
  /**
   * Fields that the store answers otherwise than they were sent, with the digest of the answered value; empty where it answered none, and
   * of a contact that was subscribed without our doing.
   */
  readonly altered: Readonly<Record<string, string>>;
  readonly edited: Readonly<Record<string, StoreEdit>>;
}

/** Every field was answered as it was sent. */
export const AS_ACKNOWLEDGED: Observation = { altered: {}, edited: {} };

/** Whether somebody has changed the record in the store. */
export function isEdited({ edited }: Observation): boolean {
  return Object.keys(edited).length > 0;
}

/** The url that a product is known to have in the store instead of its own: an upsert by that would create a second one. */
export function otherUrlIn(observation: Observation | undefined): StoreEdit | undefined {
  return observation?.edited['url'];
}

/** The text that the state keeps: empty where every field was answered as sent. */
export function observationText({ altered, edited }: Observation): string {
  const parts = {
    ...(Object.keys(altered).length > 0 && { altered }),
    ...(Object.keys(edited).length > 0 && { edited }),
  };
  return Object.keys(parts).length === 0 ? '' : JSON.stringify(parts);
}

/** The observation in a text of `observationText`; undefined, as if nothing was observed, where it is damaged. */
export function parseObservation(text: string): Observation | undefined {
  if (text === '') return AS_ACKNOWLEDGED;
  try {
    const { altered = {}, edited = {} }: Partial<Record<string, unknown>> = JSON.parse(text);
    if (!isJsonObject(altered) || !isJsonObject(edited)) return undefined;
    return {
      altered: Object.fromEntries(Object.entries(altered).map(([name, digest]) => [name, String(digest)])),
      edited: Object.fromEntries(
        Object.entries(edited).flatMap(([name, edit]) =>
          isJsonObject(edit) ? [[name, parseEdit(edit)]] : [],
        ),
      ),
    };
  } catch {
    return undefined;
  }
}

function parseEdit({ value, since, accepted, declined }: JsonObject): StoreEdit {
  return {
    value,
    since: Number(since),
    ...(accepted === true && { accepted }),
    ...(typeof declined === 'string' && { declined }),
  };
}

/** An answer of the store with what was sent. */
interface ObservedAnswer {
  /** The whole body that the ledger has once the answer counts, as JSON. */
  readonly body: string;
  /** The fields that were sent; null: all of the body. Of a read: none. */
  readonly sent: readonly string[] | null;
  /** The answered record, or AS_SENT. */
  readonly answer: unknown;
  /** What was known before; undefined: nothing, so that this answer is the first to compare with. */
  readonly before: Observation | undefined;
  /** Fields to be sent: those that the ledger does not have are edited where the store has a value of its own. Left out: none. */
  readonly toSend?: readonly string[] | undefined;
  /** Fields that the store is known to answer as they are sent, also where nothing was observed. */
  readonly unaltered: readonly string[];
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * What is known after an answer. A field that was sent has the answered value from then on. One that was not sent is edited where the
 * answer has neither its value in the ledger nor the one that the store has last made of it. Fields that the ledger does not have are the
 * store's own, until they are to be sent.
 */
export function observeAnswer({
  body: json,
  sent,
  answer,
  before,
  toSend = [],
  unaltered,
  at,
}: ObservedAnswer): Observation {
  if (answer === AS_SENT && sent === null) return AS_ACKNOWLEDGED;
  const parsed: unknown = JSON.parse(json);
  const body = isJsonObject(parsed) ? parsed : {};
  const altered: Record<string, string> = {};
  const edited: Record<string, StoreEdit> = {};
  const answered = answer === AS_SENT ? body : isJsonObject(answer) ? answer : {};
  for (const name of Object.keys(body)) {
    const isSent = sent === null || sent.includes(name);
    if (name === 'url') {
      // Other spellings are the store's own.
      const { url } = answered;
      const known = isSent ? undefined : before?.edited[name];
      const isMoved = typeof url === 'string' && !isSent && !isNormalisedUrl(String(body[name]), url);
      if (isMoved) edited[name] = known?.value === url ? known : { value: url, since: at };
      else if (url === undefined && known !== undefined) edited[name] = known;
      continue;
    }
    const known = isSent ? undefined : before?.altered[name];
    const edit = isSent ? undefined : before?.edited[name];
    const value = member(answered, name);
    if (value === undefined) {
      if (known !== undefined) altered[name] = known;
      else if (!isEmpty(body[name]) && (isSent || before === undefined)) altered[name] = '';
      if (edit !== undefined) edited[name] = edit;
      continue;
    }
    const digest = valueDigest(name, value);
    const isAlike = isSameValue(name, body[name], value);
    const isFirst = isSent || known === '' || (before === undefined && !unaltered.includes(name));
    if (isFirst) {
      if (!isAlike) altered[name] = digest;
      continue;
    }
    if (known !== undefined) altered[name] = known;
    if (isAlike || digest === known) continue;
    edited[name] = editOf(name, value, edit, at);
  }
  const { subscribed } = answered;
  const known: Observation['altered'] = {
    ...before?.altered,
    ...(subscribed === true && { subscribed: '' }),
  };
  for (const name of new Set([...Object.keys(known), ...Object.keys(before?.edited ?? {}), ...toSend])) {
    if (Object.hasOwn(body, name)) continue;
    const [made, edit, value] = [known[name], before?.edited[name], member(answered, name)];
    if (made !== undefined) altered[name] = made;
    if (value === undefined || !toSend.includes(name)) {
      if (edit !== undefined) edited[name] = edit;
    } else if (
      sent?.includes(name) === false &&
      valueDigest(name, value) !== made &&
      isStoresOwn(name, value, made)
    )
      edited[name] = editOf(name, value, edit, at);
  }
  return { altered, edited };
}

function editOf(name: string, value: unknown, known: StoreEdit | undefined, at: number): StoreEdit {
  const isKnown = known !== undefined && valueDigest(name, known.value) === valueDigest(name, value);
  return isKnown ? known : { value, since: at };
}

/**
 * Whether somebody gave a field that was never sent this value, rather than the store by itself. Nobody is subscribed without a word who
 * has unsubscribed, and nothing holds back that somebody does. Variants always have values of the store.
 */
function isStoresOwn(name: string, value: unknown, made: string | undefined) {
  if (name === 'subscribed') return value === false && made === '';
  if (['url', 'options', 'variants'].includes(name)) return false;
  return !isEmpty(value) && value !== false && value !== 0 && !(name === 'type' && value === 'physical');
}

/** Whether a store that has `answered` in this field may have made it of `sent`. Stock does not count: sales change it. */
export function isSameValue(name: string, sent: unknown, answered: unknown): boolean {
  return (
    changedFields({ [name]: withoutStock(name, sent) }, { [name]: withoutStock(name, answered) }).length === 0
  );
}

const DIGEST_LENGTH = 12;

/** Of what a field has; the order of members and the stock do not count. */
export function valueDigest(name: string, value: unknown): string {
  return hash('sha256', canonicalJson(withoutStock(name, value)), 'base64url').slice(0, DIGEST_LENGTH);
}

function withoutStock(name: string, value: unknown) {
  if (name !== 'variants' || !Array.isArray(value)) return value;
  return value.map((variant: unknown) => {
    if (!isJsonObject(variant)) return variant;
    const { quantity: _sold, ...rest } = variant;
    return rest;
  });
}

/** Whose value a field gets that was changed in the store and in the source. */
export const CONFLICT_SIDES = ['source', 'store'] as const;
export type ConflictSide = (typeof CONFLICT_SIDES)[number];

/** What is done about a field that was changed in the store and in the source. */
export const CONFLICT_POLICIES = ['hold', ...CONFLICT_SIDES] as const;
type ConflictPolicy = (typeof CONFLICT_POLICIES)[number];

/** The top-level fields that may have a policy of their own. */
export const CONFLICT_FIELDS = PRODUCT_MEMBERS.filter((name) => name !== 'url');

/** For all fields, or by field. */
export type ConflictRules = ConflictPolicy | { readonly [field: string]: ConflictPolicy | undefined };

/** The policy for a field. */
export function conflictPolicy(rules: ConflictRules | undefined, field: string): ConflictPolicy {
  if (rules === undefined) return 'hold';
  return typeof rules === 'string' ? rules : (rules[field] ?? rules['default'] ?? 'hold');
}
