import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isolatedResult, SMALL_INPUT_BYTES } from '../isolation/run-isolated.ts';
import { CurrencyWatch, compileMapping, lookupsOfStoreLists } from '../mapping/compile-mapping.ts';
import { storeListsTable } from '../mapping/lookup-table.ts';
import { mapTables } from '../mapping/map-tables.ts';
import { type MappingSpec, matchOfMapping } from '../mapping/spec/mapping-spec.ts';
import { withoutAbsent } from '../model/json-object.ts';
import { leavesOf, type Mapped, type TracedField } from '../model/mapped-record.ts';
import type { Reason } from '../model/reason.ts';
import type { FilePlace } from '../model/remote-address.ts';
import { expandBraces } from '../model/remote-address.ts';
import { currenciesNamed, delimiterName, isSheet, type Row, type TablePlaces } from '../model/row.ts';
import {
  explainError,
  MappingError,
  SourceError,
  sentenceOf,
  UsageError,
} from '../model/storeferry-error.ts';
import { stageSource } from '../source/snapshot.ts';
import { SampleFolder } from '../state/artifacts.ts';
import { type AllowedPath, allowedPath, type FileAccess } from '../state/file-access.ts';
import { openRowScratch } from '../state/sqlite/open-row-scratch.ts';
import { type CsvOptions, openTable } from '../tables/open-table.ts';
import { counted, listed } from '../text/printable.ts';
import {
  type FileToGuess,
  joinedCells,
  type MappingAnswers,
  type MappingProposal,
  proposeMapping,
} from './guess/propose-mapping.ts';
import { type MappingCandidate, type RecognisedFile, recogniseFile } from './guess-mapping.ts';

export { fetchHostKey, fetchPicture, openPictures } from '../source/snapshot.ts';
// The fields that a column can fill, also for mappings that exist.
export { type ColumnField, columnOf, fieldLabel, fieldsOf, fieldValue } from './column-fields.ts';
export type { ProposedColumn } from './guess/guess.ts';
export { fitHeader } from './guess-mapping.ts';

/** What a file contains when it is read like an import. */
export type SourceLook = Awaited<ReturnType<typeof lookAtSource>>;

/** Files up to this size are read completely first; of a larger file only the beginning. */
const SAMPLE_BYTES = 32 * 1024 * 1024;
/** Enough to see how values are written; of a larger file a run refuses later rows that are written otherwise. */
const MAX_ROWS_KEPT = 5000;
/** Of a wide file fewer rows: whoever examines a column needs a cell of each row, also where the row is shorter. */
const MAX_CELLS_KEPT = 1_000_000;

/** Rows that a person is shown to say what they are. */
const MAX_ROWS_SHOWN = 30;

