import type { StagedTable } from '../model/row.ts';
import { type TableFile, type TableReader, tableLimitError } from './table-file.ts';

/** What a file is, without its content; `parts` are the names of those of a workbook. */
export interface ConvertedFile extends Pick<TableFile, 'name' | 'format' | 'choice' | 'limits'> {
  readonly parts: readonly string[];
}

/** Rows, each as a line of JSON: its number, then its cells. */
export interface ConvertedRows {
  readonly text: string;
  /** The table so far, where these rows have changed it. */
  readonly table: StagedTable | undefined;
}

/** Reads the selected table of a file in a format other than CSV. SourceError if it cannot be read reliably. */
export async function* convertTable(file: TableFile): AsyncGenerator<ConvertedRows, StagedTable> {
  const reader = await openReader(file);
  let width = 0;
  let rows = 0;
  let columns = 0;
  const table = () => ({ format: file.format, title: reader.title(), header: reader.header(), width });
  for await (const batch of reader.batches) {
    const before = width;
    let text = '';
    for (const { line, cells } of batch) {
      rows += 1;
      if (rows > file.limits.rows)
        throw tableLimitError({ ...file, title: reader.title() }, 'rows', { line });
      width = Math.max(width, cells.length);
      text += `${JSON.stringify([line, ...cells])}\n`;
    }
    if (text === '') continue;
    const { length = 0 } = reader.header() ?? [];
    yield { text, table: width > before || length !== columns ? table() : undefined };
    columns = length;
  }
  return table();
}

/** Each format is loaded when its first file is read. */
async function openReader(file: TableFile): Promise<TableReader> {
  switch (file.format) {
    case 'xlsx':
      return await (await import('./read-xlsx.ts')).readXlsx(file);
    case 'ods':
      return await (await import('./read-ods.ts')).readOds(file);
    case 'xml':
      return await (await import('./read-xml-records.ts')).readXmlRecords(file);
    case 'json':
    case 'jsonl':
      return await (await import('./read-json.ts')).readJson(file);
    default:
      return file.format satisfies never;
  }
}
