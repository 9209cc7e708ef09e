/** A line of the table: what was measured, and what issue 4 asks of it. */
export interface BenchRow {
  readonly what: string;
  readonly ours: string;
  /** The plain script, or what else the same work was done by; empty where there is none. */
  readonly plain: string;
  /** What the figure is held against: the bare tool, or a limit. */
  readonly bare: string;
  readonly ratio: string;
  readonly asked: string;
  readonly met: boolean;
}

export interface BenchOptions {
  /** Sizes are multiplied by this. */
  readonly scale: number;
  /** Rounds of each program; the programs take turns, and medians are printed. */
  readonly rounds: number;
  /** For files; removed at the end. */
  readonly folder: string;
  /** Prints what was just measured. */
  readonly log: (line: string) => void;
}

/** One or several rows that are measured together. */
export type Bench = (options: BenchOptions) => Promise<readonly BenchRow[]>;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** A size, rounded to whole things; never none. */
export function scaled(size: number, { scale }: Pick<BenchOptions, 'scale'>): number {
  return Math.max(1, Math.round(size * scale));
}
