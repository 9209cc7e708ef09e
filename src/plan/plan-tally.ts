import type { KeyHash } from '../model/block-index.ts';
import {
  countUnder,
  type JsonObject,
  type Mutable,
  member,
  plainText,
  recordOf,
} from '../model/json-object.ts';
import {
  CONTACT_TEXT_FIELDS,
  type FieldChange,
  type MappedRecord,
  type MappedRejection,
  type MappedSkip,
  type Resource,
} from '../model/mapped-record.ts';
import type { FieldChanges, KeyExample, Plan, Takeover } from '../model/plan.ts';
import { type Count, type Reason, ReasonTally } from '../model/reason.ts';
import { EDITED_SHOWN, type EditedFound } from '../model/run.ts';
import { isPriceMove, type Move, type Moves } from '../model/safety-limits.ts';
import { maskKeepingShape } from '../text/mask-personal-data.ts';
import { listed, truncate } from '../text/printable.ts';
import { ADVANCED_FIELD, type VariantPairs, variantName } from './changes/field-changes.ts';
import type { PlannedUpdate } from './changes/plan-update.ts';
import { KeySet } from './key-set.ts';
import type { LeftOutKind } from './plan-file.ts';

/** A page shows all of them, a terminal the first three. */
const SAMPLES_KEPT = 10;

interface OpenField {
  readonly field: string;
  records: number;
  readonly samples: FieldChanges['samples'][number][];
}

/** Counts over all records which fields differ, and keeps the first few old and new values of each. */
class ChangeTally {
  /** Products that change only in what follows from their variants: no change of the source. */
  advancedOnly = 0;
  readonly #resource: Resource;
  readonly #fields = new Map<string, OpenField>();
  readonly #emptied = new Map<string, number>();

  constructor(resource: Resource) {
    this.#resource = resource;
  }

