import type { Readable } from 'node:stream';
import { type Dialect, type Table, withoutInertMark } from '../model/row.ts';
import type { CorrectedLayout } from './corrected-layout.ts';
import { judgeCell } from './judge-cell.ts';
import { type CellEdit, type DamagedCell, isBlamed } from './rejects-edits.ts';
import { type FormatRow, LINE_COLUMN, type RejectsIndex } from './rejects-file.ts';
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
  /** Legacy encodings to try if the file is not in Unicode. */
  readonly encodings: readonly string[];
}

export interface CorrectedRejectsOptions {
  /** The name of the corrected file in messages. */
  readonly name: string;
  readonly corrected: () => Promise<Readable>;
  readonly untouched: () => Promise<Readable>;
  readonly index: RejectsIndex;
  readonly csv: CsvTools;
  /** If omitted, it is determined by comparing with the untouched copy. */
  readonly encoding?: string | undefined;
  /** Whether messages must not quote cells. */
  readonly personal?: boolean;
  /** Whether no spreadsheet has written the file: each change of a cell is intended. */
  readonly asTyped?: boolean;
}

/** How the corrected file is read. */
export interface CorrectedForm {
  readonly encoding: string | undefined;
  readonly delimiter: string;
  readonly layout: CorrectedLayout;
  /** Omit if each line number belongs to its row. */
  readonly doubtful?: DoubtfulLines | undefined;
}

/** A row of the corrected file with its cells for the mapping, and its original row. */
export interface JoinedRow extends ComparedRow {
  /** Where it starts in the corrected file. */
  readonly line: number;
  readonly header: number;
  /** `alike`: it has its reason or a cell in common with the row of its line. */
  readonly kind: 'alike' | 'other' | 'added';
  /** The row of the copy, if the line may belong to another row. */
  readonly doubtful: UntouchedRow | undefined;
  /** Its `storeferry_line`, or that of its original row. */
  readonly sourceLine: string;
  /** Whether it was rejected without a key. */
  readonly keyless: boolean;
}

/** Reads the corrected file and its untouched copy together, in batches. */
export async function* joinRejects(
  options: CorrectedRejectsOptions,
  { encoding, delimiter, layout }: CorrectedForm,
  untouched: UntouchedRows,
): AsyncGenerator<JoinedRow[]> {
  const { csv, index, name } = options;
  // With the columns of all headers, the length of a row means nothing.
  const lengthsCount = layout.hasLines || index.headers.length === 1;
  const keyless = new Set(index.keyless);
  const table = withoutMarks(await csv.open(await options.corrected(), { name, encoding, delimiter }));
  for await (const batch of table.batches()) {
    const joined: JoinedRow[] = [];
    for (const row of batch) {
      const cells = layout.arrange(row.cells);
      const line = layout.lineOf(row.cells);
      // Awaited only if more of the copy must be read: a promise per row would cost more than all the rest.
      let original = untouched.take(line, cells);
      if (original instanceof Promise) original = await original;
      if (original === undefined) {
        const copied = untouched.takenOf(line);
        const header = copied === undefined ? 0 : layout.headerOf(index.rows[copied.line]?.header);
        const added = { line: row.line, header, kind: 'added', keyless: false, edits: [] } as const;
        const { restored, refused, ...compared } =
          copied === undefined
            ? { cells, restored: [], refused: damageInAdded(row.line, cells, layout) }
            : compareRow(copied, cells, layout, options);
        joined.push({
          ...added,
          restored,
          refused,
          doubtful: undefined,
          sourceLine: line,
          cells: layout.cut(compared.cells, header, undefined),
        });
        continue;
      }
      const { edits, restored, refused, ...compared } = compareRow(original, cells, layout, options);
      const known = index.rows[original.line];
      const header = layout.headerOf(known?.header);
      const length = lengthsCount && edits.length === 0 ? known?.cells : undefined;
      const isAlike =
        (original.reason !== '' && layout.reasonOf(row.cells) === original.reason) ||
        layout.comparable.some((place) => cells[place] !== '' && cells[place] === original.cells[place]);
      joined.push({
        line: row.line,
        header,
        edits,
        restored,
        refused,
        cells: layout.cut(compared.cells, header, length),
        kind: isAlike ? 'alike' : 'other',
        doubtful: options.asTyped === true || isLike(original, cells, layout.named) ? undefined : original,
        sourceLine: original.line,
        keyless: keyless.has(original.line),
      });
    }
    yield joined;
  }
}

