import fc from 'fast-check';
import { JOBS, type JobName, KEYS, type Source, TEXTS, VERSIONS } from './jobs.ts';
import { type Faults, NO_FAULTS } from './process.ts';
import type { Settings } from './run-steps.ts';
import { BY_HAND, type Fate, LIES, type StoreProfile } from './simulated-store.ts';

/** One thing that happens. */
export type Step =
  | {
      readonly kind: 'run' | 'plan';
      readonly job: JobName;
      readonly settings: Settings;
      readonly faults: Faults;
    }
  /** With the source and the guard that it had. */
  | { readonly kind: 'run-again' | 'approve'; readonly job: JobName; readonly faults: Faults }
  /** Of the runs that can be retried, `which` from the newest. */
  | {
      readonly kind: 'retry';
      readonly job: JobName;
      readonly which: number;
      readonly settings: Settings;
      readonly faults: Faults;
    }
  | {
      readonly kind: 'release';
      readonly job: JobName;
      readonly which: number;
      readonly faults: Faults;
      /** Whose value a field gets that was changed on both sides. */
      readonly conflicts?: 'source' | 'store' | undefined;
    }
  /** `sending`: how it is approved at once; null: perhaps later. */
  | {
      readonly kind: 'undo';
      readonly job: JobName;
      readonly which: number;
      readonly planning: Faults;
      readonly sending: Faults | null;
    }
  /** Compares the store with the ledger; `restore`: and sends again what the ledger has, approved at once unless `sending` is null. */
  | {
      readonly kind: 'drift';
      readonly job: JobName;
      readonly how: 'compare' | 'accept' | 'restore';
      readonly faults: Faults;
      readonly sending: Faults | null;
    }
  /** A request that was at work takes effect, or all of them do. */
  | { readonly kind: 'land'; readonly which: number }
  | { readonly kind: 'by-hand'; readonly key: string; readonly how: (typeof BY_HAND)[number] }
  | { readonly kind: 'renumber'; readonly key: string }
  /** The state is as it was before so many writes: a power cut, or a copy that was put back. */
  | { readonly kind: 'restore-state'; readonly writes: number }
  | { readonly kind: 'empty-state' }
  | { readonly kind: 'remove-artifacts' }
  /** The store is probed again, in case the result of its probe is gone. */
  | { readonly kind: 'probe' }
  | { readonly kind: 'turn-clock'; readonly hours: number };

/** What happens to one store that two jobs write to. */
export interface History {
  /** The store writes urls in lower case. */
  readonly normalises: boolean;
  readonly profile: StoreProfile;
  /** A third job sends texts, which the others keep. */
  readonly hasTexts?: boolean;
  readonly steps: readonly Step[];
}

const key = fc.constantFrom(...KEYS);
const job = fc.constantFrom(...JOBS, TEXTS);
const version = fc.constantFrom(...VERSIONS, 0 as const, 1 as const);
const source: fc.Arbitrary<Source> = fc.record({
  ...{ Shirt: version, hat: version, coat: version },
  isRenamed: fc.integer({ min: 0, max: 2 }).map((number) => number === 2),
});
const settings: fc.Arbitrary<Settings> = fc.record({
  source,
  hasGuard: fc.integer({ min: 0, max: 2 }).map((number) => number === 2),
  resend: fc.integer({ min: 0, max: 9 }).map((number) => number === 9),
  conflicts: fc.constantFrom(undefined, 'hold' as const, 'source' as const, 'store' as const),
});
const which = fc.nat(2);
const conflicts = fc.constantFrom(undefined, 'source' as const, 'store' as const);

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
  diesAt: fc.option(fc.nat(40), { nil: null, freq: 1 }),
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

/** Most processes have no faults, so that there is something to retry, to release and to undo. */
const mostlyNone = fc.oneof(
  { weight: 1, arbitrary: faults },
  { weight: 2, arbitrary: fc.constant(NO_FAULTS) },
);

