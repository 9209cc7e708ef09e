import Papa from 'papaparse';

/** What Papa Parse needs to know to read whole rows as `scanRows` found them. */
export interface ParseBlockOptions {
  readonly delimiter: string;
  /** The one kind of line end that stands outside quotes in this text. */
  readonly newline: '\n' | '\r\n' | '\r';
  readonly quotes: 'standard' | 'none';
}

/**
 * Cells of whole rows, by Papa Parse in array mode. The text ends with a line end. Gives undefined when Papa Parse
 * reports an error or another number of rows than expected: then two readers disagree, and neither may be believed.
 */
export function parseBlock(text: string, rows: number, options: ParseBlockOptions): string[][] | undefined {
  // Papa Parse drops a leading byte order mark from every string it is given; within a file it is content.
  const input = text.charCodeAt(0) === 0xfeff ? `\ufeff${text}` : text;
  const { data, errors } = Papa.parse<string[]>(input, {
    delimiter: options.delimiter,
    newline: options.newline,
    // Left alone it is decided by whether the text has a quote, which is safe; forced, it ignores quotes altogether.
    ...(options.quotes === 'none' ? { fastMode: true } : {}),
  });
  // The text ends with a line end, behind which Papa Parse sees one more, empty row.
  const last = data.pop();
  return errors.length === 0 && last?.length === 1 && last[0] === '' && data.length === rows
    ? data
    : undefined;
}
