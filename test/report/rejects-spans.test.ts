import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RejectedSpans } from '../../src/rejects/rejects-file.ts';
import { rejection } from './rejects-fixture.ts';

describe('rejected spans', () => {
  it('find for every line the reasons of all spans that cover it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(2), fc.nat(30), fc.nat(10), fc.nat(3)), { maxLength: 30 }),
        (spans) => {
          const rejected = new RejectedSpans();
          for (const [file, from, length, reason] of spans) {
            rejected.add(rejection(from, from + length, `reason ${reason}`, file));
          }
          for (let file = 0; file <= 2; file += 1) {
            const lines = rejected.sweep(file);
            for (let line = 0; line <= 45; line += 1) {
              const expected = new Set(
                spans.flatMap(([of, from, length, reason]) =>
                  of === file && from <= line && line <= from + length ? [`reason ${reason}`] : [],
                ),
              );
              expect(new Set(lines?.at(line)?.split(' / ') ?? [])).toEqual(expected);
            }
          }
        },
      ),
    );
  });

  it('hold a million of them without strain', () => {
    const rejected = new RejectedSpans();
    const spans = [{ file: 0, from: 0, to: 0 }];
    const reason = { code: 'x', message: 'is wrong' };
    for (let index = 0; index < 1_000_000; index += 1) {
      spans[0] = { file: 0, from: (index * 7919) % 1_000_003, to: (index * 7919) % 1_000_003 };
      rejected.add({ spans, reason });
    }
    const lines = rejected.sweep(0);
    let found = 0;
    for (let line = 0; line < 1_000_003; line += 1) if (lines?.at(line) !== undefined) found += 1;
    expect(found).toBe(1_000_000);
  });
});
