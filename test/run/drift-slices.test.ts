import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isInSlice, nextSlice } from '../../src/run/drift/drift-run.ts';

type Progress = Parameters<typeof nextSlice>[0];

const keys = Array.from({ length: 400 }, (_, number) => `product-${number}`);

it('compares each record once in 1/share runs, and parts of about one size', () => {
  let progress: Progress;
  const seen = new Map<string, number>();
  const sizes: number[] = [];
  for (let run = 0; run < 100; run += 1) {
    const next = nextSlice(progress, 'shop', 1);
    progress = { ...next.progress, done: next.progress.done + next.slice.parts };
    const part = keys.filter((key) => isInSlice(key, next.slice));
    sizes.push(part.length);
    for (const key of part) seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  expect([...seen.values()].every((times) => times === 1)).toBe(true);
  expect(seen.size).toBe(keys.length);
  expect(Math.max(...sizes)).toBeLessThan(20);
});

it('sees each record within 1/share runs that compare, as long as it is there, whatever runs fail between', () => {
  const night = fc.record({
    fails: fc.integer({ min: 0, max: 9 }).map((number) => number < 2),
    removed: fc.array(fc.nat(399), { maxLength: 20 }),
    added: fc.array(fc.nat(399), { maxLength: 20 }),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(100, 60, 30, 7, 1),
      fc.array(night, { maxLength: 300 }),
      (percent, nights) => {
        const within = Math.ceil(100 / percent);
        let progress: Progress;
        let compared = 0;
        /** Of the records that are there: how many runs had compared when they were compared last, or came. */
        const since = new Map(keys.slice(0, 200).map((key) => [key, 0]));
        for (const { fails, removed, added } of nights) {
          for (const index of removed) since.delete(keys[index] ?? '');
          for (const index of added) since.set(keys[index] ?? '', since.get(keys[index] ?? '') ?? compared);
          const next = nextSlice(progress, 'shop', percent);
          progress = next.progress;
          if (fails) continue;
          progress = { ...progress, done: progress.done + next.slice.parts };
          compared += 1;
          for (const key of since.keys()) if (isInSlice(key, next.slice)) since.set(key, compared);
          for (const last of since.values()) expect(compared - last).toBeLessThan(within);
        }
      },
    ),
    { numRuns: 30 },
  );
});

it('makes up for runs that failed, one part a run beside its own, but for no more than all records', () => {
  fc.assert(
    fc.property(fc.constantFrom(50, 30, 7, 1), fc.nat(300), (percent, failures) => {
      const of = Math.ceil(100 / percent);
      let progress: Progress;
      for (let run = 0; run < failures; run += 1) progress = nextSlice(progress, 'shop', percent).progress;
      const parts: number[] = [];
      for (let run = 0; run < of + 2; run += 1) {
        const next = nextSlice(progress, 'shop', percent);
        progress = { ...next.progress, done: next.progress.done + next.slice.parts };
        parts.push(next.slice.parts);
      }
      // The run that comes next has its own part to compare: of all parts it is one.
      const madeUp = Math.min(failures, of - 1);
      expect(parts).toEqual(parts.map((_, run) => (run < madeUp ? 2 : 1)));
    }),
    { numRuns: 100 },
  );
});

it('goes on at the same place with another share, and from the start in another store', () => {
  const known = { target: 'shop', of: 100, done: 350, due: 351 };
  expect(nextSlice(known, 'shop', 1).slice).toEqual({ number: 50, of: 100, parts: 2 });
  expect(nextSlice(known, 'shop', 10).slice).toEqual({ number: 5, of: 10, parts: 1 });
  expect(nextSlice(known, 'other', 10).slice).toEqual({ number: 0, of: 10, parts: 1 });
});
