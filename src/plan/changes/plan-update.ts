import { isDeepStrictEqual } from 'node:util';
import type { GuardHit } from '../../model/guard.ts';
import { isJsonObject, type JsonObject, member, plainText, withoutAbsent } from '../../model/json-object.ts';
import { VARIANT_FIELDS, withoutConsent } from '../../model/mapped-record.ts';
import {
  type ConflictRules,
  conflictPolicy,
  isSameValue,
  type Observation,
  type StoreEdit,
  valueDigest,
} from '../../model/observation.ts';
import type { RecordPart, VariantStock } from '../../model/operation.ts';
import type { LedgerMark } from '../../state/state.ts';
import { truncate } from '../../text/printable.ts';
import { unchangedStock } from '../patch-product.ts';
import { fieldChanges } from './field-changes.ts';

/** How a store takes the changes of records. */
export interface UpdateRules {
  /** An update by the key (the url of a product, the id of a contact) leaves fields alone that it does not have. */
  readonly partByKey: boolean;
  /** An update of a product by its id does. */
  readonly partById: boolean;
  readonly conflicts: ConflictRules | undefined;
  /** The body is an earlier one of the product: where all of it must be sent, it replaces edits. */
  readonly isUndo: boolean;
  /** Somebody has looked at these values: later plans leave the edits that this one leaves. */
  readonly isDecided: boolean;
}

/** A record that the ledger knows, and what the source has for it. */
interface RecordChange {
  /** Undefined for a product with a new url, which is sent whole. */
  readonly mark: LedgerMark | undefined;
  /** The fields that are sent as they were acknowledged; left out: those that differ from the source. */
  readonly restored?: readonly string[] | undefined;
  /** The body in the ledger, and the one of the source, as JSON. */
  readonly acknowledged: string;
  readonly body: string;
  readonly observation: Observation | undefined;
  /** The stock in the store, where it was read (`stockInStore`). */
  readonly stock: VariantStock | undefined;
  /** The fields in doubt; null: any. */
  readonly doubted: readonly string[] | null;
}

/** How the change of a record is sent, if it is. */
export interface PlannedUpdate {
  /** The body of the source; a field that the store has its own value of may have the acknowledged value. */
  readonly body: string;
  /** Undefined: the whole body is sent. */
  readonly part: RecordPart | undefined;
  /** What is sent instead of the body's stock. */
  readonly stock?: VariantStock | undefined;
  /** What keeps the record back: fields that were changed on both sides. */
  readonly hits: readonly GuardHit[];
  /** What is known of the record once the plan is made, if somebody has decided about it. */
  readonly decided: Observation | undefined;
  /** Fields edited in the store that stay there, and those that are overwritten although the source did not change them. */
  readonly kept: readonly string[];
  readonly overwritten: readonly string[];
  /** What the store has in fields that are sent for the first time, where it is known and somebody's own. */
  readonly replaced: JsonObject;
}