  /**
   * Counts the differences, and returns whether any of them can be sent: the API cannot empty a contact's field
   * (section 4.2), nor do updates of products where the store `keepsAbsent` fields, so if nothing else differs there is
   * nothing to send. Those of a held record are not counted.
   */
  addSendable(
    key: string,
    changes: readonly FieldChange[],
    {
      isHeld = false,
      keepsAbsent = false,
    }: { readonly isHeld?: boolean; readonly keepsAbsent?: boolean } = {},
  ): boolean {
    const isEmptied = (change: FieldChange) => this.#isEmptied(change, keepsAbsent);
    if (isHeld) return changes.some((change) => !isEmptied(change));
    let sendable = false;
    if (changes.length > 0 && changes.every(({ field }) => field === ADVANCED_FIELD)) this.advancedOnly++;
    for (const change of changes) {
      if (isEmptied(change)) {
        if (this.#resource === 'contacts' || hasContent(change.old)) countUnder(this.#emptied, change.field);
        continue;
      }
      sendable = true;
      const open = this.#fields.get(change.field) ?? { field: change.field, records: 0, samples: [] };
      this.#fields.set(change.field, open);
      open.records++;
      if (open.samples.length < SAMPLES_KEPT) open.samples.push(sampleOf(this.#resource, key, change));
    }
    return sendable;
  }

  /**
   * A removed field. One of several custom properties of a contact, or of the fields of a variant, is not such a field: the
   * others are sent and replace all.
   */
  #isEmptied({ field, new: now }: FieldChange, keepsAbsent: boolean): boolean {
    if (now !== undefined) return false;
    return this.#resource === 'contacts'
      ? !field.startsWith('properties.')
      : keepsAbsent && !field.includes('.');
  }

  /** Most frequent first. */
  changes(): FieldChanges[] {
    return [...this.#fields.values()].sort((a, b) => b.records - a.records);
  }

  /** Fields that the last acknowledged body had and the new one lacks: the store keeps them. */
  emptied(): { field: string; records: number }[] {
    return [...this.#emptied]
      .map(([field, records]) => ({ field, records }))
      .sort((a, b) => b.records - a.records);
  }
}

/** Whether a field of a product that a store answers says more than its absence. */
function hasContent(value: unknown) {
  const isEmptyList = Array.isArray(value) && value.length === 0;
  return value !== null && value !== '' && value !== false && !isEmptyList;
}

const SAMPLE_LENGTH = 60;
/** How much of the common beginning is shown before the first difference. */
const LEAD_IN = 12;
const personalFields = new Set<string>(CONTACT_TEXT_FIELDS);

/** An old and a new value, shortened to a line: long texts are cut to the part where they begin to differ. */
export function sampleOf(
  resource: Resource,
  key: string,
  change: FieldChange,
): FieldChanges['samples'][number] {
  const personal =
    resource === 'contacts' && (personalFields.has(change.field) || change.field.startsWith('properties'));
  const render = (value: unknown) => (personal ? maskKeepingShape(plainText(value)) : plainText(value));
  const old = change.old === undefined ? null : render(change.old);
  const now = change.new === undefined ? null : render(change.new);
  const from = old === null || now === null ? 0 : differsAt(old, now);
  return { key, old: excerpt(old, from), new: excerpt(now, from) };
}

function differsAt(old: string, now: string) {
  let at = 0;
  while (at < old.length && at < now.length && old[at] === now[at]) at++;
  return at;
}

function excerpt(text: string | null, differsFrom: number) {
  if (text === null || text.length <= SAMPLE_LENGTH) return text;
  const from = differsFrom <= LEAD_IN * 2 ? 0 : differsFrom - LEAD_IN;
  const rest = text.slice(from).replace(/^[\udc00-\udfff\p{M}]+/u, '');
  return `${from > 0 ? '…' : ''}${truncate(rest, SAMPLE_LENGTH)}`;
}

/**
 * The ledger's verdict on a record. `resent`: equal to what the store acknowledged, but sent again, on request or
 * because it is in doubt.
 */
export type Standing = 'new' | 'changed' | 'resent' | 'unchanged';

/** The product that a record continues; `renamed` is absent where the store had it before. */
interface ContinuedProduct {
  readonly key: string;
  readonly by: string;
  readonly renamed?: object;
  readonly origin?: string;
}

/** The counted facts of a record. */
export interface TalliedRecord extends Pick<MappedRecord, 'key' | 'rows' | 'spans'> {
  readonly notes?: MappedRecord['notes'];
}

const ADVANCED_ONLY =
  'options.advanced alone changes: it is true where variants differ in price, stock, SKU or weight; no limit or guard counts this';

/** The store keeps a part that is not sent: an old zip beside a new street, an old state beside a new country. */
const ADDRESS_PARTS = ['address', 'zip', 'city', 'state', 'country'] as const;
/** Many addresses have none: they count where the store has got one. */
const OPTIONAL_PARTS: ReadonlySet<string> = new Set(['state', 'country']);

const COUNTED = ['new', 'changed', 'resent', 'unchanged', 'rejected', 'skipped', 'held'] as const;
type Counted = (typeof COUNTED)[number];
type Continued = NonNullable<Plan['renamed']>;
type OpenContinued = Mutable<Continued> & { readonly examples: Continued['examples'][number][] };
type OpenTakeover = { sent: number; left: number; examples: string[] };

const EXAMPLES_KEPT = 5;
/** A mapping has few notes. This limits the memory if a mapping inserts values into them. */
const NOTICES_KEPT = 200;
const NOTICE_KEYS_KEPT = 3;
const PAIRS_KEPT = 100;

/** The findings of a plan so far: figures, first examples and reasons, in constant memory. */
export class PlanTally {
  readonly counts: Readonly<Record<Counted, Mutable<Count>>> = recordOf(COUNTED, () => ({
    records: 0,
    rows: 0,
  }));
  readonly changes: ChangeTally;
  readonly moves = new MoveTally();
  readonly rejections = new ReasonTally();
  readonly skips = new ReasonTally();
  readonly examples: Readonly<Record<'new' | 'changed' | 'removed', KeyExample[]>> = {
    new: [],
    changed: [],
    removed: [],
  };
  unreadableKeys = 0;
  /** Products that are sent with several prices to a store that keeps one of them. */
  readonly lostPrices: { products: number; readonly examples: string[] } = { products: 0, examples: [] };
  /** Contacts without an id that are sent. */
  readonly created: Mutable<Count> = { records: 0, rows: 0 };
  readonly #renamed: OpenContinued = { records: 0, byId: false, waiting: 0, examples: [] };
  readonly #adopted: OpenContinued = { records: 0, byId: false, waiting: 0, examples: [] };
  /** Records that the ledger knows, and those of them that are held. */
  known = 0;
  heldKnown = 0;
  readonly #edited: Mutable<EditedFound> = {
    kept: 0,
    held: 0,
    overwritten: 0,
    records: [],
  };
  readonly #notices = new Map<string, { records: number; keys: string[] }>();
  readonly #takeovers = new Map<string, OpenTakeover>();
  /** The keys of skipped rows by reason. */
  readonly #skipped = new Map<string, { readonly reason: Reason; readonly keys: KeySet }>();

  constructor(resource: Resource) {
    this.changes = new ChangeTally(resource);
  }

  countRecord(record: TalliedRecord, standing: Standing): void {
    this.#count(standing, 1, record.rows);
    if (standing !== 'new') this.known++;
    if (standing === 'new' || standing === 'changed') this.addExample(standing, record.key, record);
    if (record.notes !== undefined) for (const note of record.notes) this.#notice(note, record.key);
  }

  /** A new record that is a known product: under another key, or one that the store had before. */
  countContinued(key: string, { key: from, by, renamed, origin }: ContinuedProduct, byId: boolean): void {
    const found = renamed === undefined ? this.#adopted : this.#renamed;
    found.records++;
    found.byId = byId;
    if (found.examples.length >= PAIRS_KEPT) return;
    found.examples.push(
      renamed === undefined ? { from: origin ?? key, to: from, by } : { from, to: key, by },
    );
  }

  /** A new record that is held, because it may be one of these products. */
  countWaiting(key: string, candidates: readonly { readonly key: string }[], isAdopting: boolean): void {
    const found = isAdopting ? this.#adopted : this.#renamed;
    found.waiting++;
    const named = candidates.map((one) => one.key).join(', ');
    if (found.waiting <= NOTICE_KEYS_KEPT)
      this.#notice(`held, because it may be a product under another url: ${named}`, key);
  }

  /** A record whose url differs from another one in spelling alone; held if the store has answered the same product for both. */
  countTwin(key: string, isHeld: boolean): void {
    const sent =
      'its url differs from another one of the source in spelling alone: the store may take both for one product';
    const held =
      'held, because the store has the same product under another url of the source: leave one of the rows';
    this.#notice(isHeld ? held : sent, key);
  }

  /** A known product that is not deleted, because a product that is left out may be it. */
  countStaying(key: string, kind: LeftOutKind): void {
    const advice = kind === 'rejected' ? ': correct that row' : '';
    this.#notice(`not deleted, because its row, under a new url, is ${kind}${advice}`, key);
  }

  /** A known contact that the source no longer has, and that differs from a created one in its address alone. */
  countMoved(key: string): void {
    this.#notice(
      'no longer in the source, and all but its e-mail address is that of a contact that is created: if the address has changed, change it in the store first, else it has both',
      key,
    );
  }

  /** Records that are products under other keys; undefined if there are none. */
  get renamed(): Plan['renamed'] {
    return this.#renamed.records + this.#renamed.waiting === 0 ? undefined : this.#renamed;
  }

  /** The same of products that the store had before. */
  get adopted(): Plan['adopted'] {
    return this.#adopted.records + this.#adopted.waiting === 0 ? undefined : this.#adopted;
  }

  countCreated({ rows }: Pick<MappedRecord, 'rows'>): void {
    this.created.records++;
    this.created.rows += rows;
  }

  /** A contact of the store whose address is sent, perhaps a part of it. Of one that is not sent the store keeps the whole. */
  countSentContact(key: string, body: JsonObject, before: JsonObject): void {
    const lacking = ADDRESS_PARTS.filter(
      (name) => body[name] === undefined && !(OPTIONAL_PARTS.has(name) && before[name] === undefined),
    );
    const isNew = ADDRESS_PARTS.some((name) => body[name] !== before[name]);
    if (isNew && lacking.length > 0 && ADDRESS_PARTS.some((name) => body[name] !== undefined))
      this.#notice(`address: sent without ${listed(lacking)}; the store keeps what it had there`, key);
  }

  /** Records of blocks that stand in the source as they did. */
  countUnchanged(records: number, rows: number): void {
    this.#count('unchanged', records, rows);
    this.known += records;
  }

  /** A record that is held. */
  countHeld(record: TalliedRecord, standing: Standing): void {
    this.#count('held', 1, record.rows);
    if (standing === 'new') return;
    this.known++;
    this.heldKnown++;
  }

  /** A record that somebody may have edited in the store, and whose values in the source changed. */
  countEdited(key: string, { kept, overwritten, hits }: PlannedUpdate, isHeld: boolean): void {
    const fields = [...new Set([...hits.map(({ field }) => field), ...kept, ...overwritten])];
    if (fields.length === 0) return;
    const how = isHeld ? 'held' : overwritten.length > 0 ? 'overwritten' : 'kept';
    this.#edited[how]++;
    if (this.#edited.records.length < EDITED_SHOWN)
      this.#edited.records = [...this.#edited.records, { key, how, fields }];
  }

  /** What is known of edits in the store; undefined if there are none. */
  editedRecords(): EditedFound | undefined {
    return this.#edited.records.length === 0 ? undefined : this.#edited;
  }

  countRejected(rejection: MappedRejection, records: 0 | 1): void {
    this.#count('rejected', records, rejection.rows);
    this.rejections.add({ ...rejection, records });
    if (rejection.key === null) this.unreadableKeys++;
  }

  countSkipped(skip: MappedSkip, records: 0 | 1): void {
    this.#count('skipped', records, skip.rows);
    this.skips.add({ ...skip, records });
    if (skip.key === null && skip.isNoRecord === undefined) this.unreadableKeys++;
  }

  /** Rows of a key are skipped that were not seen before: `uncountSkipped` may follow. */
  noteSkipped({ line: _, also: __, ...reason }: Reason, key: Readonly<KeyHash>): void {
    const name = JSON.stringify([reason.code, reason.field, reason.column]);
    const noted = this.#skipped.get(name) ?? { reason, keys: new KeySet() };
    this.#skipped.set(name, noted);
    noted.keys.addHash(key, false);
  }

  /** Skipped rows turn out to share their key with a record or rejection: they count as one record, there. */
  uncountSkipped(key: Readonly<KeyHash>): void {
    this.counts.skipped.records--;
    const found = Iterator.from(this.#skipped.values()).find(({ keys }) => keys.hasHash(key));
    if (found !== undefined) this.skips.add({ reason: found.reason, records: -1, rows: 0, spans: [] });
  }

  countReplaced(key: string, field: string): void {
    this.#notice(
      `replaces what somebody wrote in the store, in a field that was not sent before: ${field}`,
      key,
    );
  }

  countPriceLoss(key: string): void {
    this.lostPrices.products++;
    if (this.lostPrices.examples.length < EXAMPLES_KEPT) this.lostPrices.examples.push(key);
  }

  countTakeover(job: string, key: string, standing: Standing): void {
    const takeover = this.#takeovers.get(job) ?? { sent: 0, left: 0, examples: [] };
    this.#takeovers.set(job, takeover);
    if (standing === 'unchanged') takeover.left++;
    else takeover.sent++;
    if (takeover.examples.length < EXAMPLES_KEPT) takeover.examples.push(key);
  }

  addExample(of: 'new' | 'changed' | 'removed', key: string, record?: TalliedRecord): void {
    const examples = this.examples[of];
    if (examples.length === EXAMPLES_KEPT) return;
    const span = record?.spans[0];
    examples.push({ key, file: span?.file ?? null, line: span?.from ?? null });
  }

  /** Most frequent first. */
  notices(): Plan['notices'] {
    const { advancedOnly } = this.changes;
    const found = [...this.#notices].map(([message, notice]) => ({ message, ...notice }));
    return [
      ...found,
      ...(advancedOnly === 0 ? [] : [{ message: ADVANCED_ONLY, records: advancedOnly }]),
    ].sort((a, b) => b.records - a.records);
  }

  takeovers(): Takeover[] {
    return [...this.#takeovers].map(([job, takeover]) => ({ job, ...takeover }));
  }

  #count(counted: Counted, records: number, rows: number): void {
    const count = this.counts[counted];
    count.records += records;
    count.rows += rows;
  }

  #notice(message: string, key: string): void {
    const known = this.#notices.get(message);
    if (known === undefined && this.#notices.size === NOTICES_KEPT) return;
    const notice = known ?? { records: 0, keys: [] };
    notice.records++;
    if (notice.keys.length < NOTICE_KEYS_KEPT) notice.keys.push(key);
    this.#notices.set(message, notice);
  }
}

const MOVES_KEPT = 20;
const PRICES = ['price', 'regularPrice', 'salePrice'] as const;
const STOCKS = ['quantity'] as const;

/**
 * The largest changes of prices and of stock over all products, in constant memory. Only the largest of each kind
 * counts per product, because a product with a hundred variants would otherwise displace all others.
 */
class MoveTally {
  /** Products with at least one price move. */
  priceMoves = 0;
  readonly #prices = new TopList<Move>(MOVES_KEPT, byLargestMove);
  readonly #stocks = new TopList<Move>(MOVES_KEPT, byLargestMove);

  /** Takes the variants of a product. A stock that appears or disappears does not count. */
  add(key: string, paired: VariantPairs): void {
    const price = largest([...movesOf(key, paired, PRICES), ...newPrices(key, paired)]);
    if (price !== null) {
      this.#prices.add(price);
      // The largest one is a price move if any of the product is: it has the largest factor.
      if (isPriceMove(price)) this.priceMoves++;
    }
    const stock = largest(movesOf(key, paired, STOCKS));
    if (stock !== null) this.#stocks.add(stock);
  }

  moves(): Moves {
    return { prices: this.#prices.items(), stocks: this.#stocks.items() };
  }
}

function largest(moves: readonly Move[]) {
  return moves.reduce<Move | null>(
    (most, move) => (most === null || byLargestMove(move, most) < 0 ? move : most),
    null,
  );
}

/** The numbers with these names that differ between common variants of both bodies. */
function movesOf(key: string, { pairs, isOnly }: VariantPairs, names: readonly string[]): Move[] {
  return pairs.flatMap(([before, after]) =>
    names.flatMap((name) => {
      const old = numberIn(before, name);
      const now = numberIn(after, name);
      if (old === undefined || now === undefined || old === now) return [];
      return [{ key, what: isOnly ? null : variantName(after), field: `variants.${name}`, old, new: now }];
    }),
  );
}

/**
 * Prices of variants without an acknowledged counterpart could hide that all prices moved: if most variants of a
 * product have other options and skus than before, or a sale begins. They are compared with the prices that they
 * replace, and count if even the nearest one is a price move away.
 */
function newPrices(key: string, { pairs, isOnly, removed, added }: VariantPairs): Move[] {
  // If only a few of many variants are new, each may be another thing: a sample that is replaced by a pallet.
  const mostGone = removed.length > pairs.length;
  const gone = mostGone ? removed.flatMap((variant) => numberIn(variant, 'price') ?? []) : [];
  const renamed = added.map((variant) => ({ variant, name: 'price', olds: gone }));
  const onSale = pairs
    .filter(([before]) => numberIn(before, 'salePrice') === undefined)
    .map(([before, variant]) => ({
      variant,
      name: 'salePrice',
      olds: [numberIn(before, 'price') ?? []].flat(),
    }));
  return [...renamed, ...onSale].flatMap(({ variant, name, olds }) => {
    const now = numberIn(variant, name);
    if (now === undefined || !olds.every((old) => isPriceMove({ old, new: now }))) return [];
    const [old] = olds.toSorted((one, other) => Math.abs(one - now) - Math.abs(other - now));
    const what = isOnly ? null : variantName(variant);
    return old === undefined ? [] : [{ key, what, field: `variants.${name}`, old, new: now }];
  });
}

function numberIn(variant: JsonObject, name: string) {
  const value = member(variant, name);
  return typeof value === 'number' ? value : undefined;
}

/** If several fields of a variant change by the same factor, the field that buyers pay is named. */
const PRECEDENCE: readonly string[] = [
  'variants.price',
  'variants.regularPrice',
  'variants.salePrice',
  'variants.quantity',
];

/**
 * Orders changes: the largest factor first, of equal ones the larger difference; then by key, variant and field, so
 * that the result does not depend on the order of input.
 */
export function byLargestMove(one: Move, other: Move): number {
  const [ours, theirs] = [timesApart(one), timesApart(other)];
  if (ours !== theirs) return ours > theirs ? -1 : 1;
  const [by, otherBy] = [Math.abs(one.new - one.old), Math.abs(other.new - other.old)];
  if (by !== otherBy) return by > otherBy ? -1 : 1;
  return (
    compared(one.key, other.key) ||
    compared(one.what ?? '', other.what ?? '') ||
    PRECEDENCE.indexOf(one.field) - PRECEDENCE.indexOf(other.field) ||
    one.old - other.old
  );
}

/**
 * The factor between the two: 10 and 1000 are 100 apart, in both directions; from or to 0, and across it, infinitely.
 */
function timesApart({ old, new: now }: Move) {
  if (old * now <= 0) return Number.POSITIVE_INFINITY;
  const one = Math.abs(old);
  const other = Math.abs(now);
  return Math.max(one, other) / Math.min(one, other);
}

function compared(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The first few of many in an order, without storing all. */
export class TopList<Item> {
  readonly #most: number;
  readonly #order: (one: Item, other: Item) => number;
  #items: readonly Item[] = [];

  /** `order` as for sorting: below 0 if the first argument precedes the second. */
  constructor(most: number, order: (one: Item, other: Item) => number) {
    this.#most = most;
    this.#order = order;
  }

  add(item: Item): void {
    const last = this.#items.at(-1);
    const isFull = this.#items.length === this.#most;
    if (isFull && last !== undefined && this.#order(item, last) >= 0) return;
    this.#items = [...this.#items, item].sort(this.#order).slice(0, this.#most);
  }

  /** The first ones so far, in order. */
  items(): Item[] {
    return [...this.#items];
  }
}
