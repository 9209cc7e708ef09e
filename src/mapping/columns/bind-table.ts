import { blankCellsBeyond, type CellCurrencies, type Row } from '../../model/row.ts';
import { MappingError } from '../../model/storeferry-error.ts';
import { didYouMean, listHeaders, looseName, quotableHeaders } from '../../text/printable.ts';
import { type BoundTable, memoDigest } from '../record-rows.ts';
import type { MappingSpec } from '../spec/mapping-spec.ts';
import { type Column, Columns, type Family, type FoundHeader, HeaderLine } from './columns.ts';

/** How the columns of a mapping match a header line. */
export interface ColumnReport {
  /** The mapping's columns that were found, with their headers. */
  readonly used: readonly { readonly name: string; readonly headers: readonly string[] }[];
  /** The mapping's columns that this file lacks. */
  readonly missing: readonly string[];
  /** Headers that the mapping does not use, without the columns of a rejects file. */
  readonly unused: readonly string[];
}

/** A header line, resolved against a mapping. */
export interface Binding {
  readonly table: BoundTable;
  /** For each slot the index of its cell in a row; -1 if the file has none. */
  readonly indexes: Int32Array;
  /** The captures of headers, which are equal for all rows of the file. */
  readonly constants: readonly { readonly slot: number; readonly text: string }[];
  /** The number of cells of a complete row. */
  readonly width: number;
  /** The positions of surplus cells of a corrected rejects file; they must be blank. */
  readonly surplus: readonly number[];
  readonly report: ColumnReport;
}

const OURS = /^storeferry_/;
const SURPLUS = /^storeferry_extra_[0-9]+$/;

/**
 * Finds the mapping's columns in a header line.
 * @throws MappingError if a required column is missing, or a used column occurs more than once.
 */
export function bindTable(
  columns: Columns,
  spec: MappingSpec,
  header: readonly string[],
  file: number,
  options: {
    readonly required: readonly string[];
    /** Columns that only show whether a row has shifted; their values are not sent. */
    readonly watched?: ReadonlySet<string>;
  },
): Binding {
  const rest = spec.import === 'contacts' ? (spec.contact.properties?.rest ?? false) : false;
  const except = typeof rest === 'object' ? rest.except : [];
  const line = new HeaderLine(header);
  const { headers: trimmed } = line;
  const bySlot = new Map<number, number>();
  const constants: { slot: number; text: string }[] = [];
  const usedIndexes = new Set<number>();
  const watchedIndexes = new Set<number>();
  const used: { name: string; headers: string[] }[] = [];
  const missing: string[] = [];
  const take = (slot: number, { index, captured }: FoundHeader) => {
    bySlot.set(slot, index);
    usedIndexes.add(index);
    for (const [name, text] of captured) {
      const captureSlot = columns.captures.get(name);
      if (captureSlot !== undefined && !constants.some((known) => known.slot === captureSlot)) {
        constants.push({ slot: captureSlot, text });
      }
    }
  };
  for (const column of columns.declared.values()) {
    if (column.joined !== undefined) continue;
    const found = column.family === undefined ? findSingle(column, line) : findMembers(column, line);
    for (const [number, one] of found) {
      take(column.family === undefined ? (column.slot ?? -1) : columns.member(column.family, number), one);
    }
    if (found.size === 0) {
      missing.push(column.name);
    } else if (options.watched?.has(column.name)) {
      for (const { index } of found.values()) watchedIndexes.add(index);
    } else {
      used.push({ name: column.name, headers: [...found.values()].map(({ index }) => trimmed[index] ?? '') });
    }
  }
  for (const name of options.required) {
    if (missing.includes(name)) throw missingColumn(columns, name, line, spec);
  }
  const unused: string[] = [];
  const seen = new Set<string>();
  for (const [index, text] of trimmed.entries()) {
    const isRepeated = seen.has(text);
    seen.add(text);
    if (watchedIndexes.has(index)) {
      unused.push(text);
      continue;
    }
    if (usedIndexes.has(index) || OURS.test(text) || text === '') continue;
    if (rest !== false && !except.includes(text)) {
      if (isRepeated) throw repeatedProperty(index, trimmed);
      bySlot.set(columns.restSlot(text), index);
    } else {
      unused.push(text);
    }
  }
  const indexes = new Int32Array(columns.slotCount).fill(-1);
  const headers: (string | undefined)[] = new Array(columns.slotCount).fill(undefined);
  for (const [slot, index] of bySlot) {
    indexes[slot] = index;
    headers[slot] = trimmed[index];
  }
  for (const { slot = -1, name, joined } of columns.declared.values()) {
    if (joined !== undefined) headers[slot] = name;
  }
  return {
    table: {
      file,
      headers,
      firstSlots: new Set([...bySlot].flatMap(([slot, index]) => (index === 0 ? [slot] : []))),
      digest: memoDigest(JSON.stringify([headers, constants, columns.assigned()])),
    },
    indexes,
    constants,
    width: header.length,
    surplus: trimmed.flatMap((text, index) => (SURPLUS.test(text) ? [index] : [])),
    report: { used, missing, unused },
  };
}

