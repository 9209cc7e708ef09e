import type { ColumnSpec, MappingSpec } from '../../config/mapping/mapping-spec.ts';
import { loosened } from '../../model/loosened.ts';

/** A field that a mapping of one's own begins with, and the column of the file that likely holds it. */
export interface SuggestedColumn {
  readonly field: string;
  readonly header: string | undefined;
}

const FIELDS = {
  products: ['title', 'price', 'sku', 'description', 'quantity'],
  contacts: ['email', 'name', 'phone', 'city', 'zip', 'country', 'companyName'],
} as const;

/** Looks for the columns of a file by what the formats that are known call theirs, in whatever language. */
export function suggestColumns(
  header: readonly string[],
  imports: MappingSpec['import'],
  known: readonly MappingSpec[],
): SuggestedColumn[] {
  const taken = new Set<string>();
  return FIELDS[imports].map((field) => {
    const words = new Set(known.flatMap((spec) => headersOf(spec, field)).map(loosened));
    words.add(loosened(field));
    const found = header.find(
      (text) =>
        words.has(loosened(text)) && !taken.has(text) && header.indexOf(text) === header.lastIndexOf(text),
    );
    if (found !== undefined) taken.add(found);
    return { field, header: found };
  });
}

/** What a format calls the column that fills a field. */
function headersOf(spec: MappingSpec, field: string): readonly string[] {
  const column = columnOf(fieldValue(spec, field));
  return column === undefined || !Object.hasOwn(spec.columns, column) ? [] : written(spec.columns[column]);
}

function fieldValue(spec: MappingSpec, field: string): unknown {
  if (spec.import === 'contacts') return member(spec.contact, field);
  switch (field) {
    case 'price':
      return spec.variants.pricing === undefined ? undefined : member(spec.variants.pricing, 'price');
    case 'sku':
    case 'quantity':
      return member(spec.variants, field);
    default:
      return member(spec.product, field);
  }
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

/** The column that a value begins with, where it begins with one. */
function columnOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return columnOf(value[0]);
  const within = member(value, 'value') ?? member(value, 'first');
  return within === undefined ? undefined : columnOf(within);
}

function written(spec: ColumnSpec | undefined): readonly string[] {
  const headers = typeof spec === 'object' && 'header' in spec ? spec.header : (spec ?? []);
  return (typeof headers === 'string' ? [headers] : headers).filter((text) => !text.includes('{'));
}
