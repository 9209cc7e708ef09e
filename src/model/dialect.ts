import { z } from 'zod';

/** How a CSV file is written. */
export interface Dialect {
  /** One character. */
  readonly delimiter: string;
  /** Canonical label, such as `utf-8` or `windows-1252`. */
  readonly encoding: string;
  /** What ends the rows of the file's beginning; `mixed` when it uses several. */
  readonly newline: '\n' | '\r\n' | '\r' | 'mixed';
  /** Whether the file begins with a byte order mark. */
  readonly bom: boolean;
}

/** The delimiters that are detected, by name, most likely first. A job must name any other. */
export const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' } as const;

/** Their characters. */
export const DELIMITER_CHARACTERS: readonly string[] = Object.values(DELIMITERS);

/** The name of a delimiter; undefined for one without a name. */
export function delimiterName(character: string): string | undefined {
  return Object.entries(DELIMITERS).find(([, known]) => known === character)?.[0];
}

const ENCODING_EXPECTED = 'expected an encoding such as utf-8, utf-16le, windows-1252 or shift_jis';

/** A charset under any label it goes by; gives its WHATWG name. */
export const encodingSchema = z.string(ENCODING_EXPECTED).transform((label, context) => {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    context.addIssue({ code: 'custom', message: ENCODING_EXPECTED });
    return z.NEVER;
  }
});

/** A delimiter by name or as the character; gives the character. */
export const delimiterSchema = z
  .enum(
    [',', ';', '|', '\t', 'comma', 'semicolon', 'tab', 'pipe'],
    'expected comma, semicolon, tab or pipe, by name or as the character',
  )
  .transform((written) =>
    written === 'comma' || written === 'semicolon' || written === 'tab' || written === 'pipe'
      ? DELIMITERS[written]
      : written,
  );

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
