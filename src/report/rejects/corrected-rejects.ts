import type { Dialect } from '../../model/dialect.ts';
import type { ComparedRejects } from './compare-rejects.ts';
import { type CorrectedReading, findReading } from './corrected-reading.ts';
import { type CorrectedRejectsOptions, joinRejects, openUntouched } from './join-rejects.ts';
import { withoutBlankSurplus } from './rejects-columns.ts';
import type { RejectedKey } from './rejects-index.ts';

/** A corrected rejects file, read as what it is: another source. */
export interface CorrectedRejects extends Pick<ComparedRejects, 'edits' | 'refused' | 'keyless'> {
  readonly dialect: Dialect;
  /** What was rejected; undefined where an earlier version wrote the rejects. */
  readonly keys: readonly RejectedKey[] | undefined;
  /**
   * The rows under the headers they once had, without our columns: CSV text to take the snapshot of the retry from.
   * Every row starts on the line that it has in the corrected file; rows that were short or long and have not been
   * edited are so again.
   */
  readonly files: readonly { readonly name: string; content(): AsyncIterable<string> }[];
  /** How `files` are to be read. */
  readonly readAs: { readonly encoding: 'utf-8'; readonly delimiter: string };
}

/**
 * Reads a rejects file as a spreadsheet has saved it: other delimiter, charset or order of columns, our columns gone,
 * rows deleted or added. CsvError when it is broken, SourceError when it is no rejects file of this run.
 */
export async function readCorrectedRejects(options: CorrectedRejectsOptions): Promise<CorrectedRejects> {
  const found = await findReading(options);
  const { layout, dialect } = found;
  const { edits, refused, keyless } = found.compared;
  const delimiter = options.index.delimiter;
  return {
    dialect,
    ...{ edits, refused, keyless },
    keys: options.index.keys,
    files: layout.headers.map((header, index) => ({
      name: layout.headers.length === 1 ? options.name : `${options.name} (${index + 1})`,
      content: () => restored(options, found, header, index, delimiter),
    })),
    readAs: { encoding: 'utf-8', delimiter },
  };
}

/** The text of one file: the rows of one header, each on its line, which blank lines before it see to. */
async function* restored(
  options: CorrectedRejectsOptions,
  reading: CorrectedReading,
  header: readonly string[],
  headerIndex: number,
  delimiter: string,
): AsyncGenerator<string> {
  const { formatRow } = options.csv;
  const untouched = await openUntouched(options, reading);
  let nextLine = 1;
  const put = (cells: readonly string[], line: number): string => {
    const text = `${'\n'.repeat(Math.max(0, line - nextLine))}${formatRow(cells, delimiter)}\n`;
    nextLine += lineCount(text);
    return text;
  };
  yield `\ufeff${put(header, 1)}`;
  for await (const rows of joinRejects(options, reading, untouched)) {
    let text = '';
    for (const row of rows) {
      if (row.header !== headerIndex) continue;
      text += put(withoutBlankSurplus(row.cells, header.length), row.line);
    }
    if (text !== '') yield text;
  }
}

function lineCount(text: string): number {
  return text.match(/\r\n|\n|\r/g)?.length ?? 0;
}
