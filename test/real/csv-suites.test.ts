import { createReadStream, globSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CsvError, formatPlace } from '../../src/model/storeferry-error.ts';
import { readCsv } from '../../src/tables/csv/read-csv.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { allRows } from '../tables/csv/open-bytes.ts';
import { readReference } from '../tables/csv/reference-reader.ts';
import { DATA_FOLDER, dataPresent, suiteName } from './catalog-rows.ts';

const SUITE = { invariant: 21, seed: null };

async function readFile(file: string) {
  const table = await readCsv(createReadStream(new URL(file, DATA_FOLDER)), { name: file });
  return { table, rows: await allRows(table) };
}

/** Files of the suite that no reader can be sure about: where they are refused, and for what. */
const REFUSED: Readonly<Record<string, readonly [place: string, reason: RegExp]>> = {
  'commons-csv/CSV-141_csv-141.csv': ['4:2', /text follows the closing quote.*begins on line 3/],
  'commons-csv/CSVFileParser_test.csv': ['7:8', /a blank before the opening quote/],
  'commons-csv/csv-167_sample1.csv': ['7:33', /backslash/],
  'csvkit/null_byte.csv': ['2:1', /NUL/],
  'csvkit/test_latin1.csv': ['3:5', /windows-1252/],
  'csvlint/invalid-byte-sequence.csv': ['1:34', /windows-1252/],
  'csvlint/invalid_many_rows.csv': ['4:13', /text follows the closing quote/],
  'papaparse/malformed.tsv': ['9:12', /opened by this quote is never closed\.$/],
  'papaparse/sjis-sample.csv': ['1:1', /one of: shift_jis/],
  'rust-csv/strange.csv': ['1:4', /text follows the closing quote/],
  'rust-csv/uspop-latin1.csv': ['4:1', /windows-1252/],
};

/** Delimiter, columns, rows and lines without content, counted by eye: what is read must be this. */
const COUNTED: Readonly<
  Record<string, readonly [delimiter: string, columns: number, rows: number, blank: number]>
> = {
  'commons-csv/CSV-213_999751170.patch.csv': [';', 2, 1, 0],
  'commons-csv/CSV-290_psql.csv': [',', 5, 2, 0],
  'commons-csv/CSV-290_psql.tsv': ['\t', 5, 2, 0],
  'commons-csv/CSVFileParser_testCSV246.csv': [',', 5, 6, 1],
  'csvkit/bad_skip_lines.csv': [',', 3, 3, 3],
  'csvkit/mac_newlines.csv': [',', 3, 2, 0],
  'csvkit/test_empty_columns.csv': [',', 5, 2, 1],
  'csvkit/test_empty_columns_short_row.csv': [',', 3, 0, 1],
  'csvkit/test_header_newline.csv': [',', 3, 1, 0],
  'csvkit/test_utf16_big.csv': [',', 3, 2, 0],
  'csvkit/test_utf16_little.csv': [',', 3, 2, 0],
  'csvlint/cr-line-endings.csv': [',', 3, 2, 0],
  'csvlint/inconsistent-line-endings-unquoted.csv': [',', 3, 2, 0],
  'csvlint/title-row.csv': [',', 3, 3, 0],
  'papaparse/duplicate-headers.csv': [',', 148, 557, 0],
  'papaparse/poisoned-sample.csv': [',', 4, 1, 0],
  'papaparse/verylong-sample.csv': [',', 3, 2000, 0],
};

