import {
  conditionText,
  type Guard,
  type GuardHit,
  type GuardValue,
  guardHitText,
  guardValue,
  isTriggered,
  MIN_RECORDS_FOR_SHARE,
  matchesGuard,
} from '../model/guard.ts';
import { isJsonObject, type JsonObject, member, objectsIn } from '../model/json-object.ts';
import type { FieldChange, Resource } from '../model/mapped-record.ts';
import type { GuardFinding, SafetyVerdict } from '../model/plan.ts';
import {
  isBeyond,
  type Limit,
  limitAmount,
  limitsFor,
  limitText,
  type Measured,
  type SafetyFigures,
  type SafetyLimitName,
  type SafetyLimits,
  safetyLimit,
  safetyRule,
} from '../model/safety-limits.ts';
import { grouped, truncate } from '../text/printable.ts';
import { type VariantPairs, variantName } from './changes/field-changes.ts';

const EXAMPLES_KEPT = 10;
/** The number of examples in the message. */
const EXAMPLES_NAMED = 3;
/** The share of its earlier rows below which a joined table stops a plan, where `minRows` asks for no less. */
const MAX_PERCENT_OF_TABLE = 50;

/** A limit of a run, and its present figures. */
interface Case {
  readonly name: SafetyLimitName;
  readonly setting: Limit;
  readonly measured: Measured;
  readonly resource: Resource;
  /** The run's id, for the advice to approve it. */
  readonly run: string;
  /** The worst examples, worst first. */
  readonly examples?: readonly string[];
}

/** Compares every safety limit, and the rules about keys and prices, with a plan; disabled ones are left out. */
export function judgeSafety(limits: SafetyLimits, figures: SafetyFigures, run: string): SafetyVerdict[] {
  const { resource } = figures;
  const verdicts = limitsFor(resource).map((name) => {
    const { measure, examples } = safetyLimit(name);
    const measured = measure(figures);
    if (measured === null) return null;
    const named = examples?.(figures) ?? [];
    return judgeLimit({ name, setting: limits[name], measured, resource, run, examples: named });
  });
  const { minRows } = limits;
  // Tables of offers or reservations shrink as they should.
  const setting: Limit =
    minRows.kind === 'percent'
      ? { ...minRows, percent: Math.min(minRows.percent, MAX_PERCENT_OF_TABLE) }
      : { kind: 'off' };
  const tables = (figures.tables ?? []).map((measured) =>
    judgeLimit({ name: 'minRows', setting, measured, resource, run }),
  );
  return [judgeKey(figures, run), judgePrices(figures, run), ...verdicts, ...tables].filter(
    (verdict) => verdict !== null,
  );
}

/** Compares the guards that stop a run with a plan. */
export function judgeGuards(findings: readonly GuardFinding[], run: string): SafetyVerdict[] {
  return findings
    .filter(({ action }) => action === 'stop')
    .map(({ guard, share, records: figure, of: base, isTriggered, examples }) => {
      const isSpared = !isTriggered && share !== null && base < MIN_RECORDS_FOR_SHARE;
      const floor = isSpared ? ` (acts on no fewer than ${MIN_RECORDS_FOR_SHARE} records)` : '';
      const text = `${share}%${floor}`;
      const allowed = { text, amount: isSpared ? figure : (base * (share ?? 0)) / 100 };
      const found = `guard: ${guard}: ${grouped(figure)} of ${grouped(base)} records${share === null ? '' : `; it allows ${text}`}`;
      const verdict = { limit: 'guard', guard, exceeded: isTriggered, figure, base } as const;
      const facts = share === null ? verdict : { ...verdict, allowed };
      return verdictOf(facts, found, run, examples.map(guardHitText));
    });
}

/**
 * Compares one safety limit; null if there is nothing to compare: the limit is off, or a percentage has no basis. What stops a run
 * `always` does so nevertheless.
 */
export function judgeLimit({
  name,
  setting,
  measured,
  resource,
  run,
  examples = [],
}: Case): SafetyVerdict | null {
  const { bound, floor, always, detail } = safetyLimit(name);
  const { figure, base } = measured;
  const stop = always?.(measured, setting) ?? null;
  if (stop !== null) return verdictOf({ limit: name, exceeded: true, ...measured }, `${name}: ${stop}`, run);
  if (setting.kind === 'off' || (setting.kind === 'percent' && base === null)) return null;
  const amount = limitAmount(setting, base ?? 0);
  const beyond = isBeyond(figure, amount, bound);
  const spared = beyond && setting.kind === 'percent' && (measured[floor.of] ?? 0) < floor.least;
  const exceeded = beyond && !spared;
  const text = limitText(setting);
  const allowed = spared
    ? { text: `${text} (stops nothing on fewer than ${floor.least} ${floor.unit})`, amount: figure }
    : { text, amount };
  const found = `${name}: ${detail(measured, resource)}${share(measured)}; the limit is ${allowed.text}`;
  return verdictOf({ limit: name, exceeded, ...measured, allowed }, found, run, examples);
}

