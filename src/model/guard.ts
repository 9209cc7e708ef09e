import { z } from 'zod';
import { Decimal } from './decimal.ts';
import { type JsonObject, member, type Stored } from './json-object.ts';
import { isBeyond, priceText } from './safety-limits.ts';

/** Fields whose values are numbers, which can rise above a bound, fall below one, or change by a share. */
const NUMBER_FIELDS = [
  'variants.price',
  'variants.regularPrice',
  'variants.salePrice',
  'variants.quantity',
  'variants.weight',
] as const;
const OTHER_FIELDS = [
  'variants.onSale',
  'variants.sku',
  'title',
  'description',
  'hidden',
  'type',
  'file',
] as const;

/** The fields of a product that a guard can watch, with their paths in the request body. */
export const GUARD_FIELDS = [...NUMBER_FIELDS, ...OTHER_FIELDS] as const;
/** What a guard does. */
export const GUARD_ACTIONS = ['hold', 'stop', 'warn'] as const;

/** A field that a guard can watch. */
type GuardField = (typeof GUARD_FIELDS)[number];
/** A value that a field can be compared with. */
const guardValueSchema = z.union([z.string(), z.number(), z.boolean()]);
export type GuardValue = z.infer<typeof guardValueSchema>;

/**
 * Watches the values that a field gets: of new records, and of known ones where they differ from the acknowledged value. All of
 * `changeBy`, `above`, `below` and `to` that are set must be met; at least one is.
 */
export interface Guard {
  readonly field: GuardField;
  /** In percent of the acknowledged value. */
  readonly changeBy?: number;
  readonly above?: number;
  readonly below?: number;
  readonly to?: GuardValue;
  /** In percent: it acts only if it hits more than this share of the records. */
  readonly share?: number;
  readonly action: (typeof GUARD_ACTIONS)[number];
}

/** The conditions of a guard; a guard has at least one. */
export const GUARD_CONDITIONS = ['changeBy', 'above', 'below', 'to'] as const;

/** Whether the values of a field are numbers. */
export function isNumberField(field: GuardField): boolean {
  return NUMBER_FIELDS.some((name) => name === field);
}

/** `variants.price changes by at least 50%`, `variants.quantity becomes 0, in more than 20% of the records`. */
export function guardText(guard: Guard): string {
  const { share } = guard;
  return `${conditionText(guard)}${share === undefined ? '' : `, in more than ${share}% of the records`}`;
}

const GUARD_EFFECTS: Readonly<Record<Guard['action'], string>> = {
  hold: 'holds records whose',
  stop: 'stops the run before its first request if',
  warn: 'only reports records whose',
};

/** What a guard does: `holds records whose variants.price changes by at least 50%`. */
export function guardWords(guard: Guard): string {
  return `${GUARD_EFFECTS[guard.action]} ${guardText(guard)}`;
}

/** The same without its share, which not everything that is found exceeds. */
export function conditionText({ field, changeBy, above, below, to }: Guard): string {
  const parts = [
    changeBy === undefined ? [] : [`changes by at least ${changeBy}%`],
    above === undefined ? [] : [`becomes more than ${above}`],
    below === undefined ? [] : [`becomes less than ${below}`],
    to === undefined ? [] : [`becomes ${JSON.stringify(to)}`],
  ].flat();
  return `${field} ${parts.join(' and ')}`;
}

/** A value that a guard has found. */
export const guardHitSchema = z.object({
  /** With its path: `variants.price`. */
  field: z.string(),
  /** The variant, if the product has several; null if there is only one, or none. */
  what: z.string().nullable(),
  /** Null if there is none. */
  old: guardValueSchema.nullable(),
  new: guardValueSchema,
  /** Set where it is no guard that was hit: `old` is what somebody has given the field in the store. */
  edited: z.literal(true).exactOptional(),
});
export type GuardHit = Stored<typeof guardHitSchema>;

/** The value of a field; null if there is none, or it is not a single value. */
export function guardValue(of: JsonObject, name: string): GuardValue | null {
  const value = member(of, name);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/** Whether a guard is hit by a value that is new, or differs from the acknowledged one. Computes in decimal. */
export function matchesGuard(guard: Guard, old: GuardValue | null, now: GuardValue | null): boolean {
  if (now === null || old === now) return false;
  const { changeBy, above, below, to } = guard;
  if (to !== undefined && now !== to) return false;
  if (above === undefined && below === undefined && changeBy === undefined) return true;
  if (typeof now !== 'number') return false;
  if (above !== undefined && now <= above) return false;
  if (below !== undefined && now >= below) return false;
  return changeBy === undefined || (typeof old === 'number' && changesBy(changeBy, old, now));
}

const HUNDRED = Decimal.of(100);

/** Whether the change is at least so many percent of the old value. */
function changesBy(percent: number, old: number, now: number) {
  const before = Decimal.of(old);
  const change = Decimal.of(now).minus(before);
  return change.size.times(HUNDRED).compare(before.size.times(Decimal.of(percent))) >= 0;
}

/** With fewer records a share acts on nothing: one record of four is 25 %. */
export const MIN_RECORDS_FOR_SHARE = 5;

/** Whether a guard acts, by the records that it hit and those that it could have hit. */
export function isTriggered({ share }: Guard, hits: number, records: number): boolean {
  if (hits === 0 || share === undefined) return hits > 0;
  return records >= MIN_RECORDS_FOR_SHARE && isBeyond(hits, (records * share) / 100);
}

/** `red-shirt (Large): price 10.00 → 200.00`, on one line. */
export function guardHitText({
  key,
  what,
  field,
  old,
  new: now,
}: GuardHit & { readonly key: string }): string {
  const name = what === null ? key : `${key} (${what})`;
  const text = (value: GuardValue) =>
    typeof value === 'number' && /price/i.test(field) ? priceText(value) : String(value);
  const line = `${name}: ${field.split('.').at(-1) ?? field} ${old === null ? '(none)' : text(old)} → ${text(now)}`;
  return line.replaceAll(/\p{Cc}+/gu, ' ');
}
