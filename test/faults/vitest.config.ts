import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { runOptions } from '../support/run-options.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Tests that measure a figure, wherever they stand: the table needs them, and only them. */
const measuring = globSync('test/**/*.test.ts', { cwd: ROOT }).filter((file) =>
  /(support\/figure|support\/measure-property|\.\/chaos)\.ts'/.test(readFileSync(join(ROOT, file), 'utf8')),
);

export default defineConfig(async () => {
  const options = await runOptions();
  return {
    root: ROOT,
    test: {
      ...options,
      include: measuring,
      // Of the ledger’s beliefs (ledger-beliefs.property.slow.test.ts).
      env: { ...options.env, STOREFERRY_HISTORIES: process.env['STOREFERRY_HISTORIES'] ?? '10000' },
      reporters: [
        'dot',
        join(import.meta.dirname, '..', 'support', 'slowest-tests.ts'),
        join(import.meta.dirname, 'figures-table.ts'),
      ],
    },
  };
});
