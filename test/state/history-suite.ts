import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/model/operation.ts';
import type { OperationResult, State } from '../../src/state/state.ts';
import type { Opening } from './child.ts';
import { applied, deletion, rejected, sampleRun, TARGET, upsert } from './samples.ts';
import { collected, twoProcesses } from './two-processes.ts';

const FILES = [{ name: 'catalog.csv' }];

/** What is kept of acknowledged versions, however it is kept. */
export function describeHistory(fresh: () => Promise<Opening>): void {
  describe('the history', () => {
    const processes = twoProcesses(fresh);

    /** Records what a run had acknowledged, at a time, with versions. */
    async function record(state: State, id: string, at: number, results: readonly OperationResult[]) {
      const run = sampleRun({ id, job: `job of ${id}` });
      if ((await state.runs.get(id)) === undefined) await state.runs.create(run);
      await state.history(TARGET).begin(run, at, FILES);
      await state.runs.record(run, 1, results, results.length, undefined, at);
      return run;
    }
    const price = (index: number, key: string, amount: number) =>
      applied(upsert(index, key, { body: productOf(key, amount), fingerprint: String(amount) }), 7);

    it('has every acknowledged version with its run, time, rows and both bodies, newest first', async () => {
      const { state, other } = processes;
      await record(state, 'one', 1_000, [price(0, 'shirt', 10), price(1, 'hat', 5)]);
      await record(state, 'two', 2_000, [price(0, 'shirt', 12)]);
      await record(state, 'two', 2_500, [applied(deletion(1, 'shirt', 7), null)]);
      await record(state, 'three', 3_000, [applied(upsert(4, 'shirt'), 8)]);
      const [shirt = [], hat = [], nobody] = await other.history(TARGET).versions(['shirt', 'hat', 'nobody']);
      const spans = (line: number) => [{ file: 0, from: line, to: line }];
      const run = (id: string, at: number) => ({ id, job: `job of ${id}`, at, files: FILES });
      const created = upsert(4, 'shirt').body;
      expect(shirt).toEqual([
        {
          kind: 'acknowledged',
          run: run('three', 3_000),
          at: 3_000,
          id: 8,
          spans: spans(6),
          body: created,
          before: null,
        },
        {
          ...version('deleted', 'two', 2_500, null),
          spans: [],
          run: run('two', 2_000),
          body: null,
          before: productOf('shirt', 12),
        },
        {
          ...version('acknowledged', 'two', 2_000, 7),
          spans: spans(2),
          run: run('two', 2_000),
          body: productOf('shirt', 12),
          before: productOf('shirt', 10),
        },
        {
          ...version('acknowledged', 'one', 1_000, 7),
          spans: spans(2),
          run: run('one', 1_000),
          body: productOf('shirt', 10),
          before: null,
        },
      ]);
      expect(hat.map(({ body }) => body)).toEqual([productOf('hat', 5)]);
      expect(nobody).toEqual([]);
      expect((await collected(other.history(TARGET).keysOf('two'))).flat()).toContain('shirt');
      expect((await other.history(TARGET).runs()).map(({ id }) => id)).toEqual(['three', 'two', 'one']);
      expect((await other.history(TARGET).size()).versions).toBe(5);
    });

    it('has a version for a record that the store says it does not have', async () => {
      const { state } = processes;
      await record(state, 'one', 1_000, [price(0, 'shirt', 10)]);
      const gone = rejected(upsert(0, 'shirt'));
      await record(state, 'two', 2_000, [
        {
          ...gone,
          outcome: { kind: 'rejected', reason: { code: 'store-404', message: 'none' }, absent: true },
        },
      ]);
      const [versions = []] = await state.history(TARGET).versions(['shirt']);
      expect(versions.map(({ kind, before }) => [kind, before])).toEqual([
        ['absent', productOf('shirt', 10)],
        ['acknowledged', null],
      ]);
    });

    it('outlives its runs, and forgets what is older than a moment', async () => {
      const { state } = processes;
      await record(state, 'one', 1_000, [price(0, 'shirt', 10), price(1, 'hat', 5)]);
      await record(state, 'two', 2_000, [price(0, 'shirt', 12)]);
      await record(state, 'three', 3_000, [price(0, 'shirt', 14)]);
      await state.runs.remove('two');
      await state.history(TARGET).prune(2_000);
      const [shirt = [], hat] = await state.history(TARGET).versions(['shirt', 'hat']);
      expect(shirt.map(({ run, body, before }) => [run.id, body, before])).toEqual([
        ['three', productOf('shirt', 14), productOf('shirt', 12)],
        ['two', productOf('shirt', 12), productOf('shirt', 10)],
      ]);
      expect(hat).toEqual([]);
      await state.history(TARGET).prune(Number.MAX_SAFE_INTEGER);
      expect(await state.history(TARGET).versions(['shirt', 'hat'])).toEqual([[], []]);
      expect(await state.history(TARGET).runs()).toEqual([]);
      expect(await state.history(TARGET).size()).toEqual({ versions: 0, bytes: 0 });
    });

    it('begins again for a key that was acknowledged without a version', async () => {
      const { state } = processes;
      await record(state, 'one', 1_000, [price(0, 'shirt', 10), price(1, 'hat', 5)]);
      const silent = sampleRun({ id: 'silent' });
      await state.runs.create(silent);
      await state.runs.record(silent, 1, [price(0, 'shirt', 11)], 1);
      expect((await state.history(TARGET).versions(['shirt', 'hat'])).map(({ length }) => length)).toEqual([
        0, 1,
      ]);
      await record(state, 'two', 2_000, [price(0, 'shirt', 12)]);
      const [shirt = []] = await state.history(TARGET).versions(['shirt']);
      expect(shirt.map(({ body, before }) => [body, before])).toEqual([
        [productOf('shirt', 12), productOf('shirt', 11)],
      ]);
    });

    it('restores every version of any record exactly, whatever else was recorded', async () => {
      const key = fc.constantFrom('shirt', 'hat', 'coat');
      const body = fc.oneof(
        fc.json(),
        fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
        fc
          .tuple(fc.constantFrom('shirt', 'hat'), fc.nat(1_000))
          .map(([name, amount]) => productOf(name, amount)),
      );
      const step = fc.record({ key, body: fc.option(body, { nil: null, freq: 4 }), reads: fc.boolean() });
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
          const { state } = processes;
          await state.history(TARGET).prune(Number.MAX_SAFE_INTEGER);
          const expected = new Map<string, (string | null)[]>();
          for (const { key: at, body: wanted, reads } of steps) {
            runs += 1;
            const operation: Operation =
              wanted === null ? deletion(0, at, 7) : upsert(0, at, { body: wanted, fingerprint: `f${runs}` });
            await record(state, `run-${runs}`, runs, [applied(operation, 7)]);
            expected.set(at, [wanted, ...(expected.get(at) ?? [])]);
            if (reads) await state.ledger(TARGET).marks([at]);
          }
          for (const [at, bodies] of expected) {
            const [versions = []] = await state.history(TARGET).versions([at]);
            expect(versions.map(({ body: found }) => found)).toEqual(bodies);
            expect(versions.slice(0, -1).map(({ before }) => before)).toEqual(bodies.slice(1));
          }
        }),
        { numRuns: 15 },
      );
    });
  });
}

function version(kind: 'acknowledged' | 'deleted', _run: string, at: number, id: number | null) {
  return { kind, at, id };
}

/** The body of a product of about 1 KB with this price. */
function productOf(key: string, price: number): string {
  const description = Array.from(
    { length: 12 },
    (_, line) => `<p>${key} ${line * 7919} of the kind that lasts ${key.length * line}.</p>`,
  );
  return JSON.stringify({
    ...{ type: 'physical', title: `Title of ${key} – ü`, description: description.join('\n'), url: key },
    variants: [{ options: [], price, onSale: false, regularPrice: price, sku: `S-${key}`, weight: 0.25 }],
  });
}