describe.skipIf(!dataPresent)(suiteName('nothing is silently misread (invariant 21)'), () => {
  const spectrum = dataPresent
    ? globSync('*.csv', { cwd: new URL('csv-spectrum/csvs/', DATA_FOLDER) }).sort()
    : [];
  const nasty = dataPresent ? globSync('*/*', { cwd: new URL('nasty/', DATA_FOLDER) }).sort() : [];
  const real = dataPresent
    ? globSync(
        '{contacts,etsy,google_merchant,magento,prestashop,shopify,squarespace,wix,woocommerce}/**/*.{csv,tsv}',
        {
          cwd: DATA_FOLDER,
        },
      ).sort()
    : [];

  test('the suites are all there', () => {
    expect([spectrum.length, nasty.length]).toEqual([12, 55]);
    expect(
      [...Object.keys(REFUSED), ...Object.keys(COUNTED)].filter((file) => !nasty.includes(file)),
    ).toEqual([]);
  });

  test.for(spectrum)('csv-spectrum %s gives what its JSON says', async (file, context) => {
    const json = readFileSync(
      new URL(`csv-spectrum/json/${file.replace('.csv', '.json')}`, DATA_FOLDER),
      'utf8',
    );
    const record = z.record(z.string(), z.string());
    const expected = z.union([z.array(record), record.transform((one) => [one])]).parse(JSON.parse(json));
    const { table, rows } = await readFile(`csv-spectrum/csvs/${file}`);
    const read = rows.map(({ cells }) =>
      Object.fromEntries(table.header.map((name, index) => [name, cells[index]])),
    );
    // In this copy of the suite the CSV and the JSON of one file hold different phone numbers: a slip of the copy,
    // not a way of reading. Everything else of that file, and the cell by the file's own bytes, must still agree.
    if (file === 'location_coordinates.csv') {
      const [, line = ''] = readFileSync(new URL(`csv-spectrum/csvs/${file}`, DATA_FOLDER), 'utf8').split(
        '\n',
      );
      const [phone] = line.split(',');
      expect(read).toEqual(expected.map((object) => ({ ...object, 'Contact Phone Number': phone })));
    } else {
      expect(read).toEqual(expected);
    }
    expect(rows.every(({ cells }) => cells.length === table.header.length)).toBe(true);
    // Reached only when all of the above agreed.
    figure(context, {
      ...SUITE,
      fired: { 'files of csv-spectrum': 1 },
      measured: [none('silently misread', 0)],
    });
  });

  test.for(nasty.filter((file) => file in REFUSED))(
    'nasty %s is refused, with place and reason',
    async (file, context) => {
      const [place, reason] = REFUSED[file] ?? ['', /never/];
      const error = await readFile(`nasty/${file}`).catch((thrown: unknown) => thrown);
      const misread = none('silently misread', error instanceof CsvError ? 0 : 1);
      figure(context, { ...SUITE, fired: { 'nasty files to refuse': 1 }, measured: [misread] });
      if (!(error instanceof CsvError) || error.place === undefined) throw new Error(`${file} was read`);
      expect(formatPlace(error.place)).toBe(`nasty/${file}:${place}`);
      expect(error.message).toMatch(reason);
      expect(error.hint).toBeTruthy();
    },
  );

  const readable = [...nasty.filter((file) => !(file in REFUSED)).map((file) => `nasty/${file}`), ...real];
  test.for(readable)('%s is read as one character at a time gives it', async (file, context) => {
    const { table, rows } = await readFile(file);
    const { encoding, delimiter } = table.dialect;
    const text = new TextDecoder(encoding, { fatal: true }).decode(readFileSync(new URL(file, DATA_FOLDER)));
    const [header, ...expected] = readReference(text, delimiter) ?? [];
    const read = rows.map(({ line, cells }) => ({ line, cells }));
    const isRight = isDeepStrictEqual([table.header, read], [header?.cells, expected]);
    const fault = file.startsWith('nasty/') ? 'nasty files to read' : 'real files';
    figure(context, {
      ...SUITE,
      fired: { [fault]: 1 },
      measured: [none('silently misread', isRight ? 0 : 1)],
    });

    const counted = COUNTED[file.replace('nasty/', '')];
    if (counted !== undefined) {
      expect([delimiter, table.header.length, rows.length, table.counts.blankLines]).toEqual(counted);
    }
    expect(table.doubt?.place?.line).toBe(file === 'nasty/csvlint/title-row.csv' ? 1 : undefined);
    expect(rows.filter(({ heading }) => heading)).toEqual([]);
  });
});
