import { describe, expect, it } from 'vitest';
import { rowPlace } from '../../src/model/row.ts';
import { SourceError } from '../../src/model/storeferry-error.ts';
import { makeZip } from '../source/make-zip.ts';
import { readStaged } from './read-staged.ts';
import { type CellToWrite, makeOds, makeXlsx } from './workbooks.ts';

const rows = [
  ['sku', 'title', 'price'],
  ['007', 'Lamp "A"', 12.5],
  ['008', 'Jug\nof clay', 9],
] as const;

/** How one cell arrives. */
async function cellOf(cell: CellToWrite, format: 'xlsx' | 'ods' = 'xlsx'): Promise<string | undefined> {
  const make = format === 'xlsx' ? makeXlsx : makeOds;
  const { cells } = await readStaged(
    `a.${format}`,
    make([
      {
        name: 'S',
        rows: [
          ['a', 'b'],
          ['x', cell],
        ],
      },
    ]),
  );
  return cells[0]?.[1];
}

/** The words of a cell without the mark of a number of which the sheet shows more. */
const currencyIn = (words: string | undefined) => words?.replace(/ ?\(shown.*/, '') || undefined;

async function refusal(read: Promise<unknown>): Promise<string> {
  const error: unknown = await read.catch((reason: unknown) => reason);
  if (!(error instanceof SourceError)) throw new Error(`expected a SourceError, got ${String(error)}`);
  expect(error.hint).toBeTruthy();
  return `${error.message} ${error.hint}`;
}

describe.each([
  ['xlsx', makeXlsx([{ name: 'Prices', rows }])],
  ['xlsx', makeXlsx([{ name: 'Prices', rows }], { inline: true })],
  ['ods', makeOds([{ name: 'Prices', rows }])],
] as const)('a sheet of .%s', (format, bytes) => {
  it('gives its texts and numbers, the number of each row and the place of each cell', async () => {
    const { header, rows: read, places } = await readStaged(`a.${format}`, bytes);
    expect(header).toEqual(['sku', 'title', 'price']);
    expect(read).toEqual([
      { line: 2, cells: ['007', 'Lamp "A"', '12.5'] },
      { line: 3, cells: ['008', 'Jug\nof clay', '9'] },
    ]);
    expect(places).toEqual({ format, title: 'Prices', letters: { sku: 'A', title: 'B', price: 'C' } });
    expect(rowPlace(17, 'price', places)).toBe('Prices!C17');
    expect(rowPlace(17, null, places)).toBe('Prices row 17');
  });
});

describe('numbers of which a format shows only some as a text', () => {
  it.each([
    '"Yes";"Yes";"No"',
    '[=1]"Yes";[=0]"No";General',
    '[<10]"on request";0.00',
    '[>0]"In stock";"Sold out"',
    '[>0]"In stock"',
    '\\Y\\e\\s;;\\N\\o',
  ])('arrive as numbers: %s', async (format) => {
    for (const number of [0, 1, 12.5]) expect(await cellOf({ number, format })).toBe(String(number));
  });

  it.each(['"yes; always"', '"Yes [>0]"', '\\Y\\;"es"'])('are not those of one text: %s', async (format) => {
    expect(await cellOf({ number: 0, format })).toBe(format.replaceAll(/["\\]/g, ''));
  });
});

describe('a cell of an Excel sheet', () => {
  it.each<[string, CellToWrite, string]>([
    ['a text code with zeros', '00042', '00042'],
    ['a number that is shown as a text', { number: 9.9, format: '"on request"' }, 'on request'],
    ['a number of the kind General', { number: '4006381333931' }, '4006381333931'],
    ['binary noise', { number: '0.30000000000000004' }, '0.3'],
    ['a very small number', { number: '1E-7' }, '0.0000001'],
    ['two decimals', { number: '12.5', format: '#,##0.00\\ "€"' }, '12.50'],
    ['rounding as shown', { number: '23.785', format: '0.00' }, '23.79'],
    ['a negative number in brackets', { number: '-3', format: '0.00;(0.00)' }, '-3.00'],
    ['optional decimals', { number: '3.1', format: '0.##' }, '3.1'],
    ['three decimals', { number: '1.25', format: '0.000' }, '1.25'],
    ['a Swiss price', { number: '12.55', format: "#'##0.00" }, '12.55'],
    [
      'a Swiss price of thousands',
      { number: '1234.55', format: '[$CHF-807] #’##0.00;[Red]-#’##0.00' },
      '1234.55',
    ],
    ['a French price', { number: '1234.55', format: '#\u202f##0.00\\ "€"' }, '1234.55'],
    ['a Czech price', { number: '1234.5', format: '#\u00a0##0.00' }, '1234.50'],
    ['a Swiss price without decimals', { number: '1234.55', format: "#'##0" }, '1235'],
    ['a number in groups of other signs', { number: '1234.55', format: '#_##0|00' }, '1234.55'],
    ['decimals behind a comma', { number: '1234.55', format: '#.##0,00' }, '1234.55'],
    ['a number in thousands', { number: '1234.55', format: '0.0,' }, '1234.55'],
    ['a number that does not meet a condition', { number: '12.55', format: '[>=1000]#,##0;0.00' }, '12.55'],
    ['a number that meets none', { number: '12.55', format: '[Red][<0]0;0.00' }, '12.55'],
    ['a code of some numbers', { number: '612345678', format: '[<=9999]00-00;0' }, '612345678'],
    ['a percentage of some numbers', { number: '0.125', format: '[>=1]0%;0.0%' }, '12.5%'],
    ['a percentage', { number: '0.19', format: '0%' }, '19%'],
    ['a percentage of two digits', { number: '0.5', format: '00%' }, '50%'],
    ['a percentage with decimals', { number: '0.075', format: '0.0%' }, '7.5%'],
    ['a code with zeros by format', { number: '42', format: '00000' }, '00042'],
    ['a code with words by format', { number: '42', format: '"ART-"0000' }, 'ART-0042'],
    ['a long code with words by format', { number: '12345', format: '"ART-"0000' }, 'ART-12345'],
    ['a code in groups by format', { number: '1042', format: '000-000' }, '001-042'],
    ['a code in groups by format, with words', { number: '7', format: '"A"00\\.0"/X"' }, 'A00.7/X'],
    ['a phone number', { number: '612345678', format: '0#" "##" "##" "##" "##' }, '06 12 34 56 78'],
    ['a phone number by zeros', { number: '612345678', format: '00 00 00 00 00' }, '06 12 34 56 78'],
    [
      'a phone number with escapes',
      { number: '612345678', format: '0#\\ ##\\ ##\\ ##\\ ##' },
      '06 12 34 56 78',
    ],
    ['a phone number with brackets', { number: '612345678', format: '(0000) 000000' }, '(0612) 345678'],
    ['a phone number in two groups', { number: '612345678', format: '0000 000000' }, '0612 345678'],
    ['a phone number with a slash', { number: '612345678', format: '0000/000000' }, '0612/345678'],
    ['a phone number with a country', { number: '45678', format: '+49 000 000' }, '+49 045 678'],
    ['a code in groups by blanks', { number: '42', format: '00 000' }, '00 042'],
    ['a long code in groups by blanks', { number: '12345', format: '00 000' }, '12 345'],
    ['a code with more digits', { number: '5', format: '#00' }, '05'],
    ['a code with all of its digits', { number: '1234', format: '#00' }, '1234'],
    ['a code in groups by quoted blanks', { number: '800123', format: '0" "000\\ 000' }, '0 800 123'],
    ['a fraction', { number: '0.75', format: '# ?/?' }, '0.75'],
    ['a price in groups', { number: '42', format: '0 000' }, '42'],
    ['a price in groups by apostrophes', { number: '42', format: "0'000" }, '42'],
    ['a price in groups with a currency', { number: '42', format: '000 000\\ "€"' }, '42'],
    ['a price in groups by code', { number: '42', format: '[$CHF] 00 000' }, '42'],
    ['a price in groups of a blank', { number: '1299', format: '# ##0' }, '1299'],
    ['a price with a phone format', { number: '12.5', format: '00 00' }, '12.5'],
    ['a number in groups by blanks', { number: '1299', format: '0 000' }, '1299'],
    ['a day', { number: '46086', format: 'dd/mm/yyyy' }, '2026-03-05'],
    ['a day with words', { number: '46086', format: '[$-407]d. mmmm yyyy' }, '2026-03-05'],
    ['a moment', { number: '46086.75', format: 'yyyy-mm-dd hh:mm' }, '2026-03-05T18:00:00'],
    ['a time of day', { number: '0.75', format: 'h:mm AM/PM' }, '18:00:00'],
    ['a duration', { number: '1.5', format: '[h]:mm' }, '36:00:00'],
    ['a day before the leap day that never was', { number: '59', format: 'yyyy-mm-dd' }, '1900-02-28'],
    ['yes', true, 'TRUE'],
    ['sixteen digits', { number: '1.234567890123456E+15' }, '1.23456789012346E+15'],
    ['a number shown with an exponent', { number: '1230000000000', format: '0.00E+00' }, '1.23E+12'],
    ['a text that a spreadsheet shortened', '1.23E+12', '1.23E+12'],
    ['a reference that is gone', { error: '#REF!' }, '#REF!'],
    ['a value that was not found', { error: '#N/A' }, '#N/A'],
    ['a formula with its result', { formula: 'B1*2', result: '24.5' }, '24.5'],
    ['a formula with a text', { formula: 'A1&"x"', result: 'lamp x' }, 'lamp x'],
    ['a formula without its result', { formula: 'B1*2' }, '#FORMULA!'],
    ['a format that only hostile files have', { number: '1.5', format: `0.${'0'.repeat(2000)}` }, '1.5'],
    ['a character that XML cannot hold', 'a_x000D_\nb', 'a\nb'],
  ])('%s', async (_, cell, text) => {
    expect(await cellOf(cell)).toBe(text);
  });

  it('counts days from 1904 where the workbook does', async () => {
    const bytes = makeXlsx(
      [
        {
          name: 'S',
          rows: [
            ['day', 'x'],
            [{ number: '44624', format: 'yyyy-mm-dd' }, 'a'],
          ],
        },
      ],
      { date1904: true },
    );
    expect((await readStaged('a.xlsx', bytes)).cells).toEqual([['2026-03-05', 'a']]);
  });
});

describe.each([
  [
    'xlsx',
    makeXlsx,
    { number: '46086', format: 'd-mmm' },
    { number: '0.06', format: 'h:mm' },
    { number: '1.5', format: '[h]:mm' },
  ],
  [
    'ods',
    makeOds,
    { number: '2026-03-05', format: 'date', shown: '05.03.26' },
    { number: 'PT01H27M00S', format: 'time', shown: '01:27' },
    { number: 'PT36H00M00S', format: 'time', shown: '36:00' },
  ],
] as const)('a date or time of a sheet of .%s', (format, make, day, time, duration) => {
  it('is known as one, and nothing else is', async () => {
    const rows = [
      ['a', 'b', 'c', 'd', 'e', 'f'],
      ['2026-03-05', '1:27', 7, day, time, duration],
      ['x', 'y', 7],
    ];
    const { rows: read } = await readStaged(`a.${format}`, make([{ name: 'S', rows }]));
    expect(read.map(({ currencies }) => currencies)).toEqual([
      { 3: '(date)', 4: '(date)', 5: '(date)' },
      undefined,
    ]);
  });
});

describe('a cell as programs other than Excel write it', () => {
  const sheet = (cell: string, after = '') =>
    `<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row><row r="2">${cell}</row><row r="3"><c r="B3"><v>1</v></c></row></sheetData>${after}</worksheet>`;
  const rowsOf = async (xml: string, more: Record<string, string> = {}) => {
    const parts = { 'xl/worksheets/sheet1.xml': xml, ...more };
    return (await readStaged('a.xlsx', makeXlsx([{ name: 'S', rows: [] }], { more: parts }))).cells;
  };

  it.each([
    ['a currency that is built in', '<c r="A2" s="1"><v>12.345</v></c>', '12.35'],
    ['a formula for text without its result', '<c r="A2" t="str"><f>B1</f></c>', '#FORMULA!'],
    ['a formula whose result is an empty text', '<c r="A2" t="str"><f>B1</f><v></v></c>', ''],
    ['a reference without letters', '<c r="2"><v>5</v></c>', '5'],
  ])('%s', async (_, cell, text) => {
    const styles = '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="7"/></cellXfs></styleSheet>';
    const [row] = await rowsOf(sheet(`${cell}<c r="B2"><v>1</v></c>`), { 'xl/styles.xml': styles });
    expect(row).toEqual([text, '1']);
  });

  it('gets the value of the cells that it is merged with, however they are listed', async () => {
    const merged = "<x:mergeCells><x:mergeCell ref='A2:A3'></x:mergeCell></x:mergeCells>";
    const text = '<c r="A2" t="inlineStr"><is><t>mergeCells</t></is></c>';
    expect(await rowsOf(sheet(text, merged))).toEqual([
      ['mergeCells', ''],
      ['mergeCells', '1'],
    ]);
  });

  it('is found where the names of the parts differ in case, and other targets are odd', async () => {
    const relation = (id: string, type: string, target: string) =>
      `<Relationship Id="${id}" Type="r/${type}" Target="${target}"/>`;
    const relations = [
      relation('rId1', 'worksheet', 'Worksheets\\Sheet1.xml'),
      relation('rIdStrings', 'sharedStrings', 'SharedStrings.xml'),
      relation('rId7', 'hyperlink', 'http://[x'),
      relation('rId8', 'hyperlink', '%zz'),
    ];
    const cells = await rowsOf(sheet('<c r="A2" t="s"><v>0</v></c>'), {
      'xl/_rels/workbook.xml.rels': `<Relationships>${relations.join('')}</Relationships>`,
      'xl/sharedStrings.xml': '<sst><si><t>shared</t></si></sst>',
    });
    expect(cells[0]).toEqual(['shared', '']);
  });
});

describe('a cell of a LibreOffice sheet', () => {
  it.each<[string, CellToWrite, string]>([
    ['a text code with zeros', '00042', '00042'],
    ['a code with zeros by format', { number: 42, shown: '00042' }, '00042'],
    ['a phone number', { number: 612345678, shown: '06 12 34 56 78' }, '06 12 34 56 78'],
    ['a phone number with brackets', { number: 612345678, shown: '(0612) 345678' }, '(0612) 345678'],
    ['a price of zero', { number: 0, shown: '0,00' }, '0.00'],
    ['a price below one', { number: 0.5, shown: '0,50' }, '0.50'],
    ['a number with a unit', { number: 5, shown: '05 kg' }, '5'],
    ['two decimals', { number: 1234.5, shown: '1.234,50 €' }, '1234.50'],
    ['rounding as shown', { number: '23.785', shown: '23,79' }, '23.79'],
    ['a percentage', { number: 0.19, format: '%', shown: '19 %' }, '19%'],
    ['a day', { number: '2026-03-05', format: 'date', shown: '05.03.26' }, '2026-03-05'],
    [
      'a moment',
      { number: '2026-03-05T18:00:00', format: 'date', shown: '05.03.26 18:00' },
      '2026-03-05T18:00:00',
    ],
    ['yes', true, 'TRUE'],
    ['sixteen digits', { number: '1234567890123456', shown: '1,23E+15' }, '1.23E+15'],
    ['a reference that is gone', { error: '#REF!' }, '#REF!'],
    ['an error by its number', { error: 'Err:502' }, '#VALUE!'],
    ['a formula with its result', { formula: 'B1*2', result: '24.5' }, '24.5'],
    ['a formula without its result', { formula: 'B1*2' }, '#FORMULA!'],
  ])('%s', async (_, cell, text) => {
    expect(await cellOf(cell, 'ods')).toBe(text);
  });

  const note = '<office:annotation><dc:creator>me</dc:creator><text:p>a</text:p></office:annotation>';
  const line = '<draw:line><text:p>l</text:p></draw:line>';
  const code = (shown: string, more = '') =>
    `<table:table-cell ${more} office:value-type="float" office:value="42">${shown}</table:table-cell>`;
  it.each([
    ['a note', code(`${note}<text:p>00042</text:p>`), '00042'],
    ['lines and shapes', code(`<text:p>00042</text:p><draw:g>${line}${line}</draw:g>`), '00042'],
    ['a code in the style of its column', code('<text:p>ART-0042</text:p>'), 'ART-0042'],
    ['a number in another style', code('<text:p>No. 42</text:p>', 'table:style-name="n"'), '42'],
    ['a text without a type', '<table:table-cell><text:p>words</text:p></table:table-cell>', 'words'],
  ])('%s', async (_, cell, text) => {
    const format = (name: string, digits: number) =>
      `<number:number-style style:name="${name}"><number:number number:min-integer-digits="${digits}"/></number:number-style>`;
    const style = (name: string, more: string) => `<style:style style:name="${name}" ${more}/>`;
    const header = '<table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell>';
    const rows = [header, cell].map((one) => `<table:table-row>${one}</table:table-row>`).join('');
    const column = '<table:table-column table:default-cell-style-name="c"/>';
    const bytes = makeZip(
      Object.entries({
        mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
        'styles.xml': `<a>${format('N1', 4)}${format('N2', 1)}${style('Code', 'style:data-style-name="N1"')}</a>`,
        'content.xml': `<a>${style('c', 'style:parent-style-name="Code"')}${style('n', 'style:data-style-name="N2"')}<table:table table:name="S">${column}${rows}</table:table></a>`,
      }).map(([name, content]) => ({ name, content })),
    );
    expect((await readStaged('a.ods', bytes)).cells).toEqual([[text]]);
  });
});

describe('the currency that the format of a number names', () => {
  const currenciesOf = async (cell: CellToWrite, format: 'xlsx' | 'ods' = 'xlsx') => {
    const rows = [
      ['a', 'b'],
      ['x', cell],
      ['y', 'text'],
    ];
    const make = format === 'xlsx' ? makeXlsx : makeOds;
    const { rows: read } = await readStaged(`a.${format}`, make([{ name: 'S', rows }]));
    return read.map(({ cells, currencies }) => [cells[1], currencyIn(currencies?.[1])]);
  };

  it.each([
    ['[$$-409]#,##0.00', '$'],
    ['[$€-407]#,##0.00', '€'],
    ['#,##0.00\\ [$€-x-euro2]', '€'],
    ['[$USD] 0.00', 'USD'],
    ['"USD" 0.00', 'USD'],
    ['0.00\\ \\k\\r', 'kr'],
    ['_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', '€'],
    ['$#,##0.00_);[Red]($#,##0.00)', '$'],
    ['"R"$0.00', 'R$'],
    ['[$$-409]0.00 "CAD"', '$ CAD'],
    ['0.00;-£0.00', '£'],
    ['0.00 "€/kg"', '€'],
    ['[$Talers-409] 0.00', 'Talers'],
  ])('of an Excel sheet: %s', async (format, currency) => {
    expect(await currenciesOf({ number: '12.5', format })).toEqual([
      ['12.50', currency],
      ['text', undefined],
    ]);
  });

  it.each(['[$-409]0.00', '0.00', '0.00 "kg"', '[Red]0.00', '"Price:" 0.00', '0.00 "¢"'])(
    'of an Excel sheet is none: %s',
    async (format) => {
      expect(await currenciesOf({ number: '12.5', format })).toEqual([
        ['12.50', undefined],
        ['text', undefined],
      ]);
    },
  );

  it('is none of days, percentages and built-in formats, which each country shows with its own sign', async () => {
    const of = async (format: string) => (await currenciesOf({ number: '44624', format }))[0]?.[1];
    expect(await of('[$-409]d "USD" mmm')).toBe('(date)');
    expect(await of('0% "EUR"')).toBeUndefined();
    const styles = '<styleSheet><cellXfs><xf numFmtId="7"/></cellXfs></styleSheet>';
    const more = { 'xl/styles.xml': styles };
    const bytes = makeXlsx([{ name: 'S', rows: [['a'], [1]] }], { more });
    expect((await readStaged('a.xlsx', bytes)).rows).toEqual([{ line: 2, cells: ['1.00'] }]);
  });

  it('belongs to all merged cells', async () => {
    const price = { number: '5', format: '[$$-409]0.00' };
    const rows = [
      ['a', 'b'],
      [price, 'x'],
      [null, 'y'],
      ['1', 'z'],
    ];
    const { rows: read } = await readStaged('a.xlsx', makeXlsx([{ name: 'S', rows, merged: ['A2:A3'] }]));
    expect(read.map(({ currencies }) => currencies)).toEqual([{ 0: '$' }, { 0: '$' }, undefined]);
  });

  const number = (type: string, style: string, more = '') =>
    `<table:table-cell table:style-name="${style}" office:value-type="${type}" office:value="12.5" ${more}><text:p>12,50 x</text:p></table:table-cell>`;
  it.each([
    ['the sign', number('currency', 'dollar'), '$'],
    ['the sign rather than the code', number('currency', 'dollar', 'office:currency="USD"'), '$'],
    ['the code of the cell', number('currency', 'plain', 'office:currency="CHF"'), 'CHF'],
    ['the text beside the digits', number('float', 'text'), 'EUR'],
    ['a unit', number('float', 'kilos'), undefined],
    ['a locale', number('float', 'locale'), undefined],
    ['no number', number('string', 'dollar'), undefined],
  ])('of a LibreOffice sheet: %s', async (_, cell, currency) => {
    const format = (name: string, inner: string) =>
      `<number:currency-style style:name="N-${name}"><number:number number:decimal-places="2"/>${inner}</number:currency-style><style:style style:name="${name}" style:data-style-name="N-${name}"/>`;
    const symbol = (text: string) =>
      `<number:currency-symbol number:language="en" number:country="US">${text}</number:currency-symbol>`;
    const text = (one: string) => `<number:text>${one}</number:text>`;
    const styles = [
      format('dollar', symbol('$')),
      format('text', text(' EUR')),
      format('kilos', text(' kg')),
      format('locale', symbol('')),
      format('plain', ''),
    ].join('');
    const header = '<table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell>';
    const rows = [header, cell].map((one) => `<table:table-row>${one}</table:table-row>`).join('');
    const bytes = makeZip(
      Object.entries({
        mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
        'content.xml': `<a>${styles}<table:table table:name="S">${rows}</table:table></a>`,
      }).map(([name, content]) => ({ name, content })),
    );
    expect(currencyIn((await readStaged('a.ods', bytes)).rows[0]?.currencies?.[0])).toBe(currency);
  });
});

describe('the mark of a number of which a sheet shows more', () => {
  const markOf = async (cell: CellToWrite, format: 'xlsx' | 'ods' = 'xlsx') => {
    const make = format === 'xlsx' ? makeXlsx : makeOds;
    const { rows: read } = await readStaged(`a.${format}`, make([{ name: 'S', rows: [['a'], [cell]] }]));
    return read[0]?.currencies?.[0];
  };
  const plain = (text: string | undefined) => text?.replaceAll('\u00a0', ' ');

  it.each([
    [0.75, '# ?/?'],
    [0.75, '# ??/??'],
    [250, '0" ml"'],
    [1042, '"ART-"0'],
    [50, '0"%"'],
    [24, '0\\"'],
    [1.25, '+0.00;-0.00'],
    [5, 'General" pcs"'],
    [42, '0 000 000'],
    [42, '0,000'],
    [5, '00.00'],
    [12_000, '0,"k"'],
    [12_000, '0.0,'],
    [1234, '##-##'],
    [2_125_551_234, '[<=9999999]###-####;(###) ###-####'],
    [1, '[=1]"Yes";[=0]"No";General'],
    [-3, '0;0" short"'],
    [0, '0;-0;"out"'],
    [5, ';;;'],
    [0, '[=0]"";General'],
    [123_459, '[=0]"";0" ml"'],
    [123_459, '[=1]0" box";General'],
  ])('has the format: %s as %s', async (number, format) => {
    expect(plain(await markOf({ number, format }))).toBe(`(shown as ${format})`);
    expect(plain(await markOf({ number, format: `[$$-409]${format}` }))).toContain('(shown as');
  });

  it.each([
    [3, '0;0" short"'],
    [3, '0;-0;"out"'],
    [-3, '0;(0)'],
    [-3, '0.00_);[Red](0.00)'],
    [1299, '#,##0.00'],
    [1299, '# ##0'],
    [0.5, '0.0%'],
    [42, '"ART-"0000'],
    [42, '(000) 000-0000'],
    [42, '000-000'],
    [9.9, '"on request"'],
    [12, '0.00 "€"'],
    [12, '0",-"'],
    [1.5e12, '0.00E+00'],
    [0, '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-'],
    [5, '@'],
    [123_459, '[=0]"";General'],
    [123_459, '[=0]"-";0'],
  ])('is none: %s as %s', async (number, format) => {
    expect((await markOf({ number, format })) ?? '').not.toContain('shown');
  });

  it.each<[number, string, string | undefined]>([
    [0.75, '3/4', '(shown as 3/4)'],
    [250, '250 ml', '(shown as 250 ml)'],
    [1234, '12-34', '(shown as 12-34)'],
    [5, '05,00', '(shown as 05,00)'],
    [12_000, '12', '(shown as 12)'],
    [12_000, '12.000,00 €', undefined],
    [1.25, '1,250', undefined],
    [0, '-', undefined],
    [42, '00042', undefined],
    [-3, '(3,00)', undefined],
  ])('has the text of a LibreOffice sheet: %s as %s', async (number, shown, mark) => {
    expect(plain(await markOf({ number, shown }, 'ods'))).toBe(mark);
  });

  it('is that of the format of a number below 0, whose decimals are read', async () => {
    expect(await cellOf({ number: '-1.25', format: '0.0;-0.00' })).toBe('-1.25');
    expect(await cellOf({ number: '-1.25', format: '0.0;@' })).toBe('-1.3');
  });
});

describe('which sheet is read', () => {
  const of = (name: string, more: object = {}) => ({
    name,
    rows: [
      ['a', 'b'],
      [name, 'x'],
    ],
    ...more,
  });
  it('is the only visible one that holds anything', async () => {
    const bytes = makeXlsx([of('Old', { hidden: true }), of('Prices'), { name: 'Sheet2', rows: [] }]);
    expect((await readStaged('a.xlsx', bytes)).places.title).toBe('Prices');
    const ods = makeOds([of('Old', { hidden: true }), of('Prices'), { name: 'Sheet2', rows: [] }]);
    expect((await readStaged('a.ods', ods)).places.title).toBe('Prices');
  });
  it('must be said where several hold something, by name or by number', async () => {
    const bytes = makeXlsx([of('Shoes'), of('Old', { hidden: true }), of('Shirts')]);
    expect(await refusal(readStaged('a.xlsx', bytes))).toBe(
      "The workbook has 2 sheets: 'Shoes', 'Shirts'. Name one in the source of the job, as `sheet: NAME`.",
    );
    expect((await readStaged('a.xlsx', bytes, { sheet: 2 })).cells).toEqual([['Shirts', 'x']]);
    expect((await readStaged('a.xlsx', bytes, { sheet: 'shirts' })).cells).toEqual([['Shirts', 'x']]);
    expect((await readStaged('a.xlsx', bytes, { sheet: 'Old' })).cells).toEqual([['Old', 'x']]);
    expect(await refusal(readStaged('a.xlsx', bytes, { sheet: 'Hats' }))).toContain(
      "The workbook has no sheet 'Hats'; its sheets are 'Shoes', 'Old' (hidden), 'Shirts'.",
    );
  });

  it('is asked by the first names where there are thousands, each of which is the same part', async () => {
    const count = 20_000;
    const sheets = Array.from({ length: count }, (_, n) => `<sheet name="S${n}" r:id="a"/>`).join('');
    const more = {
      'xl/workbook.xml': `<workbook xmlns:r="r"><sheets>${sheets}</sheets></workbook>`,
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Id="a" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    };
    const bytes = makeXlsx([{ name: 'S', rows: [['a'], ['x']] }], { more, inline: true });
    const refused = await refusal(readStaged('a.xlsx', bytes));
    expect(refused).toMatch(/^The workbook has 20000 sheets: 'S0', 'S1', .*'S49' and 19950 more\. /);
    expect((await readStaged('a.xlsx', bytes, { sheet: 'S19999' })).cells).toEqual([['x']]);
  });
});

describe('the header of a sheet', () => {
  const titled = [['Price list 2026'], [], ['sku', 'price'], ['a', 1], ['b', 2]];
  it('is the row that the job names', async () => {
    const {
      header,
      rows: read,
      doubt,
    } = await readStaged('a.xlsx', makeXlsx([{ name: 'S', rows: titled }]), { headerRow: 3 });
    expect({ header, read, doubt }).toEqual({
      header: ['sku', 'price'],
      read: [
        { line: 4, cells: ['a', '1'] },
        { line: 5, cells: ['b', '2'] },
      ],
      doubt: null,
    });
  });
  it('may have rows below it that are no data', async () => {
    const bytes = makeXlsx([{ name: 'S', rows: titled }]);
    const { rows } = await readStaged('a.xlsx', bytes, { headerRow: 3, dataRow: 5 });
    expect(rows).toEqual([{ line: 5, cells: ['b', '2'] }]);
    expect((await readStaged('a.xlsx', bytes, { dataRow: 5 })).doubt).toMatchObject({ headerRow: 3 });
  });
  it('is doubted where a title stands in its place', async () => {
    const { doubt } = await readStaged('a.xlsx', makeXlsx([{ name: 'S', rows: titled }]));
    expect(doubt?.message).toContain('looks like a title');
    expect(doubt?.hint).toContain('headerRow: 3');
  });
  it('is doubted where a title stands over all columns in merged cells', async () => {
    const titled = [
      ['Preisliste', '', ''],
      ['sku', 'name', 'price'],
      ['A', 'a', 1],
      ['B', 'b', 2],
    ];
    const bytes = makeXlsx([{ name: 'P', rows: titled, merged: ['A1:C1'] }]);
    expect((await readStaged('a.xlsx', bytes)).doubt).toMatchObject({ headerRow: 2 });
  });

  it('is doubted where names of groups stand over it in merged cells, if values follow', async () => {
    const data = [1, 2, 3].map((number) => [`A-${number}`, 'Mug', number, number * 1.19, number]);
    const names = ['No', 'Name', 'net', 'gross', 'Stock'];
    const groups = ['Article', null, 'Price', null, 'Shop'];
    const merged = ['A1:B1', 'C1:D1'];
    const bytes = makeXlsx([{ name: 'P', rows: [groups, names, ...data], merged }]);
    expect((await readStaged('a.xlsx', bytes)).doubt).toMatchObject({ headerRow: 2 });
    const { header, doubt } = await readStaged('a.xlsx', bytes, { headerRow: 2 });
    expect({ header, doubt }).toEqual({ header: names, doubt: null });
    const repeated = ['Name', 'Image', 'Image'];
    const images = [1, 2, 3].map((number) => [`Mug ${number}`, `a${number}.jpg`, `b${number}.jpg`]);
    expect(
      (await readStaged('b.xlsx', makeXlsx([{ name: 'P', rows: [repeated, ...images] }]))).doubt,
    ).toBeNull();
  });

  it('must be there', async () => {
    const bytes = makeXlsx([{ name: 'S', rows: titled }]);
    await expect(readStaged('a.xlsx', bytes, { headerRow: 2 })).rejects.toThrow(
      'row 2 of the sheet S is empty',
    );
  });
});

describe('merged cells', () => {
  const rows = [
    ['group', 'sku', 'note'],
    ['Lamps', 'a', null],
    [null, 'b', null],
    ['Sale', null, null],
  ];
  it('all hold what is shown over them', async () => {
    const { cells } = await readStaged('a.xlsx', makeXlsx([{ name: 'S', rows, merged: ['A4:C4', 'A2:A3'] }]));
    expect(cells).toEqual([
      ['Lamps', 'a', ''],
      ['Lamps', 'b', ''],
      ['Sale', 'Sale', 'Sale'],
    ]);
  });

  it('all hold it in a LibreOffice sheet too', async () => {
    const bytes = makeOds([
      {
        name: 'S',
        rows: [
          ['group', 'sku', 'note'],
          [{ spans: [1, 2], result: 'Lamps' }, 'a', null],
          [{ covered: true }, 'b', null],
          [{ spans: [3, 1], result: 'Sale' }, { covered: true }, { covered: true }],
        ],
      },
    ]);
    expect((await readStaged('a.ods', bytes)).cells).toEqual([
      ['Lamps', 'a', ''],
      ['Lamps', 'b', ''],
      ['Sale', 'Sale', 'Sale'],
    ]);
  });

  const spanOf = (columns: number, count: number) => [
    ['sku', 'note'],
    ...Array.from({ length: count }, () => [
      { spans: [columns, count] as const, result: 'x' },
      { spans: [columns, count] as const, result: 'y' },
    ]),
  ];

  it.each([
    ['xlsx', makeXlsx([{ name: 'S', rows, merged: ['A2:A3', 'B1:B9', 'A3:B3', 'A2:XFD1048576'] }])],
    ['ods', makeOds([{ name: 'S', rows: spanOf(2, 2) }])],
  ])('must not overlap in .%s', async (format, bytes) => {
    expect(await refusal(readStaged(`a.${format}`, bytes))).toMatch(/^Merged cells overlap at S!\w+\d\. /);
  });

  it.each([
    ['xlsx', makeXlsx([{ name: 'S', rows, merged: ['A4:XFD1048576'] }])],
    ['ods', makeOds([{ name: 'S', rows: [...rows.slice(0, 3), [{ spans: [16_384, 1], result: 'Sale' }]] }])],
  ])('end in .%s with the columns that have values', async (format, bytes) => {
    const { header, cells } = await readStaged(`a.${format}`, bytes);
    expect([header, cells.at(-1)]).toEqual([rows[0], ['Sale', 'Sale', 'Sale']]);
  });

  it.each([
    ['xlsx', makeXlsx([{ name: 'S', rows, merged: ['A2:A3', 'A4:C4'] }])],
    ['ods', makeOds([{ name: 'S', rows: [...rows.slice(0, 3), [{ spans: [3, 1], result: 'Sale' }], [1]] }])],
  ])('cover a limited number of cells in .%s', async (format, bytes) => {
    const covered = format === 'xlsx' ? 5 : 3;
    await readStaged(`a.${format}`, bytes, {}, { mergedCells: covered });
    expect(await refusal(readStaged(`a.${format}`, bytes, {}, { mergedCells: covered - 1 }))).toContain(
      `S row 4 is beyond the limit mergedCells (${covered - 1}): merged cells cover more cells of the sheet.`,
    );
  });
});

it.each([
  ['xlsx', makeXlsx],
  ['ods', makeOds],
] as const)('hidden rows of an .%s are read, with their numbers', async (format, make) => {
  const bytes = make([{ name: 'S', rows: [['sku'], ['a'], ['b'], ['c']], hiddenRows: [3] }]);
  const { rows: read } = await readStaged(`a.${format}`, bytes);
  expect(read.map(({ line, cells }) => [line, ...cells])).toEqual([
    [2, 'a'],
    [3, 'b'],
    [4, 'c'],
  ]);
});

describe('a day before Excel counts', () => {
  it.each<[string, CellToWrite, 'xlsx' | 'ods', string]>([
    ['the first', { number: 1, format: 'yyyy-mm-dd' }, 'xlsx', '1900-01-01'],
    ['the one before the day that did not exist', { number: 59, format: 'yyyy-mm-dd' }, 'xlsx', '1900-02-28'],
    ['the one after it', { number: 61, format: 'yyyy-mm-dd' }, 'xlsx', '1900-03-01'],
    ['no day: Excel shows ####', { number: -5, format: 'yyyy-mm-dd' }, 'xlsx', '-5'],
    ['written as text, as Excel does', '1899-07-14', 'xlsx', '1899-07-14'],
    ['of LibreOffice', { number: '1852-12-03', format: 'date', shown: '03.12.1852' }, 'ods', '1852-12-03'],
  ])('%s', async (_, cell, format, text) => {
    expect(await cellOf(cell, format)).toBe(text);
  });

  it('in a workbook that counts from 1904, is a number that no date reads', async () => {
    const bytes = makeXlsx(
      [
        {
          name: 'S',
          rows: [['d'], [{ number: -1, format: 'yyyy-mm-dd' }], [{ number: 0, format: 'yyyy-mm-dd' }]],
        },
      ],
      { date1904: true },
    );
    expect((await readStaged('a.xlsx', bytes)).cells).toEqual([['-1'], ['1904-01-01']]);
  });
});

describe('a workbook that is broken or hostile', () => {
  const sheet = (xml: string) =>
    makeXlsx([{ name: 'S', rows: [['a']] }], { more: { 'xl/worksheets/sheet1.xml': xml } });
  it.each([
    [
      'entities',
      '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><worksheet><sheetData><row><c t="inlineStr"><is><t>&b;</t></is></c></row></sheetData></worksheet>',
      'has a DOCTYPE',
    ],
    [
      'an entity that is not defined',
      '<worksheet><sheetData><row><c t="inlineStr"><is><t>&b;</t></is></c></row></sheetData></worksheet>',
      'The XML is broken in line 1',
    ],
    ['a cut-off part', '<worksheet><sheetData><row><c><v>1</v>', 'The XML is broken'],
    [
      'a column beyond all',
      '<worksheet><sheetData><row r="1"><c r="XFE1"><v>1</v></c></row></sheetData></worksheet>',
      'beyond the limit columns',
    ],
    [
      'a row beyond all',
      '<worksheet><sheetData><row r="99999999"><c r="A1"><v>1</v></c></row></sheetData></worksheet>',
      'beyond the limit rows',
    ],
    ...['1', '-1', '0.5', '1e9', 'x'].map((number) => [
      `a shared text with the number ${number}`,
      `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>${number}</v></c></row></sheetData></worksheet>`,
      'no text for cell S!A1',
    ]),
    ['elements without end', `<worksheet>${'<a>'.repeat(300)}`, 'more than 200 levels'],
  ])('is refused: %s', async (_, xml, message) => {
    expect(await refusal(readStaged('a.xlsx', sheet(xml)))).toContain(message);
  });
  it('is refused where it unpacks to too much', async () => {
    const bomb = sheet(`<worksheet>${'<row></row>'.repeat(7 * 1024 ** 2)}</worksheet>`);
    expect(await refusal(readStaged('a.xlsx', bomb))).toContain('beyond the limit ratio');
    expect(await refusal(readStaged('a.ods', bombOds()))).toContain('beyond the limit ratio');
  });
  it.each([
    ['content.xml', 'not text', 'The document has a password. Save it without a password.'],
    ['encrypted-package', 'x', 'is a document with a password'],
  ])('is refused where it has a password (%s)', async (name, content, message) => {
    const manifest = '<m:manifest><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>';
    const bytes = makeZip([
      { name: 'mimetype', content: 'application/vnd.oasis.opendocument.spreadsheet' },
      { name: 'META-INF/manifest.xml', content: manifest },
      { name, content },
    ]);
    expect(await refusal(readStaged('a.ods', bytes))).toContain(message);
  });
  it('is refused as what it is, where it holds no sheet', async () => {
    const empty = makeXlsx([{ name: 'S', rows: [] }]);
    expect(await refusal(readStaged('a.xlsx', empty))).toContain('no visible sheet with content');
  });

  it('is refused where a few bytes stand for megabytes of blanks', async () => {
    const blanks = (count: number) =>
      `<office:document-content><table:table table:name="S"><table:table-row><table:table-cell office:value-type="string"><text:p>a<text:s text:c="${count}"/>b</text:p></table:table-cell></table:table-row></table:table></office:document-content>`;
    const document = (count: number) =>
      makeZip([
        { name: 'mimetype', content: 'application/vnd.oasis.opendocument.spreadsheet', stored: true },
        { name: 'content.xml', content: blanks(count) },
      ]);
    expect((await readStaged('a.ods', document(3))).header).toEqual(['a   b']);
    expect(await refusal(readStaged('a.ods', document(16_000_000)))).toContain(
      'A cell of row 1 of the sheet S has more than 10000 blanks in succession. Remove the blanks',
    );
  });
});

/** One cell that is repeated over a million rows of ten thousand columns. */
function bombOds(): Buffer {
  const cell =
    '<table:table-cell table:number-columns-repeated="10000" office:value-type="string"><text:p>aaaa</text:p></table:table-cell>';
  return makeZip([
    { name: 'mimetype', content: 'application/vnd.oasis.opendocument.spreadsheet', stored: true },
    {
      name: 'content.xml',
      content: `<office:document-content><table:table table:name="S"><table:table-row table:number-rows-repeated="40000">${cell}</table:table-row></table:table></office:document-content>`,
    },
  ]);
}

describe('a sheet beyond a limit', () => {
  const long = 'x'.repeat(50);
  const rows = [
    ['a', 'b'],
    ['1', '2'],
    ['1', long],
  ];
  it.each<[string, Uint8Array]>([
    ['a.xlsx', makeXlsx([{ name: 'Price list', rows }])],
    ['a.xlsx', makeXlsx([{ name: 'Price list', rows }], { inline: true })],
    ['a.ods', makeOds([{ name: 'Price list', rows }])],
  ])('is refused by the name of the sheet and the cell (%s)', async (name, content) => {
    const words = await refusal(readStaged(name, content, {}, { cellBytes: 49 }));
    expect(words).toContain("'Price list'!B3 is beyond the limit cellBytes (49): the cell is longer.");
    expect(await refusal(readStaged(name, content, {}, { rows: 2 }))).toContain(
      "'Price list' row 3 is beyond the limit rows (2): there are more rows.",
    );
    expect(await refusal(readStaged(name, content, {}, { columns: 1 }))).toContain(
      "'Price list' row 1 is beyond the limit columns (1): the row has 2 cells.",
    );
    expect((await readStaged(name, content, {}, { cellBytes: 50 })).cells).toHaveLength(2);
  });

  const prices = [
    ['sku', 'name', 'price'],
    ['A', 'Mug', 1],
    ['B', 'Jug', 2],
  ];
  it.each([
    ['in two rows of merged cells', [['Shop of Ann'], ['Prices of May']], ['A1:C1', 'A2:C2'], 3],
    ['merged over more columns than the table has', [['Prices of May']], ['A1:F1'], 2],
    ['merged over two rows', [['Prices of May'], []], ['A1:C2'], 3],
  ])('finds the header below a title %s', async (_, title, merged, row) => {
    const sheet = { name: 'P', rows: [...title, ...prices], merged };
    const { doubt } = await readStaged('a.xlsx', makeXlsx([sheet]));
    expect(doubt?.message).toBe(
      `Row 1 looks like a title, not like a header: the names of 3 columns seem to be in row ${row}.`,
    );
  });

  it('says nothing of lines and quotes where a title stands above the header', async () => {
    const titled = [['Prices of May'], [], ['sku', 'price'], ['A', 1], ['B', 2]];
    const { doubt } = await readStaged('a.xlsx', makeXlsx([{ name: 'P', rows: titled }]));
    expect(doubt?.message).toBe(
      'Row 1 looks like a title, not like a header: the names of 2 columns seem to be in row 3.',
    );
  });
});

it('names the record of a JSON file beyond a limit by its path', async () => {
  const text = JSON.stringify({ data: [{ a: { b: 'x' } }, { a: { b: 'x'.repeat(50) } }] });
  const words = await refusal(readStaged('a.json', text, { records: 'data' }, { cellBytes: 49 }));
  expect(words).toContain('data[1].a.b is beyond the limit cellBytes (49)');
});

it('counts the bytes of a table against the limit, and not its characters', async () => {
  const rows = [['Title'], ...Array.from({ length: 200 }, () => ['价'.repeat(1000)])];
  const read = readStaged('a.xlsx', makeXlsx([{ name: 'S', rows }]), {}, { bytes: 300_000 });
  await expect(read).rejects.toThrow('limit bytes (300000)');
});
