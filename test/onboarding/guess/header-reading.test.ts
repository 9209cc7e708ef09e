import { expect, it } from 'vitest';
import { readContactHeader, readProductHeader } from '../../../src/onboarding/guess/header-reading.ts';

it('reads the first hundred characters of a header', () => {
  const phrase = 'price title sku '.repeat(7).slice(0, 100);
  expect(readProductHeader(phrase + ' price title sku'.repeat(60_000))).toEqual(readProductHeader(phrase));
  expect(readContactHeader(`Email${' '.repeat(200)}of the person`).meanings).toEqual(
    readContactHeader('Email').meanings,
  );
});

it('understands a header of several known words', () => {
  expect(readProductHeader('Quantity available').meanings.map(({ concept }) => concept)).toContain(
    'quantity',
  );
});
