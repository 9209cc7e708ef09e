import { z } from 'zod';
import { grouped, truncate } from '../text/printable.ts';
import { namesOf, type Stored, sumOf } from './json-object.ts';
import type { ImportMode, Resource } from './mapped-record.ts';

/** A limit as a job sets it: none, a number of records, or a percentage (0 to 100) of its basis. */
export type Limit =
  | { readonly kind: 'off' }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number };

/** The figures of a plan that limits are compared with. */
export interface SafetyFigures {
  readonly resource: Resource;
  /** Null if the mode deletes nothing. */
  readonly deletes: number | null;
  /** Keys that this job has in the ledger. */
  readonly keysOfJob: number;
  readonly rejected: number;
  /**
   * Records that are skipped although no `skip` of the mapping names them; all records if every record is skipped. Null for a sample,
   * an undo and `mode: create`, which skip others on purpose.
   */
  readonly skipped: number | null;
  readonly records: number;
  /** Null if only a sample of the source is planned. */
  readonly rows: number | null;
  /** Rows of the last completed run; null when there was none. */
  readonly previousRows: number | null;
  /** Rows of the second tables that the mapping joins, now and in the last completed run. */
  readonly tables?: readonly Measured[] | undefined;
  readonly changed: number;
  /** Contacts that are created, or may be. */
  readonly created: number;
  /** Records of this source that the ledger knows. */
  readonly known: number;
  /** Known products with at least one price move. */
  readonly priceMoves: number;
  /** The largest changes of prices, a product once, price moves first. */
  readonly prices: readonly Move[];
  /** Products that the store would give one price for all variants, with the keys of the first ones. */
  readonly lostPrices: { readonly products: number; readonly examples: readonly string[] };
  /**
   * If the mapping of keys differs from that of the last completed run: the new and held records, the keys that are missing, and the
   * held records that the ledger knows; whether all new ones are held. Otherwise null.
   */
  readonly keyChange: {
    readonly new: number;
    readonly missing: number;
    readonly heldKnown: number;
    readonly allHeld: boolean;
  } | null;
}

/** The counted figure, and the basis of a percentage; null if there is nothing to compare with. */
export interface Measured {
  readonly figure: number;
  readonly base: number | null;
  /** The second table whose rows are counted; absent for all other figures. */
  readonly table?: string;
}

/** The texts of a rule that can stop a run. */
interface SafetyRule {
  /** What it protects from. */
  readonly title: string;
  /** What was found, for a headline: `52 of 100 products would be deleted`. */
  readonly found: (measured: Measured, resource: Resource) => string;
  /** The same for a message, which also names the basis: `52 products would be deleted, of 100 products that this job sent`. */
  readonly detail: (measured: Measured, resource: Resource) => string;
  /** For the headline of a stopped run, with the limit; absent: `found`, and the limit as the job sets it. */
  readonly stop?: (measured: Measured, allowed: { readonly text: string; readonly amount: number }) => string;
}

/** A safety limit: all that is known about it. */
interface SafetyLimit extends SafetyRule {
  /** As a job would write it. */
  readonly default: string;
  /** For the schema and the reference. */
  readonly description: string;
  /** The resources it is for; it is not judged on others. */
  readonly resources: readonly Resource[];
  /** Set if it is judged in mirror mode only. */
  readonly mirrorOnly?: true;
  readonly bound: 'most' | 'fewest';
  /** With a smaller basis, or figure, a percentage stops nothing: one bad row of four is 25 %. */
  readonly floor: { readonly of: 'figure' | 'base'; readonly least: number; readonly unit: string };
  /** Null if the limit has nothing to judge. */
  readonly measure: (figures: SafetyFigures) => Measured | null;
  /** For the settings of a job: `at most 5% of the known products deleted`. */
  readonly setting: { readonly of: string; readonly what: string };
  /** The worst examples, worst first, for the message; absent if examples have no names. */
  readonly examples?: (figures: SafetyFigures) => readonly string[];
  /** Why a run stops whatever the percentage is, and how to allow it; null if it does not. */
  readonly always?: (measured: Measured, setting: Limit) => string | null;
}

