import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const SUPPORT = join(import.meta.dirname, '..');

/** Of the run that processes.slow.test.ts starts: its tests time out. */
export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ['starts-and-hangs.ts'],
    globalSetup: [join(SUPPORT, 'run-folder.ts')],
    setupFiles: [join(SUPPORT, 'end-with-tests.ts')],
    testTimeout: 100,
    hookTimeout: 120_000,
  },
});
