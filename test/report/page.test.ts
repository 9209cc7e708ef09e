import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, it } from 'vitest';
import { columnsOf, Page } from '../../src/report/document-text.ts';

function page(): Page {
  return new Page({ colors: false, width: 60 });
}

it('aligns a table by the columns that a terminal shows, also of Chinese, combining and emoji characters', () => {
  const table = page();
  table.table(
    ['Title', 'Price'],
    ['茶壶', 'Café', '👩‍🍳 set'].map((title) => ({ cells: [title, '5'], tone: 'strong' as const })),
  );
  expect(table.toString().split('\n')).toEqual([
    'Title   Price',
    '茶壶    5',
    'Café    5',
    '👩‍🍳 set  5',
    '',
  ]);
});

it('aligns figures likewise', () => {
  const figures = page();
  figures.figures([
    ['茶壶', '12', 'sent'],
    ['cups', '7', 'sent'],
  ]);
  expect(figures.toString()).toBe('  茶壶  12  sent\n  cups   7  sent\n');
});

it('counts the columns of European text as the package does, which it then need not load', () => {
  const characters = Array.from({ length: 0x2100 }, (_, code) => String.fromCodePoint(code));
  const text = fc.string({ unit: fc.constantFrom(...characters), maxLength: 6 });
  fc.assert(fc.property(text, (word) => columnsOf(word) === stringWidth(word)));
  expect(characters.filter((one) => columnsOf(one) !== stringWidth(one))).toEqual([]);
});