function byHand(how: fc.Arbitrary<(typeof BY_HAND)[number]>) {
  return fc.record({ kind: fc.constant('by-hand' as const), key, how });
}

const comparison = {
  how: fc.constantFrom('compare' as const, 'accept' as const, 'restore' as const),
  faults: mostlyNone,
  sending: fc.option(mostlyNone, { nil: null, freq: 4 }),
};

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('run' as const), job, settings, faults }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('run-again' as const), job, faults: mostlyNone }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('plan' as const), job, settings, faults: mostlyNone }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('approve' as const), job, faults: mostlyNone }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('retry' as const), job, which, settings, faults: mostlyNone }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('release' as const),
      job,
      which,
      faults: mostlyNone,
      conflicts,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('undo' as const),
      job,
      which,
      planning: mostlyNone,
      sending: fc.option(mostlyNone, { nil: null, freq: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('drift' as const), job, ...comparison }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('land' as const), which: fc.nat(3) }) },
  { weight: 3, arbitrary: byHand(fc.constantFrom(...BY_HAND)) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renumber' as const), key }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('restore-state' as const),
      writes: fc.integer({ min: 1, max: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'empty-state' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'remove-artifacts' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'probe' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('turn-clock' as const),
      hours: fc.constantFrom(-30, -1, 1, 30),
    }),
  },
);

/** A run whose undo is undone, which steps of their own rarely make up together. */
const undoneTwice = fc
  .record({ job, settings, planning: mostlyNone, sending: mostlyNone })
  .map(({ job, settings, planning, sending }): readonly Step[] => {
    const undo = { kind: 'undo' as const, job, which: 0, planning, sending };
    return [{ kind: 'run', job, settings, faults: NO_FAULTS }, undo, undo];
  });

/** A run that dies, after which the other job runs, and then is run again. */
const overtaken = fc
  .record({ settings, others: settings, diesAt: fc.integer({ min: 4, max: 40 }), faults: mostlyNone })
  .map(({ settings, others, diesAt, faults }): readonly Step[] => [
    { kind: 'run', job: 'nightly', settings, faults: { ...NO_FAULTS, diesAt } },
    { kind: 'run', job: 'weekly', settings: others, faults },
    { kind: 'run-again', job: 'nightly', faults },
  ]);

/** A product that is changed by hand between runs with other sources. */
const changedByHand = fc
  .record({
    job,
    sources: fc.tuple(settings, settings, settings),
    edits: fc.array(byHand(fc.constantFrom('title' as const, 'description' as const, 'variants' as const)), {
      minLength: 1,
      maxLength: 3,
    }),
    faults: mostlyNone,
    isReleased: fc.boolean(),
    conflicts,
  })
  .map(({ job, sources: [before, after, last], edits, faults, isReleased, conflicts }): readonly Step[] => [
    { kind: 'run', job, settings: before, faults: NO_FAULTS },
    ...edits,
    { kind: 'run', job, settings: after, faults },
    ...(isReleased ? [{ kind: 'release' as const, job, which: 0, faults, conflicts }] : []),
    { kind: 'run', job, settings: last, faults },
  ]);

/** The same, compared with the store before the next run. */
const compared = fc
  .record({
    job,
    sources: fc.tuple(settings, settings),
    edit: byHand(fc.constantFrom(...BY_HAND)),
    ...comparison,
  })
  .map(({ job, sources: [before, after], edit, how, faults, sending }): readonly Step[] => [
    { kind: 'run', job, settings: before, faults: NO_FAULTS },
    edit,
    { kind: 'drift', job, how, faults, sending },
    { kind: 'run', job, settings: after, faults: NO_FAULTS },
  ]);

