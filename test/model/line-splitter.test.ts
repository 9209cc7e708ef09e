import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter } from '../../src/model/row.ts';

describe('lines of a text that arrives in pieces', () => {
  it('are those of the whole text, however it is cut', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', '\n', '\r', '\u2028', 'é') });
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const splitter = new LineSplitter();
        const lines = pieces.flatMap((one) => splitter.take(one));
        expect([...lines, splitter.rest]).toEqual(pieces.join('').split('\n'));
      }),
    );
  });
});
