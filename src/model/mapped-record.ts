import { z } from 'zod';
import type { BlockEnd, KnownBlocks } from './block-index.ts';
import { type JsonObject, namesOf, type Stored } from './json-object.ts';
import { type Reason, reasonSchema } from './reason.ts';
import type { RowSpan } from './row.ts';

/**
 * The fields of a product that one job may send and another keep, by the names that jobs use, each with the members of the request
 * body that it stands for (storefront-api.md, section 2): of the product, or of each variant. The members of a price follow from each
 * other, so they are one field, under either name.
 */
const FIELDS = {
  title: ['title'],
  description: ['description'],
  hidden: ['hidden'],
  images: ['images'],
  categories: ['categories'],
  type: ['type'],
  file: ['file'],
  subscription: ['subscription'],
  'variants.pricing': ['price', 'onSale', 'regularPrice', 'salePrice'],
  'variants.price': ['price', 'onSale', 'regularPrice', 'salePrice'],
  'variants.quantity': ['quantity'],
  'variants.weight': ['weight'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A field that one job may send and another keep. */
export type ProductField = keyof typeof FIELDS;

/** The fields that a job sends. */
export interface SentFields {
  readonly job: string;
  /** Whether it changes fields of products that another job owns (`mode: update`). */
  readonly updates: boolean;
  readonly fields: readonly ProductField[];
  /** Fields of variants that its whole products lack: the store has them no more. */
  readonly removes: readonly ProductField[];
}

/** Their names. */
export const PRODUCT_FIELDS: readonly ProductField[] = namesOf(FIELDS);

/** The members that these fields stand for: of the product itself, or of each of its variants. */
export function membersOf(fields: readonly ProductField[], of: 'product' | 'variants'): readonly string[] {
  return fields
    .filter((field) => field.startsWith('variants.') === (of === 'variants'))
    .flatMap((field) => FIELDS[field]);
}

/** The fields as reports name them, such as `variants.price`: where a field stands for several members, by the first. */
export function reportedField(field: ProductField): string {
  const [member] = FIELDS[field];
  return field.startsWith('variants.') ? `variants.${member}` : member;
}

/** What an import writes. */
export const RESOURCES = ['products', 'contacts'] as const;
/** One of them. */
export type Resource = (typeof RESOURCES)[number];

/**
 * `mirror` also deletes what the job last sent and the source no longer has; `update` changes fields of products that the ledger
 * knows; `create` sends only products that it does not know.
 */
export const IMPORT_MODES = ['upsert', 'mirror', 'update', 'create'] as const;
/** What an import does with its records. */
export type ImportMode = (typeof IMPORT_MODES)[number];

/** By what an update finds its products. */
export const UPDATE_MATCHES = ['url', 'sku', 'id'] as const;
/** One of them. */
export type UpdateMatch = (typeof UPDATE_MATCHES)[number];

/** The result of mapping a group of rows. */
export type Mapped = MappedRecord | MappedRejection | MappedSkip;

/** What a source gives to a plan: results in source order, and the blocks that they belong to. */
export type SourceItem = Mapped | DeferredRecord | BlockEnd | KnownBlocks;

/** A record that can be sent. `key` is the product `url` or the contact `id`; of a patch, what its product is found by. */
export interface MappedRecord extends FromRows {
  readonly kind: 'record';
  readonly key: string;
  /** Of a job with `mode: update`, what it changes: the plan merges it into the body that the store acknowledged. */
  readonly body: Product | ProductPatch | Contact;
  /** The source names picture files that are missing or broken: a product that has more pictures keeps them. */
  readonly lacksPictures?: true;
  /** Notes about changed values, one sentence each, counted by text: 'quantity below 0 raised to 0'. */
  readonly notes?: readonly string[];
  /** As in a DeferredRecord: these rows give this body in every later run, without notes. */
  readonly memo?: string;
  /** The job that the record belongs to afterwards, for the undo of a run that took it over. */
  readonly owner?: string | undefined;
  /** Of a record that is sent as it was acknowledged: the fields that the store has otherwise; null: the store lacks the record. */
  readonly inStore?: readonly FieldChange[] | null | undefined;
  /** The top-level fields of these that are sent alone, where the store takes that; left out: the record is sent whole. */
  readonly restored?: readonly string[] | undefined;
}

/** A field that differs between two bodies of one record; undefined if a body lacks the field. */
export interface FieldChange {
  /** With its path: `title`, `variants.price`, `properties.Stage`. */
  readonly field: string;
  readonly old: unknown;
  readonly new: unknown;
}

/**
 * Rows with a key that are not mapped yet: they may still be rejected or skipped. If the ledger has `memo` for the key, the rows
 * are those of the acknowledged body and need not be mapped.
 */
export interface DeferredRecord extends FromRows {
  readonly kind: 'deferred';
  readonly key: string;
  /** A digest of everything that the mapping reads of these rows, and of the mapping itself. */
  readonly memo: string;
  /** Characters that stay in memory until `map` is called. */
  readonly chars: number;
  /** Maps the rows; the result is always the same. */
  readonly map: () => Mapped;
}

/** Rows that cannot become a record. `key` is null if it cannot be read: then nothing may be deleted. */
export interface MappedRejection extends FromRows, LikeProduct {
  readonly kind: 'rejected';
  readonly key: string | null;
  readonly reason: Reason;
}

/** Rows that the mapping leaves out on purpose. `key` as in a rejection: a skipped record is present in the source. */
export interface MappedSkip extends FromRows, LikeProduct {
  readonly kind: 'skipped';
  readonly key: string | null;
  readonly reason: Reason;
  /** Set if it is certain that the rows describe no record of their own: without a key, none is missing. */
  readonly isNoRecord?: true;
}

/** Rows that a mirror does not send, but whose product it must not delete under an earlier url. */
interface LikeProduct {
  /** What can be read of the fields that identify a product under another url. */
  readonly likeness?: JsonObject;
}

/** The common fields of every result. */
interface FromRows {
  /** The rows to show for this record, whole groups, in source order; two records may share a row. */
  readonly spans: readonly RowSpan[];
  /** How many rows this record accounts for; a shared row counts only for the first record. */
  readonly rows: number;
  /**
   * Set if these rows may be only a part of their record: rows of one key that are not adjacent, although the mapping
   * requires it. If the key occurs again in the same source, no copy may be sent under any duplicates policy, because
   * the record would be incomplete. A copy equal to an earlier one is harmless.
   */
  readonly partial?: true;
}

/** The kinds of product a store sells (storefront-api.md, section 2, Product). */
export const PRODUCT_TYPES = ['physical', 'digital', 'service', 'membership'] as const;

/** One of the kinds of product. */
export type ProductType = (typeof PRODUCT_TYPES)[number];

/** A product as the body of `POST /api/site/products` (section 4.1). `url` is its key. */
export interface Product {
  readonly type: ProductType;
  readonly title: string;
  readonly description?: string;
  readonly url: string;
  readonly hidden?: boolean;
  readonly images?: readonly string[];
  readonly categories?: readonly CategoryReference[];
  readonly options: readonly ProductOption[];
  readonly variants: readonly Variant[];
  readonly subscription?: Subscription;
  readonly file?: string;
}

/** What a job with `mode: update` changes in a product; what it does not name stays as it is. */
export type ProductPatch = Readonly<Partial<Omit<Product, 'options' | 'variants'>>> & {
  readonly variants: readonly VariantPatch[];
};

/** What changes in a variant, which is found by SKU, else by options. A price comes with all that follows from it. */
export type VariantPatch = Readonly<Partial<Variant>>;

/** One choice a buyer makes, such as Size, and its values in display order (section 2, Option). */
export interface ProductOption {
  readonly name: string;
  readonly values: readonly string[];
  /** Whether the store keeps price, stock, SKU and weight for each combination of values. */
  readonly advanced: boolean;
}

/** Options and variants describe each other: a store is sent both or neither. */
export const VARIANT_FIELDS: readonly string[] = ['options', 'variants'];

/**
 * The members of a variant besides its options, in the order in which mappings send them. A store keeps them for each combination of
 * option values only if the options are `advanced`.
 */
export const VARIANT_MEMBERS = [
  'price',
  'onSale',
  'regularPrice',
  'salePrice',
  'quantity',
  'sku',
  'weight',
] as const;

/** Whether variants differ in what the store would otherwise keep once for all of them. */
export function variantsDiffer(
  variants: readonly { readonly [Name in (typeof VARIANT_MEMBERS)[number]]?: unknown }[],
): boolean {
  const [first] = variants;
  return variants.some((variant) => VARIANT_MEMBERS.some((name) => variant[name] !== first?.[name]));
}

/** One buyable combination (section 2, Variant). Prices carry no currency; `weight` is in the store's unit. */
export interface Variant {
  /** The chosen value of each option, in option order. */
  readonly options: readonly string[];
  readonly price: number;
  readonly onSale: boolean;
  readonly regularPrice: number;
  /** Absent if the variant is not on sale: a 0 would read as free. */
  readonly salePrice?: number;
  /** Absent if stock is not tracked, or null in a store that takes it: a 0 would show as sold out. */
  readonly quantity?: number | null;
  readonly sku?: string;
  readonly weight?: number;
}

/** A category as a product is sent with it: by its id alone where a store takes only that. */
export type CategoryReference = Category | number;

/** A category by reference; `parentCategory` 0 is "no parent" (storefront-api.md, section 2, Category). */
export interface Category {
  readonly id?: number;
  readonly name: string;
  readonly url: string;
  readonly parentCategory: number;
}

/** Recurring billing (section 2, Subscription). The document names no units; values pass through as mapped. */
export interface Subscription {
  readonly cycles?: number;
  readonly period?: number;
  readonly periodUnit?: string;
}

/** The writable fields of a contact that hold plain text (section 4.2). */
export const CONTACT_TEXT_FIELDS = [
  'email',
  'name',
  'phone',
  'note',
  'address',
  'city',
  'state',
  'zip',
  'country',
  'companyName',
] as const;

/** One of the text fields of a contact. */
export type ContactTextField = (typeof CONTACT_TEXT_FIELDS)[number];

/**
 * A contact as the body of `PUT /api/site/contacts/{id}` (section 4.2). Empty fields are never present, because the
 * store would not overwrite with them; `false` and 0 are not empty.
 */
export interface Contact extends Readonly<Partial<Record<ContactTextField, string>>> {
  readonly properties?: readonly ContactProperty[];
  readonly tags?: readonly string[];
  readonly subscribed?: boolean;
  readonly subscriberLists?: readonly number[];
}

/** The fields of a contact besides its consent, which somebody may have given or withdrawn in the store. */
export function withoutConsent(contact: object): readonly string[] {
  return Object.keys(contact).filter((name) => name !== 'subscribed' && name !== 'subscriberLists');
}

/** A custom property of a contact (storefront-api.md, section 2, Contact). */
export interface ContactProperty {
  readonly name: string;
  readonly value: string;
}

/** A cell that a value was made of. */
export interface TracedCell {
  /** Index of the file within the snapshot. */
  readonly file: number;
  readonly line: number;
  /** The header as the file has it; null for a text that a header captured. */
  readonly column: string | null;
  readonly text: string;
  /** Set where only a condition looked at it: it decided whether the value was taken. */
  readonly condition?: true;
}

/** A value of a request body, and what it was made of. */
export interface TracedField {
  /** Where it is in the body: `variants[0].price`. */
  readonly path: string;
  readonly value: string | number | boolean | null;
  /** Empty where the value comes from no cell: a constant, a default. */
  readonly cells: readonly TracedCell[];
  /** The transforms that the cells passed, in order, as the mapping writes them: `number (decimal comma)`. */
  readonly steps: readonly string[];
}

/** A row of a record, with the cells that the mapping uses and that are not blank. */
export interface TracedRow {
  readonly file: number;
  readonly line: number;
  readonly cells: readonly TracedCell[];
}

/** What the mapping made of a record's rows, traced from the cells to the fields. */
export interface RecordTrace {
  readonly rows: readonly TracedRow[];
  /** Empty for a record that was rejected or skipped. */
  readonly fields: readonly TracedField[];
}

/** A single value within a body, by its path. */
export interface Leaf {
  readonly path: string;
  /** The keys and indexes of the path. */
  readonly keys: readonly (string | number)[];
  readonly value: string | number | boolean | null;
}

/** The single values of a body in its order; an empty list or object is a value of its own, written as JSON; what is undefined has none. */
export function leavesOf(body: unknown, keys: Leaf['keys'] = []): readonly Leaf[] {
  if (body === undefined) return [];
  if (typeof body === 'object' && body !== null) {
    const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(body)
      ? body.map((item, index) => [index, item] as const)
      : Object.entries(body);
    if (entries.length > 0) return entries.flatMap(([key, value]) => leavesOf(value, [...keys, key]));
    return [{ path: pathText(keys), keys, value: JSON.stringify(body) }];
  }
  const isValue = typeof body === 'string' || typeof body === 'number' || typeof body === 'boolean';
  return [{ path: pathText(keys), keys, value: isValue ? body : null }];
}

function pathText(keys: Leaf['keys']) {
  return keys.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text === '' ? key : `${text}.${key}`),
    '',
  );
}

