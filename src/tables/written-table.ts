/**
 * A cell with its type. A number is its digits, so that none is lost: amounts are decimal, and ids may be longer than
 * numbers of JavaScript. Null is an empty cell.
 */
export type TypedCell = string | boolean | Date | null | { readonly number: string };

/** A table to write. */
export interface WrittenTable {
  /** Of the sheet. */
  readonly name: string;
  readonly columns: readonly string[];
  /** Opens the rows, from the first one each time, in batches. */
  readonly rows: () => AsyncIterable<readonly (readonly TypedCell[])[]>;
}

/** A cell as text; `decimal` is the sign of decimals. A time is `2026-11-01 06:00:00`, in UTC. */
export function cellAsText(cell: TypedCell, decimal: '.' | ',' = '.'): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return cell;
  if (typeof cell === 'boolean') return String(cell);
  if (cell instanceof Date) return cell.toISOString().replace(/\..*/, '').replace('T', ' ');
  return decimal === '.' ? cell.number : cell.number.replace('.', decimal);
}

/** Amounts of different files have the same type as long as none has more decimals. */
export const MIN_SCALE = 4;

/** The sign, the digits before the point and those after it. */
export const DECIMAL_NUMBER = /^(-?)([0-9]+)(?:\.([0-9]+))?$/;

/** What all values of a column are; `text` if they are of several kinds. */
export interface ColumnType {
  readonly kind: 'text' | 'boolean' | 'time' | 'number';
  /** Of a number: the most digits before and after the point. */
  readonly digits: number;
  readonly scale: number;
}

/** The types of columns by all their values; undefined for a column without any. */
export async function columnTypes(
  count: number,
  rows: ReturnType<WrittenTable['rows']>,
): Promise<readonly (ColumnType | undefined)[]> {
  const types: (ColumnType | undefined)[] = Array.from({ length: count });
  for await (const batch of rows) {
    for (const cells of batch) {
      for (const [index, cell] of cells.entries())
        if (cell !== null && cell !== '') types[index] = widerType(types[index], typeOf(cell));
    }
  }
  return types;
}

const TEXT: ColumnType = { kind: 'text', digits: 0, scale: 0 };

function typeOf(cell: Exclude<TypedCell, null>): ColumnType {
  if (typeof cell === 'string') return TEXT;
  if (typeof cell === 'boolean') return { ...TEXT, kind: 'boolean' };
  if (cell instanceof Date) return { ...TEXT, kind: 'time' };
  const [, , whole = '', decimals = ''] = DECIMAL_NUMBER.exec(cell.number) ?? [];
  return whole === '' ? TEXT : { kind: 'number', digits: whole.length, scale: decimals.length };
}

function widerType(one: ColumnType | undefined, other: ColumnType): ColumnType {
  if (one === undefined) return other;
  if (one.kind !== other.kind) return TEXT;
  return {
    kind: one.kind,
    digits: Math.max(one.digits, other.digits),
    scale: Math.max(one.scale, other.scale),
  };
}
