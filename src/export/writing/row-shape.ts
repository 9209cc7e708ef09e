import type { ExportJob } from '../../config/job/job.ts';
import {
  DATE_SUFFIX,
  isTime,
  LIST_COLUMNS,
  type ListReading,
  pathOf,
  type SubscriberList,
  timeOfDate,
} from '../../model/mapped-record.ts';
import { DestinationError } from '../../model/storeferry-error.ts';
import { cellAsText, type TypedCell } from '../../tables/write-table.ts';
import { valueAt } from '../arrange-orders.ts';
import { exactJson, exactStringify, exactText, isPlainObject } from '../exact-json.ts';
import { CHANGE_FIELD } from '../export-position.ts';
import { readKeptList } from '../reading/read-items.ts';

/** How items become lines of a file. */
export interface RowShape {
  readonly columns: readonly string[];
  /** The columns that identify a line: a line whose key is already in the file is not added. */
  readonly keyColumns: readonly string[];
  /** Whether each line should be new, so that an existing line is noted. */
  readonly isHistory: boolean;
  /** The columns with times of orders, which a format writes in seconds or as times. */
  readonly timeColumns: readonly string[];
  /** Converts an item, as JSON, to cells in the order of the columns. */
  cells(item: string): readonly TypedCell[];
  /** Converts an item, as JSON, to a line of JSON. */
  json(item: string): string;
}

/** The shape that a job requests; columns that it does not name are found in the items. */
export async function shapeOf(
  job: Pick<ExportJob, 'export' | 'columns' | 'destination' | 'rows'>,
  readAt: string,
  items: () => AsyncIterable<readonly string[]>,
): Promise<RowShape> {
  const { format, mode, table } = job.destination;
  const named = job.columns;
  const addsIsoColumns = table === undefined && format === 'csv' && (mode === 'new' || job.rows === 'items');
  switch (job.export) {
    case 'subscriber-lists':
      return listShape(readAt, named, table !== undefined || hasTypes(format));
    case 'orders': {
      const found = named ?? (format === 'jsonl' ? [] : await foundColumns(items(), addsIsoColumns));
      return orderShape(mode === 'new' ? withChange(found) : found, table !== undefined || format !== 'csv');
    }
    default:
      return job.export satisfies never;
  }
}

/** Whether cells of a format have types; those of CSV are texts. */
function hasTypes(format: ExportJob['destination']['format']) {
  return format === 'xlsx' || format === 'parquet';
}

/** A column of a table: the path of its field, and its name. */
type NamedColumn = NonNullable<ExportJob['columns']>[number];

function columnAt(path: string): NamedColumn {
  return { path, name: path };
}

/** The columns with the one that says whether an order is new or changed, as the last one. */
function withChange(columns: readonly NamedColumn[]) {
  return [...columns.filter(({ path }) => path !== CHANGE_FIELD), columnAt(CHANGE_FIELD)];
}

/** The columns of orders; `addsIsoColumns`: beside each time there is its date. */
async function foundColumns(
  items: AsyncIterable<readonly string[]>,
  addsIsoColumns: boolean,
): Promise<NamedColumn[]> {
  const found = new FoundColumns();
  for await (const batch of items) for (const item of batch) found.add(exactJson(item));
  // A store without orders: the one column that every order has.
  const names = found.names().length === 0 ? ['id'] : found.names();
  const hasDate = (name: string) => addsIsoColumns && isTime(pathOf(name));
  return names.flatMap((name) => (hasDate(name) ? [name, name + DATE_SUFFIX] : [name])).map(columnAt);
}

/** Lines of list statistics, one per list and reading. */
function listShape(
  readAt: string,
  columns: readonly NamedColumn[] = LIST_COLUMNS.map(columnAt),
  hasTimes = false,
): RowShape {
  const reading = (item: string) => listReading(readKeptList(item), readAt);
  const paths = columns.map(({ path }) => pathOf(path));
  return {
    columns: columns.map(({ name }) => name),
    keyColumns: namesOf(['id', 'read_at'], columns),
    isHistory: true,
    timeColumns: [],
    cells(item) {
      const value = reading(item);
      return paths.map((path) =>
        hasTimes && path[0] === 'read_at' ? new Date(readAt) : typedCell(valueAt(value, path)),
      );
    },
    json: (item) => JSON.stringify(reading(item)),
  };
}

/** A list with the time of its reading, its members in the order of the columns. */
function listReading(list: SubscriberList, readAt: string): ListReading {
  const { id, name, created, subscribers, opens, clicks } = list;
  return { id, name, created, created_date: dateOf(created), subscribers, opens, clicks, read_at: readAt };
}

/** The last second that a JavaScript date can represent. */
const LAST_SECOND = 8_640_000_000_000;

function dateOf(seconds: number | null) {
  if (seconds === null || Math.abs(seconds) > LAST_SECOND) return null;
  return new Date(seconds * 1_000).toISOString().split('T')[0] ?? null;
}

/**
 * Lines of orders, one per order; the JSON is passed on unchanged. `showsTimes`: the time of an order is a time, which spreadsheets
 * recognise, instead of a number of seconds.
 */
