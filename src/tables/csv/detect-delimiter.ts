import { DELIMITER_CHARACTERS, DELIMITERS } from '../../model/row.ts';
import { CsvError, DelimiterError } from '../../model/storeferry-error.ts';
import type { ByteWindow } from './byte-window.ts';
import { CR, LF, QUOTE, SPACE } from './scan-rows.ts';

const OPENING = 0x28;
const CLOSING = 0x29;

const BYTES: readonly number[] = DELIMITER_CHARACTERS.map((delimiter) => delimiter.charCodeAt(0));
const SAMPLE_ROWS = 1000;

/**
 * The delimiter of a file, by its header and first rows; a comma if there is only one column. The window begins with the
 * header, which has at most `longestRow` bytes. DelimiterError when several fit about equally well.
 */
export async function detectDelimiter(window: ByteWindow, name: string, longestRow: number): Promise<string> {
  let detected = judgeRows(window.bytes, window.final);
  // A header longer than a block is read completely before it is judged.
  while (detected.kind === 'incomplete' && window.bytes.length <= longestRow) {
    await window.grow(window.bytes.length * 2);
    detected = judgeRows(window.bytes, window.final);
  }
  switch (detected.kind) {
    case 'found':
      return detected.delimiter;
    case 'none':
    case 'incomplete':
      return DELIMITERS.comma;
    case 'unclear':
      throw new DelimiterError(
        `The delimiter is unclear: ${detected.candidates.map((candidate) => JSON.stringify(candidate)).join(' and ')} fit the header and the first rows about equally well.`,
        detected.candidates,
        { place: { file: name, line: 1 }, hint: 'Set `delimiter` in the source of the job.' },
      );
    default:
      return detected satisfies never;
  }
}

/** The delimiter in a first line such as `sep=;`, which Excel writes. */
export function declaredDelimiter(
  bytes: Uint8Array,
): { readonly delimiter: string; readonly length: number } | undefined {
  const beginning = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const [line, delimiter] = /^sep=([,;\t|])(?:\r\n|\n|\r)/i.exec(beginning) ?? [];
  return line === undefined || delimiter === undefined ? undefined : { delimiter, length: line.length };
}

/** The delimiter that a job names; CsvError where it cannot separate cells. */
export function checkedDelimiter(name: string, delimiter: string | undefined): string | undefined {
  if (delimiter === undefined || /^[^\w"\r\n\0\u0080-\uffff]$/.test(delimiter)) return delimiter;
  throw new CsvError(
    `The delimiter ${JSON.stringify(delimiter)} cannot separate cells: expected one character such as comma, semicolon, tab or pipe.`,
    {
      place: { file: name },
      hint: 'Correct `delimiter` in the source of the job.',
    },
  );
}

/** The result for the beginning of a file. */
type DetectedDelimiter =
  | { readonly kind: 'found'; readonly delimiter: string }
  /** No row has a delimiter: one column. */
  | { readonly kind: 'none' }
  /** The bytes end before the header does. */
  | { readonly kind: 'incomplete' }
  /** Several fit; the likeliest first. */
  | { readonly kind: 'unclear'; readonly candidates: readonly string[] };

/**
 * Judges by the first complete rows. The score of a delimiter: occurrences in the header × share of rows with the same number.
 * Occurrences within brackets or before a blank, as in a sentence, do not count unless all are such. Unclear if the second has half
 * the best score, unless the best alone fits every row: nothing is guessed.
 */
function judgeRows(bytes: Uint8Array, final: boolean): DetectedDelimiter {
  const rows = countDelimiters(bytes, final).filter(({ blank }) => !blank);
  const [header, ...body] = rows;
  if (header === undefined) return { kind: final ? 'none' : 'incomplete' };

  // Below a one-column header the first row decides: then all rows are refused as too long.
  const named = header.counts.some((count) => count > 0) ? header : body[0];
  const all = DELIMITER_CHARACTERS.map((delimiter, index) => {
    const expected = named?.counts[index] ?? 0;
    const agreeing = body.filter(({ counts }) => counts[index] === expected).length;
    const share = body.length === 0 ? 1 : agreeing / body.length;
    return { delimiter, expected, bare: named?.bare[index] ?? 0, share };
  }).filter(({ expected }) => expected > 0);
  // If every candidate occurs as in a sentence only, they all count.
  const separating = all.some(({ bare }) => bare > 0)
    ? all.map((one) => ({ ...one, weight: one.bare })).filter(({ weight }) => weight > 0)
    : all.map((one) => ({ ...one, weight: one.expected }));
  const scores = separating
    .map((one) => ({ ...one, score: one.weight * one.share }))
    .sort((a, b) => b.score - a.score || b.weight - a.weight);

  const [best, second] = scores;
  if (best === undefined) return { kind: 'none' };
  const alone = body.length > 1 && best.share === 1 && scores.every((one) => one === best || one.share < 1);
  if (second !== undefined && second.score * 2 >= best.score && !alone) {
    return { kind: 'unclear', candidates: scores.map(({ delimiter }) => delimiter) };
  }
  return { kind: 'found', delimiter: best.delimiter };
}

interface RowCounts {
  readonly counts: readonly number[];
  /** Those outside brackets and not before a blank. */
  readonly bare: readonly number[];
  /** Whether the row has only delimiters and blanks. */
  readonly blank: boolean;
}

/** Counts the candidates outside quotes, row by row. A quote opens a cell only after a candidate or at the start of a row. */
function countDelimiters(bytes: Uint8Array, final: boolean) {
  const rows: RowCounts[] = [];
  let counts = BYTES.map(() => 0);
  let bare = BYTES.map(() => 0);
  let brackets = 0;
  let blank = true;
  let cellStart = true;
  let at = 0;
  for (; at < bytes.length && rows.length < SAMPLE_ROWS; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE && cellStart) {
      blank = false;
      at += 1;
      while (at < bytes.length && (bytes[at] !== QUOTE || bytes[at + 1] === QUOTE)) {
        at += bytes[at] === QUOTE ? 2 : 1;
      }
      cellStart = false;
      continue;
    }
    if (byte === LF || byte === CR) {
      if (byte === LF && bytes[at - 1] === CR) continue;
      rows.push({ counts, bare, blank });
      counts = BYTES.map(() => 0);
      bare = BYTES.map(() => 0);
      brackets = 0;
      blank = true;
      cellStart = true;
      continue;
    }
    const candidate = BYTES.indexOf(byte);
    cellStart = candidate >= 0;
    if (candidate >= 0) {
      counts[candidate] = (counts[candidate] ?? 0) + 1;
      const isBare = brackets === 0 && bytes[at + 1] !== SPACE;
      if (isBare) bare[candidate] = (bare[candidate] ?? 0) + 1;
    } else if (byte > SPACE) {
      blank = false;
      if (byte === OPENING) brackets += 1;
      else if (byte === CLOSING) brackets = Math.max(0, brackets - 1);
    }
  }
  if (final && at >= bytes.length && rows.length < SAMPLE_ROWS) rows.push({ counts, bare, blank });
  return rows;
}
