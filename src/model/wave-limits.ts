import { z } from 'zod';
import { grouped } from '../text/printable.ts';
import { type Stored, sumOf } from './json-object.ts';
import type { Resource } from './mapped-record.ts';
import { AMOUNT_ROUNDING, isBeyond, type Limit, limitAmount, limitText } from './safety-limits.ts';

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
      `${lost} are not known, because the process that received them was killed: whether the store changed values (maxAltered) cannot be judged`,
    );
  }
  return exceeded.length === 0 ? null : exceeded.join(', and ');
}
