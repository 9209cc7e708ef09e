import { CsvError } from '../model/errors.ts';

/**
 * Encodings that files from shops and spreadsheets come in, the commoner ones first; all are known to Node. They are
 * what an undecodable file is compared with, and what is tried when a spreadsheet has saved a corrected file.
 */
export const LEGACY_ENCODINGS = [
  'windows-1252',
  'macintosh',
  'windows-1250',
  'iso-8859-2',
  'windows-1251',
  'koi8-r',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'shift_jis',
  'gb18030',
  'big5',
  'euc-kr',
  'euc-jp',
] as const;

/** The canonical name of an encoding; CsvError when Node cannot decode it, with what to do instead. */
export function canonicalEncoding(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch (cause) {
    throw new CsvError(
      `The encoding \`${label}\` is not supported. Supported are utf-8, utf-16le, utf-16be, ${LEGACY_ENCODINGS.join(', ')} and the other names of the WHATWG Encoding Standard.`,
      {
        cause,
        hint: `Convert the file first, for example with \`iconv -f ${label} -t utf-8\`, and leave \`encoding\` out.`,
      },
    );
  }
}

/** What a byte order mark says, and how long it is. */
export interface ByteOrderMark {
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be';
  readonly length: number;
}

/** The byte order mark that the bytes begin with. */
export function byteOrderMark(bytes: Uint8Array): ByteOrderMark | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return { encoding: 'utf-8', length: 3 };
  if (first === 0xff && second === 0xfe) return { encoding: 'utf-16le', length: 2 };
  if (first === 0xfe && second === 0xff) return { encoding: 'utf-16be', length: 2 };
  return undefined;
}
