import { describe, expect, it } from 'vitest';
import { sampleLedger } from '../../src/run/verify/verify-run.ts';
import { IN_DOUBT, type LedgerMark } from '../../src/state/state.ts';
import { seededRandom } from '../support/store/random.ts';

const signal = new AbortController().signal;

/** A ledger of one job, in batches of 7; `markOf` gives the mark of the nth key. */
function ledgerOf(count: number, markOf: (index: number) => Partial<LedgerMark> = () => ({})) {
  const marks = Array.from({ length: count }, (_, index) => ({
    ...{ fingerprint: 'f', id: 1_000 + index, job: 'nightly' },
    ...markOf(index),
  }));
  return {
    async *keysOf() {
      for (let from = 0; from < count; from += 7) {
        yield marks.slice(from, from + 7).map(({ id }, index) => ({ key: `p-${from + index}`, id }));
      }
    },
    marks: async (keys: readonly string[]) => keys.map((key) => marks[Number(key.slice(2))]),
  };
}

const sampling = { job: 'nightly', resource: 'products', size: 10, random: Math.random, signal } as const;

describe('a sample of the ledger', () => {
  it('has each key equally often, each once', async () => {
    const random = seededRandom(11);
    const drawn = new Map<string, number>();
    for (let round = 0; round < 4_000; round++) {
      const { keys, known } = await sampleLedger(ledgerOf(40), { ...sampling, random });
      expect(known).toBe(40);
      expect(new Set(keys).size).toBe(10);
      for (const key of keys) drawn.set(key, (drawn.get(key) ?? 0) + 1);
    }
    // 1 000 expected of each; five standard deviations are 137.
    expect(drawn.size).toBe(40);
    for (const times of drawn.values()) expect(Math.abs(times - 1_000)).toBeLessThan(137);
  });

  it('is everything where there is no more', async () => {
    const { keys, known } = await sampleLedger(ledgerOf(9), sampling);
    expect(keys.toSorted()).toEqual(Array.from({ length: 9 }, (_, index) => `p-${index}`));
    expect(known).toBe(9);
  });

  it('leaves out what is in doubt, and products without an id, and counts them', async () => {
    const ledger = ledgerOf(30, (index) => {
      if (index < 5) return { fingerprint: IN_DOUBT };
      return index < 9 ? { id: null } : {};
    });
    const products = await sampleLedger(ledger, { ...sampling, size: 100 });
    expect(products).toMatchObject({ known: 21, notComparable: 9 });
    expect(products.keys.map((key) => Number(key.slice(2))).every((index) => index >= 9)).toBe(true);
    const contacts = await sampleLedger(ledger, { ...sampling, resource: 'contacts', size: 100 });
    expect(contacts).toMatchObject({ known: 25, notComparable: 5 });
  });
});
