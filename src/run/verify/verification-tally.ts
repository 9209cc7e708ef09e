import type { Operation, Outcome } from '../../model/operation.ts';
import { forgotten, type ShareEstimate, type Verification } from '../../model/run.ts';
import type { LedgerSample } from './sample-ledger.ts';

/** Counts the results of a re-sent sample. */
export class VerificationTally {
  #asKnown = 0;
  #recreated = 0;
  #altered = 0;
  #rejected = 0;
  #missing = 0;
  readonly #alteredFields = new Map<string, number>();

  /** Adds the final outcome of an operation, with the fields in which its answer differs from the request. */
  add(operation: Operation, outcome: Outcome, altered: readonly string[]): void {
    switch (outcome.kind) {
      case 'applied':
        if (isOtherId(operation, outcome.id)) this.#recreated++;
        else if (altered.length === 0) this.#asKnown++;
        else this.#addAltered(altered);
        return;
      case 'rejected':
        this.#rejected++;
        if (outcome.absent) this.#missing++;
        return;
      case 'unsent':
      case 'left':
        return;
      default:
        outcome satisfies never;
    }
  }

  /** The findings so far; records without an outcome are unsent. */
  result({ keys, known, notComparable }: LedgerSample): Verification {
    const recreated = this.#recreated;
    const missing = this.#missing;
    const held = this.#asKnown + this.#altered;
    const sampled = keys.length;
    return {
      ...{ sampled, known, notComparable },
      asKnown: this.#asKnown,
      recreated,
      altered: this.#altered,
      rejected: this.#rejected,
      missing,
      unsent: sampled - held - recreated - this.#rejected,
      alteredFields: [...this.#alteredFields]
        .map(([field, records]) => ({ field, records }))
        .sort((one, other) => other.records - one.records || (one.field < other.field ? -1 : 1)),
      forgottenShare: forgottenShare({
        population: known,
        // A refusal for another reason does not show whether the store has the record.
        sampled: held + forgotten({ recreated, missing }),
        found: forgotten({ recreated, missing }),
      }),
    };
  }

  #addAltered(fields: readonly string[]): void {
    this.#altered++;
    for (const field of fields) this.#alteredFields.set(field, (this.#alteredFields.get(field) ?? 0) + 1);
  }
}

function isOtherId(operation: Operation, answered: number | null): boolean {
  if (operation.kind !== 'upsert-product' || operation.knownId === null || answered === null) return false;
  return operation.knownId !== answered;
}

/** The probability that each bound is wrong: with two bounds, and with only one. */
const RISK_OF_EACH = 0.025;
const RISK_OF_ONE = 0.05;

/** A random sample without repetition, and how many of its records the store has lost. */
interface SampleFound {
  readonly population: number;
  readonly sampled: number;
  readonly found: number;
}

/**
 * The share of lost records in a population, estimated from a random sample. The bounds are exact for a sample
 * without repetition (hypergeometric), so a sample of everything leaves no uncertainty. Each bound is wrong in at
 * most 2.5 % of samples. If the sample found no lost record or only lost ones, there is one bound, wrong in at most 5
 * % (the rule of three: 0 of 50 gives about 3/50).
 */
export function forgottenShare({ population, sampled, found }: SampleFound): ShareEstimate {
  if (sampled === 0) return { estimate: null, low: 0, high: 1 };
  const kept = sampled - found;
  const risk = found === 0 || kept === 0 ? RISK_OF_ONE : RISK_OF_EACH;
  const mostForgotten = found === sampled ? population : mostMarked(population, sampled, found, risk);
  const mostKept = found === 0 ? population : mostMarked(population, sampled, kept, risk);
  return {
    estimate: found / sampled,
    low: (population - mostKept) / population,
    high: mostForgotten / population,
  };
}

/**
 * The largest number of marked items for which a sample has at most `found` of them with more than the probability
 * `risk`.
 */
function mostMarked(population: number, sampled: number, found: number, risk: number): number {
  let low = found;
  let high = population - (sampled - found);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (atMost(population, middle, sampled, found) > risk) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The probability that a sample has at most `found` of the marked items of a population. */
function atMost(population: number, marked: number, sampled: number, found: number): number {
  const unmarked = population - marked;
  const least = Math.max(0, sampled - unmarked);
  if (found < least) return 0;
  const most =
    logChoose(marked, found) + logChoose(unmarked, sampled - found) - logChoose(population, sampled);
  // From the largest count downwards, each term relative to the first, so that no term underflows.
  let term = 1;
  let sum = 1;
  for (let count = found; count > least; count--) {
    term *= (count * (unmarked - sampled + count)) / ((marked - count + 1) * (sampled - count + 1));
    sum += term;
    if (term < sum * Number.EPSILON) break;
  }
  return Math.min(1, Math.exp(most + Math.log(sum)));
}

function logChoose(all: number, chosen: number): number {
  return logFactorial(all) - logFactorial(chosen) - logFactorial(all - chosen);
}

const EXACT_BELOW = 32;

/** Stirling's series; below 32 the product itself. Its relative error is under 1e-12. */
function logFactorial(n: number): number {
  if (n < EXACT_BELOW) {
    let sum = 0;
    for (let factor = 2; factor <= n; factor++) sum += Math.log(factor);
    return sum;
  }
  const square = n * n;
  return (
    n * Math.log(n) -
    n +
    0.5 * Math.log(2 * Math.PI * n) +
    (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / n
  );
}
