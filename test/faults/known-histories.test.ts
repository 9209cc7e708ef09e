import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStateDatabase } from '../../src/state/sqlite/open-state-database.ts';
import type { History, Step } from './beliefs/history.ts';
import type { JobName, JobSettings, Source } from './beliefs/jobs.ts';
import { EMPTY_SOURCE } from './beliefs/jobs.ts';
import { keepInSqlite } from './beliefs/keep-in-sqlite.ts';
import { live } from './beliefs/live.ts';
import { type Faults, NO_FAULTS } from './beliefs/process.ts';
import type { StoreProfile } from './beliefs/simulated-store.ts';

let database: Awaited<ReturnType<typeof openStateDatabase>>;
beforeAll(async () => {
  database = await openStateDatabase(':memory:');
});
afterAll(() => database.close());

const UNPROBED: StoreProfile = {
  ...{ isProbed: false, keepsByUrl: false, keepsById: false, reads: false, unaltered: false },
};

interface RunOptions {
  readonly hasGuard?: boolean;
  readonly conflicts?: JobSettings['conflicts'];
  readonly faults?: Partial<Faults>;
}

function run(
  job: JobName,
  source: Partial<Source>,
  { hasGuard = false, conflicts, faults = {} }: RunOptions = {},
): Step {
  const settings = { source: { ...EMPTY_SOURCE, ...source }, hasGuard, conflicts, resend: false };
  return { kind: 'run', job, settings, faults: { ...NO_FAULTS, ...faults } };
}

function retry(
  job: JobName,
  source: Partial<Source>,
  { which = 0, faults = {} }: { readonly which?: number; readonly faults?: Partial<Faults> } = {},
): Step {
  const settings = { source: { ...EMPTY_SOURCE, ...source }, hasGuard: false, resend: false };
  return { kind: 'retry', job, which, settings, faults: { ...NO_FAULTS, ...faults } };
}

function release(job: JobName): Step {
  return { kind: 'release', job, which: 0, faults: NO_FAULTS };
}

function undo(job: JobName): Step {
  return { kind: 'undo', job, which: 0, planning: NO_FAULTS, sending: NO_FAULTS };
}

/** What the model test has found; the counts of writes that a power cut may take go from the least to the most that matter. */
const FOUND: Readonly<Record<string, readonly Step[]>> = {
  'a release of a product with a new url deletes one that a later run has found under the old url': [
    run('weekly', { hat: 0, isRenamed: true }),
    run('weekly', { hat: 1 }, { hasGuard: true }),
    run('weekly', { hat: 0, isRenamed: true }),
    release('weekly'),
  ],
  'a retry sends what another job has sent since': [
    run('weekly', { coat: 'wrong' }),
    run('nightly', { coat: 0 }),
    retry('weekly', { coat: 1 }),
  ],
  'a retry that is repeated after a killed one sends what a run has sent since': [
    run('weekly', { coat: 'wrong', hat: 'wrong' }),
    retry('weekly', { coat: 1, hat: 1 }, { faults: { fates: [{ kind: 'unanswered', arrived: true }] } }),
    run('weekly', { coat: 0, hat: 'wrong' }),
    retry('weekly', { coat: 1, hat: 1 }, { which: 1 }),
  ],
  'a release sends over a record that another job has found in an unchanged source': [
    run('nightly', { Shirt: 0, hat: 0 }),
    run('weekly', { Shirt: 1 }, { hasGuard: true }),
    run('nightly', { Shirt: 0, hat: 0 }),
    release('weekly'),
  ],
  'an undo takes back what the run before it has left in doubt': [
    run('weekly', { hat: 1 }),
    run('nightly', { hat: 0 }, { faults: { fates: [{ kind: 'unanswered', arrived: true }] } }),
    run('nightly', { Shirt: 1, hat: 0 }, { faults: { fails: { write: 'begin', at: 0 } } }),
    undo('nightly'),
  ],
  'a product is made again that somebody has deleted by hand': [
    run('nightly', { hat: 1 }),
    { kind: 'by-hand', key: 'hat', how: 'remove' },
    run('nightly', { hat: 0 }, { faults: { fates: [{ kind: 'at-work', lands: true }] } }),
    run('nightly', {}),
  ],
  'a run goes on over what another job has sent whose answer could not be written down': [
    run('nightly', { Shirt: 0, hat: 0, coat: 1 }, { faults: { fates: [{ kind: 'unsent' }] } }),
    { kind: 'empty-state' },
    { kind: 'restore-state', writes: 1 },
    run('weekly', { Shirt: 0, hat: 0, coat: 0 }, { faults: { fails: { write: 'record', at: 0 } } }),
  ],
};

const UNDONE_LATE: Step = {
  ...{ kind: 'undo', job: 'nightly', which: 0, planning: NO_FAULTS },
  sending: { ...NO_FAULTS, fates: [{ kind: 'at-work', lands: true }] },
};