/** Decides field by field what is sent of a changed record. */
export function planUpdate(
  { mark, restored, acknowledged, body, observation, stock: inStore, doubted }: RecordChange,
  { partByKey, partById, conflicts: rules, isUndo, isDecided }: UpdateRules,
): PlannedUpdate {
  const [before, source] = [objectIn(acknowledged), objectIn(body)];
  const edited = observation?.edited ?? {};
  const changed =
    restored === undefined
      ? changedFields(before, source)
      : withCompanions(restored).filter((name) => Object.hasOwn(source, name));
  const conflicts = changed.filter((name) => {
    const edit = edited[name];
    return edit !== undefined && !isSameValue(name, source[name], edit.value);
  });
  const { url } = edited;
  // After the state has lost data, or before an id was answered again, nobody knows what such a request would change.
  const byId = partById && mark?.idProof === undefined;
  const canBePart = mark !== undefined && mark.id !== null && mark.idProof !== 'changed';
  const isPart = canBePart && doubted !== null && (byId || partByKey);
  // An upsert by the old url would create a second product.
  if (url !== undefined && mark !== undefined && !(isPart && byId)) conflicts.push('url');
  // A whole body cannot leave the store's value, and the acknowledged one is neither side's.
  const withoutPart = isUndo ? 'source' : 'hold';
  const byPolicy = Map.groupBy(conflicts, (name) => {
    const ruled = conflictPolicy(rules, name);
    const isDeclined = edited[name]?.declined === valueDigest(name, source[name]);
    const policy = ruled === 'hold' && isDeclined ? 'store' : ruled;
    return policy === 'store' && (!isPart || name === 'url') ? withoutPart : policy;
  });
  const kept = byPolicy.get('store') ?? [];
  const left = withCompanions(kept);
  const decided = isDecided && kept.length > 0 ? declining(observation, kept, source) : undefined;
  const now = left.length === 0 ? source : withFieldsOf(source, before, left);
  const hits = (byPolicy.get('hold') ?? []).flatMap((name) =>
    hitsOf(name, edited[name]?.value, source[name]),
  );
  const fields = changed.filter((name) => !left.includes(name));
  const replaced = Object.fromEntries(
    fields.flatMap((name) =>
      Object.hasOwn(before, name) || edited[name] === undefined ? [] : [[name, edited[name].value]],
    ),
  );
  const names = Object.keys(edited);
  const text = left.length === 0 ? body : JSON.stringify(now);
  // What the store has may be of our own request in doubt.
  const isStockKnown = doubted !== null && !withCompanions(doubted).includes('variants');
  const stock = isStockKnown && inStore !== undefined ? unchangedStock(now, before, inStore) : undefined;
  if (!isPart) {
    const overwritten = names.filter(
      (name) => !changed.includes(name) || (isUndo && conflicts.includes(name)),
    );
    return { body: text, part: undefined, stock, hits, decided, kept: [], overwritten, replaced };
  }
  const sent = [...new Set([...fields, ...withCompanions(doubted)])].filter((name) =>
    Object.hasOwn(now, name),
  );
  // A store may refuse an update of nothing: what is in doubt, the source no longer has.
  const repeated = sent.length > 0 || Object.hasOwn(now, 'url') ? [] : [harmlessField(now, names)];
  const unsent = names.filter((name) => !sent.includes(name));
  const title = unsent.includes('title') ? edited['title']?.value : undefined;
  const part: RecordPart = {
    fields: repeated.length === 0 ? sent : withoutAbsent([...repeated, ...doubted]),
    ...(byId && { byId }),
    ...(typeof title === 'string' && { title }),
  };
  return { body: text, part, stock, hits, decided, kept: unsent, overwritten: [], replaced };
}

/** A field of a contact that can be sent again: neither edited in the store nor a consent. */
function harmlessField(contact: JsonObject, edited: readonly string[]): string | undefined {
  const left = withoutConsent(contact).filter((name) => !edited.includes(name));
  return left.includes('email') ? 'email' : left[0];
}

/** Holds a product that would be sent whole by its url, and has this other one in the store: it would be created a second time. */
export function holdOtherUrl(body: string, found: StoreEdit): PlannedUpdate {
  const hits = hitsOf('url', found.value, objectIn(body)['url']);
  return { body, part: undefined, hits, decided: undefined, kept: [], overwritten: [], replaced: {} };
}

/** The observation with the decision that these edits stay, whatever else the source has now. */
function declining(
  observation: Observation | undefined,
  names: readonly string[],
  source: JsonObject,
): Observation | undefined {
  if (observation === undefined) return undefined;
  const edited = Object.entries(observation.edited).map(([name, edit]) =>
    names.includes(name) ? [name, { ...edit, declined: valueDigest(name, source[name]) }] : [name, edit],
  );
  return { ...observation, edited: Object.fromEntries(edited) };
}

function withCompanions(names: readonly string[]) {
  return names.some((name) => VARIANT_FIELDS.includes(name))
    ? [...new Set([...names, ...VARIANT_FIELDS])]
    : names;
}

/** The fields of the source that the ledger has otherwise. */
function changedFields(before: JsonObject, source: JsonObject): readonly string[] {
  const changed = Object.keys(source).filter(
    (name) => name !== 'url' && !isDeepStrictEqual(source[name], member(before, name)),
  );
  return withCompanions(changed).filter((name) => Object.hasOwn(source, name));
}

function withFieldsOf(source: JsonObject, before: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(source).flatMap(([name, value]) => {
      if (!names.includes(name)) return [[name, value]];
      return Object.hasOwn(before, name) ? [[name, before[name]]] : [];
    }),
  );
}

/** The values of a field in the store, and in the source. */
function hitsOf(name: string, edited: unknown, source: unknown): readonly GuardHit[] {
  const changes = fieldChanges(JSON.stringify({ [name]: edited }), JSON.stringify({ [name]: source }));
  const members = changes.filter(({ field }) => field !== 'variants.quantity');
  return members.map((change) => ({
    field: change.field,
    what: null,
    old: shown(change.old),
    new: shown(change.new) ?? '',
    edited: true,
  }));
}

const MAX_TEXT_LENGTH = 60;

function shown(value: unknown) {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return truncate(plainText(value), MAX_TEXT_LENGTH);
}

/** The object of a text; an empty one where it is none. */
export function objectIn(json: string): JsonObject {
  const value: unknown = JSON.parse(json);
  return isJsonObject(value) ? value : {};
}
