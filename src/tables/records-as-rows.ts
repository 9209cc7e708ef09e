import {
  type LimitedTable,
  recordsIn,
  refuseColumns,
  refuseRowBytes,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

/** A row that is collected. */
function newRow() {
  return {
    cells: [] as string[],
    /** The lines of each cell: several values of one column share a cell, one per line. */
    lines: [] as number[],
    /** How many values and objects each path has had. */
    counts: new Map<string, number>(),
  };
}

/** A value that shares its cell has one line. */
function inOneLine(value: string) {
  return value.includes('\n')
    ? value
        .split('\n')
        .map((part) => part.trim())
        .join(' ')
    : value;
}

/** An outermost object with more characters is a container of records: what precedes the records is shorter. */
const LARGE_CHARACTERS = 1 << 20;

/** Records that are collected as rows. */
export type RecordsAsRows = ReturnType<typeof recordsAsRows>;

/** Collects records as rows: a column for each path that any record has, in order of first appearance. */
export function recordsAsRows(file: LimitedTable) {
  const { limits } = file;
  const { within } = recordsIn(file.choice);
  const header: string[] = [];
  const columns = new Map<string, number>();
  let own: ReturnType<typeof newRow> | undefined;
  /** The rows within the open record, and the one that is open. */
  let inner: (readonly string[])[] = [];
  let open: typeof own;
  let hasInner = false;
  let characters = 0;
  /** Characters of the record itself, which each row within it repeats. */
  let repeated = 0;
  const rows: TableRow[] = [];
  let count = 0;
  return {
    header,
    /** How many records have ended. */
    get count() {
      return count;
    },
    /** Whether the open record is too long to be kept until it is known whether it is a record. */
    get isLarge() {
      return characters > LARGE_CHARACTERS;
    },
    get isOpen() {
      return own !== undefined;
    },
    begin() {
      own = newRow();
      inner = [];
      characters = 0;
      repeated = 0;
    },
    /** Whether the objects at a path within the records are rows. */
    isInner: (path: string): boolean =>
      within !== undefined && own !== undefined && path.replaceAll('[]', '') === within,
    /** Begins a row within the open record. */
    beginInner() {
      open = newRow();
      inner.push(open.cells);
      hasInner = true;
    },
    endInner() {
      open = undefined;
    },
    /** How many values or objects at a path the open row has had before this one. */
    placeOf(path: string): number {
      const counts = (open ?? own)?.counts;
      const place = counts?.get(path) ?? 0;
      counts?.set(path, place + 1);
      return place;
    },
    /**
     * Adds a value of the open record at its path, such as `images[].url` or `link@href`. `place`: of the object that has it, in its
     * list. Values of one object stand in the same line of their cells; blank ones leave it blank, if one follows.
     */
    put(path: string, value: string, place: number) {
      const into = open ?? own;
      if (into === undefined) return;
      const line = count + 1;
      let column = columns.get(path);
      if (column === undefined) {
        column = header.length;
        refuseColumns(file, column + 1, line);
        columns.set(path, column);
        header.push(path);
      }
      if (value === '') return;
      const { cells, lines } = into;
      const known = lines[column] ?? 0;
      const at = Math.max(place, known);
      lines[column] = at + 1;
      const before = cells[column] ?? '';
      const breaks = at - Math.max(known - 1, 0);
      characters += value.length + breaks;
      if (open === undefined) repeated += value.length + breaks;
      if (before.length + breaks + value.length > limits.cellBytes)
        throw tableLimitError(file, 'cellBytes', { line, column: path });
      refuseRowBytes(file, characters, line);
      cells[column] =
        at === 0
          ? value
          : (known === 1 ? inOneLine(before) : before) + '\n'.repeat(breaks) + inOneLine(value);
    },
    /** Ends the open record; its number is its line if the file has one record per line. */
    end(line = count + 1) {
      const cells = own?.cells ?? [];
      own = undefined;
      open = undefined;
      count += 1;
      // The values of the record are repeated on each of its rows.
      refuseRowBytes(file, repeated * inner.length, line);
      for (const row of inner.length === 0 ? [[]] : inner) {
        const width = Math.max(cells.length, row.length);
        rows.push({
          line,
          cells: Array.from({ length: width }, (_, index) => row[index] ?? cells[index] ?? ''),
        });
      }
    },
    /** SourceError if the job names a list within the records, and none has it. */
    refuseWithoutInner() {
      if (within === undefined || hasInner) return;
      throw tableError(
        file,
        `No record of the file has a list of objects at \`${within}\`, which \`records\` names after \`>\`.`,
        'Correct `records` in the source of the job.',
      );
    },
    /** Forgets columns and rows. */
    clear() {
      header.length = 0;
      columns.clear();
      own = undefined;
      rows.length = 0;
      count = 0;
    },
    /** The rows so far that have not been taken. */
    take: (): readonly TableRow[] => rows.splice(0),
  };
}
