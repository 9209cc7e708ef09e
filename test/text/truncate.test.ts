import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { truncate } from '../../src/text/printable.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('a shortened text', () => {
  it.each([
    ['short', 5, 'short'],
    ['longer', 5, 'long…'],
    ['abc👋d', 5, 'abc…'],
    ['abcde\u0301f', 6, 'abcd…'],
    ['ab👩\u200d👧cdefgh', 7, 'ab…'],
    ['ab👍🏽cdefgh', 6, 'ab…'],
  ])('%j has at most %i characters and no part of a letter: %j', (text, length, cut) => {
    expect(truncate(text, length)).toBe(cut);
  });

  it('is well formed and a beginning of its text, whatever that is', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 20 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 20 }), (whole, length) => {
        const cut = truncate(whole, length);
        expect(cut.length).toBeLessThanOrEqual(length);
        expect(cut.isWellFormed()).toBe(true);
        if (cut !== whole) expect(whole.startsWith(cut.slice(0, -1))).toBe(true);
      }),
    );
  });

  it('is cut in one place of the program', () => {
    const found = globSync(join(ROOT, 'src', '**', '*.ts')).flatMap((path) => {
      const lines = readFileSync(path, 'utf8').split('\n');
      const file = relative(ROOT, path);
      return lines
        .filter((line) => /\}…`|\+ '…'|length - 1\)\.toWellFormed/.test(line))
        .map((line) => `${file}: ${line}`);
    });
    // An excerpt of a redacted answer may be the beginning of a longer one.
    expect(found.filter((line) => !line.includes('truncate('))).toEqual([
      expect.stringMatching(/^src\/text\/printable\.ts: {3}return /),
    ]);
  });
});
