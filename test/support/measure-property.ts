import fc from 'fast-check';
import type { TestContext } from 'vitest';
import { figure } from './figure.ts';
import { none } from './measure.ts';
import { seedOf } from './seed.ts';

interface Measured {
  readonly invariant: number;
  /** What a case is that was tried, such as `generated files`. */
  readonly tried: string;
  /** What a counterexample would be, such as `silently misread`. */
  readonly wrong: string;
}

/** Checks a property as `fc.assert` does, and writes down how many cases were tried and how many were wrong. */
export async function measureProperty<Case>(
  context: Pick<TestContext, 'task' | 'onTestFailed'>,
  { invariant, tried, wrong }: Measured,
  property: fc.IAsyncProperty<Case>,
  parameters: fc.Parameters<Case>,
): Promise<void> {
  const seed = seedOf(context);
  const details = await fc.check(property, { ...parameters, seed });
  if (details.failed) console.log(fc.defaultReportMessage(details));
  figure(context, {
    invariant,
    seed,
    fired: { [tried]: details.numRuns },
    measured: [none(wrong, details.failed ? 1 : 0)],
  });
}
