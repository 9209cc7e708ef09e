import type { MappingSpec } from '../../config/mapping/mapping-spec.ts';
import { MappingError } from '../../model/errors.ts';
import { loosened } from '../../model/loosened.ts';
import { bindTable, type ColumnReport } from './bind-table.ts';
import { Columns } from './columns.ts';
import { requiredColumns } from './required-columns.ts';

/** How a mapping and a header line go together. */
export interface HeaderFit {
  /** What stops a run at this header: required columns that are not there, or one that repeats; null when nothing does. */
  readonly obstacle: string | null;
  /** The headers that the mapping's columns take, in the order of the file. */
  readonly used: readonly string[];
  /** How many headers there are, blank ones not counted. */
  readonly headers: number;
  /** How many of the mapping's columns the header has, and how many the mapping has. */
  readonly columnsFound: number;
  readonly columns: number;
}

/** Tries a mapping against a header line, without rows, params or lookups. */
export function fitHeader(spec: MappingSpec, header: readonly string[]): HeaderFit {
  const { report, repeated } = bind(spec, header);
  const taken = new Set(report.used.flatMap(({ headers }) => headers));
  const lacking = requiredColumns(spec).filter((name) => report.missing.includes(name));
  return {
    obstacle:
      lacking.length === 0 ? repeated : `it has no ${lacking.map((name) => headerOf(spec, name)).join(', ')}`,
    used: [...new Set(header.map((text) => text.trim()))].filter((text) => taken.has(text)),
    headers: header.filter((text) => text.trim() !== '').length,
    columnsFound: report.used.length,
    columns: Object.keys(spec.columns).length,
  };
}

function bind(
  spec: MappingSpec,
  header: readonly string[],
): { readonly report: ColumnReport; readonly repeated: string | null } {
  const rest = spec.import === 'contacts' ? (spec.contact.properties?.rest ?? false) : false;
  const options = {
    required: [],
    rest: rest !== false,
    except: typeof rest === 'object' ? rest.except : [],
  };
  try {
    return { report: bindTable(new Columns(spec.columns), header, 0, options).report, repeated: null };
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    const { report } = bindTable(new Columns(spec.columns), withoutRepeats(header), 0, options);
    return { report, repeated: lowerFirst(error.message.replace(/\.$/, '')) };
  }
}

/** What the file would be known by if nothing in it repeated. */
function withoutRepeats(header: readonly string[]): readonly string[] {
  const known = new Set<string>();
  return header.map((text) => {
    const isNew = !known.has(loosened(text));
    known.add(loosened(text));
    return isNew ? text : '';
  });
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** A column as the format itself calls it: by the first of its headers. */
function headerOf({ columns }: MappingSpec, name: string): string {
  const spec = columns[name];
  const written = typeof spec === 'object' && 'header' in spec ? spec.header : (spec ?? name);
  return `'${(typeof written === 'string' ? written : written[0]) ?? name}'`;
}
