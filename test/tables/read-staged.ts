import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { Row, TableOptions } from '../../src/model/row.ts';
import { type SourcePlace, type StageOptions, stageSource } from '../../src/source/snapshot.ts';
import { openTable } from '../../src/tables/open-table.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';

/** What a file gives when it is staged and opened as a table that is no CSV. */
export async function readStaged(
  name: string,
  content: string | Uint8Array,
  source: Omit<SourcePlace, 'path' | 'remote'> & TableOptions = {},
  limits: StageOptions['limits'] = {},
) {
  await using workspace = await workspaceWith({ [name]: content });
  const { files, sha256 } = await stageSource({ path: name, ...source }, { ...workspace, limits });
  const [file] = files;
  if (file?.table === undefined) throw new Error(`${name} was not read as a table`);
  const bytes = createReadStream(join(workspace.folder.location, file.stored));
  using table = await openTable(bytes, file.table, { ...source, name, file: 0 });
  const rows: Omit<Row, 'file'>[] = [];
  for await (const batch of table.batches()) {
    for (const { file: _, ...row } of batch) rows.push(row);
  }
  const { header, places, doubt, counts } = table;
  if (places === undefined) throw new Error(`${name} names its rows by lines`);
  return { header, rows, places, doubt, counts, sha256, cells: rows.map(({ cells }) => cells) };
}
