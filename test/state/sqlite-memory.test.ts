import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openStateDatabase } from '../../src/state/sqlite/open-state-database.ts';
import { createSqliteCalls } from '../../src/state/sqlite/sqlite-calls.ts';

/** Tables with a row for each record, operation or version. */
const LARGE = /^(SCAN|SEARCH) (outcomes|marks|bodies|versions|version_keys|handles|doubts)\b/;

/** Statements that sort only a few of the rows, and which ones. */
const SORTS = [
  { of: 'the unsent operations of a run', sql: /FROM outcomes WHERE run = \? AND kind = 3/ },
  {
    of: 'the products with the ids of a plan of deletes',
    sql: /FROM marks .* id IN \(SELECT value FROM json_each/,
  },
  { of: 'the keys of a page', sql: /FROM versions .* LIMIT 1000$/ },
];

// Temporary tables are in memory: a sort takes 48 bytes for each row, 92 MiB for the outcomes of 2 000 000 operations.
it('no statement sorts all rows of a large table', async () => {
  using database = await openStateDatabase(':memory:');
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  onTestFinished(() => prepare.mockRestore());
  createSqliteCalls(database);
  const statements = prepare.mock.calls.map(([sql]) => sql.replaceAll(/\s+/g, ' ').trim());
  prepare.mockRestore();

  const sorts = statements.filter((sql) => {
    const plan = database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail));
    return LARGE.test(plan[0] ?? '') && plan.some((step) => step.includes('TEMP B-TREE'));
  });
  expect(statements.length).toBeGreaterThan(100);
  expect(sorts.filter((sql) => !SORTS.some((known) => known.sql.test(sql)))).toEqual([]);
  expect(sorts).toHaveLength(SORTS.length);
});
