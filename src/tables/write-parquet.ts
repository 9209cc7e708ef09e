import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import {
  type ColumnType,
  cellAsText,
  columnTypes,
  DECIMAL_NUMBER,
  MIN_SCALE,
  type TypedCell,
  type WrittenTable,
} from './written-table.ts';

/** The rows of a group, whose columns are written together. */
const ROWS_PER_GROUP = 10_000;
/** The digits of a decimal that is stored in 64 bits, and in 16 bytes. */
const MAX_DIGITS = { short: 18, long: 38 } as const;

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/**
 * The bytes of a Parquet file, in groups of rows. The rows are read twice: first for the types of the columns. Whole
 * numbers are INT64, other numbers exact decimals, times TIMESTAMP in UTC; all values may be null.
 */
export async function* writeParquet({ columns, rows }: WrittenTable): AsyncGenerator<Uint8Array> {
  const types = await columnTypes(columns.length, rows());
  const schema = columns.map((name, index) => schemaElement(name, types[index]));
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema: [{ name: 'root', num_children: columns.length }, ...schema],
    createdBy: 'storeferry',
  });
  let group: (readonly TypedCell[])[] = [];
  const writeGroup = () => {
    const columnData = columns.map((name, index) => ({
      name,
      data: group.map((cells) => storedValue(cells[index] ?? null, types[index])),
    }));
    file.write({ columnData, rowGroupSize: ROWS_PER_GROUP });
    group = [];
  };
  for await (const batch of rows()) {
    group.push(...batch);
    if (group.length < ROWS_PER_GROUP) continue;
    writeGroup();
    yield takeBytes(writer);
  }
  if (group.length > 0) writeGroup();
  file.finish();
  yield takeBytes(writer);
}

/** The bytes so far; the writer goes on with an empty buffer. */
function takeBytes(writer: ByteWriter): Uint8Array {
  const bytes = writer.getBytes().slice();
  writer.index = 0;
  return bytes;
}

/** Decimals with the scale of the column; undefined where a decimal is too short for them. */
function decimalOf({ digits, scale }: ColumnType) {
  const stored = scale === 0 ? 0 : Math.max(scale, MIN_SCALE);
  const precision = [MAX_DIGITS.short, MAX_DIGITS.long].find((most) => digits + stored <= most);
  return precision === undefined ? undefined : { precision, scale: stored };
}

function schemaElement(name: string, type: ColumnType | undefined): SchemaElement {
  const column = { name, repetition_type: 'OPTIONAL' } as const;
  const text = { ...column, type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const;
  if (type === undefined) return text;
  switch (type.kind) {
    case 'text':
      return text;
    case 'boolean':
      return { ...column, type: 'BOOLEAN' };
    case 'time':
      return { ...column, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' };
    case 'number': {
      const decimal = decimalOf(type);
      if (decimal === undefined) return text;
      const isShort = decimal.precision === MAX_DIGITS.short;
      if (decimal.scale === 0 && isShort) return { ...column, type: 'INT64' };
      const stored = isShort
        ? ({ type: 'INT64' } as const)
        : ({ type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16 } as const);
      return { ...column, ...stored, ...decimal, converted_type: 'DECIMAL' };
    }
    default:
      return type.kind satisfies never;
  }
}

function storedValue(cell: TypedCell, type: ColumnType | undefined): string | boolean | Date | bigint | null {
  if (cell === null || type === undefined) return null;
  const decimal = type.kind === 'number' ? decimalOf(type) : undefined;
  if (decimal !== undefined && typeof cell === 'object' && 'number' in cell) {
    const [, sign = '', whole = '', decimals = ''] = DECIMAL_NUMBER.exec(cell.number) ?? [];
    return BigInt(sign + whole + decimals.padEnd(decimal.scale, '0'));
  }
  if (type.kind === 'boolean' || type.kind === 'time')
    return typeof cell === 'boolean' || cell instanceof Date ? cell : null;
  return type.kind === 'number' && cell === '' ? null : cellAsText(cell);
}