const BOTH = ['products', 'contacts'] as const;
const PRODUCTS = ['products'] as const;
const FEW_RECORDS = { of: 'base', least: 5, unit: 'records' } as const;
/** A price is a price move if it is multiplied or divided by at least this factor. */
const FACTOR = 3;
/** 0.3 counts as three times 0.1, although its binary form is smaller. */
const ROUNDING = 1e-9;
/** What a price move is, after 'a price that becomes'. */
const PRICE_MOVE = `at least ${FACTOR} times as high, at most a third, or 0`;

/**
 * The safety limits of a job, in order of output. Schema, reference, judging, messages, pages and the files that
 * `init` writes derive from this. To add a limit, add one entry here and the figure that it measures.
 */
const SAFETY_LIMITS = {
  maxDeletes: {
    title: 'Deletions',
    default: '5%',
    description:
      'Most products that mirror mode may delete; a percentage is of the keys of the job in the ledger.',
    resources: PRODUCTS,
    mirrorOnly: true,
    bound: 'most',
    floor: { of: 'figure', least: 2, unit: 'deletes' },
    measure: ({ deletes, keysOfJob }) => (deletes === null ? null : { figure: deletes, base: keysOfJob }),
    setting: { of: 'of the known products', what: 'deleted' },
    ...counting((resource) => ({
      one: `${resourceNoun(resource)} would be deleted`,
      more: `${resource} would be deleted`,
      of: `${resource} that this job sent`,
    })),
  },
  maxRejects: {
    title: 'Rejected records',
    default: '10%',
    description:
      'Most records that may be rejected, of all records. Checked on the plan and, unless a person approved it, while applying.',
    resources: BOTH,
    bound: 'most',
    floor: FEW_RECORDS,
    measure: ({ rejected, records }) => ({ figure: rejected, base: records }),
    setting: { of: 'of the records', what: 'rejected' },
    ...counting(() => ({ one: 'record is rejected', more: 'records are rejected', of: 'records' })),
  },
  maxSkipped: {
    title: 'Skipped records',
    default: '50%',
    description:
      'Most records that may be left out, such as products without a price. Those of a `skip` count only if all are left out.',
    resources: BOTH,
    bound: 'most',
    floor: FEW_RECORDS,
    measure: ({ skipped, records }) => (skipped === null ? null : { figure: skipped, base: records }),
    setting: { of: 'of the records', what: 'skipped' },
    ...counting(() => ({ one: 'record is skipped', more: 'records are skipped', of: 'records' })),
  },
  minRows: {
    title: 'Too few rows',
    default: '80%',
    description:
      'Fewest rows, compared with the last completed run; in percent also half of those of joined tables. No rows stop a run unless this is 0.',
    resources: BOTH,
    bound: 'fewest',
    floor: { of: 'base', least: 5, unit: 'rows' },
    measure: ({ rows, previousRows }) => (rows === null ? null : { figure: rows, base: previousRows }),
    setting: { of: "of the last run's rows", what: 'in the source' },
    found: ({ figure, base, table }) => {
      if (figure === 0) return `${tableWords(table)} has no rows`;
      const before = base === null ? '' : `, the last run had ${grouped(base)}`;
      return `${tableWords(table)} has ${grouped(figure)} ${figure === 1 ? 'row' : 'rows'}${before}`;
    },
    detail: ({ figure, base, table }) => {
      const rows = `${table === undefined ? '' : `${tableWords(table)} has `}${grouped(figure)} rows`;
      return base === null ? rows : `${rows}; the last completed run had ${grouped(base)}`;
    },
    stop: ({ figure, table }, { text, amount }) => {
      const share = text.endsWith('%') ? ` (${text} of the last run)` : '';
      const where = table === undefined ? '' : ` in ${tableWords(table)}`;
      return `too few rows${where}: ${grouped(figure)}, minimum ${grouped(Math.ceil(amount))}${share}`;
    },
    always: ({ figure, base, table }, setting) =>
      figure > 0 || allowsNothing(setting) || (table !== undefined && (!base || setting.kind === 'off'))
        ? null
        : `${tableWords(table)} has no rows; if this is correct, set \`minRows: 0\``,
  },
  maxChanges: {
    title: 'Changes',
    default: 'off',
    description: 'Most records that may change, of the known records.',
    resources: BOTH,
    bound: 'most',
    floor: FEW_RECORDS,
    measure: ({ changed, known }) => ({ figure: changed, base: known }),
    setting: { of: 'of the known records', what: 'changed' },
    ...counting(() => ({ one: 'known record changes', more: 'known records change', of: 'known records' })),
  },
  maxCreates: {
    title: 'New contacts',
    default: 'off',
    description:
      'Most contacts that may be created, of all records. Where the store can neither list nor search contacts, all unknown ones count.',
    resources: ['contacts'],
    bound: 'most',
    floor: FEW_RECORDS,
    measure: ({ created, records }) => ({ figure: created, base: records }),
    setting: { of: 'of the records', what: 'created' },
    ...counting(() => ({
      one: 'contact would be created',
      more: 'contacts would be created',
      of: 'records',
    })),
  },
  maxPriceMoves: {
    title: 'Price moves',
    default: '5%',
    description: `Most known products with a price that becomes ${PRICE_MOVE}, compared with the acknowledged one.`,
    resources: PRODUCTS,
    bound: 'most',
    floor: FEW_RECORDS,
    measure: ({ priceMoves, known }) => (known === 0 ? null : { figure: priceMoves, base: known }),
    setting: { of: 'of the known products', what: `with a price that becomes ${PRICE_MOVE}` },
    ...counting(() => ({
      one: `known product has a price that becomes ${PRICE_MOVE}`,
      more: `known products have a price that becomes ${PRICE_MOVE}`,
      of: 'known products',
    })),
    examples: ({ prices }) => prices.filter(isPriceMove).map(priceMoveText),
  },
} as const satisfies Readonly<Record<string, SafetyLimit>>;

