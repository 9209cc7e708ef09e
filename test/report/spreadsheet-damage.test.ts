import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blameOf, judgeCell, refusedCellWords } from '../../src/rejects/judge-cell.ts';

const LONG = 'x'.repeat(40_000);
/** Numbered lines, 43 000 characters. */
const LINES = Array.from({ length: 1_000 }, (_, index) => `${index} ${'-'.repeat(38)}\n`).join('');
/** What is left of it where a line break counts twice. */
const LINES_CUT = LINES.replaceAll('\n', '\r\n').slice(0, 32_767);

/** Whether the text is a whole date or a time, which can be read in any form. */
const isMoment = (text: string) => text.split(/[-/]/).length === 3 || text.includes(':');

/** Old text, new text, what a spreadsheet did. */
type Case = readonly [old: string, now: string, damage: string];

describe('what a spreadsheet makes of a cell', () => {
  const restored: readonly Case[] = [
    ['000123', '123', 'zeros'],
    ['007.50', '7.5', 'zeros'],
    ['0012345678905', '1.23457E+10', 'shortened'],
    ['1234567890123', '1.23457E+12', 'shortened'],
    ['1234567890123', '1,23457E+12', 'shortened'],
    ['12E3', '1.20E+04', 'shortened'],
    ['12E3', '12000', 'notation'],
    ['1234567890123456', '1234567890123450', 'rounded'],
    ['12345678901234567890', '12345678901234600000', 'rounded'],
    ['0.123456789012', '0.123456789', 'rounded'],
    ['3-4', '03. Apr', 'date'],
    ['3-4', '4-Mar', 'date'],
    ['3-4', '03. Apr.', 'date'],
    ['3/4', '3. avr', 'date'],
    ['1/2', '01/02/2026', 'date'],
    ['1/2', '1.2.2026', 'date'],
    ['MAR1', '1-Mar', 'date'],
    ['SEPT2', '02. Sep', 'date'],
    ['1.50', 'Jan 50', 'date'],
    ['1.5', '01. Mai', 'date'],
    ['10-12', '10. Dez', 'date'],
    ['2026-12-31', '31.12.2026', 'date'],
    ['2026-12-31 10:00', '31.12.2026 10:00', 'date'],
    ['12/31/2026', '31/12/26', 'date'],
    ['4:3', '04:03:00', 'date'],
    ['1:30', '01:30:00 AM', 'date'],
    ['22:30', '10:30 PM', 'date'],
    ['12:30 am', '0:30', 'date'],
    ['10:30:00', '10:30', 'date'],
    ['3-4', '03/abr', 'date'],
    ['3-11', '3.marras', 'date'],
    ['3-4', '2026. 03. 04.', 'date'],
    [LONG, LONG.slice(0, 32_767), 'cut'],
    ['+4930123456', '4930123456', 'sign'],
    ['1.50', '1.5', 'notation'],
    ['1,50', '1.5', 'notation'],
    ['1234.5', '1.234,50', 'notation'],
    ['1234', '1,234', 'notation'],
    ["1'234.50", '1 234,50', 'notation'],
    ['1234567.5', '1\u202f234\u202f567,5', 'notation'],
    ['€1.50', '1,50 €', 'notation'],
    ['50%', '50,00%', 'notation'],
    ['50%', '0.5', 'notation'],
    ['-5', '−5', 'notation'],
    ['TRUE', 'WAHR', 'boolean'],
    ['true', 'TRUE', 'boolean'],
    ['FALSE', 'FAUX', 'boolean'],
    [' a  b', 'a b', 'blanks'],
    ['a\u00a0b', 'a b', 'blanks'],
    ['12" vinyl', '12"" vinyl', 'quotes'],
    ['“best”', '"best"', 'quotes'],
    ["'0123", '0123', 'quotes'],
    ['Привет 👋', '?????? ??', 'letters'],
    ['Привет', '\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd', 'letters'],
    ['Dvořák', 'Dvorák', 'accents'],
    ['(100)', '-100', 'notation'],
    ['.5', '0.5', 'notation'],
    ['a\nb\tc', 'a b c', 'blanks'],
    ['Größe', 'GrÃ¶ÃŸe', 'charset'],
    ['Größe', 'Gr√∂√üe', 'charset'],
    ['à la carte', 'Ã la carte', 'charset'],
    ['Řeka', 'Ĺ\u0098eka', 'charset'],
    ['Řeka', 'Å˜eka', 'charset'],
    ['“ok” – 5 €', 'â€œokâ€ â€“ 5 â‚¬', 'charset'],
    ['1/2', '1月2日', 'date'],
    ['1/2', '2026年1月2日', 'date'],
    ['3-4', '3月4日', 'date'],
    ['3-4', '3월 4일', 'date'],
    ['1/2', '02.sij', 'date'],
    ['2-10', '02. lis', 'date'],
    ['2-11', '02. lis', 'date'],
    ['1/2', '02.яну', 'date'],
    ['1234567890123', '1.23E12', 'shortened'],
  ];

  it.each(restored)('%j -> %j is undone (%s)', (old, now) => {
    expect(judgeCell(old, now, 'other-column')).toBe('restored');
    expect(judgeCell(old, now, 'open')).toBe('restored');
  });

  it.each(restored.filter(([, now]) => !/E|\u0098/.test(now)))(
    '%j -> %j is not sent where the reason names the column, unless nothing was lost',
    (old, now, damage) => {
      const isNotation = ['notation', 'boolean', 'blanks', 'quotes'].includes(damage) || isMoment(old);
      expect(judgeCell(old, now, 'named')).toBe(isNotation ? 'edited' : 'damaged');
    },
  );

  const refused: readonly (readonly [old: string, now: string])[] = [
    ['000123', '124'],
    ['3-4', '46115'],
    ['3-4', '4-3'],
    ['3-4', ''],
    ['10:30', '0.4375'],
    ['2026-03-04', '2026-04-03'],
    ['2026-03-04', '3. Mai 2026'],
    ['129.95', '12995'],
    ['=1+2', '3'],
    ['', '2026-12-31'],
    ['Product 5', 'Product five'],
    ['Café', 'Cafe'],
    ['yes', 'TRUE'],
    ['what?', 'what'],
    ['10:30 AM', '10:30 PM'],
    ['€10', '$10'],
  ];

  it.each(refused)('%j -> %j is refused where no reason names the column', (old, now) => {
    expect(judgeCell(old, now, 'other-column')).toBe('unnamed');
  });

  const traces: readonly (readonly [old: string, now: string])[] = [
    ['2026-12-10 (date)', '7-Dec'],
    ['000123', '124'],
    ['old', '1.23E+12'],
    ['', '4.00638E+12'],
    ['', '1.23457E12'],
    ['1.23E+12', '1.23457E+12'],
    ['1234567890123456', '9876543210987650'],
    ['XL', '03. Mai'],
    ['', '03. Mai'],
    ['M', '1月2日'],
    ['M', '02.sij'],
    ['short', 'x'.repeat(32_767)],
    ['10.00', '#REF!'],
    ['Größe', 'GrÃ¶ÃŸe XL'],
  ];

  it.each(traces)('%j -> %j is refused in every column: what was meant is not known', (old, now) => {
    expect(judgeCell(old, now, 'open')).toBe('damaged');
    expect(judgeCell(old, now, 'named')).toBe('damaged');
  });

  it('is cut where a cell is full, whatever line breaks count and whatever was edited before that', () => {
    expect(judgeCell(LINES, LINES_CUT, 'other-column')).toBe('restored');
    expect(judgeCell(LINES, LINES_CUT.replaceAll('\r', ''), 'other-column')).toBe('restored');
    expect(judgeCell('😀'.repeat(20_000), '😀'.repeat(16_383), 'other-column')).toBe('restored');
    expect(judgeCell(LINES, `New text. ${LINES_CUT.slice(10)}`, 'open')).toBe('damaged');
    expect(judgeCell(LINES, LINES.slice(0, 20_000), 'open')).toBe('edited');
  });
});

