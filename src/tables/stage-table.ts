import type { StagedTable } from '../model/row.ts';
import { type TableFile, type TableReader, tableLimitError } from './table-file.ts';

/** A table that is written to a snapshot. */
export interface TableStaging {
  /** Each row as a line of JSON: its number, then its cells. */
  readonly content: AsyncIterable<string>;
  /** The facts that the snapshot stores, after the content has been read. */
  readonly describe: () => StagedTable;
}

/** Reads the selected table of a file in a format other than CSV. SourceError if it cannot be read reliably. */
export async function stageTable(file: TableFile): Promise<TableStaging> {
  const reader = await openReader(file);
  let width = 0;
  let rows = 0;
  async function* content(): AsyncGenerator<string> {
    for await (const batch of reader.batches) {
      let text = '';
      for (const { line, cells } of batch) {
        rows += 1;
        if (rows > file.limits.rows)
          throw tableLimitError({ ...file, title: reader.title() }, 'rows', { line });
        width = Math.max(width, cells.length);
        text += `${JSON.stringify([line, ...cells])}\n`;
      }
      if (text !== '') yield text;
    }
  }
  return {
    content: content(),
    describe: () => ({ format: file.format, title: reader.title(), header: reader.header(), width }),
  };
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
