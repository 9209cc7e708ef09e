import { describe, expect, it } from 'vitest';

/**
 * `describe` for tests that need a program of the system. Without it they are skipped and say so, except where the
 * environment demands them (`CI`): there a missing program fails.
 */
export function describeWithServer(program: string, isThere: boolean, name: string, suite: () => void): void {
  if (isThere) {
    describe(name, suite);
  } else if (process.env['CI']) {
    describe(name, () => {
      it(`finds ${program}`, () => expect.fail(`there is no ${program}`));
    });
  } else {
    process.stdout.write(`skipped, no ${program}\n`);
    describe.skip(name, suite);
  }
}