export interface LookOptions extends Omit<CsvOptions, 'name' | 'file' | 'limits' | 'blockBytes'> {
  readonly sheet?: string | number | undefined;
  readonly records?: string | undefined;
  /** What the mapping says of CSV files, for what else is not said. */
  readonly csv?: MappingSpec['csv'];
  readonly sampleBytes?: number | undefined;
  /** For the path of a job: what it may read. Otherwise the user has typed the path, and may read its target. */
  readonly access?: FileAccess | undefined;
  /** Ends a download. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Looks at a file (an absolute path, or a place on another machine) like an import: unpacks it, detects charset and
 * delimiter, and reads the header and some rows. SourceError, CsvError or EncodingError for a file that an import would
 * refuse. Writes nothing.
 */
export async function lookAtSource(place: string | FilePlace, options: LookOptions = {}) {
  const { path, remote, ...query } = typeof place === 'string' ? { path: place } : place;
  const {
    sampleBytes = SAMPLE_BYTES,
    sheet,
    records,
    signal,
    access,
    headerRow,
    dataRow,
    csv,
    ...written
  } = options;
  const real = path === undefined || access ? path : await realpath(path).catch(() => path);
  const folder = new SampleFolder(sampleBytes);
  const { files, readAs } = await stageSource(
    { ...(real === undefined ? { remote } : { path: real, ...query }), sheet, records },
    { workspaceDir: dirname(real ?? '/'), ...access, folder, signal },
  );
  const [first] = files;
  if (first === undefined) throw new SourceError(`There is no file in ${remote?.location ?? path}.`);
  const { cut } = folder.sampled(first.stored);
  const { name } = first;
  const bytes = await folder.read(first.stored);
  const dialect = {
    ...written,
    encoding: written.encoding ?? csv?.encoding,
    delimiter: written.delimiter ?? csv?.delimiter,
    ...readAs,
  };
  using table = await openTable(bytes, first.table, { ...dialect, headerRow, dataRow, name });
  if (table.doubt !== null) throw table.doubt;
  const rows: Row[] = [];
  let cellsLeft = MAX_CELLS_KEPT;
  for await (const batch of table.batches()) {
    for (const row of batch) {
      if (cellsLeft <= 0 || rows.length === MAX_ROWS_KEPT) break;
      cellsLeft -= Math.max(row.cells.length, table.header.length);
      rows.push(row);
    }
    // The sample of a larger file may end within a row.
    if (cut) break;
  }
  const { headerLine } = table;
  const readBeginning = async () => {
    const { delimiter, encoding } = table.dialect;
    const read = { ...dialect, delimiter, encoding, name };
    using raw = await openTable(await folder.read(first.stored), first.table, read);
    for await (const batch of raw.batches())
      return [{ file: 0, line: raw.headerLine, cells: raw.header }, ...batch];
    return [];
  };
  const own = withoutAbsent([headerLine > 0 && { file: 0, line: headerLine, cells: table.header }, ...rows]);
  const isMoved = headerRow !== undefined || dataRow !== undefined;
  return {
    /** The files in it: one, or those of a zip. */
    files: files.map(({ name }) => name),
    /** The line or row of the header; 0 where the header is none of the rows. This and all below are those of the first file. */
    headerLine,
    /** The file from its beginning, as it is: with what stands above the header and between it and the data. */
    beginning: (isMoved ? await readBeginning().catch(() => own) : own).slice(0, MAX_ROWS_SHOWN),
    /** Merged cells of the first rows of a sheet: first and last row (from 1), first and last column (from 0). */
    merged: first.table?.merged ?? [],
    marks: first.table?.marks,
    besideRecords: first.table?.beside ?? [],
    header: table.header,
    dialect: table.dialect,
    /** Set where the file is no CSV. */
    places: table.places,
    /** The first rows with data. */
    rows,
    /** The number of rows; null if the file is too large to be read completely for this. */
    rowCount: cut ? null : table.counts.rows,
  };
}

/** The files that a page of the dashboard may read or name: those of the workspace, whatever the operator allows for jobs. */
export function browserAccess(workspaceDir: string): FileAccess {
  return { workspaceDir, workspaceOnly: true };
}

/**
 * The real path that a visitor of the dashboard has chosen, its placeholders filled in, or the reason why it is refused. Of a
 * glob every path that its braces stand for must be inside the workspace.
 */
export async function placeInWorkspace(path: string, workspaceDir: string): Promise<AllowedPath> {
  const access = browserAccess(workspaceDir);
  for (const one of expandBraces(path) ?? []) {
    if (/^(?:[~\\]|[A-Za-z]:)/.test(one)) return { refused: 'leads outside the workspace', hint: '' };
    const place = await allowedPath(one, access);
    if ('refused' in place) return place;
  }
  return await allowedPath(path, access);
}

/** `prices.csv reads as CSV: 1,234 rows, 47 columns, separated by comma, utf-8.` */
export function describeLook(
  { files, header, places, dialect: { delimiter, encoding, bom }, rowCount }: SourceLook,
  name: string,
): string {
  const parts = [
    rowCount === null ? 'many rows' : counted(rowCount, 'row'),
    counted(header.length, 'column'),
    ...(places === undefined
      ? [
          `separated by ${delimiterName(delimiter) ?? delimiter}`,
          `${encoding}${bom ? ' with byte order mark' : ''}`,
        ]
      : []),
  ];
  const several = files.length > 1 ? ` (the first of ${files.length} files in it)` : '';
  return `${name} reads as ${formatWords(places)}: ${parts.join(', ')}${several}.`;
}

/** A column as people call it: an attribute of XML by its name and element. */
export function columnWords(header: string, { places }: Pick<SourceLook, 'places'>): string {
  const [, path = '', name] = /^(.*)@([^@]+)$/s.exec(header) ?? [];
  if (places?.format !== 'xml' || name === undefined) return header;
  return `${name} (attribute of ${(path || places.title).replace(/^.*\./s, '')})`;
}

function formatWords(places: TablePlaces | undefined) {
  if (places === undefined) return 'CSV';
  if (isSheet(places)) return `the sheet '${places.title}'`;
  const format = places.format === 'jsonl' ? 'JSON Lines' : places.format.toUpperCase();
  return places.title === '' ? format : `${format} with the records ${places.title}`;
}

const DISTINCTIVE_SHOWN = 4;

/** The reasons for this mapping, other mappings that fit, or why none fits. */
export function explainGuess({ guess: { fitting, near }, best, lost }: RecognisedFile): string[] {
  const lines: string[] = [];
  const leavesOut = ({ name }: { readonly name: string }) => {
    const columns = (lost.get(name) ?? []).map(({ header, field }) => `'${header}' (${field})`);
    return columns.length === 0 ? [] : [listed(columns)];
  };
  if (best !== undefined) {
    const { name, used, headers, distinctive, shipped } = best;
    const examples = listed(distinctive.slice(0, DISTINCTIVE_SHOWN).map((text) => `'${text}'`));
    const own =
      distinctive.length === 0 ? '' : `, ${distinctive.length} of which no other format has (${examples})`;
    lines.push(`Recognised as ${name}: ${used.length} of the ${headers} columns are known${own}.`);
    if (!shipped)
      for (const columns of leavesOut(best))
        lines.push(`  It leaves out ${columns}, which a new mapping would use.`);
  }
  const others = fitting.filter((fit) => fit !== best);
  if (others.length > 0) {
    const names = listed(
      others.map(({ name, used, headers }) => `${name} (${used.length} of ${headers} columns)`),
    );
    const unsure = others.length === 1 ? 'A possible mapping is' : 'Several mappings are possible:';
    lines.push(best === undefined ? `${unsure} ${names}.` : `Other mappings that fit: ${names}.`);
    if (best === undefined)
      for (const other of others)
        for (const columns of leavesOut(other)) lines.push(`  ${other.name} would leave out ${columns}.`);
  }
  const [nearest] = near;
  if (fitting.length === 0)
    lines.push(
      nearest === undefined || nearest.used.length < 2
        ? 'No known format has these columns.'
        : `No known format has these columns. The nearest is ${nearest.name}, but ${nearest.obstacle}.`,
    );
  return lines;
}

/** The rows of a look, to guess a mapping by. */
export function fileToGuess({
  header,
  rows,
  marks,
  beginning,
  headerLine,
  besideRecords,
  places,
}: SourceLook): FileToGuess {
  const [hidden, struck] = [new Set(marks?.hidden), new Set(marks?.struck)];
  const above = beginning.filter(({ line }) => line < headerLine);
  return {
    header,
    rows: rows.map(({ cells }) => cells),
    marked: rows.map(({ line }) => (hidden.has(line) ? 'hidden' : struck.has(line) ? 'struck' : undefined)),
    shown: marks?.shown,
    beside: [...above.map(({ cells }) => ['', joinedCells(cells)] as const), ...besideRecords],
    isJson: places?.format === 'json' || places?.format === 'jsonl',
  };
}

/** What the first records of a source become. */
export type SourcePreview = Awaited<ReturnType<typeof previewSource>>;

/** Rows that become no record. */
export interface LeftOutRows {
  readonly kind: Exclude<Mapped['kind'], 'record'>;
  readonly from: number;
  readonly to: number;
  readonly reason: Reason;
}

/** A record with its request body, or why there is none. */
export interface PreviewedRecord {
  readonly key: string | null;
  readonly kind: Mapped['kind'];
  /** The line of its first row. */
  readonly line: number;
  /** The values of the request body. */
  readonly fields: readonly Pick<TracedField, 'path' | 'value'>[];
  readonly reason: Reason | null;
  /** The text of the cell that the reason names. */
  readonly cell: string | undefined;
}

const RECORDS_SHOWN = 20;
const REJECTED_SHOWN = 5;

/** What a preview depends on besides the file and its mapping. */
interface PreviewOptions {
  readonly params: Readonly<Record<string, string>>;
  readonly weightUnit: 'kg' | 'g' | 'lb' | 'oz';
  /** What the store sells in. */
  readonly currency?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Maps the rows of a look, as a plan would without the settings of a job. Contacts without an id in the source get one, because the crosswalk is read by
 * a plan only. MappingError if the mapping does not fit the file, or reads other tables.
 */
export async function previewSource(
  { header, rows, beginning }: SourceLook,
  spec: MappingSpec,
  options: PreviewOptions,
) {
  const currencies = new CurrencyWatch({ store: options.currency });
  const mapping = compileForPreview(spec, options, currencies);
  const counts = { record: 0, rejected: 0, skipped: 0 };
  const records: PreviewedRecord[] = [];
  const rejected: PreviewedRecord[] = [];
  const leftOut: LeftOutRows[] = [];
  const lastShown = beginning.at(-1)?.line ?? 0;
  const byLine = new Map(rows.map((row) => [row.line, row]));
  const shown = (mapped: Mapped) => previewed(mapped, header, byLine);
  const tables = [{ header, file: 0, batches: onlyBatch(rows) }];
  for await (const batch of mapTables(mapping, tables, { openScratch: openRowScratch })) {
    for (const mapped of batch) {
      counts[mapped.kind]++;
      if (mapped.kind !== 'record') {
        const { kind, reason } = mapped;
        const first = mapped.spans.filter(({ from }) => from <= lastShown);
        leftOut.push(...first.map(({ from, to }) => ({ kind, from, to, reason })));
      }
      if (records.length < RECORDS_SHOWN) records.push(shown(mapped));
      else if (mapped.kind === 'rejected' && rejected.length < REJECTED_SHOWN) rejected.push(shown(mapped));
    }
  }
  const { words, isMixed, found } = currencies;
  const { currency } = options;
  const foreign =
    currency === undefined ? [] : words.filter((word) => currenciesNamed(word)?.includes(currency) !== true);
  return {
    records,
    /** Of all rows that were looked at. */
    counts,
    /** The rows at the beginning that become no record: the lines of each, and why. */
    leftOut,
    /** Of records after the first ones, the first that are rejected. */
    rejected,
    /** What the prices of all rows named; `foreign`: of the words, those that do not mean what the store sells in. */
    currencies: { words, isMixed, found, foreign },
  };
}

/** What is chosen about the import of a file that no job reads yet; undefined where it is to be guessed. */
export interface GuessRequest extends PreviewOptions {
  readonly look: SourceLook;
  readonly known: readonly MappingCandidate[];
  /** The name of a known mapping, or null for a new one. */
  readonly mapping: string | null | undefined;
  readonly imports: MappingSpec['import'] | undefined;
  readonly answers: MappingAnswers;
}

/** How a file may be imported, and what its first records become. */
export interface SourceGuess {
  readonly recognised: RecognisedFile;
  /** Undefined while it is not clear what the file holds. */
  readonly imports: MappingSpec['import'] | undefined;
  /** The name of a known mapping, or null for one that is proposed for the file. */
  readonly mapping: string | null;
  readonly proposal: MappingProposal | undefined;
  /** Why answers cannot be followed, by their ids: the proposal is made without them. */
  readonly refused: Readonly<Record<string, string>>;
  /** Undefined while a question is open. */
  readonly spec: MappingSpec | undefined;
  /** Those that the mapping has. */
  readonly params: Readonly<Record<string, string>>;
  /** A sentence where the records cannot be shown. */
  readonly preview: SourcePreview | string | undefined;
}

/** Guesses what was not chosen, and maps the rows of the look. */
export async function guessSource(request: GuessRequest): Promise<SourceGuess> {
  const { look, known, answers, now } = request;
  const file = { ...fileToGuess(look), now };
  const recognised = recogniseFile(file, known);
  const own = known.find(({ name }) => name === (request.mapping ?? recognised.best?.name));
  const chosen = request.mapping === null ? undefined : own;
  const imports = chosen?.spec.import ?? request.imports ?? recognised.imports;
  const { proposal, refused } =
    chosen !== undefined || imports === undefined
      ? { proposal: undefined, refused: {} }
      : proposeByAnswers((given) => proposeMapping(imports, file, given, known), answers);
  const spec = chosen?.spec ?? proposal?.spec ?? undefined;
  const params = Object.fromEntries(
    Object.entries(request.params).filter(([name]) => Object.hasOwn(spec?.params ?? {}, name)),
  );
  const preview = spec && (await previewSource(look, spec, { ...request, params }).catch(sentenceOf));
  return { recognised, imports, mapping: chosen?.name ?? null, proposal, refused, spec, params, preview };
}

/** The proposal by the answers that can be followed, and why each of the others cannot. */
function proposeByAnswers(propose: (answers: MappingAnswers) => MappingProposal, answers: MappingAnswers) {
  const refused: Record<string, string> = {};
  const attempt = (followed: MappingAnswers) => {
    try {
      return propose(followed);
    } catch (error) {
      if (error instanceof UsageError) return explainError(error);
      throw error;
    }
  };
  const whole = attempt(answers);
  if (typeof whole !== 'string') return { proposal: whole, refused };
  let followed: MappingAnswers = {};
  let proposal = propose(followed);
  for (const [id, answer] of Object.entries(answers)) {
    const next = attempt({ ...followed, [id]: answer });
    if (typeof next === 'string') refused[id] = next;
    else {
      followed = { ...followed, [id]: answer };
      proposal = next;
    }
  }
  return { proposal, refused };
}

/** What may take long for a hostile file. Each works on the first rows of a file, and gives what a thread can send. */
const examinations = {
  guess: guessSource,
  preview: previewSource,
  recognise: async (file: FileToGuess, known: readonly MappingCandidate[]) => recogniseFile(file, known),
};

type Examinations = typeof examinations;

/** An examination for a thread. */
export interface ExaminationTask<Kind extends keyof Examinations = keyof Examinations> {
  readonly kind: Kind;
  readonly given: Parameters<Examinations[Kind]>;
}

const runByKind: {
  readonly [Kind in keyof Examinations]: (
    ...given: Parameters<Examinations[Kind]>
  ) => ReturnType<Examinations[Kind]>;
} = examinations;

/** Examines the first rows of a file in this thread. */
export function runExamination<Kind extends keyof Examinations>({
  kind,
  given,
}: ExaminationTask<Kind>): ReturnType<Examinations[Kind]> {
  return runByKind[kind](...given);
}

/**
 * Examines the first rows of a file: in this thread if they are small, else in another one. SourceError where it takes too much
 * time or memory.
 */
export async function examineIsolated<Kind extends keyof Examinations>(
  look: SourceLook,
  signal: AbortSignal,
  kind: Kind,
  ...given: Parameters<Examinations[Kind]>
): Promise<Awaited<ReturnType<Examinations[Kind]>>> {
  signal.throwIfAborted();
  const task: ExaminationTask<Kind> = { kind, given };
  if (isSmall(look)) return await runExamination(task);
  return await isolatedResult<Awaited<ReturnType<Examinations[Kind]>>>(
    ['guess-thread', import.meta.url],
    task,
    {
      cpuMs: CPU_MS,
      heapMib: HEAP_MIB,
      signal,
      refused: (beyond) =>
        new SourceError(
          `The columns and first rows of the file take more than ${beyond} to examine, far more than those of an ordinary file.`,
          {
            place: { file: look.files[0] ?? '' },
            hint: 'Check whether it is the right file. If it is, write its mapping by hand (docs/mappings.md).',
          },
        ),
    },
  );
}

function isSmall({ header, rows }: SourceLook) {
  let size = header.join('').length;
  return rows.every(({ cells }) => {
    for (const cell of cells) size += cell.length + 1;
    return size <= SMALL_INPUT_BYTES;
  });
}

const CPU_MS = 20_000;
const HEAP_MIB = 512;

async function* onlyBatch(rows: readonly Row[]) {
  yield rows;
}

function compileForPreview(
  spec: MappingSpec,
  { params, weightUnit, now }: PreviewOptions,
  currencies: CurrencyWatch,
) {
  const others = Object.entries(spec.lookups ?? {}).filter(([, { of }]) => of === undefined);
  if (others.length > 0)
    throw new MappingError(
      `The mapping reads ${counted(others.length, 'other table')}, which only a plan reads: plan the job to see its records.`,
    );
  const lookups = new Map(
    lookupsOfStoreLists(spec, params).map(({ name, match }) => [name, storeListsTable([], match)] as const),
  );
  const crosswalk =
    spec.import === 'contacts' && spec.contact.id === undefined
      ? { match: 'email', file: 'the crosswalk', find: () => 1 }
      : undefined;
  return compileMapping(spec, {
    match: matchOfMapping(spec),
    params,
    lookups,
    weightUnit,
    now,
    crosswalk,
    currencies,
  });
}

function previewed(
  mapped: Mapped,
  header: readonly string[],
  byLine: ReadonlyMap<number, Row>,
): PreviewedRecord {
  const { kind, key, spans } = mapped;
  const line = spans[0]?.from ?? 0;
  if (mapped.kind === 'record')
    return { key, kind, line, fields: leavesOf(mapped.body), reason: null, cell: undefined };
  const { reason } = mapped;
  const column = reason.column === undefined ? -1 : header.indexOf(reason.column);
  const cell = byLine.get(reason.line ?? line)?.cells[column];
  return { key, kind, line, fields: [], reason, cell };
}