/** The binding of a file whose rows all have more or fewer blank cells than its header. */
export function withEvenRows(binding: Binding, header: readonly string[], batch: readonly Row[]): Binding {
  const more = blankCellsBeyond(header, batch);
  if (more === 0) return binding;
  const surplus = Array.from({ length: Math.max(0, more) }, (_, index) => binding.width + index);
  return { ...binding, width: binding.width + more, surplus: [...binding.surplus, ...surplus] };
}

/** The cells that the mapping uses, by slot. Missing cells of a short row are blank. */
export function cellsBySlot(row: Row, binding: Binding): (string | undefined)[] {
  const { indexes, constants } = binding;
  const cells: (string | undefined)[] = new Array(indexes.length);
  for (let slot = 0; slot < indexes.length; slot++) {
    const index = indexes[slot] ?? -1;
    cells[slot] = index < 0 ? undefined : (row.cells[index] ?? '');
  }
  for (const { slot, text } of constants) cells[slot] = text;
  return cells;
}

/** The currencies of a row by slot instead of by position. */
export function currenciesBySlot(named: CellCurrencies, { indexes }: Binding): CellCurrencies {
  const currencies: Record<number, string> = {};
  for (let slot = 0; slot < indexes.length; slot++) {
    const currency = named[indexes[slot] ?? -1];
    if (currency !== undefined) currencies[slot] = currency;
  }
  return currencies;
}

/** How the columns of a mapping match a header line, of which none is required. MappingError where a used column occurs more than once. */
export function reportColumns(spec: MappingSpec, header: readonly string[]): ColumnReport {
  return bindTable(new Columns(spec.columns), spec, header, 0, { required: [] }).report;
}

function findSingle(column: Column, line: HeaderLine): Map<number, FoundHeader> {
  const [all] = candidates(column, line);
  if (all === undefined) return new Map();
  if (typeof column.occurrence === 'number') {
    const chosen = all[column.occurrence - 1];
    return new Map(chosen === undefined ? [] : [[1, chosen]]);
  }
  const [only] = all;
  if (only === undefined || all.length > 1) throw repeated(only?.index ?? 0, line);
  return new Map([[1, only]]);
}

function findMembers(column: Column, line: HeaderLine) {
  const { family } = column;
  if (column.occurrence === 'all' && family !== undefined) return findAll(column, family, line);
  const members = new Map<number, FoundHeader>();
  for (const all of candidates(column, line)) {
    const added = new Map<number, FoundHeader>();
    for (const one of all) {
      const number = Number(one.captured.get('n'));
      if (added.has(number)) throw repeated(one.index, line);
      if (!members.has(number)) added.set(number, one);
    }
    for (const [number, one] of added) members.set(number, one);
  }
  return new Map([...members].sort(([a], [b]) => a - b));
}

/** All columns of a header. A column of another file has the number of the column here that is called the same. */
function findAll(column: Column, { labels }: Family, line: HeaderLine) {
  const exact = matching(column, line, false);
  const found = exact.length > 0 ? exact : matching(column, line, true).slice(0, 1);
  const byIndex = new Map(
    found
      .flat()
      .toReversed()
      .map((one) => [one.index, one]),
  );
  const members = new Map<number, FoundHeader>();
  for (const one of [...byIndex.values()].sort((a, b) => a.index - b.index)) {
    const label = [...one.captured.values()].at(-1) ?? line.headers[one.index] ?? '';
    const known = [...labels].find(([number, text]) => text === label && !members.has(number))?.[0];
    const number = known ?? labels.size + 1;
    labels.set(number, label);
    members.set(number, one);
  }
  return members;
}

/**
 * Where a header line has the columns of a mapping, from 0, by their names. Unlike `bindTable` it refuses nothing: of a header
 * that stands there more than once, a single column has the first.
 */
