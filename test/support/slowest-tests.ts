import type { Reporter, TestCase, TestModule } from 'vitest/node';

const LISTED = 20;

/** Lists the slowest tests at the end of a run. */
export default class SlowestTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const slowest = tests.sort((one, other) => durationMs(other) - durationMs(one)).slice(0, LISTED);
    const rows = slowest.map(
      (test) =>
        `${(durationMs(test) / 1_000).toFixed(1).padStart(7)} s  ${test.module.relativeModuleId}: ${test.fullName}`,
    );
    if (rows.length > 0) process.stdout.write(`\nThe slowest tests:\n${rows.join('\n')}\n`);
  }
}

function durationMs(test: TestCase): number {
  return test.diagnostic()?.duration ?? 0;
}
