import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Operation, Outcome } from '../../src/model/operation.ts';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import type { Ledger, LedgerTarget, Sending, State } from '../../src/state/state.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { seedOf } from '../support/seed.ts';
import { deletion, sampleRun, TARGET, upsert } from './samples.ts';
import { collected } from './two-processes.ts';

const KEYS = ['shirt', 'Shirt', 'hat', 'Ünïcode', 'a/b?c'] as const;
const JOBS = ['nightly', 'weekly'] as const;
/** Attempts that outlast the test: whoever must wait for one waits in every case. */
const ATTEMPT_MS = 3_600_000;

const reason = { code: 'store-503', message: 'The store answered 503.' };
const outcome = fc.oneof<fc.Arbitrary<Outcome>[]>(
  fc.option(fc.integer({ min: 1, max: 3 }), { nil: null }).map((id) => ({ kind: 'applied', id })),
  fc.constantFrom<Outcome>(
    { kind: 'applied', id: 7, answeredUrl: 'Shirt' },
    { kind: 'rejected', reason },
    { kind: 'rejected', reason, absent: true },
    { kind: 'unsent', reason, inDoubt: true },
    { kind: 'unsent', reason, inDoubt: true, atWork: true },
    { kind: 'left' },
  ),
);
const operation: fc.Arbitrary<Operation> = fc
  .record({
    key: fc.constantFrom(...KEYS),
    id: fc.option(fc.integer({ min: 1, max: 3 }), { nil: null }),
    isDelete: fc.boolean(),
  })
  .map(({ key, id, isDelete }) =>
    isDelete ? deletion(KEYS.indexOf(key), key, id ?? 7) : upsert(KEYS.indexOf(key), key, { knownId: id }),
  );
