const LEVELS = '▁▂▃▄▅▆▇█';
const FLAT = '▄';
const GAP = ' ';

/** A value at a moment; null where nothing is known. */
export interface Sample {
  readonly at: number;
  readonly value: number | null;
}

/**
 * A line of bars from the lowest to the highest value: one a sample while there is room for all, else one for each
 * equal stretch of time, as high as its last sample.
 */
export function sparkline(samples: readonly Sample[], width: number): string {
  const shown = samples.length <= width ? samples.map(({ value }) => value) : stretches(samples, width);
  const known = shown.filter((value) => value !== null);
  const lowest = Math.min(...known);
  const span = Math.max(...known) - lowest;
  return shown
    .map((value) => {
      if (value === null) return GAP;
      if (span === 0) return FLAT;
      return LEVELS.charAt(Math.round(((value - lowest) / span) * (LEVELS.length - 1)));
    })
    .join('');
}

/** The last value in each of so many equal stretches of time; one without a sample keeps the value before. */
function stretches(samples: readonly Sample[], count: number): (number | null)[] {
  const from = samples[0]?.at ?? 0;
  const lasted = Math.max(1, (samples.at(-1)?.at ?? 0) - from);
  const values = new Array<number | null>(count).fill(null);
  const sampled = new Set<number>();
  for (const { at, value } of samples) {
    const stretch = Math.min(count - 1, Math.floor(((at - from) / lasted) * count));
    values[stretch] = value;
    sampled.add(stretch);
  }
  for (let stretch = 1; stretch < count; stretch++) {
    if (!sampled.has(stretch)) values[stretch] = values[stretch - 1] ?? null;
  }
  return values;
}
