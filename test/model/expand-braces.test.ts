import { describe, expect, it } from 'vitest';
import { expandBraces, MAX_BRACE_ALTERNATIVES } from '../../src/model/remote-address.ts';

describe('braces in a path', () => {
  it.each([
    ['a.csv', ['a.csv']],
    ['{a,b}.csv', ['a.csv', 'b.csv']],
    ['{a,{b,c}d}/{,x}', ['a/', 'a/x', 'bd/', 'bd/x', 'cd/', 'cd/x']],
    ['{9..11}', ['9', '10', '11']],
    ['{11..09}', ['11', '10', '09']],
    ['{-1..1}', ['-1', '0', '1']],
    ['{a}{', ['{a}{']],
    ['{a,b', ['{a,b']],
    [String.raw`\{a,b} {a\,b,c}`, [String.raw`\{a,b} a\,b`, String.raw`\{a,b} c`]],
  ])('stand for their alternatives: %s', (pattern, paths) => {
    expect(expandBraces(pattern)).toEqual(paths);
  });

  it('stand for a bounded number of paths', () => {
    expect(expandBraces(`{1..${MAX_BRACE_ALTERNATIVES}}`)).toHaveLength(MAX_BRACE_ALTERNATIVES);
    const many = [
      '{a,b}'.repeat(26),
      '{1..1001}',
      `{${'a,'.repeat(1000)}}`,
      '{a,'.repeat(1200) + '}'.repeat(1200),
    ];
    for (const pattern of many) expect(expandBraces(pattern)).toBeUndefined();
  });
});
