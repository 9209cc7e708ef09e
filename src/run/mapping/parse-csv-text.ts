import { Readable } from 'node:stream';
import { readCsv } from '../../csv/read-csv.ts';
import type { ParseCsv } from '../../mapping/run-mapping-tests.ts';
import type { Row } from '../../model/row.ts';

/** Reads the CSV that a mapping's test holds, as an import reads a file. */
export const parseCsvText: ParseCsv = async (text, delimiter) => {
  const table = await readCsv(Readable.from([Buffer.from(text)]), { name: 'rows', delimiter });
  const rows: Row[] = [];
  for await (const batch of table.batches()) rows.push(...batch);
  return { header: table.header, rows };
};
