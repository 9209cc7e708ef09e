import type { Limit } from '../config/job/limit.ts';
import type { SafetyLimits } from '../config/job/safety.ts';
import type { SafetyVerdict } from '../model/plan.ts';
import type { Resource } from '../model/record.ts';

/** What the safety limits are held against; the bases are as design.md names them. */
export interface SafetyFigures {
  readonly resource: Resource;
  /** Null where the mode deletes nothing whatever is missing. */
  readonly deletes: number | null;
  /** Keys that this job has in the ledger: the base of `maxDeletes`. */
  readonly keysOfJob: number;
  readonly rejected: number;
  readonly records: number;
  readonly rows: number;
  /** Rows of the last completed run, the base of `minRows`; null when there was none. */
  readonly previousRows: number | null;
  readonly changed: number;
  /** Records of this source that the ledger knows: the base of `maxChanges`. */
  readonly known: number;
  /** New records and missing keys, where what makes the key differs from the last completed run; else null. */
  readonly keyChange: { readonly new: number; readonly missing: number } | null;
}

/** Every safety limit held against a plan, those exceeded first; limits that are off are left out. */
export function judgeSafety(limits: SafetyLimits, figures: SafetyFigures, run: string): SafetyVerdict[] {
  const things = figures.resource;
  const verdicts = [
    judgeRows(limits.minRows, figures, run),
    judgeKey(figures, run),
    figures.deletes === null
      ? null
      : judgeMost('maxDeletes', limits.maxDeletes, figures.deletes, figures.keysOfJob, run, {
          did: [`${things.slice(0, -1)} would be deleted`, `${things} would be deleted`],
          of: `${things} that this job sent`,
        }),
    judgeMost('maxRejects', limits.maxRejects, figures.rejected, figures.records, run, {
      did: ['record is rejected', 'records are rejected'],
      of: 'records',
    }),
    judgeMost('maxChanges', limits.maxChanges, figures.changed, figures.known, run, {
      did: ['known record changes', 'known records change'],
      of: 'known records',
    }),
  ].filter((verdict) => verdict !== null);
  return verdicts.sort((a, b) => Number(b.exceeded) - Number(a.exceeded));
}

/**
 * Whether too many records have been rejected by now, by the plan and by the store together; null while not, or when
 * the limit is off. To be asked after every shard.
 */
export function judgeRejectsWhileApplying(
  limits: Pick<SafetyLimits, 'maxRejects'>,
  figures: Pick<SafetyFigures, 'rejected' | 'records'>,
  run: string,
): SafetyVerdict | null {
  const verdict = judgeMost('maxRejects', limits.maxRejects, figures.rejected, figures.records, run, {
    did: ['record is rejected', 'records are rejected'],
    of: 'records',
  });
  return verdict?.exceeded === true ? verdict : null;
}

/** A percentage such as 1.1 has no exact binary form: a figure exactly at its limit must still pass. */
const ROUNDING = 1e-6;

/** The number that a limit comes to for a base; Infinity when it is off. Not rounded: 5% of 30 is 1.5. */
function amountOf(limit: Limit, base: number): number {
  switch (limit.kind) {
    case 'off':
      return Number.POSITIVE_INFINITY;
    case 'count':
      return limit.count;
    case 'percent':
      return (base * limit.percent) / 100;
    default:
      return limit satisfies never;
  }
}

function judgeMost(
  name: 'maxDeletes' | 'maxRejects' | 'maxChanges',
  limit: Limit,
  figure: number,
  base: number,
  run: string,
  words: { readonly did: readonly [one: string, more: string]; readonly of: string },
): SafetyVerdict | null {
  if (limit.kind === 'off') return null;
  const amount = amountOf(limit, base);
  const exceeded = figure > amount + ROUNDING;
  const found = `${number(figure)} ${words.did[figure === 1 ? 0 : 1]}, of ${number(base)} ${words.of}${share(figure, base)}`;
  return {
    limit: name,
    exceeded,
    figure,
    base,
    allowed: { text: written(limit), amount },
    message: `${name}: ${found}; the limit is ${written(limit)}${wayOut(exceeded, run)}`,
  };
}

function judgeRows(limit: Limit, { rows, previousRows }: SafetyFigures, run: string): SafetyVerdict | null {
  const emptyIsFine = limit.kind !== 'off' && amountOf(limit, 1) === 0;
  if (rows === 0 && !emptyIsFine) {
    const message = `minRows: the source has no rows; if that is right, set \`minRows: 0\`${wayOut(true, run)}`;
    return { limit: 'minRows', exceeded: true, figure: 0, base: previousRows, message };
  }
  if (limit.kind === 'off' || (limit.kind === 'percent' && previousRows === null)) return null;
  const amount = amountOf(limit, previousRows ?? 0);
  const exceeded = rows < amount - ROUNDING;
  const found =
    previousRows === null
      ? `${number(rows)} rows`
      : `${number(rows)} rows, where the last completed run had ${number(previousRows)}${share(rows, previousRows)}`;
  const message = `minRows: ${found}; the limit is ${written(limit)}${wayOut(exceeded, run)}`;
  const allowed = { text: written(limit), amount };
  return { limit: 'minRows', exceeded, figure: rows, base: previousRows, allowed, message };
}

function judgeKey({ resource, keyChange }: SafetyFigures, run: string): SafetyVerdict | null {
  if (keyChange === null) return null;
  const exceeded = keyChange.new > 0 && keyChange.missing > 0;
  const field = resource === 'products' ? 'url' : 'id';
  const found = `what makes the ${field} was changed since the last completed run, ${number(keyChange.new)} ${resource} are new and ${number(keyChange.missing)} known ones are missing`;
  const danger =
    resource === 'products'
      ? 'they would be created a second time under other addresses'
      : 'the fields of one contact may be about to be written into another';
  const message = `key: ${found}${exceeded ? `: ${danger}` : ''}${wayOut(exceeded, run)}`;
  return { limit: 'key', exceeded, figure: keyChange.new, base: keyChange.missing, message };
}

function wayOut(exceeded: boolean, run: string): string {
  return exceeded ? `. If this is right, approve run ${run}` : '';
}

function written(limit: Limit): string {
  switch (limit.kind) {
    case 'off':
      return 'off';
    case 'count':
      return number(limit.count);
    case 'percent':
      return `${limit.percent}%`;
    default:
      return limit satisfies never;
  }
}

function share(figure: number, base: number): string {
  if (base === 0) return '';
  const percent = (figure / base) * 100;
  return ` (${percent.toLocaleString('en', { maximumFractionDigits: percent < 10 ? 1 : 0 })}%)`;
}

function number(figure: number): string {
  return figure.toLocaleString('en');
}
