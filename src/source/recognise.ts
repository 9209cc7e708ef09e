import type { TableFormat } from '../model/row.ts';
import { formatOfText, formatOfZip } from '../tables/open-table.ts';

/** The kind of a file by its first bytes, because names may be wrong. */
export type Recognised =
  /** A table in a format other than CSV. */
  | { readonly kind: 'table'; readonly format: TableFormat }
  | { readonly kind: 'gzip' }
  | { readonly kind: 'zip' }
  | { readonly kind: 'text' }
  /** Another kind of file: its name, and how to get CSV. */
  | { readonly kind: 'mistaken'; readonly what: string; readonly hint: string };

/** The bytes that `recognise` needs: the first line of JSON Lines may be long. */
export const RECOGNISED_BYTES = 64 * 1024;
/** The signature of a tar is at byte 257. */
const SIGNATURE_BYTES = 1024;

/** What to do with a document that is not a CSV file. */
export const SAVE_AS_CSV =
  'Open it in a spreadsheet and save it as "CSV UTF-8", or choose CSV where it is exported.';
const SAVE_AS_XLSX = 'Open it in a spreadsheet and save it as .xlsx, without a password.';
const UNPACK_FIRST = 'Unpack it first, or pack it as gzip or zip.';
const EXPORT_CSV = 'Choose CSV where it is exported.';
const LOOK_INTO_IT =
  'Open it in a text editor: often it is the login or error page of the service that should have sent the file.';

interface Signature {
  readonly bytes: string;
  readonly at?: number;
  readonly what: string;
  readonly hint: string;
}

/** The first bytes of kinds of files, in hexadecimal. */
const SIGNATURES: readonly Signature[] = [
  { bytes: '255044462d', what: 'a PDF document', hint: EXPORT_CSV },
  {
    bytes: 'd0cf11e0a1b11ae1',
    what: 'an old Excel workbook (.xls) or one with a password',
    hint: SAVE_AS_XLSX,
  },
  { bytes: '7b5c727466', what: 'a rich text document (.rtf)', hint: EXPORT_CSV },
  { bytes: '50415231', what: 'a Parquet file', hint: EXPORT_CSV },
  { bytes: '53514c69746520666f726d6174203300', what: 'an SQLite database', hint: EXPORT_CSV },
  { bytes: '89504e470d0a1a0a', what: 'a PNG image', hint: EXPORT_CSV },
  { bytes: 'ffd8ff', what: 'a JPEG image', hint: EXPORT_CSV },
  { bytes: '47494638', what: 'a GIF image', hint: EXPORT_CSV },
  { bytes: '377abcaf271c', what: 'a 7z archive', hint: UNPACK_FIRST },
  { bytes: '526172211a07', what: 'a RAR archive', hint: UNPACK_FIRST },
  { bytes: '425a68', what: 'a bzip2 file', hint: UNPACK_FIRST },
  { bytes: 'fd377a585a00', what: 'an xz file', hint: UNPACK_FIRST },
  { bytes: '28b52ffd', what: 'a zstd file', hint: UNPACK_FIRST },
  { bytes: '7573746172', at: 257, what: 'a tar archive', hint: UNPACK_FIRST },
];

/** Texts other than CSV, by their beginning after blanks and a byte order mark. */
const TEXTS: readonly { readonly pattern: RegExp; readonly what: string; readonly hint: string }[] = [
  { pattern: /^<(!doctype\s+html|html|head|body|table|script)\b/i, what: 'an HTML page', hint: LOOK_INTO_IT },
  {
    pattern: /^version https:\/\/git-lfs\./,
    what: 'a Git LFS pointer instead of the file',
    hint: 'Fetch it with `git lfs pull`.',
  },
];

/** The kind of a file by its first `RECOGNISED_BYTES`: text unless a signature is known. */
export function recognise(beginning: Uint8Array): Recognised {
  const hex = Buffer.from(beginning.subarray(0, SIGNATURE_BYTES)).toString('hex');
  if (hex.startsWith('1f8b')) return { kind: 'gzip' };
  if (/^504b(0304|0506|0708)/.test(hex)) return { kind: 'zip' };
  const signature = SIGNATURES.find(({ bytes, at = 0 }) => hex.startsWith(bytes, at * 2));
  if (signature !== undefined) return { kind: 'mistaken', what: signature.what, hint: signature.hint };
  const text = textOf(beginning).trimStart();
  const mistaken = TEXTS.find(({ pattern }) => pattern.test(text));
  if (mistaken !== undefined) return { kind: 'mistaken', what: mistaken.what, hint: mistaken.hint };
  const format = formatOfText(text);
  return format === undefined ? { kind: 'text' } : { kind: 'table', format };
}

function textOf(bytes: Uint8Array): string {
  const mark = Buffer.from(bytes.subarray(0, 2)).toString('hex');
  const label = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8';
  return new TextDecoder(label).decode(bytes.subarray(0, RECOGNISED_BYTES), { stream: true });
}

/** What a zip with these entries is, if it is a document and not an archive of files: a workbook, or something else. */
export function recogniseDocument(
  names: readonly string[],
): { readonly workbook: TableFormat } | { readonly what: string } | undefined {
  const workbook = formatOfZip(names);
  if (workbook !== undefined) return { workbook };
  const has = (start: string) => names.some((name) => name.startsWith(start));
  if (has('[Content_Types].xml')) {
    return { what: has('word/') ? 'a Word document (.docx)' : 'an Office document' };
  }
  if (names.includes('encrypted-package')) return { what: 'a document with a password' };
  if (names.some((name) => name.endsWith('.iwa'))) return { what: 'an Apple Numbers document' };
  return undefined;
}