/** How rows refer to each other. */
export type LinkKind = 'key' | 'parent' | 'children';

/** A row's relation to records. */
export interface RowLinks {
  /** The name of its record; null if it begins one, or if that is unknown. */
  readonly belongs: string | null;
  /** The names by which other rows refer to it. */
  readonly names: readonly string[];
  /** The names of the rows that it refers to, in order: `A-1` and `A-2` of a bundle with these children. */
  readonly wants: readonly string[];
  /** It only adds to the row with the same name, as the second row of `A-1` does, which has its stock elsewhere. */
  readonly silent: boolean;
  /** It is a record of its own even if others refer to it, like a part that is also sold without its bundle. */
  readonly alone: boolean;
  /** Set if its record is unknown. */
  readonly stray?: StrayRow;
}

/** A row whose record is unknown. */
interface StrayRow {
  /** Its cells, which may name its record. */
  readonly names: readonly string[];
  /** Why its record is unknown: the fault of each record that it may belong to. */
  readonly reason: Reason;
  /** The fault of the records beside it, if it names none; left out where it is none of theirs. */
  readonly ofNeighbours?: Reason;
}

/** A name that does not lead to one row; `undescribed`: only rows that add to it have it. */
const linkFaultSchema = z.object({
  problem: z.enum(['parent-ambiguous', 'parent-missing', 'child-missing', 'child-ambiguous', 'undescribed']),
  name: z.string(),
  /** The line of the first row of the record. */
  line: z.int(),
  /** Of an ambiguous parent: the line of the row that refers to it. */
  from: z.int().nullable(),
});
export type LinkFault = Stored<typeof linkFaultSchema>;

