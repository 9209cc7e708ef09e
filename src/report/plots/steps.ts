import type { TrafficSample } from '../../model/traffic.ts';

/** A corner of a line that changes in steps; null interrupts it. */
export interface Corner {
  readonly x: number;
  readonly y: number | null;
}

/** How corners are drawn as a line, and as the area below it. */
export const LINE = { x: ({ x }: Corner) => x, y: ({ y }: Corner) => y, strokeWidth: 1.5 };
export const AREA = { x: ({ x }: Corner) => x, y1: 0, y2: ({ y }: Corner) => y };

/** A figure of each sample as the corners of a line; where nothing was sampled it is `between`. */
export function steps(
  samples: readonly TrafficSample[],
  x: (at: number) => number,
  y: (sample: TrafficSample) => number | null,
  between: number | null,
): Corner[] {
  const corners: Corner[] = [];
  let end: number | null = null;
  for (const sample of samples) {
    const value = y(sample);
    if (end !== null && sample.at > end) {
      corners.push({ x: x(end), y: between }, { x: x(sample.at), y: between });
    }
    end = sample.at + sample.ms;
    corners.push({ x: x(sample.at), y: value }, { x: x(end), y: value });
  }
  return corners;
}
