import type { ExportJob } from '../../config/job/job.ts';
import { DestinationError } from '../../model/storeferry-error.ts';
import { LIST_COLUMNS, type ListReading, type SubscriberList } from '../../model/subscriber-list.ts';
import { exactJson, exactStringify, exactText, isMembers } from '../exact-json.ts';
import { readKeptList } from '../reading/read-items.ts';

/** How items become lines of a file. */
export interface RowShape {
  readonly columns: readonly string[];
  /** The columns that identify a line: a line whose key is already in the file is not added. */
  readonly keyColumns: readonly string[];
  /** Whether each line should be new, so that an existing line is noted. */
  readonly isHistory: boolean;
  /** Converts an item, as JSON, to cells in the order of the columns. */
  cells(item: string): readonly string[];
  /** Converts an item, as JSON, to a line of JSON. */
  json(item: string): string;
}

/** The shape that a job requests; columns that it does not name are found in the items. */
export async function shapeOf(
  job: Pick<ExportJob, 'export' | 'columns' | 'destination'>,
  readAt: string,
  items: () => AsyncIterable<readonly string[]>,
): Promise<RowShape> {
  switch (job.export) {
    case 'subscriber-lists':
      return listShape(readAt, job.columns);
    case 'orders':
      return orderShape(
        job.columns ?? (job.destination.format === 'jsonl' ? [] : await columnsOf(items())),
        job.destination.format === 'excel-csv',
      );
    default:
      return job.export satisfies never;
  }
}

async function columnsOf(items: AsyncIterable<readonly string[]>): Promise<string[]> {
  const found = new FoundColumns();
  for await (const batch of items) for (const item of batch) found.add(exactJson(item));
  // A store without orders: the one column that every order has.
  return found.names().length === 0 ? ['id'] : found.names();
}

/** Lines of list statistics, one per list and reading. */
function listShape(readAt: string, columns: readonly string[] = LIST_COLUMNS): RowShape {
  const reading = (item: string) => listReading(readKeptList(item), readAt);
  const paths = columns.map(pathOf);
  return {
    columns,
    keyColumns: ['id', 'read_at'],
    isHistory: true,
    cells(item) {
      const value = reading(item);
      return paths.map((path) => cellText(valueAt(value, path)));
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

function dateOf(seconds: number | null): string | null {
  if (seconds === null || Math.abs(seconds) > LAST_SECOND) return null;
  return new Date(seconds * 1_000).toISOString().split('T')[0] ?? null;
}

/** The fields with the time of an order, in Unix seconds: stores are seen to use either. */
const ORDER_TIMES: ReadonlySet<string> = new Set(['createdOn', 'created']);

/**
 * Lines of orders, one per order; the JSON is passed on unchanged. `forSpreadsheet`: the time of an order is a date, which spreadsheets
 * recognise, instead of a number of seconds.
 */
function orderShape(columns: readonly string[], forSpreadsheet = false): RowShape {
  const paths = columns.map(pathOf);
  return {
    columns,
    keyColumns: ['id'],
    isHistory: false,
    cells(item) {
      const order = exactJson(item);
      return paths.map((path) => {
        const text = cellText(valueAt(order, path));
        return forSpreadsheet && ORDER_TIMES.has(path.at(-1) ?? '') ? momentText(text) : text;
      });
    },
    json: (item) => item,
  };
}

/** `2026-11-01 06:00:00` in UTC, for a number of seconds; any other text as it is. */
function momentText(text: string): string {
  const seconds = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= LAST_SECOND)) return text;
  return new Date(seconds * 1_000).toISOString().slice(0, -'.000Z'.length).replace('T', ' ');
}

/** Separates the values of a list in one cell. */
const LIST_SEPARATOR = '; ';

/**
 * A value of an order as one cell: text and numbers unchanged, nothing for null, the items of a list joined by `; `,
 * and JSON for deeper values.
 */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return listText(value);
  if (isMembers(value)) return Object.keys(value).length === 0 ? '' : exactStringify(value);
  return exactText(value) ?? '';
}

function listText(values: readonly unknown[]): string {
  if (values.some((value) => Array.isArray(value) || isMembers(value))) return exactStringify(values);
  return values.map(cellText).join(LIST_SEPARATOR);
}

/**
 * The value of a column within an order. In a list a number selects one item (`items.0.sku`, from 0), a name selects
 * this member of each (`items.sku`). Undefined if there is none.
 */
function valueAt(value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(value)) {
    if (/^\d+$/.test(name)) return valueAt(value[Number(name)], rest);
    const values = value.map((element: unknown) => valueAt(element, path));
    return values.some((element) => element !== undefined) ? values : undefined;
  }
  if (!isMembers(value) || !Object.hasOwn(value, name)) return undefined;
  return valueAt(value[name], rest);
}

/**
 * The name of the column for a nested value: the names of the objects joined by dots. A dot or backslash in a name is
 * written `\.` or `\\`, an empty name `\e`, so that no two values share a column.
 */
function columnName(parent: string | null, name: string): string {
  const escaped = name === '' ? '\\e' : name.replaceAll(/[\\.]/g, '\\$&');
  return parent === null ? escaped : `${parent}.${escaped}`;
}

/** The names that lead to the value of a column. */
function pathOf(column: string): readonly string[] {
  const names: string[] = [];
  let name = '';
  for (let at = 0; at < column.length; at++) {
    const char = column.charAt(at);
    if (char === '.') {
      names.push(name);
      name = '';
    } else if (char === '\\') {
      at++;
      if (column.charAt(at) !== 'e') name += column.charAt(at);
    } else {
      name += char;
    }
  }
  return [...names, name];
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
    if (!isMembers(value)) return after;
    let last = after;
    for (const [field, part] of Object.entries(value)) {
      const name = columnName(parent, field);
      if (isMembers(part) && Object.keys(part).length > 0) {
        this.#parents.add(name);
        last = this.#visit(part, name, last);
      } else {
        last = this.#addColumn(name, last);
        if (part !== null && !isMembers(part)) this.#filled.set(name, true);
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