/** Why a whole record is in doubt. */
export const recordFaultSchema = z.object({
  fault: z.union([reasonSchema, linkFaultSchema]),
  keyIsKnown: z.boolean(),
});
export type RecordFault = Stored<typeof recordFaultSchema>;

/** A row of a record. */
export interface RecordMember {
  /** The row that begins the record: equal for all rows of the record. */
  readonly record: number;
  readonly seq: number;
  /** As it was added. */
  readonly text: string;
  readonly isHead: boolean;
  /** Whether the row counts for this record, and not for an earlier one. */
  readonly isCounted: boolean;
}

/** Keeps the rows of a source until all of them are known, and returns them record by record. */
export interface RowScratch extends Disposable {
  /** Takes a row by its position in the source. */
  add(row: { readonly seq: number; readonly line: number; readonly text: string }, links: RowLinks): void;
  /** Rows by record, records by their first row. Add nothing after this call. */
  members(): Iterable<RecordMember>;
  /** Known after the first member. */
  faultOf(record: number): RecordFault | undefined;
}

/** Opens a scratch; more than a few megabytes of rows are stored on disk. */
export type OpenScratch = (kind: LinkKind) => RowScratch;

/** An email marketing list of a store, as the API answers it (storefront-api.md, section 2). */
export interface SubscriberList {
  readonly id: number;
  readonly name: string;
  /** Unix time in seconds; null when the store sent none. */
  readonly created: number | null;
  readonly subscribers: number | null;
  /** Open rate, 0 to 1. */
  readonly opens: number | null;
  /** Click rate, 0 to 1. */
  readonly clicks: number | null;
}

