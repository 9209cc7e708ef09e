import {
  type LimitedTable,
  recordsIn,
  refuseColumns,
  refuseRowBytes,
  type TableRow,
  tableError,
  tableLimitError,
} from './table-file.ts';

/** The objects of a list that share a path, and the place of one among them. Their values belong together. */
export interface ObjectPlace {
  readonly path: string;
  readonly place: number;
}

/** The values of a column in the objects of a list, with their places. */
type PlacedValues = (readonly [place: number, value: string])[];

/** A row that is collected. */
function newRow() {
  return {
    /** Several values of one column share a cell, one per line. */
    cells: [] as string[],
    /** How many values each cell has. */
    filled: [] as number[],
    /** How many objects each path has had. */
    counts: new Map<string, number>(),
    /** By path, the values of each column. */
    objects: new Map<string, Map<number, PlacedValues>>(),
  };
}

/** As many lines as there are objects, with each value in the line of its object. */
function inPlaces(values: PlacedValues, count: number) {
  const lines = Array.from({ length: count }, () => '');
  for (const [place, value] of values) {
    const parts = value.split('\n').map((part) => part.trim());
    lines[place] = parts.join(' ');
  }
  return lines.join('\n');
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

  /** Where a blank value or a line break would part values that belong together, their cells have a line for each object. */
  const alignValues = ({ cells, filled, counts, objects }: ReturnType<typeof newRow>) => {
    for (const [path, placed] of objects) {
      const all = counts.get(path) ?? 0;
      if (all < 2 || placed.size < 2) continue;
      for (const [column, values] of placed) {
        if (
          values.length === all &&
          values.every(([place, value], at) => place === at && !value.includes('\n'))
        )
          continue;
        characters += all;
        refuseRowBytes(file, characters, count + 1);
        // Where an object has several, or values are in no object, or the only one has lines, it stays below more lines than others have.
        const isApart =
          filled[column] !== values.length ||
          values.some(([place], at) => place === values[at - 1]?.[0]) ||
          (values.length === 1 && values[0]?.[1].includes('\n'));
        cells[column] = isApart ? '\n'.repeat(all) + cells[column] : inPlaces(values, all);
      }
    }
  };

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
      if (open !== undefined) alignValues(open);
      open = undefined;
    },
    /** The next object at a path of the open row. */
    nextObject(path: string): ObjectPlace {
      const counts = (open ?? own)?.counts;
      const place = counts?.get(path) ?? 0;
      counts?.set(path, place + 1);
      return { path, place };
    },
    /**
     * Adds a value of the open record at its path, such as `images[].url` or `link@href`, and the object of a list that has it; blank
     * values leave nothing.
     */
    put(path: string, value: string, object?: ObjectPlace) {
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
      const before = into.cells[column] ?? '';
      const text = before === '' ? value : `${before}\n${value}`;
      into.cells[column] = text;
      into.filled[column] = (into.filled[column] ?? 0) + 1;
      characters += value.length;
      if (open === undefined) repeated += value.length;
      if (text.length > limits.cellBytes) throw tableLimitError(file, 'cellBytes', { line, column: path });
      refuseRowBytes(file, characters, line);
      if (object === undefined) return;
      const placed = into.objects.get(object.path) ?? new Map<number, PlacedValues>();
      into.objects.set(object.path, placed);
      const values = placed.get(column) ?? [];
      placed.set(column, values);
      values.push([object.place, value]);
    },
    /** Ends the open record; its number is its line if the file has one record per line. */
    end(line = count + 1) {
      if (own !== undefined) alignValues(own);
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
