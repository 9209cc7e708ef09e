import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Reason } from '../../src/model/reason.ts';
import type { CellCurrencies, RowSpan } from '../../src/model/row.ts';
import { readCorrectedRejects } from '../../src/rejects/corrected-rejects.ts';
import { readRejectsIndex, writeRejects } from '../../src/rejects/rejects-file.ts';
import { readCsv } from '../../src/tables/csv/read-csv.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';

/** A rejection of lines `from` to `to` of a file. */
export function rejection(from: number, to = from, message = 'is wrong', file = 0) {
  const reason: Reason = { code: 'wrong', message };
  const spans: RowSpan[] = [{ file, from, to }];
  return { spans, reason };
}

/** Writes the rejects of sources given as text, with formats for the cells of each row; disposes of the folder they are written to. */
export async function rejectsOf(
  sources: Readonly<Record<string, string | Uint8Array>>,
  rejections: readonly { spans: readonly RowSpan[]; reason: Reason }[],
  currencies?: CellCurrencies,
) {
  const workspace = await workspaceWith({});
  const { folder } = workspace;
  const { rows } = await writeRejects({
    folder,
    sources: Object.entries(sources).map(([name, content], file) => ({
      name,
      open: async () => {
        const table = await readCsv(Readable.from([Buffer.from(content)], { objectMode: false }), {
          name,
          file,
        });
        return {
          ...table,
          async *batches() {
            for await (const batch of table.batches()) yield batch.map((row) => ({ ...row, currencies }));
          },
        };
      },
    })),
    rejections: Readable.from([rejections]),
  });
  const bytes = async (name: string) =>
    (await folder.exists(name)) ? await buffer(await folder.read(name)) : undefined;
  const written = await bytes('rejects.csv');
  return {
    rows,
    folder,
    text: written?.toString('utf8') ?? '',
    untouched: (await bytes('rejects-untouched.csv'))?.toString('utf8') ?? '',
    read: bytes,
    /** Reads the file as corrected: text is saved as UTF-8. */
    async corrected(content: string | Uint8Array) {
      const result = await readCorrectedRejects({
        name: 'rejects.csv',
        corrected: async () => Readable.from([Buffer.from(content)], { objectMode: false }),
        untouched: () => folder.read('rejects-untouched.csv'),
        index: await readRejectsIndex(folder),
      });
      const files = await Promise.all(
        result.files.map(async ({ name, content: text }) => {
          const table = await readCsv(
            Readable.from(text()).map((part: string) => Buffer.from(part)),
            {
              name,
              ...result.readAs,
            },
          );
          const lines: { line: number; cells: readonly string[] }[] = [];
          for await (const batch of table.batches()) {
            lines.push(...batch.map(({ line, cells }) => ({ line, cells })));
          }
          return { name, header: table.header, rows: lines, cells: lines.map(({ cells }) => cells) };
        }),
      );
      return { edits: result.edits, refused: result.refused, dialect: result.dialect, files };
    },
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
  };
}
