import { z } from 'zod';
import type { Plan } from './plan.ts';
import { shellWord } from './shell-word.ts';

/** A sample as a run stores it. */
export const sampleSchema = z.object({
  /** `--only`: the records with these keys. */
  only: z.array(z.string()).readonly().exactOptional(),
  /** `--limit`: the first records of the source, this many; of those of `only`, if both are given. */
  limit: z.int().exactOptional(),
});

/** The part of its source that a run plans: `--only KEY`, `--limit N`. The rest is counted as skipped. */
export type Sample = Readonly<z.infer<typeof sampleSchema>>;

/** The options of a command that take this sample. */
export function sampleFlags({ only, limit }: Sample): string {
  const keys = only === undefined ? [] : [`--only ${shellWord(only.join(','))}`];
  return [...keys, ...(limit === undefined ? [] : [`--limit ${limit}`])].join(' ');
}

/** The code of a record that is not in the sample of its run. */
export const NOT_IN_SAMPLE = 'not-in-sample';

/** The records of a plan that its run considers: all of them, or those of its sample. */
export function consideredRecords({ counts, skips }: Pick<Plan, 'counts' | 'skips'>): number {
  const left = skips.find(({ code }) => code === NOT_IN_SAMPLE)?.records ?? 0;
  return counts.records - left;
}