/** The name of a safety limit: its key in a job. */
export type SafetyLimitName = keyof typeof SAFETY_LIMITS;

/** The safety limits as a job sets them, defaults filled in. */
export type SafetyLimits = Readonly<Record<SafetyLimitName, Limit>>;

/** All names, in the order in which limits are listed. */
export const SAFETY_LIMIT_NAMES: readonly SafetyLimitName[] = namesOf(SAFETY_LIMITS);

/** Whether a safety limit has this name. */
export function isLimitName(name: string): name is SafetyLimitName {
  return Object.hasOwn(SAFETY_LIMITS, name);
}

/**
 * Everything that stops a plan: the limits, the guards of the job, and `key`, which no setting allows: keys are made
 * differently; and `prices`: the store loses prices of variants, as a probe has seen.
 */
const SAFETY_RULES = {
  ...SAFETY_LIMITS,
  key: {
    title: 'Changed key',
    found: ({ figure, base }, resource) =>
      base === 0
        ? `keys are made differently than in the last completed run, and most known ${resource} would change`
        : `keys are made differently than in the last completed run: ${grouped(figure)} ${resource} look new, and ${grouped(base ?? 0)} known ones are missing`,
    detail: ({ figure, base }, resource) =>
      `the ${resource === 'products' ? 'url' : 'id'} is made differently than in the last completed run, ${grouped(figure)} ${resource} look new and ${grouped(base ?? 0)} known ones are missing`,
  },
  guard: {
    title: 'Guard',
    ...counting((resource) => ({
      one: `${resourceNoun(resource)} is hit by a guard`,
      more: `${resource} are hit by a guard`,
      of: 'records',
    })),
  },
  prices: {
    title: 'Prices of variants',
    ...counting((resource) => ({
      one: `${resourceNoun(resource)} would lose prices of its variants: the store gives all variants of a product one price`,
      more: `${resource} would lose prices of their variants: the store gives all variants of a product one price`,
      of: 'records',
    })),
  },
} as const satisfies Readonly<Record<string, SafetyRule>>;

type SafetyRuleName = keyof typeof SAFETY_RULES;

/** All names of rules. */
export const SAFETY_RULE_NAMES: readonly SafetyRuleName[] = namesOf(SAFETY_RULES);

