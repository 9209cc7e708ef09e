import type { StagedTable } from '../model/row.ts';
import { type TableFile, tableLimitError } from './table-file.ts';
import { TABLE_FORMATS } from './table-formats.ts';

/** What a file is, without its content; `parts` are the names of those of a workbook. */
export interface ConvertedFile extends Pick<TableFile, 'name' | 'format' | 'choice' | 'limits'> {
  readonly parts: readonly string[];
}

/** Rows, each as a line of JSON: its number, or a pair of that and its currencies, then its cells. */
export interface ConvertedRows {
  readonly text: string;
  /** The table so far, where these rows have changed it. */
  readonly table: StagedTable | undefined;
}

/** Reads the selected table of a file in a format other than CSV. SourceError if it cannot be read reliably. */
export async function* convertTable(file: TableFile): AsyncGenerator<ConvertedRows, StagedTable> {
  const reader = await TABLE_FORMATS[file.format].open(file);
  let width = 0;
  let rows = 0;
  let columns = 0;
  const table = (): StagedTable => {
    const beside = reader.beside?.() ?? [];
    return {
      format: file.format,
      title: reader.title(),
      header: reader.header(),
      width,
      ...(reader.merged === undefined || reader.merged.length === 0 ? {} : { merged: reader.merged }),
      ...(Object.values(reader.marks ?? {}).every(({ length }) => length === 0)
        ? {}
        : { marks: reader.marks }),
      ...(beside.length === 0 ? {} : { beside }),
    };
  };
  for await (const batch of reader.batches) {
    const before = width;
    let text = '';
    for (const { line, cells, currencies } of batch) {
      rows += 1;
      if (rows > file.limits.rows)
        throw tableLimitError({ ...file, title: reader.title() }, 'rows', { line });
      width = Math.max(width, cells.length);
      const place = currencies === undefined ? line : JSON.stringify([line, currencies]);
      text += cells.length === 0 ? `[${place}]\n` : `[${place},${JSON.stringify(cells).slice(1)}\n`;
    }
    if (text === '') continue;
    const { length = 0 } = reader.header() ?? [];
    yield { text, table: width > before || length !== columns ? table() : undefined };
    columns = length;
  }
  return table();
}
