import { describe, expect, it } from 'vitest';
import { nearestName } from '../../src/text/printable.ts';

describe('the nearest name', () => {
  const keys = ['concurrency', 'requestsPerSecond', 'store', 'source'];

  it.each([
    ['conccurency', 'concurrency'],
    ['requests_per_second', 'requestsPerSecond'],
    ['Store', 'store'],
    ['stroe', 'store'],
    ['sources', 'source'],
  ])('of %s is %s', (written, meant) => {
    expect(nearestName(written, keys)).toBe(meant);
  });

  it('is none when nothing is near', () => {
    expect(nearestName('weather', keys)).toBeUndefined();
    expect(nearestName('x', [])).toBeUndefined();
  });
});
