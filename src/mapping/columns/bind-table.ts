import { MappingError } from '../../model/storeferry-error.ts';
import { didYouMean, listHeaders, loosened, quotableHeaders } from '../../text/nearest.ts';
import { type BoundTable, memoDigest } from '../record-rows.ts';
import type { MappingSpec } from '../spec/mapping-spec.ts';
import { type Captured, type Column, Columns, type Family, matchHeader } from './columns.ts';

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

interface Found {
  readonly index: number;
  readonly captured: Captured;
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
  const trimmed = trimmedHeader(header);
  const bySlot = new Map<number, number>();
  const constants: { slot: number; text: string }[] = [];
  const usedIndexes = new Set<number>();
  const watchedIndexes = new Set<number>();
  const used: { name: string; headers: string[] }[] = [];
  const missing: string[] = [];
  const take = (slot: number, { index, captured }: Found) => {
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
    const found = column.family === undefined ? findSingle(column, trimmed) : findMembers(column, trimmed);
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
    if (missing.includes(name)) throw missingColumn(columns, name, trimmed, spec);
  }
  const unused: string[] = [];
  for (const [index, text] of trimmed.entries()) {
    if (watchedIndexes.has(index)) {
      unused.push(text);
      continue;
    }
    if (usedIndexes.has(index) || OURS.test(text) || text === '') continue;
    if (rest !== false && !except.includes(text)) {
      if (trimmed.indexOf(text) !== index) throw repeatedProperty(index, trimmed);
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

/** How the columns of a mapping match a header line, of which none is required. MappingError where a used column occurs more than once. */
export function reportColumns(spec: MappingSpec, header: readonly string[]): ColumnReport {
  return bindTable(new Columns(spec.columns), spec, header, 0, { required: [] }).report;
}

function findSingle(column: Column, headers: readonly string[]): Map<number, Found> {
  const [all] = candidates(column, headers);
  if (all === undefined) return new Map();
  if (typeof column.occurrence === 'number') {
    const chosen = all[column.occurrence - 1];
    return new Map(chosen === undefined ? [] : [[1, chosen]]);
  }
  const [only] = all;
  if (only === undefined || all.length > 1) throw repeated(headers[only?.index ?? 0] ?? '', headers);
  return new Map([[1, only]]);
}

function findMembers(column: Column, headers: readonly string[]): Map<number, Found> {
  const { family } = column;
  if (column.occurrence === 'all' && family !== undefined) return findAll(column, family, headers);
  const members = new Map<number, Found>();
  for (const all of candidates(column, headers)) {
    const added = new Map<number, Found>();
    for (const one of all) {
      const number = Number(one.captured.get('n'));
      if (added.has(number)) throw repeated(headers[one.index] ?? '', headers);
      if (!members.has(number)) added.set(number, one);
    }
    for (const [number, one] of added) members.set(number, one);
  }
  return new Map([...members].sort(([a], [b]) => a - b));
}

/** All columns of a header. A column of another file has the number of the column here that is called the same. */
function findAll(column: Column, { labels }: Family, headers: readonly string[]): Map<number, Found> {
  const exact = matching(column, headers, false);
  const found = exact.length > 0 ? exact : matching(column, headers, true).slice(0, 1);
  const byIndex = new Map(
    found
      .flat()
      .toReversed()
      .map((one) => [one.index, one]),
  );
  const members = new Map<number, Found>();
  for (const one of [...byIndex.values()].sort((a, b) => a.index - b.index)) {
    const label = [...one.captured.values()].at(-1) ?? headers[one.index] ?? '';
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
  const trimmed = trimmedHeader(header);
  return new Map(
    [...new Columns(specs).declared.values()].map((column) => {
      const all = candidates(column, trimmed);
      const isSingle = column.occurrence === undefined && column.captures.length === 0 && !column.family;
      const found = isSingle ? (all[0] ?? []).slice(0, 1) : all.flat();
      return [column.name, [...new Set(found.map(({ index }) => index))].sort((a, b) => a - b)];
    }),
  );
}

function trimmedHeader(header: readonly string[]): string[] {
  return header.map((text) => text.replace(/^[\s\ufeff]+|[\s\ufeff]+$/g, ''));
}

/** Headers that match, by alternative: exactly, then loosely; alternatives without a match are left out. */
function candidates(column: Column, headers: readonly string[]): Found[][] {
  return [false, true].flatMap((loose) => matching(column, headers, loose));
}

function matching(column: Column, headers: readonly string[], loose: boolean): Found[][] {
  const found = column.patterns.map((pattern) =>
    headers.flatMap((header, index) => {
      const captured = header === '' ? undefined : matchHeader(pattern, header, loose);
      return captured === undefined ? [] : [{ index, captured }];
    }),
  );
  return found.filter(({ length }) => length > 0);
}

/** A header that the mapping does not know becomes the name of a property. It is not named: it may be the data of a person. */
function repeatedProperty(index: number, headers: readonly string[]): MappingError {
  const places = headers.flatMap((text, at) => (text === headers[index] ? [at + 1] : []));
  return new MappingError(
    `All other columns become properties, but the file has one of them more than once: columns ${places.join(', ')} have the same header.`,
    { hint: 'Rename or remove all but one of them.' },
  );
}

function repeated(header: string, headers: readonly string[]): MappingError {
  const places = headers.flatMap((text, index) =>
    loosened(text) === loosened(header) ? [`${index + 1} ('${text}')`] : [],
  );
  return new MappingError(
    `The mapping uses the column '${header}', but the file has it more than once: columns ${places.join(', ')}.`,
    { hint: 'Choose one in the mapping: { header: …, occurrence: 1 }.' },
  );
}

function missingColumn(
  columns: Columns,
  name: string,
  headers: readonly string[],
  { import: resource }: MappingSpec,
): MappingError {
  const { patterns = [] } = columns.declared.get(name) ?? {};
  const accepted = patterns.map(({ written }) => `'${written}'`);
  const isKnown = (header: string) =>
    [...columns.declared.values()].some((column) =>
      column.patterns.some(
        (pattern) =>
          pattern.captures.every((capture) => capture === 'n') &&
          matchHeader(pattern, header, true) !== undefined,
      ),
    );
  const quotable = quotableHeaders(resource, headers, isKnown);
  const near = patterns.map(({ written }) => didYouMean(written, quotable)).find((text) => text !== '');
  return new MappingError(
    `The file lacks the required column ${name}: expected the header ${accepted.join(' or ')}${near ?? '.'} Headers found: ${listHeaders(headers, quotable)}.`,
    { hint: 'Is this the right mapping for the file? A renamed header can be added to `columns`.' },
  );
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
