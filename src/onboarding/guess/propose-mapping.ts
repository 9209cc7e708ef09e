import { cleanContactCell } from '../../mapping/compile-mapping.ts';
import { isSectionHeading } from '../../mapping/map-tables.ts';
import type { MappingFile, MappingSpec, ProductMappingSpec } from '../../mapping/spec/mapping-spec.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { didYouMean, looseName } from '../../text/printable.ts';
import { columnOf, fieldLabel, fieldsOf, fieldValue } from '../column-fields.ts';
import { draftContact } from './draft-contact.ts';
import { draftProduct } from './draft-product.ts';
import { type EarlierUse, Guess, isCalled, type MappingAnswers } from './guess.ts';
import { readContactHeader, readProductHeader } from './header-reading.ts';
import { isAmount, isEmail, readAmount, sampleColumns, shareOf } from './sampled-column.ts';
import { words } from './words.ts';

export type { MappingAnswers, MappingQuestion } from './guess.ts';
export { MAPPING_QUESTIONS } from './guess.ts';

/** The proposed mapping for a file of an unknown format, and the open questions. */
export type MappingProposal = ReturnType<typeof proposeMapping>;

/** A file to guess a mapping for. */
export interface FileToGuess {
  readonly header: readonly string[];
  /** The cells of the sampled rows. */
  readonly rows: readonly (readonly string[])[];
  /** Milliseconds since the epoch; undefined if no date is compared with it. */
  readonly now?: number | undefined;
  /** Of each row of a sheet, whether it is hidden or struck out. */
  readonly marked?: Guess['marked'];
  /** How a sheet shows the numbers of columns: `# €/100 pcs`. */
  readonly shown?: Guess['shown'] | undefined;
  /** What stands beside the table: values by their paths, and lines above the header without one. */
  readonly beside?: readonly (readonly [path: string, text: string])[];
  readonly isJson?: boolean;
}

/** A mapping of the workspace, or one that is shipped, which teaches nothing. */
type EarlierMapping = Pick<MappingFile, 'name' | 'spec' | 'shipped'>;

/**
 * Proposes a mapping from the words of the headers, the sampled cells, and earlier mappings of the workspace with the
 * same headers. Whatever is ambiguous becomes a question. UsageError for an answer that names no column, or that its
 * question does not offer.
 */
export function proposeMapping(
  imports: MappingSpec['import'],
  { header, rows, now, marked = [], shown, beside = [], isJson }: FileToGuess,
  answers: MappingAnswers = {},
  earlier: readonly EarlierMapping[] = [],
) {
  refuseUnknownFields(imports, answers);
  const headings =
    imports === 'products' && header.length > 2 ? headingsOf(rows) : new Set<readonly string[]>();
  const clean = (cell: string) => (imports === 'contacts' ? (cleanContactCell(cell) ?? '') : cell);
  const read = imports === 'contacts' ? readContactHeader : readProductHeader;
  const sampled = sampleColumns(
    header,
    rows.filter((row) => !headings.has(row)).map((row) => row.map(clean)),
    read,
  );
  const lines = beside.flatMap(([path, text]) => (path === '' ? [text] : []));
  const values = beside.filter(([path]) => path !== '');
  const uses = earlierUses(earlier.filter(({ spec, shipped }) => !shipped && spec.import === imports));
  const guess = new Guess(imports, sampled, answers, uses, {
    now,
    marked: marked.filter((_, row) => !headings.has(rows[row] ?? [])),
    shown,
    lines: [...lines, ...[...headings].map(joinedCells)],
    beside: sampleColumns(
      values.map(([path]) => path),
      [values.map(([, text]) => text)],
      // Whatever it is within: meta.prices_include_tax.
      (path) => read(path.replace(/^.*\./s, '')),
    ),
    isJson,
  });
  const drafted = imports === 'contacts' ? draftContact(guess) : draftProduct(guess, headings);
  const spec = drafted?.import === 'products' ? withShortRows(guess, drafted, { header, rows }) : drafted;
  return {
    imports,
    /** All columns of the file, in their order. */
    columns: guess.proposed(),
    /** How cells are read and rows become records, as sentences. */
    notes: [...new Set(guess.notes)],
    /** The open questions; empty when the mapping is complete. */
    questions: guess.questions,
    /** Null while a question is open. */
    spec: guess.questions.length > 0 ? null : (spec ?? null),
    /** Why each column is used, by its name in `spec.columns`. */
    evidence: Object.fromEntries([...guess.used].map(([name, { evidence }]) => [name, evidence])),
  };
}