const results = fc.uniqueArray(fc.record({ operation, outcome }), {
  selector: ({ operation }) => operation.key,
});
const by = { job: fc.constantFrom(...JOBS), sender: fc.nat(1) };
const step = fc.oneof(
  fc.record({ kind: fc.constant('begin' as const), ...by, results }),
  fc.record({ kind: fc.constant('record' as const), ...by, results, isRepeat: fc.boolean() }),
  fc.record({ kind: fc.constant('withdraw' as const), ...by, results }),
  fc.record({ kind: fc.constant('end' as const), ...by, results }),
  fc.record({ kind: fc.constantFrom('confirm' as const, 'prove-again' as const), results }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Writes, of which two are steps; and what depends on witnesses, which doubts-suite.ts compares. */
type NotCompared =
  | ('confirm' | 'forget' | 'observe' | 'proveIdsAgain' | 'remember')
  | ('lostSince' | 'reconcile');

/** Everything that a ledger says about the keys. `positions`: earlier ones. */
async function answersOf(ledger: Ledger, positions: readonly string[]) {
  const ofJobs = <Answer>(ask: (job: string) => Promise<Answer>) => Promise.all(JOBS.map(ask));
  const memos = KEYS.map(() => null);
  const inOrder = (keys: readonly string[]) => keys.toSorted();
  const sorted = (pages: AsyncIterable<readonly { readonly key: string }[]>) =>
    collected(pages).then((found) => found.sort((one, other) => (one.key < other.key ? -1 : 1)));
  return {
    marks: await ledger.marks(KEYS),
    compare: await ofJobs((job) => ledger.compare({ job, keys: KEYS, memos })),
    bodies: await ledger.bodies(KEYS),
    views: await ledger.views(KEYS),
    edited: await sorted(ledger.edited()),
    keysBy: (await ledger.keysBy('id', ['1', '2', '3', '7'])).map(inOrder),
    keysNamed: inOrder(await ledger.keysNamed('hirt', 5)),
    allBodies: await sorted(ledger.allBodies()),
    count: await ofJobs((job) => ledger.count(job)),
    keysOf: await ofJobs((job) => sorted(ledger.keysOf(job))),
    sharedIds: [...(await ledger.sharedIds(new Set([1, 2, 3, 7])))]
      .map(([id, shared]) => [id, inOrder(shared)] as const)
      .sort(([one], [other]) => one - other),
    unconfirmed: await ofJobs(async (job) => inOrder(await collected(ledger.unconfirmed(job)))),
    doubtedOnlyBy: await ofJobs((job) => ledger.doubtedOnlyBy(job, KEYS)),
    // The lineage of each state is its own.
    position: (await ledger.position()).split(' ')[1],
    writtenSince: await Promise.all(positions.map((position) => ledger.writtenSince(position, KEYS))),
    hasDoubts: await ledger.hasDoubts(),
  } satisfies Record<Exclude<keyof Ledger, NotCompared>, unknown>;
}

/** Everything that a state says about the keys after each step. */
async function liveIn(state: State, target: LedgerTarget, steps: readonly Step[]): Promise<unknown[]> {
  const ledger = state.ledger(target);
  const runOf = (job: string, isRepeat = false) =>
    sampleRun({
      id: `${target.storeId} ${job} ${isRepeat}`,
      job,
      ...target,
      ...(isRepeat ? { kind: 'verify' } : {}),
    });
  for (const job of JOBS) for (const isRepeat of [false, true]) await state.runs.create(runOf(job, isRepeat));
  await using stack = new AsyncDisposableStack();
  const sendings = new Map<string, Sending>();
  const sendingOf = async (job: string, sender: number): Promise<Sending> => {
    const known = sendings.get(`${job} ${sender}`);
    const sending = known ?? stack.use(await state.sending({ run: runOf(job), attemptMs: ATTEMPT_MS }));
    sendings.set(`${job} ${sender}`, sending);
    return sending;
  };
  const positions = [await ledger.position()];
  const said: unknown[] = [];
  for (const step of steps) {
    const operations = step.results.map(({ operation }) => operation);
    if (operations.length === 0) continue;
    if (step.kind === 'begin') {
      const { waitMs, overtaken } = await (await sendingOf(step.job, step.sender)).begin(operations);
      said.push({ waits: waitMs.map((ms, position) => ms > 0 && !overtaken[position]), overtaken });
    } else if (step.kind === 'record') {
      await state.runs.record(runOf(step.job, step.isRepeat), 1, step.results, 1, undefined, said.length);
    } else if (step.kind === 'withdraw') {
      await (await sendingOf(step.job, step.sender)).withdraw(operations);
    } else if (step.kind === 'end') {
      await sendings.get(`${step.job} ${step.sender}`)?.[Symbol.asyncDispose]();
      sendings.delete(`${step.job} ${step.sender}`);
    } else if (step.kind === 'confirm') {
      await ledger.confirm(operations.map(({ key }) => key));
    } else {
      await ledger.proveIdsAgain();
    }
    positions.push(await ledger.position());
    said.push({
      ...(await answersOf(ledger, positions)),
      versions: (await state.history(target).versions(KEYS)).map((versions) =>
        versions.map(({ kind, id, body, before, owner }) => ({ kind, id, body, before, owner })),
      ),
    });
  }
  return said;
}

/** The first group of a state is a confirmation, so that nothing else has given it its lineage. */
const CONFIRMED_FIRST: Step[] = [
  {
    kind: 'record',
    job: 'weekly',
    sender: 0,
    isRepeat: false,
    results: [{ operation: upsert(4, 'a/b?c', { knownId: 2 }), outcome: { kind: 'applied', id: 3 } }],
  },
  { kind: 'confirm', results: [{ operation: deletion(4, 'a/b?c', 2), outcome: { kind: 'left' } }] },
];

/** A step of the job `nightly` about one key that was never sent before. */
const shirtStep = (kind: 'begin' | 'end', sender: number): Step => ({
  kind,
  job: 'nightly',
  sender,
  results: [{ operation: upsert(0, 'shirt'), outcome: { kind: 'unsent', reason } }],
});
/** Whoever begins the key of a sender that ended waits for its request. */
const ENDED_AT_WORK: Step[] = [shirtStep('begin', 0), shirtStep('end', 0), shirtStep('begin', 1)];

describeWithRedis('SQLite and Redis', () => {
  const folder = mkdtempSync(join(tmpdir(), 'storeferry-equal-'));
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ aof: false });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('hold equal facts about keys after the same history', async (context) => {
    let histories = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
        // Both states are new each time, so that a shorter history fails for the same reason.
        const name = `history-${++histories}`;
        await using embedded = await openSqliteState(join(folder, name), { withoutThread: true });
        await using shared = await openRedisState({ url: server.url, prefix: name });
        expect(await liveIn(shared, TARGET, steps)).toEqual(await liveIn(embedded, TARGET, steps));
      }),
      { numRuns: 100, seed: seedOf(context), examples: [[CONFIRMED_FIRST], [ENDED_AT_WORK]] },
    );
  });
});
