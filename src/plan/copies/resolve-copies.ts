import { beyondLimit, raiseLimit, TOO_MANY_ROWS } from '../../model/input-limits.ts';
import { sumOf } from '../../model/json-object.ts';
import {
  CONTACT_TEXT_FIELDS,
  type Contact,
  type ContactTextField,
  type Mapped,
  type MappedRecord,
  type MappedRejection,
  type Resource,
} from '../../model/mapped-record.ts';
import type { DuplicatesPolicy } from '../../model/plan.ts';
import type { Reason } from '../../model/reason.ts';
import type { RowSpan } from '../../model/row.ts';
import { listed } from '../../text/printable.ts';
import type { Copy, CopyGroup } from './copy-spool.ts';

/** A copy with its result: sent, rejected or left out. All copies of a key count as one record. */
export interface ResolvedCopy {
  readonly item: Mapped;
  readonly records: 0 | 1;
}

/** The settings that decide about copies. */
interface CopyRules {
  readonly duplicates: DuplicatesPolicy;
  readonly resource: Resource;
  /** What copies have in common, where it is not the key of the resource. */
  readonly keyField?: string;
  /** More copies of one contact are a wrong mapping, not a list with repetitions. */
  readonly maxMerged: number;
}

/**
 * Decides about the copies of one key. If they are identical, one is sent. If they may be parts of one record, all
 * are rejected. Otherwise the policy decides among all copies, including those that cannot be mapped, because sending
 * another one than the policy names would be a guess.
 */
export function* resolveCopies(
  group: CopyGroup,
  { duplicates: policy, resource, keyField, maxMerged }: CopyRules,
): Generator<ResolvedCopy> {
  const reason = (code: CopyReasonCode) =>
    copyReason(code, {
      field: keyField ?? (resource === 'products' ? 'url' : 'id'),
      copies: group.copies,
      maxMerged,
      firstSpans: Iterator.from(group.read())
        .take(COPIES_NAMED)
        .flatMap((copy) => copy.spans.slice(0, 1))
        .toArray(),
    });
  if (group.copies === 1) {
    for (const item of group.read()) yield { item, records: 1 };
  } else if (group.identical) {
    yield* keepOne(group, 0, reason('identical-copy'));
  } else if (group.hasPartial) {
    yield* rejectAll(group, reason('rows-not-adjacent'), true);
  } else {
    switch (policy) {
      case 'reject':
        yield* rejectAll(group, reason('duplicate-key'));
        break;
      case 'first':
        yield* keepOne(group, 0, reason('earlier-copy-kept'));
        break;
      case 'last':
        yield* keepOne(group, group.copies - 1, reason('later-copy-kept'));
        break;
      case 'merge':
        yield* merge(group, reason, maxMerged);
        break;
      default:
        policy satisfies never;
    }
  }
}

/** Sends or rejects the copy at `kept`, and skips the others. */
function* keepOne(group: CopyGroup, kept: number, reason: Reason): Generator<ResolvedCopy> {
  let index = 0;
  for (const copy of group.read()) {
    if (index === kept) yield { item: copy, records: 1 };
    else yield { item: { ...rowsOf(copy), kind: 'skipped', reason }, records: 0 };
    index++;
  }
}

/** Rejects every copy. A copy that was rejected before keeps its reason, unless the common reason explains it. */
function* rejectAll(group: CopyGroup, reason: Reason, explainsAll = false): Generator<ResolvedCopy> {
  let records: 0 | 1 = 1;
  for (const copy of group.read()) {
    const keepsOwn = copy.kind === 'rejected' && (!explainsAll || copy.reason.code === TOO_MANY_ROWS);
    const own = keepsOwn ? copy.reason : reason;
    yield { item: { ...rowsOf(copy), kind: 'rejected', reason: own, ...likenessOf(copy) }, records };
    records = 0;
  }
}

function likenessOf(copy: Copy): Pick<MappedRejection, 'likeness'> {
  if (copy.kind === 'rejected') return copy.likeness === undefined ? {} : { likeness: copy.likeness };
  if (!('title' in copy.body)) return {};
  const { title, images = [], variants = [] } = copy.body;
  return { likeness: { title, images, variants: variants.map(({ sku }) => ({ sku })) } };
}

function* merge(
  group: CopyGroup,
  reason: (code: CopyReasonCode) => Reason,
  maxMerged: number,
): Generator<ResolvedCopy> {
  if (group.copies > maxMerged) {
    yield* rejectAll(group, reason('too-many-copies'));
  } else if (group.anyRejected) {
    yield* rejectAll(group, reason('copy-rejected'));
  } else {
    const records = [...group.read()].filter((copy) => copy.kind === 'record');
    yield { item: mergeContacts(group.key, records), records: 1 };
  }
}

function rowsOf({ key, rows, spans }: Copy): Pick<Copy, 'key' | 'rows' | 'spans'> {
  return { key, rows, spans };
}

