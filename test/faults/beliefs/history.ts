import fc from 'fast-check';
import type { Faults } from './process.ts';
import { type Fate, LIES } from './simulated-store.ts';
import { JOBS, type JobName, KEYS, type Source } from './world.ts';

/** One thing that happens. */
export type Step =
  | {
      readonly kind: 'run';
      readonly job: JobName;
      readonly source: Source;
      readonly resend: boolean;
      readonly faults: Faults;
    }
  | { readonly kind: 'plan'; readonly job: JobName; readonly source: Source; readonly faults: Faults }
  | { readonly kind: 'approve'; readonly job: JobName; readonly faults: Faults }
  /** A request that was at work takes effect, or all of them do. */
  | { readonly kind: 'land'; readonly which: number }
  | { readonly kind: 'by-hand'; readonly key: string; readonly how: 'edit' | 'create' | 'remove' }
  | { readonly kind: 'renumber'; readonly key: string }
  /** The state is as it was before so many writes: a power cut, or a copy that was put back. */
  | { readonly kind: 'undo'; readonly writes: number }
  | { readonly kind: 'empty-state' }
  | { readonly kind: 'remove-artifacts' }
  | { readonly kind: 'turn-clock'; readonly hours: number };

/** What happens to one store that two jobs write to. */
export interface History {
  /** The store writes urls in lower case. */
  readonly normalises: boolean;
  readonly steps: readonly Step[];
}

const key = fc.constantFrom(...KEYS);
const job = fc.constantFrom(...JOBS);
const version = fc.option(fc.nat(1), { nil: null, freq: 3 });
const source: fc.Arbitrary<Source> = fc.record({ Shirt: version, hat: version, coat: version });

const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'done' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'renumbered' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('refused' as const),
      before: fc.constantFrom('none' as const, 'arrived' as const, 'lost' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'unsent' as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unanswered' as const), arrived: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('at-work' as const), lands: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('lie' as const),
      lie: fc.constantFrom(...LIES),
      arrived: fc.boolean(),
    }),
  },
);

const faults: fc.Arbitrary<Faults> = fc.record({
  fates: fc.array(fate, { maxLength: 4 }),
  diesAt: fc.option(fc.nat(30), { nil: null, freq: 1 }),
  lateLands: fc.boolean(),
  fails: fc.option(
    fc.record({
      write: fc.constantFrom('begin' as const, 'record' as const, 'withdraw' as const, 'witness' as const),
      at: fc.nat(1),
    }),
    { nil: null, freq: 2 },
  ),
  interruptedAt: fc.option(fc.nat(3), { nil: null, freq: 2 }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      ...{ kind: fc.constant('run' as const), job, source, faults },
      resend: fc.integer({ min: 0, max: 9 }).map((number) => number === 9),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('plan' as const), job, source, faults }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('approve' as const), job, faults }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('land' as const), which: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ kind: fc.constant('by-hand' as const), key },
      how: fc.constantFrom('edit' as const, 'create' as const, 'remove' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renumber' as const), key }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('undo' as const), writes: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'empty-state' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'remove-artifacts' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('turn-clock' as const),
      hours: fc.constantFrom(-30, -1, 1, 30),
    }),
  },
);

/** Random histories; those without any step that only few have are as frequent as those with all. */
export const histories: fc.Arbitrary<History> = fc.record({
  normalises: fc.boolean(),
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
});
