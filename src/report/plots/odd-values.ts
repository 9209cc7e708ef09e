/** Fewer values do not show what is usual. */
const FEWEST = 5;
/** How far from the median a value must be: so many times the median distance, and at least this share of the median. */
const DISTANCES = 4;
const SHARE = 0.5;

/** Which values are outliers; none where there are too few values. */
export function oddValues(values: readonly number[]): boolean[] {
  if (values.length < FEWEST) return values.map(() => false);
  const middle = median(values);
  const usual = median(values.map((value) => Math.abs(value - middle)));
  const far = Math.max(usual * DISTANCES, Math.abs(middle) * SHARE, Number.MIN_VALUE);
  return values.map((value) => Math.abs(value - middle) > far);
}

/**
 * Which of the wanted values have room for a label above them: the largest first, none within so many places of
 * another, so that no label covers the next.
 */
export function labelled(values: readonly number[], wanted: readonly boolean[], apart: number): boolean[] {
  const chosen: number[] = [];
  const candidates = [...wanted.keys()].filter((index) => wanted[index] === true);
  for (const index of candidates.toSorted((a, b) => (values[b] ?? 0) - (values[a] ?? 0))) {
    if (chosen.every((other) => Math.abs(other - index) >= apart)) chosen.push(index);
  }
  return values.map((_, index) => chosen.includes(index));
}

/** A value this many times the median would leave no room for the others. */
const TALLEST = 5;

/** How high a plot of values should be, so that the usual ones can be compared: values beyond it reach its top. */
export function plotHeight(values: readonly number[]): number {
  const most = Math.max(1, ...values);
  const middle = median(values);
  return middle > 0 ? Math.min(most, middle * TALLEST) : most;
}

function median(values: readonly number[]): number {
  const rising = values.toSorted((a, b) => a - b);
  const half = Math.floor(rising.length / 2);
  const upper = rising[half] ?? 0;
  return rising.length % 2 === 1 ? upper : ((rising[half - 1] ?? upper) + upper) / 2;
}
