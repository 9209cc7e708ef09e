import { vi } from 'vitest';
import type { History, Step } from './history.ts';
import { corrected, JOBS, type JobName, TEXTS } from './jobs.ts';
import { NO_FAULTS } from './process.ts';
import { type Keeping, World } from './world.ts';

const HOUR_MS = 3_600_000;

/** What was found wrong in a history. */
export interface Findings {
  readonly falseBeliefs: readonly string[];
  readonly strangersDeleted: readonly string[];
  /** What runs say that is not so, because they were planned before another job wrote. */
  readonly staleRuns: readonly string[];
  /** What `retry`, `release` or `undo` sent over what another run wrote since, or gave back otherwise than it was. */
  readonly staleOverwrites: readonly string[];
  /** Changes by hand that were overwritten in a store that keeps absent fields, where the source had not changed. */
  readonly editsLost: readonly string[];
  /** Totals of runs that do not add up, or are not what was recorded. */
  readonly wrongTotals: readonly string[];
  /** What the store does not hold as the sources say after three more runs of each job without faults. */
  readonly notBrought: readonly string[];
}

/** Lives through a history, and looks after each step at what the ledger believes. */
export async function live(
  keeping: Keeping,
  { steps, hasTexts: keepsTexts = false, ...store }: History,
  note: (fault: string) => void,
): Promise<Findings> {
  const world = new World(keeping, store, note);
  const falseBeliefs: string[] = [];
  const clock = turnedClock();
  try {
    for (const [at, step] of steps.entries()) {
      await happen(world, step, clock.turn);
      falseBeliefs.push(...(await world.falseBeliefs()).map((belief) => `after step ${at}: ${belief}`));
    }
    world.store.landAll();
    falseBeliefs.push(...(await world.falseBeliefs()).map((belief) => `at the end: ${belief}`));
    world.store.refusedMoves.clear();
    // A delete whose id must be answered once more first comes a run later, and another job brings back what it still has.
    const jobs: readonly JobName[] = keepsTexts ? [...JOBS, TEXTS] : JOBS;
    for (const job of [...jobs, ...jobs, ...jobs]) {
      const source = corrected(world.settingsOf(job).source);
      await world.run(
        job,
        { source, hasGuard: false, resend: false, conflicts: 'source', keepsTexts },
        NO_FAULTS,
      );
      await world.releaseHeld(job);
    }
    falseBeliefs.push(...(await world.falseBeliefs()).map((belief) => `after the last runs: ${belief}`));
    const { strangersDeleted } = world.store;
    return {
      falseBeliefs,
      strangersDeleted,
      staleRuns: world.staleRuns,
      staleOverwrites: world.versions.wrong,
      editsLost: world.edits.lost,
      wrongTotals: world.wrongTotals,
      notBrought: await world.notAsInSources(),
    };
  } finally {
    clock.restore();
  }
}

async function happen(world: World, step: Step, turn: (ms: number) => void): Promise<void> {
  switch (step.kind) {
    case 'run':
      return await world.run(step.job, step.settings, step.faults);
    case 'run-again':
      return await world.run(step.job, world.settingsOf(step.job), step.faults);
    case 'plan':
      return await world.plan(step.job, step.settings, step.faults);
    case 'approve':
      return await world.approve(step.job, step.faults);
    case 'retry':
      return await world.retry(step.job, step.which, step.settings, step.faults);
    case 'release':
      return await world.release(step.job, step.which, step.faults, step.conflicts);
    case 'undo':
      await world.undo(step.job, step.which, step.planning);
      if (step.sending !== null) await world.approve(step.job, step.sending);
      return;
    case 'drift':
      await world.compare(step.job, step.how, step.faults);
      if (step.how === 'restore' && step.sending !== null) await world.approve(step.job, step.sending);
      return;
    case 'land':
      return world.store.landOne(step.which);
    case 'by-hand':
      return world.store.touch(step.key, step.how);
    case 'renumber':
      return world.store.renumber(step.key);
    case 'restore-state':
      return await world.restore(step.writes);
    case 'empty-state':
      return await world.empty();
    case 'remove-artifacts':
      return world.removeArtifacts();
    case 'probe':
      return world.probe();
    case 'turn-clock':
      return turn(step.hours * HOUR_MS);
    default:
      return step satisfies never;
  }
}

// Taken once: a history that goes on after its test has timed out has another's clock, and no clock that asks itself.
const { now } = Date;

/** The wall clock of this machine, which a history may turn. */
function turnedClock() {
  let turnedMs = 0;
  const spied = vi.spyOn(Date, 'now').mockImplementation(() => now() + turnedMs);
  return {
    turn: (ms: number) => {
      turnedMs += ms;
    },
    restore: () => spied.mockRestore(),
  };
}