/** The limit of a name. */
export function safetyLimit(name: SafetyLimitName): SafetyLimit {
  return SAFETY_LIMITS[name];
}

/** The texts of a rule. */
export function safetyRule(name: SafetyRuleName): SafetyRule {
  return SAFETY_RULES[name];
}

/** For the settings of jobs. */
export const FLOOR_TEXT = `A percentage stops nothing on fewer than ${FEW_RECORDS.least} records (deletes: ${SAFETY_LIMITS.maxDeletes.floor.least}).`;

/** The limits that a job of this kind can set; with a mode, those that are judged in it. */
export function limitsFor(resource: Resource, mode: ImportMode = 'mirror'): SafetyLimitName[] {
  return SAFETY_LIMIT_NAMES.filter((name) => {
    const { resources, mirrorOnly = false } = safetyLimit(name);
    return resources.includes(resource) && (mode === 'mirror' || !mirrorOnly);
  });
}

/** The judged limits of a job, as it would write them: `maxRejects 10%, minRows 80%`. */
export function limitsText(limits: SafetyLimits, resource: Resource, mode: ImportMode): string {
  return limitsFor(resource, mode)
    .map((name) => `${name} ${limitText(limits[name])}`)
    .join(', ');
}

/** A limit as a job writes it: `5%`, `500`, `off`. */
export function limitText(limit: Limit): string {
  switch (limit.kind) {
    case 'off':
      return 'off';
    case 'count':
      return grouped(limit.count);
    case 'percent':
      return `${limit.percent}%`;
    default:
      return limit satisfies never;
  }
}

/** A percentage such as 1.1 has no exact binary form: a figure exactly at its limit must still pass. */
export const AMOUNT_ROUNDING = 1e-6;

/** The number that a limit allows, where a percentage is of `base`. */
export function limitAmount(limit: Exclude<Limit, { readonly kind: 'off' }>, base: number): number {
  return limit.kind === 'count' ? limit.count : (base * limit.percent) / 100;
}

/** Whether a figure is beyond the amount that a limit allows. */
export function isBeyond(figure: number, amount: number, bound: SafetyLimit['bound'] = 'most'): boolean {
  return bound === 'most' ? figure > amount + AMOUNT_ROUNDING : figure < amount - AMOUNT_ROUNDING;
}

function allowsNothing(limit: Limit) {
  return limit.kind !== 'off' && limitAmount(limit, 1) === 0;
}

function tableWords(table: string | undefined) {
  return table === undefined ? 'the source' : `the joined table '${table}'`;
}

interface CountedWords {
  /** The text after the figure 1, and after any other. */
  readonly one: string;
  readonly more: string;
  /** What the basis counts. */
  readonly of: string;
}

/** The sentences of a limit that counts records of its basis. */
function counting(wordsFor: (resource: Resource) => CountedWords): Pick<SafetyRule, 'found' | 'detail'> {
  return {
    found: ({ figure, base }, resource) => {
      const { one, more } = wordsFor(resource);
      const of = base === null ? '' : ` of ${grouped(base)}`;
      return `${grouped(figure)}${of} ${(base ?? figure) === 1 ? one : more}`;
    },
    detail: ({ figure, base }, resource) => {
      const { one, more, of } = wordsFor(resource);
      return `${grouped(figure)} ${figure === 1 ? one : more}, of ${grouped(base ?? 0)} ${of}`;
    },
  };
}

function resourceNoun(resource: Resource) {
  return resource.slice(0, -1);
}

/** A changed number of a product, with its old and new value. */
const moveSchema = z.object({
  key: z.string(),
  /** The variant, if the product has several: its option values, else its sku; null if there is only one. */
  what: z.string().nullable(),
  /** With its path: `variants.price`, `variants.quantity`. */
  field: z.string(),
  old: z.number(),
  new: z.number(),
});
export type Move = Stored<typeof moveSchema>;

/** The largest relative changes, largest first; at most twenty of each kind, and only the largest of each product. */
export const movesSchema = z.object({ prices: z.array(moveSchema), stocks: z.array(moveSchema) });
export type Moves = Stored<typeof movesSchema>;