/** A product that is renamed, and perhaps given its old url back. */
const renamed = fc
  .record({
    job,
    settings: fc.tuple(settings, settings, settings),
    versions: fc.tuple(version, version, version),
    faults,
    isUndone: fc.boolean(),
    planning: mostlyNone,
    sending: mostlyNone,
  })
  .map(({ job, settings, versions, faults, isUndone, planning, sending }): readonly Step[] => {
    const [before, after, last] = settings.map(({ source, ...others }, at) => ({
      ...others,
      source: { ...source, hat: versions[at] ?? 0, isRenamed: at === 1 },
    }));
    if (before === undefined || after === undefined || last === undefined) return [];
    return [
      { kind: 'run', job, settings: before, faults: NO_FAULTS },
      { kind: 'run', job, settings: after, faults },
      { kind: 'run-again', job, faults: NO_FAULTS },
      ...(isUndone
        ? [{ kind: 'undo' as const, job, which: 0, planning, sending }]
        : [{ kind: 'run' as const, job, settings: last, faults: planning }]),
    ];
  });

/**
 * Rows that are rejected, and corrected after other jobs have sent their products or the texts of these, also as planned before; or texts
 * that awaited their products.
 */
const retriedBeside = fc
  .record({
    before: settings,
    others: settings,
    wrong: fc.constantFrom('Shirt' as const, 'hat' as const, 'coat' as const),
    texts: fc.option(settings, { nil: null }),
    corrected: settings,
    between: fc.array(
      fc.record({
        kind: fc.constant('run' as const),
        job: fc.constantFrom(...JOBS, TEXTS, TEXTS),
        settings,
        faults: mostlyNone,
      }),
      { maxLength: 2 },
    ),
    isApproved: fc.boolean(),
    faults: mostlyNone,
  })
  .map(({ before, others, wrong, texts, corrected, between, isApproved, faults }): readonly Step[] => {
    const source = { ...before.source, [wrong]: 'wrong' as const };
    const first = texts === null ? 'nightly' : TEXTS;
    return [
      { kind: 'run', job: 'nightly', settings: before, faults: NO_FAULTS },
      { kind: 'plan', job: 'weekly', settings: others, faults: NO_FAULTS },
      { kind: 'run', job: first, settings: texts ?? { ...before, source }, faults: NO_FAULTS },
      ...(isApproved ? [{ kind: 'approve' as const, job: 'weekly' as const, faults: NO_FAULTS }] : []),
      ...between,
      { kind: 'retry', job: first, which: 0, settings: corrected, faults },
    ];
  });

/** Without a probe, as the document says; or as one found it. */
const profile: fc.Arbitrary<StoreProfile> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.constant({
      ...{ isProbed: false, keepsByUrl: false, keepsById: false, reads: false, unaltered: false },
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      isProbed: fc.constant(true),
      keepsByUrl: fc.boolean(),
      keepsById: fc.boolean(),
      reads: fc.boolean(),
      unaltered: fc.boolean(),
    }),
  },
);

/** Random histories; those without any step that only few have are as frequent as those with all. */
export const histories: fc.Arbitrary<History> = fc
  .record({
    normalises: fc.boolean(),
    profile,
    hasTexts: fc.boolean(),
    steps: fc
      .tuple(
        fc.array(step, { minLength: 1, maxLength: 10 }),
        fc.oneof(
          { weight: 6, arbitrary: fc.constant([]) },
          { weight: 1, arbitrary: undoneTwice },
          { weight: 1, arbitrary: overtaken },
          { weight: 2, arbitrary: changedByHand },
          { weight: 2, arbitrary: compared },
          { weight: 2, arbitrary: renamed },
          { weight: 3, arbitrary: retriedBeside },
        ),
        fc.array(step, { maxLength: 2 }),
      )
      .map((parts) => parts.flat()),
  })
  .map(({ hasTexts, steps, ...store }) => ({
    ...store,
    hasTexts,
    steps: steps.map((step) => withTexts(step, hasTexts)),
  }));

function withTexts(step: Step, keepsTexts: boolean): Step {
  if (!('job' in step)) return step;
  const job = step.job === TEXTS && !keepsTexts ? 'weekly' : step.job;
  return 'settings' in step ? { ...step, job, settings: { ...step.settings, keepsTexts } } : { ...step, job };
}
