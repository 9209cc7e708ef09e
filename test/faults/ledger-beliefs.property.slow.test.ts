import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect, it, type TestContext } from 'vitest';
import { openStateDatabase } from '../../src/state/sqlite/open-state-database.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { seedOf } from '../support/seed.ts';
import { type History, histories } from './beliefs/history.ts';
import { keepInRedis } from './beliefs/keep-in-redis.ts';
import { keepInSqlite } from './beliefs/keep-in-sqlite.ts';
import { type Findings, live } from './beliefs/live.ts';
import type { Keeping } from './beliefs/world.ts';

/** `npm run test:faults` asks for 10 000; else enough to notice a broken mechanism. */
const HISTORIES = Number(process.env['STOREFERRY_HISTORIES'] ?? 1_000);
/** What histories must have reached, where there are many. */
const REACHED = [
  'retried records',
  'released records',
  'undone records',
  'undone undos',
  'continued runs',
  'unchanged sources',
  'overtaken runs',
  'partial bodies',
  'kept edits',
  'plans with edited records',
  'restored records',
  'comparisons: accept',
  'kept against the source',
  'renamed anew',
  'renamed by id',
  'retries of the latest run',
  'retry beside a text',
];
/** Of a hundred histories, so many more on Redis. */
const ON_REDIS = 3;

function isRestored({ steps }: History): boolean {
  return steps.some(({ kind }) => kind === 'restore-state');
}

/** Lives through random histories of a store, two jobs and all that may go wrong, and writes down what was wrong. */
async function measureHistories(
  context: TestContext,
  numRuns: number,
  keep: (history: History) => Promise<Keeping>,
): Promise<void> {
  const seed = seedOf(context);
  const fired: Record<string, number> = {};
  const note = (fault: string) => {
    fired[fault] = (fired[fault] ?? 0) + 1;
  };
  let wrong: Findings = {
    falseBeliefs: [],
    strangersDeleted: [],
    staleRuns: [],
    staleOverwrites: [],
    editsLost: [],
    wrongTotals: [],
    notBrought: [],
  };
  const property = fc.asyncProperty(histories, async (history) => {
    const found = await live(await keep(history), history, note);
    if (Object.values(found).every(({ length }) => length === 0)) return true;
    wrong = found;
    return false;
  });
  const details = await fc.check(property, { numRuns, seed });
  if (details.failed) {
    console.log(
      fc.defaultReportMessage(details),
      JSON.stringify(details.counterexample),
      wrong,
      details.errorInstance,
    );
  }
  const histored = { histories: details.numRuns, ...fired };
  const falseBeliefs = none('false beliefs', wrong.falseBeliefs.length);
  const strangers = none('strangers deleted', wrong.strangersDeleted.length);
  figure(context, { invariant: 30, seed, fired: histored, measured: [strangers] });
  figure(context, { invariant: 29, seed, fired: histored, measured: [falseBeliefs] });
  const stale = none('records left otherwise by runs that are done', wrong.staleRuns.length);
  const overwrites = none('stale overwrites by retry, release and undo', wrong.staleOverwrites.length);
  figure(context, { invariant: 32, seed, fired: histored, measured: [stale, overwrites] });
  const edits = none('edits lost', wrong.editsLost.length);
  figure(context, { invariant: 36, seed, fired: histored, measured: [edits] });
  const totals = none('totals that do not add up', wrong.wrongTotals.length);
  figure(context, { invariant: 1, seed, fired: histored, measured: [totals] });
  expect(wrong.notBrought, 'without faults, three runs bring the store to what the sources say').toEqual([]);
  expect(details.failed).toBe(false);
  if (numRuns >= 500) expect(REACHED.filter((name) => fired[name] === undefined)).toEqual([]);
}

it('the ledger believes nothing that the store does not hold, whatever goes wrong', {
  timeout: patience(1_800_000),
}, async (context) => {
  const database = await openStateDatabase(':memory:');
  await measureHistories(context, HISTORIES, (history) => keepInSqlite(database, isRestored(history)));
  database.close();
});

describeWithRedis('a shared ledger', () => {
  it('believes nothing either', { timeout: patience(1_800_000) }, async (context) => {
    await using server = await startRedis({ aof: false });
    const client = new Redis(server.url);
    context.onTestFinished(() => client.disconnect());
    await measureHistories(context, Math.ceil((HISTORIES * ON_REDIS) / 100), (history) =>
      keepInRedis(server.url, client, isRestored(history)),
    );
  });
});