/**
 * Whether a price becomes at least 3 times or at most a third of the acknowledged one, or 0: more likely an error
 * than a sale. Every change from 0 is one, because it is at least 3 times 0.
 */
export function isPriceMove({ old, new: now }: Pick<Move, 'old' | 'new'>): boolean {
  if (old === now) return false;
  return now <= 0 || atLeast(now, FACTOR * old) || atLeast(old, FACTOR * now);
}

function atLeast(value: number, bound: number) {
  return value >= bound * (1 - ROUNDING);
}

/** A price with its cents: `1,000.00`. */
export function priceText(price: number): string {
  return price.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 4 });
}

const MAX_NAME_LENGTH = 40;

/** `lamp (Red / L): price 10.00 → 1,000.00`, on one line; names are shortened. */
function priceMoveText({ key, what, field, old, new: now }: Move) {
  const name = what === null ? cut(key) : `${cut(key)} (${cut(what)})`;
  return `${name}: ${field.split('.').at(-1) ?? field} ${priceText(old)} → ${priceText(now)}`;
}

function cut(name: string) {
  return truncate(name.replaceAll(/\p{Cc}+/gu, ' '), MAX_NAME_LENGTH);
}

/** The limits that are on, a clause each: `at most 5% of the known products deleted`. */
export function limitWords({
  import: resource,
  mode,
  safety,
}: {
  readonly import: Resource;
  readonly mode: ImportMode;
  readonly safety: SafetyLimits;
}): string[] {
  return limitsFor(resource, mode)
    .filter((name) => safety[name].kind !== 'off')
    .map((name) => {
      const { bound, setting } = safetyLimit(name);
      const base = safety[name].kind === 'percent' ? ` ${setting.of}` : '';
      return `${bound === 'most' ? 'at most' : 'at least'} ${limitText(safety[name])}${base} ${setting.what}`;
    });
}

/** How much of a plan has been sent when a wave ends: a number of records, or a percentage of them. */
export type WaveSize = Exclude<Limit, { readonly kind: 'off' }>;

const count = z.int().nonnegative();

/** What the store answered to the records of one wave. */
const waveFigures = z.object({
  /** Records of the wave; each is one request. */
  records: count,
  rejected: count,
  /** Records without a final answer. */
  unsent: count,
  /** Accepted records whose answer a process has seen and kept: a process that is killed takes the last ones with it. */
  answered: count,
  /** Answers that repeat at least half of the fields, and those of them that alter or leave out a field. */
  compared: count,
  altered: count,
  /** In how many answers each field was altered or left out. */
  fields: z.record(z.string(), count),
});
export type WaveFigures = Stored<typeof waveFigures>;

/** A wave that was sent and judged. */
export const judgedWaveSchema = waveFigures.extend({
  /** Why the run stopped after it; null if it went on by itself. */
  stop: z.string().nullable(),
  /** A person has looked at the stop and approved the next wave. */
  approved: z.boolean(),
});
export type JudgedWave = Stored<typeof judgedWaveSchema>;

/** The wave after which a run stopped and waits for approval, by its number from 1; undefined if there is none. */
export function stoppedWave({
  waves = [],
}: {
  readonly waves?: readonly JudgedWave[];
}): { readonly number: number; readonly stop: string; readonly wave: JudgedWave } | undefined {
  const wave = waves.at(-1);
  return wave === undefined || wave.stop === null || wave.approved
    ? undefined
    : { number: waves.length, stop: wave.stop, wave };
}

/** A limit on the answers to one wave: all that is known about it. */
interface WaveLimit {
  /** As a job would write it. */
  readonly default: string;
  /** For the schema and the reference. */
  readonly description: string;
  /** The counted figure, and what a percentage is of. */
  readonly measure: (wave: WaveFigures) => { readonly figure: number; readonly base: number };
  /** What was found, for the message: `the store refused 3 of 10 products`. */
  readonly found: (wave: WaveFigures, resource: Resource) => string;
}

