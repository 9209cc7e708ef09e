import { expect, type TestContext } from 'vitest';
import { type Figure, holds, type Skipped } from './measure.ts';

declare module 'vitest' {
  interface TaskMeta {
    figures?: Figure[];
    skippedFaults?: Skipped[];
  }
}

/**
 * Writes down what a test measured for an invariant, for the table of `npm run test:faults`, and then fails the test
 * where a figure is off: the table has it all the same.
 */
export function figure({ task }: Pick<TestContext, 'task'>, measured: Figure): void {
  task.meta.figures = [...(task.meta.figures ?? []), measured];
  expect(
    measured.measured.filter((measure) => !holds(measure)),
    `invariant ${measured.invariant}, seed ${measured.seed}, faults fired ${JSON.stringify(measured.fired)}`,
  ).toEqual([]);
  const struck = Object.values(measured.fired).reduce((sum, count) => sum + count, 0);
  expect(struck, `invariant ${measured.invariant}: no fault has fired`).toBeGreaterThan(0);
}

/** Says that a fault cannot be had here; the table says it too. */
export function skipFault({ task }: Pick<TestContext, 'task'>, skipped: Skipped): void {
  process.stdout.write(`skipped, ${skipped.reason}\n`);
  task.meta.skippedFaults = [...(task.meta.skippedFaults ?? []), skipped];
}
