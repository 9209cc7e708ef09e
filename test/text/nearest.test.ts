import { describe, expect, it } from 'vitest';
import { nearest } from '../../src/text/printable.ts';

describe('the nearest name', () => {
  const keys = ['concurrency', 'requestsPerSecond', 'store', 'source'];

  it.each([
    ['conccurency', 'concurrency'],
    ['requests_per_second', 'requestsPerSecond'],
    ['Store', 'store'],
    ['stroe', 'store'],
    ['sources', 'source'],
  ])('of %s is %s', (written, meant) => {
    expect(nearest(written, keys)).toBe(meant);
  });

  it('is none when nothing is near', () => {
    expect(nearest('weather', keys)).toBeUndefined();
    expect(nearest('x', [])).toBeUndefined();
  });
});
