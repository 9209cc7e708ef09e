import type { TableFormat } from '../model/row.ts';
import { formatOfText, formatOfZip } from '../tables/open-table.ts';
import signatures from './signatures.json' with { type: 'json' };

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
const LOOK_INTO_IT =
  'Open it in a text editor: often it is the login or error page of the service that should have sent the file.';

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
  const text = textOf(beginning).trimStart();
  const mistaken =
    signatures.find(({ bytes, at }) => hex.startsWith(bytes, at * 2)) ??
    TEXTS.find(({ pattern }) => pattern.test(text));
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