describe('what the user has typed', () => {
  it.each([
    ['1,50', '1.50'],
    ['1.234', '1234'],
    ['1.234,50', '1234.50'],
    ['31.12.2026', '2026-12-31'],
    ['WAHR', 'TRUE'],
    [' name', 'name'],
    ['129.95', '12995'],
  ])('%j -> %j is a correction where the reason names the column', (old, now) => {
    expect(judgeCell(old, now, 'named')).toBe('edited');
  });

  it.each([
    ['tbc', '21.00'],
    ['11.00', '9.50'],
    ['', '000124'],
    ['', '2026-12-31'],
    ['Product 5', 'Product five'],
    ['0123', '4567'],
    ['4006381333931', '4006381333930'],
    ['2026-03-04', '2026-04-03'],
    ['2026-03-04', '2027-03-04'],
    ['3-4', '4-3'],
    ['3-4', ''],
    ['1.23E+12', '1230000000000'],
    ['#N/A', '12'],
    ['April 2024', 'May 2024'],
    ['=Sale', 'Sale'],
    ['yes', 'TRUE'],
    ['XL', 'On'],
    ['a b', 'ab'],
    ['10', '100'],
    ['', '5E10'],
    ['1/2', '1 kg'],
    ['1/2', '3/4'],
    ['Größe', 'Größen'],
    ['Größe', 'Grösse'],
    ['10.00', '100.00'],
    ['129.95', '119.95'],
    ['12', '1.2'],
    ['A1', 'A01'],
    ['Café', 'Cafe'],
    ['what?', 'what'],
    ['10:30 AM', '10:30 PM'],
    ['2026-03-04 10:30', '2026-03-04 10:30:45'],
    ['€10', '$10'],
    ['10 €', '10,00 £'],
  ])('%j -> %j is an edit where the reason names no column, or this one', (old, now) => {
    expect(judgeCell(old, now, 'open')).toBe('edited');
    expect(judgeCell(old, now, 'named')).toBe('edited');
  });

  it('is not touched by another way to end lines', () => {
    expect(judgeCell('a\r\nb', 'a\nb', 'other-column')).toBe('same');
  });
});

