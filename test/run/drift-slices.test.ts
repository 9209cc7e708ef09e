import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nextSlice } from '../../src/run/drift/drift-run.ts';
import { isInSlice } from '../../src/run/drift/find-drift.ts';

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

it('sees each record within 1/share runs, as long as it is there, after any failures', () => {
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
        /** Of the records that are there: the last night in which they were compared, or came. */
        const since = new Map(keys.slice(0, 200).map((key) => [key, -1]));
        let owed = 0;
        for (const [number, { fails, removed, added }] of nights.entries()) {
          for (const index of removed) since.delete(keys[index] ?? '');
          for (const index of added) since.set(keys[index] ?? '', since.get(keys[index] ?? '') ?? number - 1);
          const next = nextSlice(progress, 'shop', percent);
          progress = fails
            ? next.progress
            : { ...next.progress, done: next.progress.done + next.slice.parts };
          owed = Math.min(within, Math.max(0, progress.due - progress.done));
          if (!fails) for (const key of since.keys()) if (isInSlice(key, next.slice)) since.set(key, number);
          for (const last of since.values()) {
            // What a night did not compare, one of the next does beside its own part.
            expect(number - last).toBeLessThanOrEqual(within + owed);
          }
        }
      },
    ),
    { numRuns: 30 },
  );
});

it('goes on at the same place with another share, and from the start in another store', () => {
  const known = { target: 'shop', of: 100, done: 350, due: 351 };
  expect(nextSlice(known, 'shop', 1).slice).toEqual({ number: 50, of: 100, parts: 2 });
  expect(nextSlice(known, 'shop', 10).slice).toEqual({ number: 5, of: 10, parts: 1 });
  expect(nextSlice(known, 'other', 10).slice).toEqual({ number: 0, of: 10, parts: 1 });
});
