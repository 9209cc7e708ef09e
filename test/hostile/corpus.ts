import { gzipSync } from 'node:zlib';
import type { TableFormat } from '../../src/model/row.ts';
import { makeZip } from '../source/make-zip.ts';
import { type CellToWrite, makeOds, makeXlsx } from '../tables/workbooks.ts';

/** The formats that a source may have. */
export type SampleFormat = 'csv' | TableFormat;

/** A file that costs more than it seems to, as far as nothing stops it. */
export interface Sample {
  readonly name: string;
  readonly format: SampleFormat;
  /** Unpacked, in bytes. */
  readonly size: number;
  readonly content: string | Uint8Array;
}

const KIB = 1024;
const HEADER = ['Handle', 'Title', 'Variant Price'] as const;

function times<Value>(count: number, make: (index: number) => Value): Value[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** An ordinary file of about this size. */
export function ordinaryFile(format: SampleFormat, size: number): string | Uint8Array {
  const rows = (bytesPerRow: number) =>
    times(
      Math.ceil(size / bytesPerRow),
      (index) => [`mug-${index}`, `Mug of stoneware, number ${index}`, '12.50'] as const,
    );
  const records = () =>
    rows(75).map(([handle, title, price]) => ({ Handle: handle, Title: title, 'Variant Price': price }));
  switch (format) {
    case 'csv':
      return [HEADER, ...rows(45)].map((row) => `${row.map((cell) => `"${cell}"`).join(',')}\n`).join('');
    case 'json':
      return JSON.stringify(records());
    case 'jsonl':
      return records()
        .map((record) => JSON.stringify(record))
        .join('\n');
    case 'xml':
      return feed(
        rows(115)
          .map(([handle, title, price]) =>
            item(`<Handle>${handle}</Handle><Title>${title}</Title><price>${price}</price>`),
          )
          .join(''),
      );
    case 'xlsx':
      return makeXlsx([{ name: 'S', rows: [HEADER, ...rows(170)] }]);
    case 'ods':
      return makeOds([{ name: 'S', rows: [HEADER, ...rows(280)] }]);
    default:
      return format satisfies never;
  }
}

function feed(items: string, attributes = ''): string {
  return `<rss ${attributes}><channel>${items}</channel></rss>`;
}

function item(content: string): string {
  return `<item>${content}</item>`;
}

function textSample(name: string, format: SampleFormat, content: string): Sample {
  return { name, format, content, size: Buffer.byteLength(content) };
}

const SMALL_TABLE: readonly (readonly CellToWrite[])[] = [
  HEADER,
  ...times(2_000, (index) => [`h${index}`, 'x', 1]),
];

/** A workbook whose sheet, or another part, is this. */
function xlsxSample(
  name: string,
  more: Readonly<Record<string, string>>,
  merged: readonly string[] = [],
): Sample {
  const content = makeXlsx([{ name: 'S', rows: SMALL_TABLE, merged }], { more });
  const sizes = [...Object.values(more), ...merged].map((part) => part.length + 25);
  return { name, format: 'xlsx', content, size: sizes.reduce((sum, size) => sum + size, 300 * KIB) };
}

const SHEET = 'xl/worksheets/sheet1.xml';

function sheetOf(rows: string): Readonly<Record<string, string>> {
  return { [SHEET]: `<worksheet><sheetData>${rows}</sheetData></worksheet>` };
}

function sharedTexts(count: number, length: number): Readonly<Record<string, string>> {
  return { 'xl/sharedStrings.xml': `<sst>${`<si><t>${'y'.repeat(length)}</t></si>`.repeat(count)}</sst>` };
}

function longCells(length: number): string {
  return odsCell('x'.repeat(length), 'table:number-columns-repeated="16384"');
}

const ODS_HEADER = HEADER.map((text) => odsCell(text)).join('');

function odsSample(name: string, rows: string, styles = '', header = odsRow(ODS_HEADER)): Sample {
  const xml = `<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x" xmlns:style="s"><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:spreadsheet><table:table table:name="S">${header}${rows}</table:table></office:spreadsheet></office:body></office:document-content>`;
  const content = makeZip([
    { name: 'mimetype', content: 'application/vnd.oasis.opendocument.spreadsheet', stored: true },
    { name: 'content.xml', content: xml },
  ]);
  return { name, format: 'ods', content, size: xml.length };
}

function odsCell(text: string | number, attributes = ''): string {
  return `<table:table-cell office:value-type="string" ${attributes}><text:p>${text}</text:p></table:table-cell>`;
}

function odsRow(cells: string, attributes = ''): string {
  return `<table:table-row ${attributes}>${cells}</table:table-row>`;
}

/** Each file was written for one mechanism; what the fuzzer finds joins them. Every format has its own. */
const HOSTILE_FILES: Readonly<Record<SampleFormat, () => readonly [Sample, ...Sample[]]>> = {
  xlsx: () => [
    xlsxSample(
      'overlapping-merges',
      {},
      times(16_000, () => 'B2:XFD1048576'),
    ),
    xlsxSample(
      'wide-merges',
      {},
      times(1_000, (index) => `B${index + 2}:XFD${index + 2}`),
    ),
    xlsxSample(
      'narrow-merges',
      {},
      times(20_000, (index) => `A${index * 50 + 2}:C${index * 50 + 51}`),
    ),
    xlsxSample('unclosed-merge', { [SHEET]: `<worksheet><mergeCells>${'<mergeCell ref="A'.repeat(60_000)}` }),
    xlsxSample('last-column', sheetOf('<row><c r="XFD1"><v>1</v></c></row>'.repeat(20_000))),
    xlsxSample(
      'one-wide-row',
      sheetOf(
        `<row>${'<c/>'.repeat(3)}<c r="XFD1"><v>1</v></c></row>${'<row><c><v>1</v></c></row>'.repeat(20_000)}`,
      ),
    ),
    xlsxSample('long-shared-text', {
      ...sharedTexts(3, 1_500_000),
      ...sheetOf(`<row>${'<c t="s"><v>1</v></c>'.repeat(16_000)}</row>`),
    }),
    xlsxSample('long-shared-texts', {
      ...sharedTexts(3, 1_500_000),
      ...sheetOf('<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c></row>'.repeat(5_000)),
    }),
    {
      ...xlsxSample('long-merged-text', {}),
      content: makeXlsx([
        {
          name: 'S',
          rows: [HEADER, ['z'.repeat(30_000)], ['x'.repeat(5)], times(9_999, () => 'y')],
          merged: ['A2:NTO500'],
        },
      ]),
    },
    xlsxSample('long-references', sheetOf(`<row><c r="${'A'.repeat(1_000_000)}1"><v>1</v></c></row>`)),
    xlsxSample('escaped-text', sheetOf(`<row><c t="str"><v>${'_x000D_'.repeat(150_000)}</v></c></row>`)),
    xlsxSample('styles', {
      'xl/styles.xml': `<styleSheet><numFmts>${'<numFmt numFmtId="200" formatCode="[[[[[[[[[[[[[[[[[["/>'.repeat(20_000)}</numFmts><cellXfs>${'<xf numFmtId="200"/>'.repeat(20_000)}</cellXfs></styleSheet>`,
    }),
    xlsxSample('sheets', {
      'xl/workbook.xml': `<workbook xmlns:r="r"><sheets>${'<sheet name="S" r:id="a"/>'.repeat(20_000)}</sheets></workbook>`,
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Id="a" Type="x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    }),
    xlsxSample('relations', {
      'xl/_rels/workbook.xml.rels': `<Relationships>${times(20_000, (index) => `<Relationship Id="a${index}" Type="x/worksheet" Target="worksheets/../sheet1.xml"/>`).join('')}</Relationships>`,
    }),
  ],
  ods: () => [
    odsSample(
      'spans',
      odsRow(
        odsCell('x', 'table:number-columns-spanned="16000" table:number-rows-spanned="1000000"').repeat(
          8_000,
        ),
      ) + odsRow(odsCell('y')).repeat(500),
    ),
    odsSample('repeated-cells', odsRow(odsCell('x', 'table:number-columns-repeated="16000"')).repeat(2_000)),
    odsSample('repeated-rows', odsRow(odsCell('x'), 'table:number-rows-repeated="1000"').repeat(50)),
    odsSample('repeated-header', '', '', odsRow(ODS_HEADER, 'table:number-rows-repeated="1048575"')),
    odsSample(
      'many-copied-rows',
      odsRow(odsCell('mug').repeat(3), 'table:number-rows-repeated="1000"').repeat(1_000),
    ),
    odsSample('long-repeated-cells', odsRow(longCells(31_000), 'table:number-rows-repeated="6"')),
    odsSample('longest-repeated-cells', odsRow(longCells(2_000), 'table:number-rows-repeated="2"')),
    odsSample('blanks', odsRow(odsCell('<text:s text:c="16000000"/>')).repeat(20)),
    odsSample(
      'inherited-styles',
      odsRow(odsCell('x')),
      times(
        10_000,
        (index) => `<style:style style:name="a${index}" style:parent-style-name="a${index - 1}"/>`,
      ).join(''),
    ),
  ],
  xml: () => [
    textSample(
      'namespaces',
      'xml',
      feed(
        '<item xmlns:zz="q"><Handle>a</Handle></item>'.repeat(20_000),
        times(999, (index) => `xmlns:n${index}="u${index}"`).join(' '),
      ),
    ),
    textSample(
      'new-namespaces',
      'xml',
      feed(times(20_000, (index) => `<item xmlns:g="u${index}"><g:id>a</g:id></item>`).join('')),
    ),
    textSample(
      'attributes',
      'xml',
      feed(`<item ${times(15_000, (index) => `a${index}="1"`).join(' ')}/>`.repeat(5)),
    ),
    textSample('levels', 'xml', feed(item(`${'<a>'.repeat(190)}${'</a>'.repeat(190)}`).repeat(500))),
    textSample(
      'long-names',
      'xml',
      feed(item(`<${'a'.repeat(50_000)}>1</${'a'.repeat(50_000)}>`).repeat(10)),
    ),
    textSample('entities', 'xml', feed(item(`<Title>${'&amp;'.repeat(100_000)}</Title>`).repeat(4))),
    textSample('repeated-values', 'xml', feed(item('<Title>a</Title>'.repeat(60_000)))),
    textSample('unclosed-tag', 'xml', `<rss ${'a="1" '.repeat(2)}${'x'.repeat(2_000_000)}`),
    textSample('unclosed-elements', 'xml', '<a>'.repeat(300_000)),
  ],
  json: () => [
    textSample('levels-of-lists', 'json', `${'['.repeat(500_000)}${']'.repeat(500_000)}`),
    textSample('levels-of-objects', 'json', `[${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}]`),
    textSample('many-keys', 'json', `[{${times(100_000, (index) => `"k${index}":1`).join(',')}}]`),
    textSample('new-keys', 'json', JSON.stringify(times(16_000, (index) => ({ [`k${index}`]: 1 })))),
    textSample('empty-objects', 'json', `[${'{},'.repeat(300_000)}{}]`),
    textSample('long-number', 'json', `[{"Handle":${'1'.repeat(1_000_000)}}]`),
    textSample('long-key', 'json', `[{"${'k'.repeat(1_000_000)}":1}]`),
    textSample('escapes', 'json', `[{"Title":"${'\\u0041'.repeat(150_000)}"}]`),
    textSample('repeated-values-of-lists', 'json', `[{"Title":[${'1,'.repeat(300_000)}1]}]`),
    textSample('open-string', 'json', `[{"Title":"${'x'.repeat(1_000_000)}`),
    {
      ...textSample('packed-levels', 'json', '['.repeat(1_000_000)),
      content: gzipSync('['.repeat(1_000_000)),
    },
  ],
  jsonl: () => [
    textSample('broken-line', 'jsonl', `{"Handle":"a"}\n{"Title":"${'x'.repeat(1_000_000)}"]\n`),
    textSample('levels-of-a-line', 'jsonl', `{"Handle":"a"}\n${'{"a":'.repeat(100_000)}\n`),
  ],
  csv: () => [
    textSample('quotes', 'csv', `${HEADER.join(',')}\n${'"'.repeat(3_000_000)}`),
    textSample('open-quote', 'csv', `${HEADER.join(',')}\n"${'x\n'.repeat(1_000_000)}`),
    textSample('delimiters', 'csv', ',;\t|'.repeat(250_000)),
    textSample(
      'columns',
      'csv',
      `${HEADER.join(',')},${times(16_000, (index) => `c${index}`).join(',')}\n${`a,b,1\n`.repeat(5_000)}`,
    ),
    textSample(
      'blanks-in-headers',
      'csv',
      `${HEADER.join(',')},${times(100, (index) => `c${index}${' '.repeat(8_000)}x`).join(',')}\na,b,1\n`,
    ),
    textSample(
      'short-rows',
      'csv',
      `${HEADER.join(',')},${times(16_000, (index) => `c${index}`).join(',')}\n${'a\n'.repeat(100_000)}`,
    ),
    textSample(
      'one-long-row',
      'csv',
      `${HEADER.join(',')}\n${','.repeat(16_000)}\n${',,x\n'.repeat(100_000)}`,
    ),
    textSample(
      'headers',
      'csv',
      `${HEADER.join(',')},${times(150, (index) => `${'price title sku '.repeat(400)}${index}`).join(',')}\n${`h1,t,1${','.repeat(150)}\n`.repeat(3)}`,
    ),
    textSample('line-ends', 'csv', `${HEADER.join(',')}\n${'\r\n\n\r'.repeat(250_000)}`),
    textSample('blank-cells', 'csv', `${HEADER.join(',')}\n${' ,\t, \n'.repeat(150_000)}`),
    {
      ...textSample('late-byte', 'csv', `${HEADER.join(',')}\n${'a,\u00e9\u00e9\u00e9,1\n'.repeat(100_000)}`),
      content: Buffer.concat([
        Buffer.from(`${HEADER.join(',')}\n${'a,\u00e9\u00e9\u00e9,1\n'.repeat(100_000)}`),
        Buffer.from([0xff, 0x0a]),
      ]),
    },
  ],
};

export function hostileSamples(): readonly Sample[] {
  return Object.values(HOSTILE_FILES).flatMap((samples) => samples());
}

/** Answers that a store, or what stands before it, may give to any request. */
export const HOSTILE_ANSWERS: Readonly<Record<string, () => string>> = {
  'levels of lists': () => `${'['.repeat(500_000)}${']'.repeat(500_000)}`,
  'levels of objects': () => `${'{"message":'.repeat(90_000)}1${'}'.repeat(90_000)}`,
  'many objects': () => `[${'{},'.repeat(330_000)}{}]`,
  'many keys': () => `{${times(80_000, (index) => `"k${index}":1`).join(',')}}`,
  'open string': () => `{"message":"${'x'.repeat(1_000_000)}`,
  'escaped quotes': () => `{"message":"${'\\"'.repeat(500_000)}"}`,
  'a page with a picture': () =>
    `<html><img src="data:image/png;base64,${'aGVsbG8x'.repeat(125_000)}"></html>`,
  'one long word': () => 'a'.repeat(1_000_000),
  'addresses of mail': () => 'a@b.'.repeat(250_000),
  digits: () => '1 '.repeat(500_000),
};

/** Configurations that the fuzzer found. */
export const HOSTILE_YAML: Readonly<Record<string, () => string>> = {
  'aliases without an anchor': () => '<<: *a\n'.repeat(20_000),
};