/**
 * The headings between products. None if any row with a single text is something else: a text in a column that other rows
 * rarely fill continues the row above it.
 */
function headingsOf(rows: readonly (readonly string[])[]): ReadonlySet<readonly string[]> {
  const isFilled = (cell: string | undefined) => cell !== undefined && cell.trim() !== '';
  const headings = new Set(rows.filter(isSectionHeading));
  const others = rows.filter((row) => !headings.has(row));
  const areHeadings = [...headings].every((row) => {
    const [at = 0, ...merged] = row.flatMap((cell, index) => (isFilled(cell) ? [index] : []));
    return merged.length > 0 || others.filter((other) => isFilled(other[at])).length > others.length * 0.8;
  });
  return areHeadings ? headings : new Set();
}

/** The texts of a row that is no data. */
export function joinedCells(cells: readonly string[]): string {
  return cells.filter((cell) => cell.trim() !== '').join(' ');
}

/** The mapping of a file all of whose rows lack the same last columns, which it does not use. */
function withShortRows(
  guess: Guess,
  spec: ProductMappingSpec,
  { header, rows }: FileToGuess,
): ProductMappingSpec {
  const width = rows[0]?.length ?? header.length;
  const isShort = width < header.length && rows.every(({ length }) => length === width);
  if (!isShort || [...guess.used.values()].some(({ column }) => column.index >= width)) return spec;
  guess.notes.push(`All rows have ${width} cells under ${header.length} headers: the last ones are blank.`);
  return { ...spec, csv: { shortRows: 'pad' } };
}

function refuseUnknownFields(imports: MappingSpec['import'], answers: MappingAnswers) {
  const names = Object.keys(answers).flatMap((id) =>
    id.startsWith('column.') ? [id.slice('column.'.length)] : [],
  );
  const fields = withoutAbsent([...Object.keys(fieldsOf(imports)), imports === 'products' && 'option']);
  const unknown = names.find((name) => !fields.includes(name));
  if (unknown === undefined) return;
  throw new UsageError(`There is no field '${unknown}' of ${imports}${didYouMean(unknown, fields) || '.'}`, {
    hint: `Fields: ${fields.join(', ')}.`,
  });
}

/** The columns that a proposal uses, and those called a field of which it asks which one fills it; each with the label of the field. */
export function understoodColumns(imports: MappingSpec['import'], file: FileToGuess) {
  const { columns, questions } = proposeMapping(imports, file);
  const labelled = (header: string, field: string) => ({ header, field: fieldLabel(imports, field) });
  const called = new Set(
    columns.flatMap(({ header, alternatives }) => (alternatives.length > 0 ? [header] : [])),
  );
  return {
    used: columns.flatMap(({ header, field }) => (field === null ? [] : [labelled(header, field)])),
    asked: questions.flatMap(({ id, answers }) =>
      answers
        .filter(({ value }) => id.startsWith('column.') && called.has(value))
        .map(({ value }) => labelled(value, id.slice('column.'.length))),
    ),
  };
}

/**
 * The row below a supposed header that is more probably the header: at least half of its cells are known header words, while
 * the supposed one has hardly any. Undefined if there is none.
 */
