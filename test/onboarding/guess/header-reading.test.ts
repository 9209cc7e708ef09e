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

it.each([
  ['Price A', 'Cena m2', 'Price k EUR', 'VK s'],
  ['Rental price', 'Stock price', 'Retailor prices'],
])('takes no other column for a misspelt one: %s', (...headers) => {
  for (const header of headers) expect(readProductHeader(header).meanings, header).toEqual([]);
});

it('takes no id for a name', () => {
  expect(readContactHeader('Contact ID').meanings).toEqual([]);
  expect(readContactHeader('Company ID').meanings).toEqual([]);
});

it.each([
  ['Prices', 'price', undefined],
  ['VK-Preis in €', 'price', undefined],
  ['Selling pric', 'price', undefined],
  ['Price w/o VAT', 'price', 'net'],
  ['Preis o. MwSt.', 'price', 'net'],
  ['Prix HTVA', 'price', 'net'],
  ['Prezzo ivato', 'price', 'gross'],
  ['Categories (x;y;z...)', 'category', undefined],
])('understands %s', (header, concept, tax) => {
  const { meanings, qualifiers } = readProductHeader(header);
  expect(meanings.map((one) => one.concept)).toContain(concept);
  expect(qualifiers.tax).toBe(tax);
  expect(readContactHeader('Region__c').meanings.map((one) => one.concept)).toEqual(['state']);
});