/** The limits that each wave is compared with, in order of output. Schema, reference, judging and pages derive from this. */
export const WAVE_LIMITS = {
  maxRejects: {
    default: '10%',
    description: 'Most records of a wave that the store may refuse.',
    measure: ({ rejected, records }) => ({ figure: rejected, base: records }),
    found: ({ rejected, records }, resource) =>
      `the store refused ${grouped(rejected)} of ${grouped(records)} ${resource}`,
  },
  maxUnsent: {
    default: '1%',
    description: 'Most records of a wave without an answer, after all retries.',
    measure: ({ unsent, records }) => ({ figure: unsent, base: records }),
    found: ({ unsent, records }, resource) =>
      `the store did not confirm ${grouped(unsent)} of ${grouped(records)} ${resource}`,
  },
  maxAltered: {
    default: '10%',
    description:
      'Most records of a wave whose answer alters or lacks a field, of answers that repeat at least half of them.',
    measure: ({ altered, compared }) => ({ figure: altered, base: compared }),
    found: ({ altered, compared, fields }) => {
      const [most] = Object.entries(fields).sort(([, one], [, other]) => other - one);
      const example = most === undefined ? '' : ` (${most[0]} in ${grouped(most[1])})`;
      return `the store changed ${grouped(altered)} of ${grouped(compared)} answers${example}`;
    },
  },
} as const satisfies Readonly<Record<string, WaveLimit>>;

type WaveLimitName = keyof typeof WAVE_LIMITS;

/** The limits as a job sets them, defaults filled in. */
export type WaveLimits = Readonly<Record<WaveLimitName, Limit>>;

/** Their names, in the order of output. */
export const WAVE_LIMIT_NAMES: readonly WaveLimitName[] = ['maxRejects', 'maxUnsent', 'maxAltered'];

/** The waves of a job with their limits, as it would write them: `10, 1%, 100%; maxRejects 10%, maxUnsent 1%`. */
export function wavesText({
  waves,
  ...limits
}: WaveLimits & { readonly waves: readonly WaveSize[] }): string {
  const named = WAVE_LIMIT_NAMES.map((name) => `${name} ${limitText(limits[name])}`);
  return `${waves.map(limitText).join(', ')}; ${named.join(', ')}`;
}

/** How many of `total` records have been sent at the end of each wave; the last is `total`. A wave that adds nothing is left out. */
export function waveEnds(waves: readonly WaveSize[], total: number): readonly number[] {
  let last = 0;
  return [...waves, { kind: 'count', count: total } as const].flatMap((size) => {
    const end = Math.ceil(limitAmount(size, total) - AMOUNT_ROUNDING);
    if (end <= last || last >= total) return [];
    last = Math.min(end, total);
    return [last];
  });
}

/** How many records each wave of a plan has; empty if it has no waves. */
export function waveSizes(
  shards: readonly { readonly wave?: number; readonly operations: number }[],
): readonly number[] {
  const waves = Map.groupBy(
    shards.filter(({ wave }) => wave !== undefined),
    ({ wave }) => wave,
  );
  return [...waves.values()].map((ofWave) => sumOf(ofWave, ({ operations }) => operations));
}

/**
 * Why the run stops after a wave, as the beginning of a sentence; null if it goes on. Unlike the safety limits, a percentage counts
 * however small the wave is: a wave of one record is there to be looked at.
 */
export function judgeWave(limits: WaveLimits, wave: WaveFigures, resource: Resource): string | null {
  const exceeded = WAVE_LIMIT_NAMES.flatMap((name) => {
    const { measure, found }: WaveLimit = WAVE_LIMITS[name];
    const limit = limits[name];
    const { figure, base } = measure(wave);
    return limit.kind !== 'off' && isBeyond(figure, limitAmount(limit, base))
      ? [`${found(wave, resource)}; ${name} is ${limitText(limit)}`]
      : [];
  });
  const accepted = wave.records - wave.rejected - wave.unsent;
  if (limits.maxAltered.kind !== 'off' && 2 * wave.answered < accepted) {
    const lost = `${grouped(accepted - wave.answered)} of ${grouped(accepted)} answers`;
    exceeded.push(
      `${lost} are not known, because the process that received them was killed or could not note them: whether the store changed values (maxAltered) cannot be judged`,
    );
  }
  return exceeded.length === 0 ? null : exceeded.join(', and ');
}