/** The same, of stores that were probed. */
const FOUND_WHERE_PROBED: Readonly<Record<string, readonly [store: HistoricStore, steps: readonly Step[]]>> =
  {
    'a product stays hidden that came back before it was deleted': [
      { normalises: true, profile: { ...UNPROBED, isProbed: true, keepsByUrl: true } },
      [run('nightly', { Shirt: 0, hat: 0, coat: 0 }), UNDONE_LATE, UNDONE_LATE],
    ],
    'a product never gets its old url back, because an earlier request without an answer has made another there':
      [
        { normalises: false, profile: { ...UNPROBED, isProbed: true, keepsById: true } },
        [
          run('nightly', { hat: 0 }, { faults: { fates: [{ kind: 'unanswered', arrived: true }] } }),
          run('nightly', { hat: 0, isRenamed: true }),
          run('nightly', { hat: 0 }),
        ],
      ],
    'a product stays that a comparison has found made again under another id': [
      { normalises: false, profile: { ...UNPROBED, isProbed: true, keepsByUrl: true } },
      [
        run('nightly', { Shirt: 0, hat: 0, coat: 0 }),
        { kind: 'by-hand', key: 'Shirt', how: 'title' },
        {
          ...{ kind: 'drift', job: 'nightly', how: 'compare', sending: null },
          faults: { ...NO_FAULTS, fates: [{ kind: 'at-work', lands: false }, { kind: 'renumbered' }] },
        },
        run('nightly', { Shirt: 0, hat: 0 }),
      ],
    ],
    'a product stays that an interrupted comparison has found made again': [
      { normalises: false, profile: { ...UNPROBED, isProbed: true, keepsByUrl: true } },
      [
        run('nightly', { Shirt: 'wrong', hat: 0, coat: 0, isRenamed: true }),
        { kind: 'by-hand', key: 'Shirt', how: 'title' },
        {
          ...{ kind: 'drift', job: 'nightly', how: 'compare', sending: null },
          faults: { ...NO_FAULTS, fates: [{ kind: 'renumbered' }], interruptedAt: 0 },
        },
        run('nightly', { Shirt: 0, hat: 0, coat: 0 }),
      ],
    ],
    'an edit that is to stay is replaced by the value before it': [
      { normalises: false, profile: { ...UNPROBED, isProbed: true, reads: true } },
      [
        run('nightly', { Shirt: 1, hat: 0 }),
        { kind: 'by-hand', key: 'Shirt', how: 'title' },
        run('nightly', { Shirt: 0, hat: 0 }, { conflicts: 'store' }),
      ],
    ],
  };

/** The same, where the last writes of the run before are lost. */
const LOST: Readonly<Record<string, readonly [before: readonly Step[], after: readonly Step[]]>> = {
  'a retry': [
    [run('weekly', { coat: 'wrong' }), run('nightly', { Shirt: 0, hat: 0, coat: 0 })],
    [retry('weekly', { coat: 1 })],
  ],
  'a release': [
    [run('weekly', { coat: 1 }, { hasGuard: true }), run('nightly', { Shirt: 0, hat: 0, coat: 0 })],
    [release('weekly')],
  ],
  'a retry of what another run has found since': [
    [run('nightly', { hat: 0 }), run('nightly', { hat: 'wrong' })],
    [run('weekly', { hat: 0 }), retry('nightly', { hat: 1 })],
  ],
  'an undo of a delete': [
    [run('nightly', { coat: 0 }), run('nightly', {}), run('weekly', { coat: 1 })],
    [undo('nightly')],
  ],
};

type HistoricStore = Omit<History, 'steps'>;

async function findingsOf(
  steps: readonly Step[],
  store: HistoricStore = { normalises: false, profile: UNPROBED },
) {
  return await live(await keepInSqlite(database, true), { ...store, steps }, () => {});
}

const NOTHING = {
  falseBeliefs: [],
  strangersDeleted: [],
  staleRuns: [],
  staleOverwrites: [],
  editsLost: [],
  wrongTotals: [],
  notBrought: [],
};

it.each(Object.entries(FOUND))('it does not happen that %s', async (_name, steps) => {
  expect(await findingsOf(steps)).toEqual(NOTHING);
});

it.each(Object.entries(FOUND_WHERE_PROBED))('it does not happen that %s', async (_name, [store, steps]) => {
  expect(await findingsOf(steps, store)).toEqual(NOTHING);
});

it('an undo gives back what a run has left that was killed at any moment', async () => {
  for (let diesAt = 34; diesAt < 45; diesAt++) {
    const steps = [
      run('nightly', { hat: 1, coat: 0 }),
      run('nightly', { Shirt: 0, hat: 1 }, { faults: { diesAt } }),
      run('weekly', { Shirt: 0, hat: 0, coat: 0 }),
      undo('weekly'),
    ];
    expect(await findingsOf(steps), `killed at event ${diesAt}`).toEqual(NOTHING);
  }
});

it.each(Object.entries(LOST))(
  '%s sends nothing over what the state has lost',
  async (_name, [before, after]) => {
    for (let writes = 1; writes <= 9; writes++) {
      const lost: Step = { kind: 'restore-state', writes };
      expect(await findingsOf([...before, lost, ...after]), `${writes} writes lost`).toEqual(NOTHING);
    }
  },
);
