import type { ShareEstimate } from '../../model/verification.ts';

/** How likely each bound is wrong, where both are given, and where only one can be. */
const RISK_OF_EACH = 0.025;
const RISK_OF_ONE = 0.05;

/** A random sample without repetition, and how many of it were found forgotten. */
export interface SampleFound {
  readonly population: number;
  readonly sampled: number;
  readonly found: number;
}

/**
 * Which share of a population is forgotten, given how many of a random sample are. The bounds are exact for a sample
 * without repetition (hypergeometric), so that a sample of everything leaves no uncertainty. Each bound is wrong in at
 * most 2.5 % of samples; where the sample found none or only forgotten ones there is one bound, wrong in at most 5 %
 * (the rule of three: 0 of 50 gives about 3/50).
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

/** The largest number of marked ones with which a sample has at most `found` of them in more than `risk` of cases. */
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

/** The probability that a sample has at most `found` of the marked ones of a population. */
function atMost(population: number, marked: number, sampled: number, found: number): number {
  const unmarked = population - marked;
  const least = Math.max(0, sampled - unmarked);
  if (found < least) return 0;
  const most =
    logChoose(marked, found) + logChoose(unmarked, sampled - found) - logChoose(population, sampled);
  // From the largest count downwards, each term in proportion to the first: none is lost to underflow.
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