describe('a reason', () => {
  const columns = ['sku', 'price', 'note'];

  it.each([
    ["'x' is not a number (column price)", 'price', 'named'],
    ["'x' is not a number (column price)", 'sku', 'other-column'],
    ["'x' is not a number (line 8, column price)", 'price', 'other-column'],
    ['Too dear', 'price', 'open'],
    ["'x' is not a number (column price) / Too dear", 'sku', 'open'],
    ['two rows have the same options (line 8)', 'sku', 'open'],
  ] as const)('%j blames the column %s: %s', (reason, column, blame) => {
    expect(blameOf(reason, column, columns)).toBe(blame);
  });

  it.each([
    ["'x' is not a number (column Preis / Price)", 'Preis / Price', 'named'],
    ["'x' is not a number (column Preis / Price)", 'sku', 'other-column'],
    ["'y' is wrong (column sku) / 'x' is not a number (column Preis / Price)", 'Preis / Price', 'named'],
    ["'x' is not a number (column Preis / Price) / Too dear", 'sku', 'open'],
    [
      "'x' is wrong (line 8, column Preis / Price) / 'y' is wrong (column sku)",
      'Preis / Price',
      'other-column',
    ],
    ["'x' is wrong (column Preis / Price / Prix)", 'Preis / Price / Prix', 'named'],
    ["'Prices on request' is not a number (column Price)", 'Price', 'named'],
  ] as const)('%j blames %s, which may have the separator of reasons in it: %s', (reason, column, blame) => {
    const bilingual = ['sku', 'Price', 'Preis / Price', 'Preis / Price / Prix'];
    expect(blameOf(reason, column, bilingual)).toBe(blame);
  });
});

/** What a spreadsheet of a language saves for what it has read; its own rules, written down once more. */
function saved(text: string, german: boolean): string {
  const point = german ? ',' : '.';
  const [date, day = '', month = ''] = /^(\d{1,2})-(\d{1,2})$/.exec(text) ?? [];
  if (date !== undefined && Number(day) <= 28 && Number(month) >= 1 && Number(month) <= 12) {
    const name = new Intl.DateTimeFormat(german ? 'de' : 'en', { month: 'short', timeZone: 'UTC' });
    const shown = name.format(Date.UTC(2026, Number(month) - 1, 1));
    return german ? `${day.padStart(2, '0')}. ${shown}` : `${Number(day)}-${shown}`;
  }
  if (/^\+?\d+$/.test(text)) {
    const number = Number(text);
    return String(number).length < 12
      ? String(number)
      : number.toExponential(5).replace('.', point).toUpperCase();
  }
  if (/^\d{1,6}\.\d{1,4}$/.test(text)) return String(Number(text)).replace('.', point);
  if (/^(?:true|false)$/i.test(text)) {
    const isTrue = text.toLowerCase() === 'true';
    return german ? (isTrue ? 'WAHR' : 'FALSCH') : text.toUpperCase();
  }
  return text.length > 32_767 ? text.slice(0, 32_767) : text;
}

it('is never taken for an edit where nothing was edited', () => {
  const digits = (minLength: number, maxLength: number) =>
    fc.stringMatching(new RegExp(`^[0-9]{${minLength},${maxLength}}$`));
  const two = fc.integer({ min: 1, max: 28 });
  const cell = fc.oneof(
    digits(1, 20),
    digits(2, 14).map((code) => `00${code}`),
    digits(2, 14).map((code) => `+${code}`),
    fc.tuple(two, fc.integer({ min: 1, max: 12 })).map(([day, month]) => `${day}-${month}`),
    fc.tuple(digits(1, 6), digits(1, 4)).map(([whole, fraction]) => `${whole}.${fraction}`),
    fc.constantFrom('true', 'TRUE', 'False'),
    fc.string({ unit: 'binary', maxLength: 12 }),
    digits(1, 5).map((tail) => 'long '.repeat(7000) + tail),
  );
  fc.assert(
    fc.property(cell, fc.boolean(), (old, german) => {
      const now = saved(old, german);
      if (now === old) return;
      expect(judgeCell(old, now, 'other-column')).toBe('restored');
      // Where the column is blamed, what cannot be written another way is not sent as it came back.
      const loses = /^[0+]\d|^\d+-/.test(old) || /E\+/.test(now) || old.length > 32_767;
      if (loses && !/[.]/.test(old)) expect(judgeCell(old, now, 'named')).not.toBe('edited');
    }),
    { numRuns: 2000 },
  );
});

it('does not quote the values of contacts', () => {
  const cell = { line: '2', column: 'Phone', old: '0049301', new: '49302', why: 'damaged' } as const;
  expect(refusedCellWords(cell, true)).not.toMatch(/\d/);
  expect(refusedCellWords(cell, false)).toContain("'0049301' has become '49302'");
});