/** With what was found; where it stops the run, also with the first examples, an advice, and what to do. */
function verdictOf(
  facts: Omit<SafetyVerdict, 'examples' | 'message'>,
  found: string,
  run: string,
  examples: readonly string[] = [],
  advice = '',
): SafetyVerdict {
  if (!facts.exceeded) return { ...facts, message: found };
  const kept = examples.length === 0 ? {} : { examples: examples.slice(0, EXAMPLES_KEPT) };
  const message = `${found}${exampleText(examples, facts.figure)}${advice}. If this is correct, approve run ${run}`;
  return { ...facts, ...kept, message };
}

/** Products that the store would give one price for all variants. */
function judgePrices({ resource, lostPrices, records }: SafetyFigures, run: string): SafetyVerdict | null {
  const { products: figure, examples } = lostPrices;
  if (figure === 0) return null;
  const measured = { figure, base: records };
  const found = safetyRule('prices').detail(measured, resource);
  const advice = '. To send them always, set `options.advanced` in the mapping';
  return verdictOf({ limit: 'prices', exceeded: true, ...measured }, found, run, examples, advice);
}

/**
 * Where what decides keys has changed: new keys while others are missing, or known keys with other contents: records have changed
 * places. Held and rejected records count, too: a run that completes is what the next one is compared with, so its keys must be proven or
 * approved even if it sends little.
 */
function judgeKey(figures: SafetyFigures, run: string): SafetyVerdict | null {
  const { resource, keyChange, known } = figures;
  if (keyChange === null) return null;
  const changed = figures.changed + keyChange.heldKnown;
  const isRenamed = keyChange.missing > 0 && keyChange.new + figures.rejected > 0;
  const isExchanged = changed > 0 && changed * 2 >= known;
  const exceeded = isRenamed || isExchanged;
  const measured = { figure: keyChange.new, base: keyChange.missing };
  const danger =
    resource === 'products' && !isExchanged
      ? `they would be created a second time with other urls${keyChange.allHeld ? ' once they are released' : ''}`
      : `the run may write the fields of one ${resource.slice(0, -1)} into another`;
  const others = isExchanged ? `, and ${changed} of ${known} known ones change` : '';
  const found = `key: ${safetyRule('key').detail(measured, resource)}${others}`;
  return verdictOf({ limit: 'key', exceeded, ...measured }, found, run, [], `: ${danger}`);
}

/** The first few, and the number of others. */
function exampleText(examples: readonly string[], figure: number) {
  if (examples.length === 0) return '';
  const named = examples.slice(0, EXAMPLES_NAMED);
  const more = figure - named.length;
  return `. ${named.join('; ')}${more > 0 ? `; and ${grouped(more)} more` : ''}`;
}

function share({ figure, base }: Measured) {
  if (base === null || base === 0) return '';
  const percent = (figure / base) * 100;
  return ` (${grouped(percent, percent < 10 ? 1 : 0)}%)`;
}

/** The examples that a finding has of one guard; a verdict keeps `EXAMPLES_KEPT` of them. */
const HITS_LISTED = 50;
/** The hits of one guard in one record: a product may have a hundred variants. */
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
  /** Records compared with an acknowledged body, and new ones. */
  readonly #counts = { known: 0, new: 0 };

  /** `holding`: the guards that hold what they hit; whether others act is known only at the end. */
  constructor(guards: readonly Guard[], holding: ReadonlySet<Guard>) {
    this.#guards = guards;
    this.#holding = holding;
    this.#found = guards.map(() => ({ records: 0, examples: [] }));
  }

  /** Counts records that guards could hit. */
  count(kind: 'new' | 'known', records = 1): void {
    this.#counts[kind] += records;
  }

  /** A record without an acknowledged body. */
  hitsOfNew(key: string, text: string): RecordHits {
    if (this.#guards.length === 0) return NONE;
    const body: unknown = JSON.parse(text);
    if (!isJsonObject(body)) return NONE;
    const added = objectsIn(body, 'variants');
    const changes = Object.keys(body).map((field) => ({ field, old: undefined, new: member(body, field) }));
    return this.#check(key, changes, { pairs: [], isOnly: added.length === 1, removed: [], added });
  }

  /** A record that differs from its acknowledged body; `variants` is undefined if they do not differ. */
  hitsOfChanged(
    key: string,
    changes: readonly FieldChange[],
    variants: VariantPairs | undefined,
  ): RecordHits {
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
      if (first !== undefined && found.examples.length < HITS_LISTED) found.examples.push({ key, ...first });
      all.push(...hits.slice(0, HITS_KEPT));
      held ||= this.#holding.has(guard);
    }
    return all.length === 0 ? NONE : { hits: all, held };
  }

  /** What each guard has found, in the order of the job. */
  findings(): GuardFinding[] {
    return this.#guards.map((guard, index) => {
      const { records, examples } = this.#found[index] ?? { records: 0, examples: [] };
      const of = this.#counts.known + (guard.changeBy === undefined ? this.#counts.new : 0);
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
  newlyHoldingGuards(): readonly Guard[] {
    const findings = this.findings();
    return this.#guards.filter(
      (guard, index) =>
        guard.action === 'hold' && !this.#holding.has(guard) && findings[index]?.isTriggered === true,
    );
  }
}

/** The guards that hold records whatever their number is. */
export function alwaysHoldingGuards(guards: readonly Guard[]): ReadonlySet<Guard> {
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

function cut(value: GuardValue) {
  return typeof value === 'string' ? truncate(value, MAX_TEXT_LENGTH) : value;
}