export function headerBelow(header: readonly string[], rows: FileToGuess['rows']): number | undefined {
  const known = (cells: readonly string[]) => {
    const filled = new Set(cells.map((cell) => cell.trim()).filter((cell) => cell !== ''));
    const texts = [...filled].slice(0, MAX_HEADERS_READ);
    const understood = texts.filter((text) => languagesOf(text).length > 0);
    return { count: understood.length, share: understood.length / Math.max(1, texts.length) };
  };
  const own = known(header).count;
  const found = rows.slice(0, MAX_PREAMBLE_ROWS).findIndex((row) => {
    const { count, share } = known(row);
    return count >= 2 && share >= 0.5 && count > own * 2;
  });
  return found < 0 ? undefined : found;
}

/** The languages in which a header is known; none for one that is misspelt. */
function languagesOf(header: string): readonly string[] {
  return [...readProductHeader(header).meanings, ...readContactHeader(header).meanings].flatMap(
    ({ how, languages }) => (how === 'exact' ? languages : []),
  );
}

const MAX_PREAMBLE_ROWS = 20;
/** They show which row is the header, and in which charset it is. */
const MAX_HEADERS_READ = 100;

/** For each known header with characters beyond ASCII the charsets in which its languages are written. */
export function charsetsOf(header: readonly string[]): readonly ReadonlySet<string>[] {
  const charsets = new Map(Object.values(words().languages).map((one) => [one.name, one.charsets]));
  return header
    .filter((text) => /[^\p{ASCII}]/u.test(text) && /\p{L}/u.test(text))
    .slice(0, MAX_HEADERS_READ)
    .flatMap((text) => {
      const languages = languagesOf(text);
      return languages.length === 0
        ? []
        : [new Set(languages.flatMap((one) => [...(charsets.get(one) ?? [])]))];
    });
}

/** Whether a file has products or contacts, by its headers and values; undefined if both are possible. */
export function guessImport({ header: headers, rows }: FileToGuess): MappingSpec['import'] | undefined {
  const columns = sampleColumns(headers, rows, readProductHeader);
  const hasPrice = columns.some(
    (column) =>
      isCalled(column, 'price', 'regular', 'was', 'sale', 'cost') &&
      (column.values.length === 0 || shareOf(column, isAmount) > 0.5),
  );
  const hasEmail = columns.some((column) => shareOf(column, isEmail) > 0.5);
  if (hasPrice !== hasEmail) return hasPrice ? 'products' : 'contacts';
  if (hasPrice) return undefined;
  const isMoney = (value: string) =>
    readAmount(value)?.currencyWord !== undefined || /^\d+[.,]\d{2}$/.test(value);
  const hasMoney = columns.some((column) => shareOf(column, isMoney) > 0.5);
  const ofProducts = columns.filter((column) => isCalled(column, 'sku', 'gtin', 'quantity', 'image'));
  return hasMoney || ofProducts.length > 1 ? 'products' : undefined;
}

/** Fields whose values are more than the cell of a column, or mean its contrary: of one who has opted out it is `subscribed` too. */
const NOT_LEARNED: readonly string[] = ['url', 'images', 'hidden', 'subscribed'];

/** The fields that earlier mappings read directly from a column, by its loosened header. */
function earlierUses(mappings: readonly EarlierMapping[]): EarlierUse {
  const uses = new Map<string, { readonly mapping: string; readonly field: string }>();
  for (const { name, spec } of mappings) {
    for (const field of Object.keys(fieldsOf(spec.import)).filter((one) => !NOT_LEARNED.includes(one))) {
      const column = columnOf(fieldValue(spec, field));
      const written = column === undefined ? undefined : spec.columns[column];
      const headers = typeof written === 'object' && 'header' in written ? written.header : (written ?? []);
      for (const header of [headers].flat()) {
        if (!header.includes('{')) uses.set(looseName(header), { mapping: name, field });
      }
    }
  }
  return uses;
}