/** A list at one moment. */
export interface ListReading extends SubscriberList {
  /** `created` as a date in UTC, such as 2024-01-31; null when the store sent none. */
  readonly created_date: string | null;
  /** When the lists were read, ISO 8601 in UTC: the same in all lines of a run. */
  readonly read_at: string;
}

/** The columns of list statistics, in their usual order. */
export const LIST_COLUMNS = [
  'id',
  'name',
  'created',
  'created_date',
  'subscribers',
  'opens',
  'clicks',
  'read_at',
] as const satisfies readonly (keyof ListReading)[];

/** The names that lead to the value of a column. */
export function pathOf(column: string): readonly string[] {
  const names: string[] = [];
  let name = '';
  for (let at = 0; at < column.length; at++) {
    const char = column.charAt(at);
    if (char === '.') {
      names.push(name);
      name = '';
    } else if (char === '\\') {
      at++;
      if (column.charAt(at) !== 'e') name += column.charAt(at);
    } else {
      name += char;
    }
  }
  return [...names, name];
}

/** Whether one path leads to a value that the other has a part of; each number may select from a list that the other takes whole. */
export function pathsOverlap(
  [one, ...more]: readonly string[],
  [other, ...others]: readonly string[],
): boolean {
  if (one === undefined || other === undefined) return true;
  if (one === other) return pathsOverlap(more, others);
  const [oneIsIndex, otherIsIndex] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (oneIsIndex === otherIsIndex) return false;
  return oneIsIndex ? pathsOverlap(more, [other, ...others]) : pathsOverlap([one, ...more], others);
}