/** The table as in its source: without the marks that keep formulas from running. */
export function withoutMarks(table: Table): Table {
  return {
    header: table.header.map(withoutInertMark),
    async *batches() {
      for await (const batch of table.batches()) {
        yield batch.map((row) => ({ ...row, cells: row.cells.map(withoutInertMark) }));
      }
    },
  };
}

/** Opens the untouched copy for one pass over the corrected file. */
export async function openUntouched(
  options: CorrectedRejectsOptions,
  { layout, doubtful }: Pick<CorrectedForm, 'layout' | 'doubtful'>,
): Promise<UntouchedRows> {
  const table = withoutMarks(await openCopy(options));
  if (!layout.hasLines) return await untouchedByLikeness(untouchedRows(table), layout.named);
  if (doubtful === undefined) return untouchedByLine(table);
  return await untouchedByLineOrLikeness(table, doubtful, layout.named);
}

/** The number of rows in the untouched copy. */
export async function untouchedCount(options: CorrectedRejectsOptions): Promise<number> {
  let rows = 0;
  using table = await openCopy(options);
  for await (const batch of table.batches()) rows += batch.length;
  return rows;
}

async function openCopy({ csv, index, untouched }: CorrectedRejectsOptions) {
  return await csv.open(await untouched(), { name: 'the untouched copy', delimiter: index.delimiter });
}

/** A row with the verdicts on its cells. */
interface ComparedRow {
  /** The cells to map: the old text for each cell that was not edited. */
  readonly cells: readonly string[];
  readonly edits: readonly CellEdit[];
  /** Their old text is used and is correct. */
  readonly restored: readonly DamagedCell[];
  /** Their old text is used, but the intended value is unknown: the record must not be sent. */
  readonly refused: readonly DamagedCell[];
}

const EDITED = { kind: 'edited' } as const;

/** Compares a row with its original and reverts the changes of a spreadsheet. Removed columns get their old cells. */
function compareRow(
  original: UntouchedRow,
  cells: readonly string[],
  layout: CorrectedLayout,
  { asTyped = false }: Pick<CorrectedRejectsOptions, 'asTyped'> = {},
): ComparedRow {
  const result = [...cells];
  const edits: CellEdit[] = [];
  const restored: DamagedCell[] = [];
  const refused: DamagedCell[] = [];
  for (const place of layout.removed) result[place] = original.cells[place] ?? '';
  for (const index of layout.comparable) {
    const old = original.cells[index] ?? '';
    const now = cells[index] ?? '';
    if (old === now) continue;
    const column = layout.columnName(index);
    const cell = { line: original.line, column, old, new: now };
    const verdict = asTyped ? EDITED : judgeCell(old, now, isBlamed(original.reason, column));
    if (verdict.kind === 'edited') {
      edits.push(cell);
      continue;
    }
    result[index] = old;
    if (verdict.kind === 'restored') restored.push({ ...cell, damage: verdict.damage });
    if (verdict.kind === 'refused') refused.push({ ...cell, damage: verdict.damage });
  }
  return { cells: result, edits, restored, refused };
}

/** Damage that is visible in a row without its original, such as `1.23E+12`. */
function damageInAdded(
  line: number,
  cells: readonly string[],
  layout: CorrectedLayout,
): readonly DamagedCell[] {
  const added = { line: correctedLine(line), cells: [], reason: '' };
  return compareRow(added, cells, layout).refused;
}

/** A row without an original that may still be a row of the copy. */
export function rowOfNoLine(line: number): DamagedCell {
  return { line: correctedLine(line), column: LINE_COLUMN, old: '', new: '', damage: 'line' };
}

function correctedLine(line: number): string {
  return `${line} of the corrected file`;
}
