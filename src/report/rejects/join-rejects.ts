import type { Readable } from 'node:stream';
import type { Dialect } from '../../model/dialect.ts';
import { withoutInertMark } from '../../model/inert-cell.ts';
import type { Table } from '../../model/row.ts';
import { type ComparedRow, compareRow, damageInAdded } from './compare-row.ts';
import type { CorrectedLayout } from './corrected-layout.ts';
import type { FormatRow } from './rejects-file.ts';
import type { RejectsIndex } from './rejects-index.ts';
import {
  type DoubtfulLines,
  isLike,
  type UntouchedRow,
  type UntouchedRows,
  untouchedByLikeness,
  untouchedByLine,
  untouchedByLineOrLikeness,
  untouchedRows,
} from './untouched-rows.ts';

/** CSV reading and writing, which stages do not import from one another. */
export interface CsvTools {
  readonly open: (
    input: Readable,
    options: { readonly name: string; readonly encoding?: string | undefined; readonly delimiter: string },
  ) => Promise<Table & Disposable & { readonly dialect: Dialect }>;
  readonly formatRow: FormatRow;
  /** Legacy encodings to try where the file is not in Unicode. */
  readonly encodings: readonly string[];
}

export interface CorrectedRejectsOptions {
  /** What messages call the corrected file. */
  readonly name: string;
  readonly corrected: () => Promise<Readable>;
  readonly untouched: () => Promise<Readable>;
  readonly index: RejectsIndex;
  readonly csv: CsvTools;
  /** Left out: told by comparing with the untouched copy. */
  readonly encoding?: string | undefined;
  /** Whether messages must not quote cells. */
  readonly personal?: boolean;
}

/** How the corrected file is read. */
export interface CorrectedForm {
  readonly encoding: string | undefined;
  readonly delimiter: string;
  readonly layout: CorrectedLayout;
  /** Left out where each line is its row's. */
  readonly doubtful?: DoubtfulLines | undefined;
}

/** A row of the corrected file, its cells as they are to be mapped, and the row it once was. */
export interface JoinedRow extends ComparedRow {
  /** Where it starts in the corrected file. */
  readonly line: number;
  readonly header: number;
  /** `alike`: it has its reason or a cell in common with the row of its line. */
  readonly kind: 'alike' | 'other' | 'added';
  /** The row of the copy, where the line may be another row's. */
  readonly doubtful: UntouchedRow | undefined;
  /** Its `storeferry_line`. */
  readonly sourceLine: string;
  /** Whether it was rejected without a key. */
  readonly keyless: boolean;
}

/** Reads the corrected file along with its untouched copy, in batches. */
export async function* joinRejects(
  options: CorrectedRejectsOptions,
  { encoding, delimiter, layout }: CorrectedForm,
  untouched: UntouchedRows,
): AsyncGenerator<JoinedRow[]> {
  const { csv, index, name } = options;
  // Under the columns of all headers, a row's own length says nothing.
  const lengthsCount = layout.hasLines || index.headers.length === 1;
  const keyless = new Set(index.keyless);
  const table = withoutMarks(await csv.open(await options.corrected(), { name, encoding, delimiter }), index);
  for await (const batch of table.batches()) {
    const joined: JoinedRow[] = [];
    for (const row of batch) {
      const cells = layout.arrange(row.cells);
      const line = layout.lineOf(row.cells);
      // Awaited only where the copy has to be read on: a promise for every row would cost more than the rest.
      let original = untouched.take(line, cells);
      if (original instanceof Promise) original = await original;
      if (original === undefined) {
        const copied = untouched.takenOf(line);
        const header = copied === undefined ? 0 : layout.headerOf(index.rows[copied.line]?.header);
        const added = { line: row.line, header, kind: 'added', keyless: false, edits: [] } as const;
        const { restored, refused, ...compared } =
          copied === undefined
            ? { cells, restored: [], refused: damageInAdded(row.line, cells, layout) }
            : compareRow(copied, cells, layout);
        joined.push({
          ...{ ...added, restored, refused, doubtful: undefined, sourceLine: line },
          cells: layout.cut(compared.cells, header, undefined),
        });
        continue;
      }
      const { edits, restored, refused, ...compared } = compareRow(original, cells, layout);
      const known = index.rows[original.line];
      const header = layout.headerOf(known?.header);
      const length = lengthsCount && edits.length === 0 ? known?.cells : undefined;
      const isAlike =
        (original.reason !== '' && layout.reasonOf(row.cells) === original.reason) ||
        layout.comparable.some((place) => cells[place] !== '' && cells[place] === original.cells[place]);
      joined.push({
        ...{ line: row.line, header, edits, restored, refused },
        cells: layout.cut(compared.cells, header, length),
        kind: isAlike ? 'alike' : 'other',
        doubtful: isLike(original, cells, layout.named) ? undefined : original,
        sourceLine: line,
        keyless: keyless.has(original.line),
      });
    }
    yield joined;
  }
}

/** The table as its source had it: without the marks that keep formulas from running. */
export function withoutMarks(table: Table, { inert }: RejectsIndex): Table {
  if (inert !== true) return table;
  return {
    header: table.header.map(withoutInertMark),
    async *batches() {
      for await (const batch of table.batches()) {
        yield batch.map((row) => ({ ...row, cells: row.cells.map(withoutInertMark) }));
      }
    },
  };
}

/** Opens the untouched copy for one reading of the corrected file. */
export async function openUntouched(
  { csv, index, untouched }: CorrectedRejectsOptions,
  { layout, doubtful }: Pick<CorrectedForm, 'layout' | 'doubtful'>,
): Promise<UntouchedRows> {
  const opened = await csv.open(await untouched(), {
    name: 'the untouched copy',
    delimiter: index.delimiter,
  });
  const table = withoutMarks(opened, index);
  if (!layout.hasLines) return await untouchedByLikeness(untouchedRows(table), layout.named);
  if (doubtful === undefined) return untouchedByLine(table);
  return await untouchedByLineOrLikeness(table, doubtful, layout.named);
}