/** The fields with the time of an order, in Unix seconds: stores are seen to use either. */
const ORDER_TIMES: ReadonlySet<string> = new Set(['createdOn', 'created']);

/** Whether a path leads to the time of an order. */
export function isTime(path: readonly string[] = []) {
  return ORDER_TIMES.has(path.at(-1) ?? '');
}

/** Ends the name of a column with the date of a time. */
export const DATE_SUFFIX = '_iso';

/** The path of the time whose date a column such as `created_iso` has; undefined for all other columns. */
export function timeOfDate(path: readonly string[]): readonly string[] | undefined {
  const name = path.at(-1) ?? '';
  const time = name.slice(0, -DATE_SUFFIX.length);
  return name.endsWith(DATE_SUFFIX) && ORDER_TIMES.has(time) ? [...path.slice(0, -1), time] : undefined;
}

/** One subscriber list at one moment, as stored in a history. */
export interface HistoryPoint {
  readonly id: string;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly readAt: number;
  readonly subscribers: number | null;
  /** Shares from 0 to 1. */
  readonly opens: number | null;
  readonly clicks: number | null;
}

/** The content of the history file of a job. */
export interface ListHistory {
  /** In the order of the file. */
  readonly points: readonly HistoryPoint[];
  /** Lines that are not readings: incomplete, or edited beyond recognition. */
  readonly unreadable: number;
}
