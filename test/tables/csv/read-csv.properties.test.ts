import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRow, LEGACY_ENCODINGS } from '../../../src/model/row.ts';
import { StoreferryError } from '../../../src/model/storeferry-error.ts';
import { readCsv } from '../../../src/tables/csv/read-csv.ts';
import { measureProperty } from '../../support/measure-property.ts';
import { allRows, inPieces } from './open-bytes.ts';
import { readReference } from './reference-reader.ts';

const delimiter = fc.constantFrom(',', ';', '\t', '|');
const newline = fc.constantFrom('\n', '\r\n', '\r');
const pieceLengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 });
const blockBytes = fc.integer({ min: 1, max: 200 });

const naughty = fc.constantFrom(
  '',
  ' ',
  '"',
  '""',
  ',',
  ';',
  '\t',
  '|',
  '\n',
  '\r\n',
  '\r',
  '\ufeffx',
  '=1+1',
  "'",
  '\\"',
  '12" vinyl',
  ' lead',
  'trail ',
  '__proto__',
  '日本',
  '👩‍👩‍👧',
  'e\u0301',
  '\u2028',
  '#',
  'sep=;',
);
const text = fc.oneof(naughty, fc.string({ unit: 'binary', maxLength: 12 }), fc.string({ maxLength: 20 }));
const cell = text.map((value) => value.replaceAll('\0', ''));

function withContent(cells: readonly string[]): boolean {
  return cells.some((value) => value.trim() !== '');
}

/** A table whose header names columns, and rows of any content and length. */
const generated = fc.record({
  header: fc.array(fc.stringMatching(/^[A-Za-z][\w ()]{0,8}$/), { minLength: 2, maxLength: 6 }),
  rows: fc.array(fc.array(cell, { minLength: 1, maxLength: 7 }).filter(withContent), { maxLength: 12 }),
});

/** Reads bytes in awkward pieces; undefined when they are refused, as an error of the family. */
async function readOrRefused(
  bytes: Uint8Array,
  lengths: readonly number[],
  options: { delimiter?: string; encoding?: string; blockBytes?: number },
) {
  try {
    const table = await readCsv(inPieces(bytes, lengths), { name: 'generated.csv', ...options });
    const rows = await allRows(table);
    return { table, rows: rows.map(({ line, cells }) => ({ line, cells })) };
  } catch (error) {
    if (error instanceof StoreferryError) return undefined;
    throw error;
  }
}