/**
 * One contact from several rows. The last given text is used, as if the rows were sent one after the other; tags,
 * lists and custom properties are united. A contact that is unsubscribed in any copy stays unsubscribed, and joins no
 * list that the other rows name.
 */
export function mergeContacts(key: string, copies: readonly MappedRecord[]): MappedRecord {
  const bodies = copies.map(({ body }) => body).filter(isContact);
  const texts: Partial<Record<ContactTextField, string>> = {};
  for (const body of bodies) {
    for (const field of CONTACT_TEXT_FIELDS) {
      const text = body[field];
      if (text !== undefined) texts[field] = text;
    }
  }
  const properties = new Map(
    bodies.flatMap((body) => body.properties ?? []).map((property) => [property.name, property]),
  );
  const tags = new Set(bodies.flatMap((body) => body.tags ?? []));
  const subscribed = bodies.map((body) => body.subscribed).filter((given) => given !== undefined);
  const left = subscribed.includes(false);
  // Lists for a subscriber do not apply to a contact that has unsubscribed.
  const listed = bodies.filter((body) => !left || body.subscribed === false);
  const lists = new Set(listed.flatMap((body) => body.subscriberLists ?? []));
  const isShort = bodies.some(({ subscriberLists = [] }) => subscriberLists.some((id) => !lists.has(id)));
  return {
    kind: 'record',
    key,
    body: {
      ...texts,
      ...(properties.size > 0 && { properties: [...properties.values()] }),
      ...(tags.size > 0 && { tags: [...tags] }),
      ...(subscribed.length > 0 && { subscribed: !left }),
      ...(lists.size > 0 && { subscriberLists: [...lists] }),
    },
    rows: sumOf(copies, (copy) => copy.rows),
    spans: copies.flatMap((copy) => copy.spans),
    notes: [...copies.flatMap((copy) => copy.notes ?? []), ...(isShort ? [LISTS_LEFT_OUT] : [])],
  };
}

const LISTS_LEFT_OUT = 'unsubscribed in one of its rows: lists of other rows are left out';

function isContact(body: MappedRecord['body']): body is Contact {
  return !('variants' in body);
}

/** How many copies a message names by their lines. */
const COPIES_NAMED = 3;

/** Why a copy of a repeated key is not sent. */
type CopyReasonCode =
  | 'duplicate-key'
  | 'rows-not-adjacent'
  | 'copy-rejected'
  | 'too-many-copies'
  | 'identical-copy'
  | 'earlier-copy-kept'
  | 'later-copy-kept';

/** The facts for the reasons of all copies of one key. */
interface CopiesOfKey {
  readonly field: string;
  readonly copies: number;
  /** The most copies that are merged. */
  readonly maxMerged: number;
  /** The rows of the first few copies. */
  readonly firstSpans: readonly RowSpan[];
}

/** The reason for leaving out a copy, with the lines of the copies. */
function copyReason(code: CopyReasonCode, found: CopiesOfKey): Reason {
  const { field, copies, maxMerged, firstSpans } = found;
  const places = placesOf(firstSpans, copies);
  if (code === 'too-many-copies') {
    const beyond = beyondLimit('mergedCopies', maxMerged, { copies });
    return { code, field, message: `${beyond} They begin in ${places}. ${raiseLimit('mergedCopies')}` };
  }
  return { code, field, message: sentence(code, field, copies, places) };
}

function sentence(
  code: Exclude<CopyReasonCode, 'too-many-copies'>,
  field: string,
  copies: number,
  places: string,
) {
  switch (code) {
    case 'duplicate-key':
      return `the same ${field} occurs ${copies} times in the source with different content, in ${places}; keep one, or say in the job what happens to duplicates`;
    case 'rows-not-adjacent':
      return `rows of one product are not adjacent, in ${places}; sort the file so that they follow each other`;
    case 'copy-rejected':
      return `the same ${field} occurs ${copies} times, in ${places}, and not all of them can be read; correct or remove the unreadable rows`;
    case 'identical-copy':
      return `an identical copy of another record, as in ${places}`;
    case 'earlier-copy-kept':
      return `the same ${field} occurs ${copies} times, in ${places}; the first is kept`;
    case 'later-copy-kept':
      return `the same ${field} occurs ${copies} times, in ${places}; the last is kept`;
    default:
      return code satisfies never;
  }
}

/** `lines 20-22 and 170`; with the number of the file if there are several. */
function placesOf(spans: readonly RowSpan[], copies: number) {
  const severalFiles = spans.some((span) => span.file > 0);
  const places = spans.map(({ file, from, to }) => {
    const lines = from === to ? `${from}` : `${from}-${to}`;
    return severalFiles ? `file ${file + 1} line ${lines}` : lines;
  });
  const named = copies > spans.length ? `${places.join(', ')} and more` : listed(places);
  return severalFiles ? named : `lines ${named}`;
}