export function headerPlaces(
  specs: MappingSpec['columns'],
  header: readonly string[],
): ReadonlyMap<string, readonly number[]> {
  const line = new HeaderLine(header);
  return new Map(
    [...new Columns(specs).declared.values()].map((column) => {
      const all = candidates(column, line);
      const isSingle = column.occurrence === undefined && column.captures.length === 0 && !column.family;
      const found = isSingle ? (all[0] ?? []).slice(0, 1) : all.flat();
      return [column.name, [...new Set(found.map(({ index }) => index))].sort((a, b) => a - b)];
    }),
  );
}

/** Headers that match, by alternative: exactly, then loosely; alternatives without a match are left out. */
function candidates(column: Column, line: HeaderLine): readonly (readonly FoundHeader[])[] {
  return [false, true].flatMap((loose) => matching(column, line, loose));
}

function matching(
  { patterns }: Column,
  line: HeaderLine,
  loose: boolean,
): readonly (readonly FoundHeader[])[] {
  return patterns.map((pattern) => line.matching(pattern, loose)).filter(({ length }) => length > 0);
}

/** A header that the mapping does not know becomes the name of a property. It is not named: it may be the data of a person. */
function repeatedProperty(index: number, headers: readonly string[]) {
  const places = headers.flatMap((text, at) => (text === headers[index] ? [at + 1] : []));
  return new MappingError(
    `All other columns become properties, but the file has one of them more than once: columns ${places.slice(0, MAX_PLACES_NAMED).join(', ')} have the same header.`,
    { hint: 'Rename or remove all but one of them.' },
  );
}

const MAX_PLACES_NAMED = 10;

function repeated(index: number, { headers }: HeaderLine) {
  const header = headers[index] ?? '';
  const places = headers.flatMap((text, at) =>
    looseName(text) === looseName(header) ? [`${at + 1} ('${text}')`] : [],
  );
  const more = places.length - MAX_PLACES_NAMED;
  const named = `${places.slice(0, MAX_PLACES_NAMED).join(', ')}${more > 0 ? `, and ${more} more` : ''}`;
  return new MappingError(
    `The mapping uses the column '${header}', but the file has it more than once: columns ${named}.`,
    { hint: 'Choose one in the mapping: { header: …, occurrence: 1 }.' },
  );
}

function missingColumn(columns: Columns, name: string, line: HeaderLine, { import: resource }: MappingSpec) {
  const { patterns = [] } = columns.declared.get(name) ?? {};
  const accepted = patterns.map(({ written }) => `'${written}'`);
  const { headers } = line;
  const quotable = quotableHeaders(resource, headers, () => knownHeaders(columns, line));
  const near = patterns.map(({ written }) => didYouMean(written, quotable)).find((text) => text !== '');
  return new MappingError(
    `The file lacks the required column ${name}: expected the header ${accepted.join(' or ')}${near ?? '.'} Headers found: ${listHeaders(headers, quotable)}.`,
    { hint: 'Is this the right mapping for the file? A renamed header can be added to `columns`.' },
  );
}

/** The headers that the columns name, apart from those that match by a capture, which may be anything. */
function knownHeaders(columns: Columns, line: HeaderLine): ReadonlySet<string> {
  return new Set(
    [...columns.declared.values()].flatMap(({ patterns }) =>
      patterns
        .filter(({ captures }) => captures.every((capture) => capture === 'n'))
        .flatMap((pattern) => line.matching(pattern, true).map(({ index }) => line.headers[index] ?? '')),
    ),
  );
}

/** Of these headers the ones that a mapping names. */
export function headersOfMappings(
  specs: readonly MappingSpec[],
  headers: readonly string[],
): ReadonlySet<string> {
  const line = new HeaderLine(headers);
  return new Set(specs.flatMap((spec) => [...knownHeaders(new Columns(spec.columns), line)]));
}

/** The columns, by the mapping's names, that every file of its format has. */
export function requiredColumns(spec: MappingSpec): readonly string[] {
  return [...new Set([...(spec.required ?? []), ...requiredByGroup(spec)])];
}

/** The column that groups rows is required; of several alternatives, any one is enough. */
function requiredByGroup({ group, columns }: MappingSpec): readonly string[] {
  const by = Array.isArray(group?.by) ? group.by[0] : group?.by;
  return typeof by === 'string' && Object.hasOwn(columns, by) ? [by] : [];
}
