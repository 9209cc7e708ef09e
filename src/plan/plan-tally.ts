import type { JsonObject } from '../model/json-object.ts';
import {
  CONTACT_TEXT_FIELDS,
  type MappedRecord,
  type MappedRejection,
  type MappedSkip,
  type Resource,
} from '../model/mapped-record.ts';
import type { FieldChanges, KeyExample, Plan, Takeover } from '../model/plan.ts';
import { type Count, ReasonTally } from '../model/reason.ts';
import { EDITED_SHOWN, type EditedFound } from '../model/run.ts';
import { truncate } from '../model/truncate.ts';
import { hidden } from '../text/masked.ts';
import { ADVANCED_FIELD, type FieldChange } from './changes/field-changes.ts';
import { MoveTally } from './changes/move-tally.ts';
import type { PlannedUpdate } from './changes/plan-update.ts';

/** A page shows all of them, a terminal the first three. */
const SAMPLES_KEPT = 10;

interface OpenField {
  records: number;
  samples: FieldChanges['samples'][number][];
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
   * (section 4.2), so if nothing else differs there is nothing to send.
   */
  add(key: string, changes: readonly FieldChange[]): boolean {
    let sendable = false;
    if (changes.every(({ field }) => field === ADVANCED_FIELD)) this.advancedOnly++;
    for (const change of changes) {
      if (this.#isEmptied(change)) {
        this.#emptied.set(change.field, (this.#emptied.get(change.field) ?? 0) + 1);
        continue;
      }
      sendable = true;
      const field = this.#fieldNamed(change.field);
      field.records++;
      if (field.samples.length < SAMPLES_KEPT) field.samples.push(sampleOf(this.#resource, key, change));
    }
    return sendable;
  }

  /**
   * A removed field of a contact. One of several custom properties is not such a field: the others are sent and
   * replace all.
   */
  #isEmptied(change: FieldChange): boolean {
    return (
      this.#resource === 'contacts' && change.new === undefined && !change.field.startsWith('properties.')
    );
  }

  /** Most frequent first. */
  changes(): FieldChanges[] {
    return [...this.#fields]
      .map(([field, { records, samples }]) => ({ field, records, samples }))
      .sort((a, b) => b.records - a.records);
  }

  /** Contact fields that the last acknowledged body had and the new one lacks: the store keeps them. */
  emptied(): { field: string; records: number }[] {
    return [...this.#emptied]
      .map(([field, records]) => ({ field, records }))
      .sort((a, b) => b.records - a.records);
  }

  #fieldNamed(name: string): OpenField {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    const field: OpenField = { records: 0, samples: [] };
    this.#fields.set(name, field);
    return field;
  }
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
  const render = (value: unknown) => (personal ? hidden(textOf(value)) : textOf(value));
  const old = change.old === undefined ? null : render(change.old);
  const now = change.new === undefined ? null : render(change.new);
  const from = old === null || now === null ? 0 : differsAt(old, now);
  return { key, old: excerpt(old, from), new: excerpt(now, from) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function differsAt(old: string, now: string): number {
  let at = 0;
  while (at < old.length && at < now.length && old[at] === now[at]) at++;
  return at;
}

function excerpt(text: string | null, differsFrom: number): string | null {
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
  readonly notes?: MappedRecord['notes'] | undefined;
}

const ADVANCED_ONLY =
  'options.advanced alone changes: it is true where variants differ in price, stock, SKU or weight; no limit or guard counts this';

/** The store keeps a part that is not sent: an old zip beside a new street. */
const ADDRESS_PARTS = ['address', 'zip', 'city'] as const;

type Counted = Standing | 'rejected' | 'skipped' | 'held';
type OpenCount = { -readonly [Figure in keyof Count]: Count[Figure] };
type OpenContinued = {
  -readonly [Figure in keyof NonNullable<Plan['renamed']>]: NonNullable<Plan['renamed']>[Figure];
} & { readonly examples: NonNullable<Plan['renamed']>['examples'][number][] };
type OpenTakeover = { sent: number; left: number; examples: string[] };

const EXAMPLES_KEPT = 5;
/** A mapping has few notes. This limits the memory if a mapping inserts values into them. */
const NOTICES_KEPT = 200;
const NOTICE_KEYS_KEPT = 3;
const PAIRS_KEPT = 100;

/** The findings of a plan so far: figures, first examples and reasons, in constant memory. */
export class PlanTally {
  readonly counts: Readonly<Record<Counted, OpenCount>> = {
    new: { records: 0, rows: 0 },
    changed: { records: 0, rows: 0 },
    resent: { records: 0, rows: 0 },
    unchanged: { records: 0, rows: 0 },
    rejected: { records: 0, rows: 0 },
    skipped: { records: 0, rows: 0 },
    held: { records: 0, rows: 0 },
  };
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
  created = 0;
  readonly #renamed: OpenContinued = { records: 0, byId: false, waiting: 0, examples: [] };
  readonly #adopted: OpenContinued = { records: 0, byId: false, waiting: 0, examples: [] };
  /** Records that the ledger knows. */
  known = 0;
  readonly #edited: { -readonly [Figure in keyof EditedFound]: EditedFound[Figure] } = {
    kept: 0,
    held: 0,
    overwritten: 0,
    records: [],
  };
  readonly #notices = new Map<string, { records: number; keys: string[] }>();
  readonly #takeovers = new Map<string, OpenTakeover>();

  constructor(resource: Resource) {
    this.changes = new ChangeTally(resource);
  }

  record(record: TalliedRecord, standing: Standing): void {
    this.#count(standing, 1, record.rows);
    if (standing !== 'new') this.known++;
    if (standing === 'new' || standing === 'changed') this.example(standing, record.key, record);
    if (record.notes !== undefined) for (const note of record.notes) this.#notice(note, record.key);
  }

  /** A new record that is a known product: under another key, or one that the store had before. */
  continues(key: string, { key: from, by, renamed, origin }: ContinuedProduct, byId: boolean): void {
    const found = renamed === undefined ? this.#adopted : this.#renamed;
    found.records++;
    found.byId = byId;
    if (found.examples.length >= PAIRS_KEPT) return;
    found.examples.push(
      renamed === undefined ? { from: origin ?? key, to: from, by } : { from, to: key, by },
    );
  }

  /** A new record that is held, because it may be one of these products. */
  waits(key: string, candidates: readonly { readonly key: string }[], isAdopting: boolean): void {
    const found = isAdopting ? this.#adopted : this.#renamed;
    found.waiting++;
    const named = candidates.map((one) => one.key).join(', ');
    if (found.waiting <= NOTICE_KEYS_KEPT)
      this.#notice(`held, because it may be a product under another url: ${named}`, key);
  }

  /** Records that are products under other keys; undefined if there are none. */
  get renamed(): Plan['renamed'] {
    return this.#renamed.records + this.#renamed.waiting === 0 ? undefined : this.#renamed;
  }

  /** The same of products that the store had before. */
  get adopted(): Plan['adopted'] {
    return this.#adopted.records + this.#adopted.waiting === 0 ? undefined : this.#adopted;
  }

  /** A contact that is sent, perhaps with a part of its address. Of one that is not sent the store keeps the whole. */
  sentContact(key: string, body: JsonObject): void {
    const lacking = ADDRESS_PARTS.filter((name) => body[name] === undefined);
    if (lacking.length > 0 && lacking.length < ADDRESS_PARTS.length)
      this.#notice(`address: sent without ${lacking.join(' and ')}; the store keeps what it had there`, key);
  }

  /** Records of blocks that stand in the source as they did. */
  unchanged(records: number, rows: number): void {
    this.#count('unchanged', records, rows);
    this.known += records;
  }

  /** A record that a guard keeps back. */
  held(record: TalliedRecord, standing: Standing): void {
    this.#count('held', 1, record.rows);
    if (standing !== 'new') this.known++;
  }

  /** A record that is sent or held, and that somebody may have edited in the store. */
  edited(key: string, { kept, overwritten, hits }: PlannedUpdate, isHeld: boolean): void {
    const fields = [...new Set([...hits.map(({ field }) => field), ...kept, ...overwritten])];
    if (fields.length === 0) return;
    const how = isHeld ? 'held' : overwritten.length > 0 ? 'overwritten' : 'kept';
    this.#edited[how]++;
    if (this.#edited.records.length < EDITED_SHOWN)
      this.#edited.records = [...this.#edited.records, { key, how, fields }];
  }

  /** What is known of edits in the store; undefined if there are none. */
  editedFound(): EditedFound | undefined {
    return this.#edited.records.length === 0 ? undefined : this.#edited;
  }

  rejected(rejection: MappedRejection, records: 0 | 1): void {
    this.#count('rejected', records, rejection.rows);
    this.rejections.add({ ...rejection, records });
    if (rejection.key === null) this.unreadableKeys++;
  }

  skipped(skip: MappedSkip, records: 0 | 1): void {
    this.#count('skipped', records, skip.rows);
    this.skips.add({ ...skip, records });
    if (skip.key === null) this.unreadableKeys++;
  }

  /** Skipped rows turn out to share their key with a record or rejection: they count as one record, there. */
  skippedBelongsToOther(): void {
    this.counts.skipped.records--;
  }

  losesPrices(key: string): void {
    this.lostPrices.products++;
    if (this.lostPrices.examples.length < EXAMPLES_KEPT) this.lostPrices.examples.push(key);
  }

  takenOver(job: string, key: string, standing: Standing): void {
    const takeover = this.#takeovers.get(job) ?? { sent: 0, left: 0, examples: [] };
    this.#takeovers.set(job, takeover);
    if (standing === 'unchanged') takeover.left++;
    else takeover.sent++;
    if (takeover.examples.length < EXAMPLES_KEPT) takeover.examples.push(key);
  }

  example(of: 'new' | 'changed' | 'removed', key: string, record?: TalliedRecord): void {
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
