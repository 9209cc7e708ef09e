import type { Row } from './row.ts';

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

/** A header and the rows under it. Rows may be shorter or longer than the header; the mapping decides about them. */
export interface Table {
  readonly header: readonly string[];
  /** The rows in source order, about a thousand at a time. May be read once. */
  batches(): AsyncIterable<readonly Row[]>;
}
