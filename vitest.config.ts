import { defineConfig } from 'vitest/config';
import { runOptions } from './test/support/run-options.ts';

// `npm test` leaves out *.slow.test.ts, `npm run test:all` does not.
export default defineConfig(async () => ({
  test: {
    ...(await runOptions()),
    include: ['test/**/*.test.ts'],
    reporters: ['default', './test/support/slowest-tests.ts'],
  },
}));
