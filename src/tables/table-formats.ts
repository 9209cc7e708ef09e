import { TABLE_FORMAT_NAMES, type TableFormat } from '../model/row.ts';
import type { TableChoice, TableFile, TableReader } from './table-file.ts';

/** A format of tables other than CSV. */
interface TableFormatDefinition {
  /** Whether a text that begins so, after blanks, has this format. */
  readonly isText?: (beginning: string) => boolean;
  /** Whether a zip with these entries has it. */
  readonly isZip?: (names: readonly string[]) => boolean;
  /** The key of a source that selects the table in a file; absent: a file has one table. */
  readonly choice?: keyof TableChoice;
  /** SourceError if the file does not conform to the format. The reader, and its library, are loaded with its first file. */
  readonly open: (file: TableFile) => Promise<TableReader>;
}

/** The declaration is optional: else a comment, or an element that begins with another one or has a namespace. */
const XML =
  /^<(\?xml\b|rss\b|feed\b|!doctype\b|!--|[\w:]+\s+xmlns\b|[\p{L}_][\p{L}\d_:.-]*(\s[^<>]*)?>\s*<)/iu;
const JSON_TEXT = /^(\{\s*("|\}\s*$)|\[\s*(\{|\[|\]\s*$))/;

/** To add a format: its reader, a definition here, and in `src/model/row.ts` its name and how it names rows. */
export const TABLE_FORMATS: Readonly<Record<TableFormat, TableFormatDefinition>> = {
  xlsx: {
    isZip: (names) =>
      ['[Content_Types].xml', 'xl/'].every((start) => names.some((name) => name.startsWith(start))),
    choice: 'sheet',
    open: async (file) => await (await import('./read-xlsx.ts')).readXlsx(file),
  },
  ods: {
    isZip: (names) => names.includes('mimetype') && names.includes('content.xml'),
    choice: 'sheet',
    open: async (file) => await (await import('./read-ods.ts')).readOds(file),
  },
  xml: {
    isText: (beginning) => XML.test(beginning),
    choice: 'records',
    open: async (file) => await (await import('./read-xml-records.ts')).readXmlRecords(file),
  },
  jsonl: {
    isText: isJsonLines,
    choice: 'records',
    open: async (file) => await (await import('./read-json.ts')).readJson(file),
  },
  json: {
    isText: (beginning) => JSON_TEXT.test(beginning) && !isJsonLines(beginning),
    choice: 'records',
    open: async (file) => await (await import('./read-json.ts')).readJson(file),
  },
};

/** Whether the first line is a complete object. */
function isJsonLines(text: string) {
  const end = text.indexOf('\n');
  if (end < 0 || !JSON_TEXT.test(text) || !text.startsWith('{')) return false;
  try {
    return typeof JSON.parse(text.slice(0, end)) === 'object' && text.slice(end).trim() !== '';
  } catch {
    return false;
  }
}

/** The format of a text by its beginning after blanks; undefined if it is none of these. */
export function formatOfText(beginning: string): TableFormat | undefined {
  return TABLE_FORMAT_NAMES.find((format) => TABLE_FORMATS[format].isText?.(beginning));
}

/** The format of a zip by the names of its entries, likewise. */
export function formatOfZip(names: readonly string[]): TableFormat | undefined {
  return TABLE_FORMAT_NAMES.find((format) => TABLE_FORMATS[format].isZip?.(names));
}