describe('reading generated files (invariant 21)', () => {
  it('gives what was written, in every dialect, however the bytes arrive', async (context) => {
    await measureProperty(
      context,
      { invariant: 21, tried: 'files in every dialect', wrong: 'silently misread' },
      fc.asyncProperty(
        generated,
        delimiter,
        fc.array(newline, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('utf-8', 'utf-8 bom', 'utf-16le', 'utf-16be'),
        fc.boolean(),
        pieceLengths,
        blockBytes,
        async ({ header, rows }, separator, newlines, charset, endsWithNewline, lengths, block) => {
          const lines = [header, ...rows].map((cells) => formatRow(cells, separator));
          const written = lines.map((line, index) => `${line}${newlines[index % newlines.length]}`).join('');
          const whole = endsWithNewline ? written : written.replace(/[\r\n]+$/, '');
          const result = await readOrRefused(encode(whole, charset), lengths, { blockBytes: block });

          expect(result?.table.header).toEqual(header);
          expect(result?.table.dialect.delimiter).toBe(separator);
          expect(result?.rows.map(({ cells }) => cells)).toEqual(rows);
          expect(result?.rows).toEqual(readReference(whole, separator)?.slice(1));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('agrees with the reference about any text at all: the same rows and lines, or refused', async (context) => {
    const pieces = fc.constantFrom(
      'a',
      'bc',
      ',',
      ',',
      '"',
      '"',
      '\n',
      '\r',
      '\r\n',
      ' ',
      '\t',
      '\\',
      'é',
      '\ufeff',
    );
    let refused = 0;
    let read = 0;
    await measureProperty(
      context,
      { invariant: 21, tried: 'texts of any kind', wrong: 'silently misread' },
      fc.asyncProperty(
        fc.array(pieces, { maxLength: 24 }),
        pieceLengths,
        blockBytes,
        async (parts, lengths, block) => {
          const source = parts.join('');
          const expected = readReference(source, ',');
          const bytes = Buffer.from(source);
          const result = await readOrRefused(bytes, lengths, { delimiter: ',', blockBytes: block });
          if (expected === undefined || expected.length === 0) {
            refused += 1;
            expect(result).toBeUndefined();
          } else {
            read += 1;
            expect(result?.table.header).toEqual(expected[0]?.cells);
            expect(result?.rows).toEqual(expected.slice(1));
          }
        },
      ),
      { numRuns: 3000 },
    );
    expect(Math.min(refused, read)).toBeGreaterThan(100);
  });

  it('reads a file with any byte changed as the changed text, or refuses it', async (context) => {
    await measureProperty(
      context,
      { invariant: 21, tried: 'files with a byte changed', wrong: 'silently misread' },
      fc.asyncProperty(
        generated,
        delimiter,
        fc.nat(),
        fc.integer({ min: 0, max: 255 }),
        pieceLengths,
        async ({ header, rows }, separator, position, byte, lengths) => {
          const bytes = Buffer.from([header, ...rows].map((cells) => formatRow(cells, separator)).join('\n'));
          bytes[position % bytes.length] = byte;
          const result = await readOrRefused(bytes, lengths, { delimiter: separator, blockBytes: 64 });
          if (result === undefined || result.table.dialect.encoding !== 'utf-8') return;
          const damaged = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
          const expected = readReference(damaged, separator);
          expect([result.table.header, ...result.rows.map(({ cells }) => cells)]).toEqual(
            expected?.map(({ cells }) => cells),
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('decoding (invariant 21)', () => {
  it('gives in every encoding what the whole file decodes to, or refuses it, however the bytes arrive', async (context) => {
    let refused = 0;
    let read = 0;
    await measureProperty(
      context,
      { invariant: 21, tried: 'bytes in every encoding', wrong: 'silently misread' },
      fc.asyncProperty(
        fc.constantFrom(...LEGACY_ENCODINGS, 'utf-8', 'utf-16le', 'utf-16be', 'iso-2022-jp'),
        fc.array(
          fc.oneof(fc.integer({ min: 0x20, max: 0xff }), fc.constantFrom(0x2c, 0x0a, 0x0d, 0xa4, 0x83)),
          {
            maxLength: 24,
          },
        ),
        pieceLengths,
        blockBytes,
        async (encoding, numbers, lengths, block) => {
          const header = Buffer.from('a,b\r\n', encoding.startsWith('utf-16') ? 'utf16le' : 'latin1');
          const body = Buffer.from(numbers);
          const bytes = Buffer.concat([encoding === 'utf-16be' ? header.swap16() : header, body]);
          let text: string | undefined;
          try {
            text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
          } catch {
            text = undefined;
          }
          const expected = text === undefined ? undefined : readReference(text, ',');
          const result = await readOrRefused(bytes, lengths, { encoding, delimiter: ',', blockBytes: block });
          if (expected === undefined) refused += 1;
          else read += 1;
          expect(result?.rows).toEqual(expected?.slice(1));
        },
      ),
      { numRuns: 1500 },
    );
    expect(Math.min(refused, read)).toBeGreaterThan(100);
  });
});

describe('formatRow (invariant 20)', () => {
  it('is read back equal, whatever the cells', async (context) => {
    await measureProperty(
      context,
      { invariant: 20, tried: 'tables of naughty cells', wrong: 'read back otherwise' },
      fc.asyncProperty(
        fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }).filter(withContent), {
          minLength: 1,
          maxLength: 5,
        }),
        delimiter,
        newline,
        async (rows, separator, end) => {
          const written = rows.map((cells) => formatRow(cells, separator) + end).join('');
          const result = await readOrRefused(Buffer.from(written), [7], { delimiter: separator });
          expect([result?.table.header, ...(result?.rows ?? []).map(({ cells }) => cells)]).toEqual(rows);
        },
      ),
      { numRuns: 500 },
    );
  });
});

function encode(content: string, charset: string): Uint8Array {
  if (charset === 'utf-8') return Buffer.from(content);
  if (charset === 'utf-8 bom') return Buffer.from(`\ufeff${content}`);
  const bytes = Buffer.from(`\ufeff${content}`, 'utf16le');
  return charset === 'utf-16be' ? bytes.swap16() : bytes;
}
