/** A value of an axis, with its label. */
export interface Tick {
  readonly value: number;
  readonly label: string;
}

/** Zero and at most this many ticks above it. */
const MOST_TICKS = 4;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const DURATION_UNITS = [
  { name: 'd', ms: DAY, steps: [1, 2, 5, 10, 20, 50] },
  { name: 'h', ms: HOUR, steps: [1, 2, 3, 6, 12] },
  { name: 'min', ms: MINUTE, steps: [1, 2, 5, 10, 15, 30] },
  { name: 's', ms: SECOND, steps: [0.2, 0.5, 1, 2, 5, 10, 15, 30] },
  { name: 'ms', ms: 1, steps: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
] as const;

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' });

/** `0`, `2 min`, `4 min`: round durations up to `most` milliseconds, in one unit and all different. */
export function durationTicks(most: number): Tick[] {
  const fitting = DURATION_UNITS.flatMap((unit) => unit.steps.map((step) => ({ unit, step }))).filter(
    ({ unit, step }) => most / (unit.ms * step) <= MOST_TICKS,
  );
  const finest = fitting.reduce<(typeof fitting)[number] | undefined>(
    (best, one) => (best === undefined || one.unit.ms * one.step < best.unit.ms * best.step ? one : best),
    undefined,
  );
  if (finest === undefined) return [{ value: 0, label: '0' }];
  const { unit, step } = finest;
  return upTo(most, unit.ms * step, (value) => `${value / unit.ms} ${unit.name}`);
}

/** `0`, `200`, `400`, or `0`, `2K`, `4K`: round counts up to `most`, all different. */
export function countTicks(most: number): Tick[] {
  let step = 1;
  for (let power = 1; most / step > MOST_TICKS; power *= 10) {
    step = [power, 2 * power, 5 * power].find((one) => most / one <= MOST_TICKS) ?? step;
  }
  return upTo(most, step, (value) => COMPACT.format(value));
}

/**
 * The start of the first and the last run, in the time zone of the job: days, with times if both are on the same day.
 * With fewer than four runs only the last one, because there is no room for two labels.
 */
export function endTicks(moments: readonly number[], timezone: string): Tick[] {
  const [first, last] = [moments[0], moments.at(-1)];
  if (first === undefined || last === undefined) return [];
  const day = (at: number) => format(at, timezone, { day: 'numeric', month: 'short' });
  const tick = (index: number, label: string): Tick => ({ value: index, label });
  if (moments.length < FEWEST_FOR_BOTH_ENDS) return [tick(moments.length - 1, day(last))];
  if (day(first) !== day(last)) return [tick(0, day(first)), tick(moments.length - 1, day(last))];
  const minute = (at: number) => format(at, timezone, { hour: '2-digit', minute: '2-digit' });
  const second = (at: number) =>
    format(at, timezone, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const time = minute(first) === minute(last) ? second : minute;
  return [tick(0, `${day(first)}, ${time(first)}`), tick(moments.length - 1, time(last))];
}

const FEWEST_FOR_BOTH_ENDS = 4;

function format(at: number, timeZone: string, parts: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone, hourCycle: 'h23', ...parts }).format(at);
}

function upTo(most: number, step: number, label: (value: number) => string): Tick[] {
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => ({
    value: index * step,
    label: index === 0 ? '0' : label(index * step),
  }));
}
