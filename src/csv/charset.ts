import { CsvError, EncodingError } from '../model/errors.ts';
import { byteOrderMark, canonicalEncoding } from './encodings.ts';
import { invalidUtf8At, wholeUtf8Length } from './invalid-utf8-at.ts';
import { rankEncodings } from './rank-encodings.ts';
import { lineAt } from './scan-rows.ts';
import { columnOf } from './structure-error.ts';

/** With this many valid multi-byte characters the file cannot be UTF-8 by chance. */
const CERTAINLY_UTF8 = 8;

const CANDIDATES_SHOWN = 3;

/** The encoding of a file, and whether a byte order mark said it. */
export interface Charset {
  readonly encoding: string;
  readonly bom: boolean;
}

/**
 * The encoding by the design's rule: a byte order mark, else what the job names, else UTF-8, which is then checked
 * byte by byte. What the first bytes contradict is refused here: CsvError, EncodingError.
 */
export function decideCharset(file: string, sample: Uint8Array, named: string | undefined): Charset {
  const canonical = named === undefined ? undefined : canonicalEncoding(named);
  const mark = byteOrderMark(sample);
  if (mark !== undefined) return { encoding: mark.encoding, bom: true };
  if (canonical === undefined || canonical === 'utf-8') {
    refuseUtf16(file, sample);
    return { encoding: 'utf-8', bom: false };
  }
  if (!canonical.startsWith('utf-16') && utf8Characters(sample) >= CERTAINLY_UTF8) {
    throw new CsvError(`The file is in UTF-8, but the job says it is in ${canonical}.`, {
      place: { file },
      hint: 'Remove `encoding` from the source of the job.',
    });
  }
  return { encoding: canonical, bom: false };
}

/** UTF-16 without its mark is valid UTF-8, full of NUL. */
function refuseUtf16(file: string, sample: Uint8Array): void {
  let even = 0;
  let odd = 0;
  for (let at = sample.indexOf(0); at >= 0; at = sample.indexOf(0, at + 1)) {
    if (at % 2 === 0) even += 1;
    else odd += 1;
  }
  if (even + odd === 0 || (even + odd) * 4 < sample.length || (even > 0 && odd > 0)) return;
  const encoding = odd > 0 ? 'utf-16le' : 'utf-16be';
  throw new EncodingError(
    `The file looks like ${encoding} without a byte order mark.`,
    [{ encoding, word: beginning(sample, encoding) }],
    {
      place: { file, line: 1 },
      hint: `Set \`encoding: ${encoding}\` in the source of the job, or save the file as CSV UTF-8.`,
    },
  );
}

function beginning(sample: Uint8Array, encoding: string): string {
  const text = new TextDecoder(encoding).decode(sample.subarray(0, 64), { stream: true });
  return /[\p{L}\p{N}]+/u.exec(text)?.[0] ?? '';
}

/** How many characters beyond ASCII the bytes hold when they are UTF-8; 0 when they are not. */
function utf8Characters(sample: Uint8Array): number {
  const whole = sample.subarray(0, wholeUtf8Length(sample));
  if (invalidUtf8At(whole) >= 0) return 0;
  let count = 0;
  for (const byte of whole) if (byte >= 0xc2) count += 1;
  return count;
}

/** Refuses bytes that are no UTF-8, with the place and the likely encodings. They start on `line`. */
export function notUtf8(file: string, bytes: Uint8Array, line: number, offset: number): EncodingError {
  const at = invalidUtf8At(bytes);
  const candidates = rankEncodings(bytes);
  const first = candidates[0]?.encoding;
  const likely = candidates
    .slice(0, CANDIDATES_SHOWN)
    .map(({ encoding, word }) => `${encoding} (there it reads ${word})`)
    .join(', ');
  const byte = `0x${(bytes[at] ?? 0).toString(16).toUpperCase().padStart(2, '0')}`;
  return new EncodingError(
    `The file is not in UTF-8: byte ${byte} (byte ${offset + at + 1} of the file) is not part of a character. ${
      first === undefined ? 'No usual encoding fits.' : `It is likely one of: ${likely}.`
    }`,
    candidates,
    {
      place: { file, line: lineAt(bytes, 0, line, at), column: columnOf(bytes, at) },
      hint:
        first === undefined
          ? 'Save the file as CSV UTF-8.'
          : `Set \`encoding: ${first}\` in the source of the job, if that is what it is, or save the file as CSV UTF-8.`,
    },
  );
}
