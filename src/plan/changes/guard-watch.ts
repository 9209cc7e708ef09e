import {
  conditionText,
  type Guard,
  type GuardHit,
  type GuardValue,
  guardValue,
  isTriggered,
  matchesGuard,
} from '../../model/guard.ts';
import { isJsonObject, type JsonObject, member, objectsIn } from '../../model/json-object.ts';
import type { GuardFinding } from '../../model/plan.ts';
import { truncate } from '../../model/truncate.ts';
import { type FieldChange, type VariantPairs, variantName } from './field-changes.ts';

const EXAMPLES_KEPT = 50;
/** Of one guard in one record: a product may have a hundred variants. */
const HITS_KEPT = 5;

/** The hits of a record, and whether they hold it. */
export interface RecordHits {
  readonly hits: readonly GuardHit[];
  readonly held: boolean;
}

const NONE: RecordHits = { hits: [], held: false };

/** Compares the values of records with the guards of a job, and counts what they hit; in constant memory. */
export class GuardWatch {
  readonly #guards: readonly Guard[];
  readonly #holding: ReadonlySet<Guard>;
  readonly #found: { records: number; examples: GuardFinding['examples'][number][] }[];
  /** Compared with an acknowledged body, or new. */
  #known = 0;
  #new = 0;

  /** `holding`: the guards that hold what they hit; whether others act is known only at the end. */
  constructor(guards: readonly Guard[], holding: ReadonlySet<Guard>) {
    this.#guards = guards;
    this.#holding = holding;
    this.#found = guards.map(() => ({ records: 0, examples: [] }));
  }

  /** Counts records that guards could hit. */
  count(isNew: boolean, records = 1): void {
    if (isNew) this.#new += records;
    else this.#known += records;
  }

  /** A record without an acknowledged body. */
  ofNew(key: string, text: string): RecordHits {
    if (this.#guards.length === 0) return NONE;
    const body: unknown = JSON.parse(text);
    if (!isJsonObject(body)) return NONE;
    const added = objectsIn(body, 'variants');
    const changes = Object.keys(body).map((field) => ({ field, old: undefined, new: member(body, field) }));
    return this.#check(key, changes, { pairs: [], isOnly: added.length === 1, removed: [], added });
  }

  /** A record that differs from its acknowledged body; `variants` is undefined if they do not differ. */
  ofChanged(key: string, changes: readonly FieldChange[], variants: VariantPairs | undefined): RecordHits {
    return this.#guards.length === 0 ? NONE : this.#check(key, changes, variants);
  }

  #check(key: string, changes: readonly FieldChange[], variants: VariantPairs | undefined): RecordHits {
    const all: GuardHit[] = [];
    let held = false;
    for (const [index, guard] of this.#guards.entries()) {
      const hits = hitsOf(guard, changes, variants);
      const found = this.#found[index];
      if (hits.length === 0 || found === undefined) continue;
      found.records++;
      const [first] = hits;
      if (first !== undefined && found.examples.length < EXAMPLES_KEPT)
        found.examples.push({ key, ...first });
      all.push(...hits.slice(0, HITS_KEPT));
      held ||= this.#holding.has(guard);
    }
    return all.length === 0 ? NONE : { hits: all, held };
  }

  /** What each guard has found, in the order of the job. */
  findings(): GuardFinding[] {
    return this.#guards.map((guard, index) => {
      const { records, examples } = this.#found[index] ?? { records: 0, examples: [] };
      const of = guard.changeBy === undefined ? this.#known + this.#new : this.#known;
      const { action, share = null } = guard;
      return {
        guard: conditionText(guard),
        action,
        share,
        records,
        of,
        isTriggered: isTriggered(guard, records, of),
        examples,
      };
    });
  }

  /** Guards that hold records by their share, and turn out to act: the plan must be drafted again with them. */
  furtherHolding(): readonly Guard[] {
    const findings = this.findings();
    return this.#guards.filter(
      (guard, index) =>
        guard.action === 'hold' && !this.#holding.has(guard) && findings[index]?.isTriggered === true,
    );
  }
}

/** The guards that hold records whatever their number is. */
export function holdingAlways(guards: readonly Guard[]): ReadonlySet<Guard> {
  return new Set(guards.filter(({ action, share }) => action === 'hold' && share === undefined));
}

function hitsOf(
  guard: Guard,
  changes: readonly FieldChange[],
  variants: VariantPairs | undefined,
): readonly GuardHit[] {
  const { field } = guard;
  if (!field.startsWith('variants.')) {
    const values: JsonObject[] = changes
      .filter((change) => change.field === field)
      .map((change) => ({ ...change }));
    return values.flatMap((change) => hit(guard, null, guardValue(change, 'old'), guardValue(change, 'new')));
  }
  if (variants === undefined) return [];
  const name = field.slice('variants.'.length);
  const { pairs, added, isOnly } = variants;
  const nameOf = (variant: JsonObject) => (isOnly ? null : variantName(variant));
  return [
    ...pairs.flatMap(([before, now]) =>
      hit(guard, nameOf(now), guardValue(before, name), guardValue(now, name)),
    ),
    ...added.flatMap((variant) => hit(guard, nameOf(variant), null, guardValue(variant, name))),
  ];
}

function hit(
  guard: Guard,
  what: string | null,
  old: GuardHit['old'],
  now: GuardHit['old'],
): readonly GuardHit[] {
  if (now === null || !matchesGuard(guard, old, now)) return [];
  return [{ field: guard.field, what, old: old === null ? null : cut(old), new: cut(now) }];
}

const MAX_TEXT_LENGTH = 60;

function cut(value: GuardValue): GuardValue {
  return typeof value === 'string' ? truncate(value, MAX_TEXT_LENGTH) : value;
}
