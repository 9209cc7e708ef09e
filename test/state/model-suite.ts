import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Operation, Outcome, UpsertProduct } from '../../src/model/operation.ts';
import { type LedgerMark, type OperationResult, packBodies, type State } from '../../src/state/state.ts';
import { type Opening, openAs } from './child.ts';
import { bodyOf, sampleRun, TARGET, upsert } from './samples.ts';

const JOBS = ['nightly', 'weekly'] as const;
const KEYS = ['shirt', 'hat', 'Ünïcode', 'a/b?c', ''] as const;

interface Recorded {
  readonly job: (typeof JOBS)[number];
  readonly shard: number;
  readonly results: readonly OperationResult[];
  readonly requests: number;
  /** Written by the second handle, as another process would. */
  readonly elsewhere: boolean;
}

/** The same memory in plain maps. */
class PlainState {
  readonly marks = new Map<string, LedgerMark & { readonly body: string }>();
  readonly outcomes = new Map<string, OperationResult>();
  readonly requests = new Map<string, number>();

  record({ job, shard, results, requests }: Recorded): void {
    this.requests.set(job, (this.requests.get(job) ?? 0) + requests);
    for (const { operation, outcome } of results) {
      this.outcomes.set(`${job} ${shard} ${operation.index}`, { operation, outcome });
      if (outcome.kind !== 'applied') continue;
      if (operation.kind === 'delete-product') {
        this.marks.delete(operation.key);
      } else {
        const knownId = operation.kind === 'upsert-product' ? operation.knownId : null;
        const { fingerprint, body } = operation;
        const isOther = knownId !== null && outcome.id !== null && outcome.id !== knownId;
        const proof = isOther ? { idProof: 'changed' as const } : {};
        this.marks.set(operation.key, { fingerprint, body, id: outcome.id ?? knownId, job, ...proof });
      }
    }
  }

  ofJob(job: string): OperationResult[] {
    return [...this.outcomes].filter(([name]) => name.startsWith(`${job} `)).map(([, result]) => result);
  }
}

const FINGERPRINTS = ['a', 'b', 'c'] as const;
const BODIES = KEYS.flatMap((key) => FINGERPRINTS.map((fingerprint) => bodyOf(key, fingerprint)));
/** All bodies of the model as a plan packs them. */
const [BLOCK = Buffer.of()] = packBodies(BODIES);

const key = fc.constantFrom(...KEYS);
const id = fc.option(fc.integer({ min: 1, max: 5 }), { nil: null });
/** Within a shard an index always means the same kind of operation and the same rows: the plan is not rewritten. */
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc
    .record({
      ...{ index: fc.nat(2), key, fingerprint: fc.constantFrom(...FINGERPRINTS), knownId: id },
      isPacked: fc.boolean(),
    })
    .map(({ index, key, isPacked, ...rest }): UpsertProduct => {
      const place = BODIES.indexOf(bodyOf(key, rest.fingerprint));
      const packed = isPacked ? { packed: { block: BLOCK, place } } : {};
      return upsert(index, key, { rows: index * 2, ...rest, ...packed });
    }),
  key.map((key): Operation => ({ kind: 'delete-product', index: 3, key, rows: 0, spans: [], id: 1 })),
);
const reason = fc.record({
  code: fc.constantFrom('store-422', 'store-503'),
  message: fc.string({ maxLength: 5 }),
});
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 3, arbitrary: id.map((answered): Outcome => ({ kind: 'applied', id: answered })) },
  { weight: 1, arbitrary: reason.map((reason): Outcome => ({ kind: 'rejected', reason })) },
  { weight: 1, arbitrary: reason.map((reason): Outcome => ({ kind: 'unsent', reason })) },
);
const recorded: fc.Arbitrary<Recorded> = fc.record({
  job: fc.constantFrom(...JOBS),
  shard: fc.nat(2),
  results: fc.array(fc.record({ operation, outcome }), { maxLength: 4 }),
  requests: fc.nat(9),
  elsewhere: fc.boolean(),
});

/** Random histories, against a plain model. */
export function itAgreesWithPlainMaps(fresh: () => Promise<Opening>, numRuns: number): void {
  it('agrees with plain maps after every random history', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(recorded, { maxLength: 8 }), async (history) => {
        const opening = await fresh();
        await using state = await openAs(opening);
        await using other = await openAs(opening);
        const plain = new PlainState();
        for (const job of JOBS) await state.runs.create(sampleRun({ id: job, job }));
        for (const step of history) {
          const { runs } = step.elsewhere ? other : state;
          const run = sampleRun({ id: step.job, job: step.job });
          await runs.record(run, step.shard, step.results, step.requests);
          plain.record(step);
          await expectLedger(state, plain);
        }
        for (const job of JOBS) await expectOutcomes(other, plain, job);
      }),
      { numRuns },
    );
  });
}

function markOf({ body: _, ...mark }: LedgerMark & { readonly body: string }): LedgerMark {
  return mark;
}

async function expectLedger(state: State, plain: PlainState): Promise<void> {
  const ledger = state.ledger(TARGET);
  const known = KEYS.map((key) => plain.marks.get(key));
  expect(await ledger.marks(KEYS)).toEqual(known.map((mark) => mark && markOf(mark)));
  expect(await ledger.bodies(KEYS)).toEqual(known.map((mark) => mark?.body));
  for (const job of JOBS) {
    const keys = [...plain.marks]
      .filter(([, mark]) => mark.job === job)
      .map(([key, { id, idProof }]) => ({ key, id, ...(idProof === undefined ? {} : { idProof }) }));
    const found = [];
    for await (const page of ledger.keysOf(job)) found.push(...page);
    const byKey = (one: { key: string }, two: { key: string }) => (one.key < two.key ? -1 : 1);
    expect(found.sort(byKey)).toEqual(keys.sort(byKey));
    expect(await ledger.count(job)).toBe(keys.length);
  }
}

async function expectOutcomes({ runs }: State, plain: PlainState, job: string): Promise<void> {
  const results = plain.ofJob(job);
  const of = (...kinds: string[]) => results.filter(({ outcome }) => kinds.includes(outcome.kind));
  const rows = (some: readonly OperationResult[]) =>
    some.reduce((sum, { operation }) => sum + operation.rows, 0);
  const upserts = of('applied').filter((result) => result.operation.kind !== 'delete-product');
  expect(await runs.tally(job)).toEqual({
    applied: upserts.length,
    appliedRows: rows(upserts),
    rejected: of('rejected').length,
    rejectedRows: rows(of('rejected')),
    deleted: of('applied').length - upserts.length,
    left: 0,
    requests: plain.requests.get(job) ?? 0,
  });
  for (const shard of [0, 1, 2]) {
    const found = await runs.outcomes(job, shard);
    for (const index of [0, 1, 2, 3]) {
      expect(found.get(index)).toBe(plain.outcomes.get(`${job} ${shard} ${index}`)?.outcome.kind);
    }
  }
  const refusals = [];
  for await (const page of runs.refusals(job)) refusals.push(...page);
  expect(refusals.map(({ reason }) => reason)).toHaveLength(of('rejected').length);
  const unsent = await runs.unsentReasons(job);
  expect(unsent.reduce((sum, { count }) => sum + count, 0)).toBe(of('unsent').length);
}
