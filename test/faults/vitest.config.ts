import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const ROOT = join(import.meta.dirname, '..', '..');

/** Tests that measure a figure, wherever they stand: the table needs them, and only them. */
const measuring = globSync('test/**/*.test.ts', { cwd: ROOT }).filter((file) =>
  /(support\/figure|support\/measure-property|\.\/chaos)\.ts'/.test(readFileSync(join(ROOT, file), 'utf8')),
);

export default defineConfig({
  root: ROOT,
  test: {
    include: measuring,
    // They mostly wait: for processes, stores and Redis.
    maxWorkers: 3,
    // Of the ledger’s beliefs (ledger-beliefs.property.test.ts).
    env: { STOREFERRY_HISTORIES: process.env['STOREFERRY_HISTORIES'] ?? '10000' },
    testTimeout: 60_000,
    hookTimeout: 30_000,
    reporters: ['dot', join(import.meta.dirname, 'figures-table.ts')],
  },
});