function orderShape(columns: readonly NamedColumn[], showsTimes = false): RowShape {
  const paths = columns.map(({ path }) => pathOf(path));
  return {
    columns: columns.map(({ name }) => name),
    keyColumns: namesOf(['id'], columns),
    isHistory: false,
    timeColumns: columns.filter((_, index) => isTime(paths[index])).map(({ name }) => name),
    cells(item) {
      const order = exactJson(item);
      return paths.map((path) => {
        const dated = timeOfDate(path);
        if (dated !== undefined) return isoCell(typedCell(valueAt(order, dated)));
        const cell = typedCell(valueAt(order, path), path.at(-1));
        return showsTimes && isTime(path) ? (timeOf(cell) ?? cell) : cell;
      });
    },
    json: (item) => item,
  };
}

/** The names of the columns with these paths. */
function namesOf(paths: readonly string[], columns: readonly NamedColumn[]) {
  return paths.map((path) => columns.find((column) => column.path === path)?.name ?? path);
}

/** The time of a cell with a number of seconds; undefined for any other. */
export function timeOf(cell: TypedCell): Date | undefined {
  const text = cellAsText(cell);
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  return seconds <= LAST_SECOND ? new Date(seconds * 1_000) : undefined;
}

/** `2026-11-01T06:00:00Z`, for a number of seconds; any other cell as it is. */
function isoCell(cell: TypedCell) {
  return timeOf(cell)?.toISOString().replace('.000Z', 'Z') ?? cell;
}

/** Separates the values of a list in one cell. */
const LIST_SEPARATOR = '; ';

/** Fields of orders that are amounts; some stores send them as text. */
const AMOUNT = /^(?:total|subTotal|price|amount|[a-z]+Amount)$/;
const DECIMAL = /^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,8})?$/;

/**
 * A value of an order as one cell: texts, numbers and booleans unchanged, nothing for null, the items of a list joined by `; `,
 * and JSON for deeper values. `field`: its name, where amounts that are texts are numbers.
 */
function typedCell(value: unknown, field = ''): TypedCell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return AMOUNT.test(field) && DECIMAL.test(value) ? { number: value } : value;
  if (Array.isArray(value)) return listText(value);
  if (isPlainObject(value)) return Object.keys(value).length === 0 ? null : exactStringify(value);
  const number = exactText(value);
  return number === undefined ? null : { number };
}

function listText(values: readonly unknown[]): string {
  if (values.some((value) => Array.isArray(value) || isPlainObject(value))) return exactStringify(values);
  return values.map((value) => cellAsText(typedCell(value))).join(LIST_SEPARATOR);
}

/**
 * The name of the column for a nested value: the names of the objects joined by dots. A dot or backslash in a name is
 * written `\.` or `\\`, an empty name `\e`, so that no two values share a column.
 */
function columnName(parent: string | null, name: string): string {
  const escaped = name === '' ? '\\e' : name.replaceAll(/[\\.]/g, '\\$&');
  return parent === null ? escaped : `${parent}.${escaped}`;
}

/** With more fields than this, orders have data as field names, such as ids. */
const MAX_COLUMNS = 2_000;

/**
 * The columns of orders if the job names none: each field that has a value in some order, nested ones by their path;
 * lists stay complete. They are in the order of the fields; a field that only later orders have follows its
 * predecessor there. A field that is null unless it is an object has only the columns of the object.
 */
class FoundColumns {
  readonly #names: string[] = [];
  readonly #filled = new Map<string, boolean>();
  readonly #parents = new Set<string>();

  /** Adds the fields of one order. DestinationError if there are more columns than any table has. */
  add(order: unknown): void {
    this.#visit(order, null, -1);
  }

  /** The columns of all orders so far. */
  names(): string[] {
    return this.#names.filter((name) => this.#filled.get(name) === true || !this.#parents.has(name));
  }

  /** The position of the last column that was found. */
  #visit(value: unknown, parent: string | null, after: number): number {
    if (!isPlainObject(value)) return after;
    let last = after;
    for (const [field, part] of Object.entries(value)) {
      const name = columnName(parent, field);
      if (isPlainObject(part) && Object.keys(part).length > 0) {
        this.#parents.add(name);
        last = this.#visit(part, name, last);
      } else {
        last = this.#addColumn(name, last);
        if (part !== null && !isPlainObject(part)) this.#filled.set(name, true);
      }
    }
    return last;
  }

  #addColumn(name: string, after: number): number {
    // In orders of one shape each column follows the previous one.
    if (this.#names[after + 1] === name) return after + 1;
    if (this.#filled.has(name)) return this.#names.indexOf(name);
    if (this.#names.length === MAX_COLUMNS) {
      throw new DestinationError(`The orders have more than ${MAX_COLUMNS} different fields.`, {
        hint: 'Name the ones you need under `columns` in the job, or use format: jsonl, which keeps orders whole.',
      });
    }
    this.#filled.set(name, false);
    this.#names.splice(after + 1, 0, name);
    return after + 1;
  }
}
