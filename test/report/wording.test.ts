import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldWords, formatChange } from '../../src/report/sections/fields-section.ts';
import { formatBytes, formatBytesOf, formatMoment, formatShare, grouped } from '../../src/text/printable.ts';

describe('figures in words', () => {
  it.each([
    [10, 1000, '×100'],
    [1000, 10, '÷100'],
    [12.5, 15, '+20%'],
    [9.5, 9, '−5.3%'],
    [1, 2, '×2'],
    [3, 1, '÷3'],
    [0, 4, 'from 0'],
    [4, 0, 'to 0'],
    [5, 5, '±0'],
    [1000, 1000.5, '+<0.1%'],
  ])('a change from %d to %d is %s', (old, now, words) => {
    expect(formatChange(old, now)).toBe(words);
  });

  it.each([
    [0, 511, '0%'],
    [1, 100_000, '<0.1%'],
    [1, 511, '0.2%'],
    [420, 511, '82%'],
    [99_999, 100_000, '>99.9%'],
    [511, 511, '100%'],
    [0, 0, '0%'],
  ])('%d of %d is a share of %s', (figure, of, words) => {
    expect(formatShare(figure, of)).toBe(words);
  });

  it('only nothing is 0%, and only everything is 100%', () => {
    const share = fc
      .integer({ min: 1, max: 10_000_000 })
      .chain((of) => fc.tuple(fc.nat({ max: of }), fc.constant(of)));
    fc.assert(
      fc.property(share, ([figure, of]) => {
        expect(formatShare(figure, of) === '0%').toBe(figure === 0);
        expect(formatShare(figure, of) === '100%').toBe(figure === of);
      }),
    );
  });

  it('a moment is in UTC, a field in words', () => {
    expect(formatMoment(Date.UTC(2026, 10, 21, 2, 15))).toBe('Sat 21 Nov 2026, 02:15 UTC');
    expect(fieldWords('variants.regularPrice')).toBe('variant regular price');
    expect(fieldWords('properties.city')).toBe('property city');
    expect(fieldWords('title')).toBe('title');
  });
});

describe('words made without Intl', () => {
  it('are those of Intl', () => {
    const moment = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2100, 0) });
    fc.assert(
      fc.property(moment, fc.boolean(), (at, year) => {
        expect(formatMoment(at, { year })).toBe(formatMoment(at, { year, timezone: 'Etc/UTC' }));
      }),
    );
    const limits = { min: -1e12, max: 1e12, noNaN: true };
    const figures = fc.oneof(
      fc.maxSafeInteger(),
      fc.integer(),
      fc.double(limits),
      fc.float({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 }),
    );
    fc.assert(
      fc.property(figures, fc.nat({ max: 3 }), (figure, maximumFractionDigits) => {
        const { format } = new Intl.NumberFormat('en', { maximumFractionDigits, signDisplay: 'negative' });
        expect(grouped(figure, maximumFractionDigits)).toBe(format(figure));
      }),
    );
  });
});

describe('a size in bytes', () => {
  it.each([
    [0, '0 bytes'],
    [1, '1 byte'],
    [999, '999 bytes'],
    [1_000, '1.0 kB'],
    [999_949, '999.9 kB'],
    [999_950, '1.0 MB'],
    [999_999, '1.0 MB'],
    [12_000_000, '12.0 MB'],
    [5_000_000_000, '5.0 GB'],
    [2_500_000_000_000, '2.5 TB'],
    [4_000_000_000_000_000, '4000.0 TB'],
  ])('of %d is %s', (bytes, words) => {
    expect(formatBytes(bytes)).toBe(words);
  });

  it('is a part of another in the unit of that', () => {
    expect(formatBytesOf(1_500_000, 30_000_000)).toBe('1.5 of 30.0 MB');
    expect(formatBytesOf(400_000_000, 5_000_000_000)).toBe('0.4 of 5.0 GB');
    expect(formatBytesOf(12, 512)).toBe('12 of 512 bytes');
  });
});
