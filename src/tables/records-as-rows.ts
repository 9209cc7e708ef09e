import {
  type LimitedTable,
  recordsIn,
  refuseColumns,
  refuseRowBytes,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

/** Several values of one column of a record share a cell, one per line. */
const BETWEEN_VALUES = '\n';

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
  let cells: string[] | undefined;
  /** The rows within the open record, and the one that is open. */
  let inner: string[][] = [];
  let open: string[] | undefined;
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
      return cells !== undefined;
    },
    begin() {
      cells = [];
      inner = [];
      characters = 0;
      repeated = 0;
    },
    /** Whether the objects at a path within the records are rows. */
    isInner: (path: string): boolean =>
      within !== undefined && cells !== undefined && path.replaceAll('[]', '') === within,
    /** Begins a row within the open record. */
    beginInner() {
      open = [];
      inner.push(open);
      hasInner = true;
    },
    endInner() {
      open = undefined;
    },
    /** Adds a value of the open record at its path, such as `images[].url` or `link@href`; blank values leave nothing. */
    put(path: string, value: string) {
      const into = open ?? cells;
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
      const before = into[column] ?? '';
      const text = before === '' ? value : `${before}${BETWEEN_VALUES}${value}`;
      into[column] = text;
      characters += value.length;
      if (open === undefined) repeated += value.length;
      if (text.length > limits.cellBytes) throw tableLimitError(file, 'cellBytes', { line, column: path });
      refuseRowBytes(file, characters, line);
    },
    /** Ends the open record; its number is its line if the file has one record per line. */
    end(line = count + 1) {
      const own = cells ?? [];
      cells = undefined;
      open = undefined;
      count += 1;
      // The values of the record are repeated on each of its rows.
      refuseRowBytes(file, repeated * inner.length, line);
      for (const row of inner.length === 0 ? [[]] : inner) {
        const width = Math.max(own.length, row.length);
        rows.push({
          line,
          cells: Array.from({ length: width }, (_, index) => row[index] ?? own[index] ?? ''),
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
      cells = undefined;
      rows.length = 0;
      count = 0;
    },
    /** The rows so far that have not been taken. */
    take: (): readonly TableRow[] => rows.splice(0),
  };
}
