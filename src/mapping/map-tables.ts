import {
  BLOCK_BYTES,
  type BlockFinder,
  type BlockIndex,
  type KnownBlocks,
  type KnownPiece,
  type RowsPiece,
  type SourcePiece,
  type TextPlace,
  tableWords,
} from '../model/block-index.ts';
import { sumOf } from '../model/json-object.ts';
import type {
  DeferredRecord,
  Mapped,
  OpenScratch,
  RecordTrace,
  RowScratch,
  SourceItem,
} from '../model/mapped-record.ts';
import type { Reason } from '../model/reason.ts';
import type { Row } from '../model/row.ts';
import { MappingError } from '../model/storeferry-error.ts';
import {
  type Binding,
  type ColumnReport,
  cellsBySlot,
  currenciesBySlot,
  withEvenRows,
} from './columns/bind-table.ts';
import type { CompiledMapping, RecordMapper } from './compile-mapping.ts';
import { type Grouper, type RecordBounds, ungroupedRow } from './grouping/grouping.ts';
import {
  type BlockCutter,
  blockCutter,
  isSame,
  memoOf,
  nameHash,
  type RecordRows,
  type SourceRow,
} from './record-rows.ts';
import { Trace } from './trace.ts';
import { slugify } from './transforms/slug.ts';
import { attempt, type Cell, Unreadable } from './values/cell.ts';

/** A file of the source: its header line and its rows. */
export interface Table {
  readonly header: readonly string[];
  /** Index of the file within the snapshot. */
  readonly file: number;
  /** The name of the file in messages. */
  readonly name?: string | undefined;
  readonly batches: AsyncIterable<readonly Row[]>;
  /** Instead of `batches`, where blocks can be found. `dialect` decides, together with the header, what bytes mean. */
  readonly text?: {
    readonly dialect: string;
    readonly pieces: (finder: () => BlockFinder | undefined) => AsyncIterable<SourcePiece>;
  };
}

interface MapTablesOptions {
  /** Called for each file when it is opened, with the used and unused columns. */
  readonly onTable?: (report: ColumnReport, file: number) => void;
  /** Storage for rows that may be anywhere. */
  readonly openScratch: OpenScratch;
}

/**
 * Maps the rows of a source to records, rejections and skips, with each row in exactly one of them. Records whose
 * rows may be anywhere come at the end of the source, all others immediately. @throws MappingError when a file
 * without a required column is opened.
 */
export function mapTables(
  mapping: CompiledMapping,
  tables: AsyncIterable<Table> | Iterable<Table>,
  options: MapTablesOptions,
): AsyncIterable<readonly Mapped[]> {
  return readTables(mapping, tables, options, (rows) => mapRecord(mapping.mapper, rows));
}

/**
 * The same, with deferred mapping of records that an equal memo may make unnecessary. `context` is a digest of
 * everything besides the rows that decides the records.
 */
export function deferTables(
  mapping: CompiledMapping,
  tables: AsyncIterable<Table> | Iterable<Table>,
  options: MapTablesOptions & { readonly context: string },
): AsyncIterable<readonly (Mapped | DeferredRecord)[]> {
  const { context } = options;
  return readTables(mapping, tables, options, (rows) => deferRecord(mapping.mapper, rows, context));
}

/** How blocks of a source are found and made. */
interface BlockOptions {
  readonly context: string;
  /** Those of an earlier run. */
  readonly index: BlockIndex | undefined;
  /** The least size of a new block; affects only speed. */
  readonly blockBytes?: number | undefined;
}

/**
 * The same, with the ends of blocks, and with the blocks of the index in place of their records where the source still
 * has them. Mappings whose records may be anywhere, or that join tables, have no blocks.
 */
export function readBlocks(
  mapping: CompiledMapping,
  tables: AsyncIterable<Table> | Iterable<Table>,
  options: MapTablesOptions & BlockOptions,
): AsyncIterable<readonly SourceItem[]> {
  const map = (rows: RecordRows): SourceItem => deferRecord(mapping.mapper, rows, options.context);
  return readTables(mapping, tables, options, map, (table, text, reading, bounds, mapRows) =>
    walkBlocks(table, text, reading, bounds, options, mapRows),
  );
}

/** A record with what its fields are made of. */
export interface TracedRecord {
  readonly mapped: Mapped;
  readonly trace: RecordTrace;
}

/** Whether a record is to be traced. Gets the key, null where it cannot be read, and the rows as they stand. */
export type Wanted = (key: string | null, rows: Pick<RecordRows, 'rows' | 'spans'>) => boolean;

/** Maps the records that are wanted, each traced; all others give null. `compile` compiles the mapping with the trace. */
export function traceTables(
  compile: (trace: Trace) => CompiledMapping,
  tables: AsyncIterable<Table> | Iterable<Table>,
  wanted: Wanted,
  options: MapTablesOptions,
): AsyncIterable<readonly (TracedRecord | null)[]> {
  const trace = new Trace();
  const mapping = compile(trace);
  const { mapper } = mapping;
  return readTables(mapping, tables, options, (rows) => {
    const read = rows.head === undefined ? rows.key : keyOf(mapper, rows);
    if (!wanted(typeof read === 'string' ? read : rows.key, rows)) return null;
    const mapped = trace.watch(() => mapRecord(mapper, rows));
    return { mapped, trace: trace.of(rows, mapped) };
  });
}

async function* readTables<Item>(
  mapping: CompiledMapping,
  tables: AsyncIterable<Table> | Iterable<Table>,
  options: MapTablesOptions,
  map: (rows: RecordRows) => Item,
  walk?: (
    table: Table,
    text: NonNullable<Table['text']>,
    reading: TableReading,
    bounds: RecordBounds,
    mapRows: (rows: RecordRows) => Item,
  ) => AsyncIterable<readonly Item[]>,
): AsyncIterable<readonly Item[]> {
  const { joins } = mapping.mapper;
  const mapRows = (rows: RecordRows) => {
    joins.count(rows);
    return map(rows);
  };
  let scratch: RowScratch | undefined;
  const grouper = mapping.grouping.open((kind) => {
    scratch = options.openScratch(kind);
    return scratch;
  });
  const { bounds } = grouper;
  const position = { seq: 0 };
  try {
    for await (const table of tables) {
      const binding = bind(mapping, table);
      options.onTable?.(binding.report, table.file);
      grouper.startTable?.();
      const reading = openReading(mapping, grouper, table, binding, position);
      if (walk !== undefined && table.text !== undefined && bounds !== undefined && !joins.any) {
        yield* walk(table, table.text, reading, bounds, mapRows);
        continue;
      }
      for await (const batch of table.batches) {
        const mapped = reading.recordsOf(batch).map(mapRows);
        if (mapped.length > 0) yield mapped;
      }
    }
    for (const records of grouper.end()) {
      if (records.length > 0) yield records.map(mapRows);
    }
  } finally {
    scratch?.[Symbol.dispose]();
  }
}

/** A table while it is read. */
type TableReading = ReturnType<typeof openReading>;

/** `position`: that of the next row in the whole source. */
function openReading(
  mapping: CompiledMapping,
  grouper: Grouper,
  { header }: Table,
  binding: Binding,
  position: { seq: number },
) {
  let even: Binding | undefined;
  let before: Row | undefined;
  let charsBefore = 0;
  /** The binding, which the first rows decide. */
  const boundTo = (batch: readonly Row[]) => {
    even ??= withEvenRows(binding, header, batch);
    return even;
  };
  /** Whether a row is no data: a repeated header, or a heading that the mapping leaves out. */
  const isHeading = (row: Row) =>
    row.heading === true || (mapping.skipsHeadings && isSectionHeading(row.cells));
  return {
    position,
    boundTo,
    isHeading,
    /** The next row, which is not taken. */
    row: (row: Row) => sourceRow(mapping, even ?? binding, row, position.seq),
    /** Takes rows; returns the records that are complete. */
    recordsOf(batch: readonly Row[]): readonly RecordRows[] {
      const bound = boundTo(batch);
      const rows = batch.map((row, index) => {
        const made = sourceRow(mapping, bound, row, position.seq + index);
        // Few rows have as many characters as the one before: comparing cells of all took a twentieth of a plan.
        const isCopy = made.chars === charsBefore && before !== undefined && hasSameCells(row, before);
        before = row;
        charsBefore = made.chars;
        return isCopy ? { ...made, isCopy } : made;
      });
      position.seq += batch.length;
      if (!batch.some(isHeading)) return grouper.add(rows);
      const headings: RecordRows[] = [];
      const data: SourceRow[] = [];
      for (const [index, row] of rows.entries()) {
        const read = batch[index];
        if (read === undefined || !isHeading(read)) data.push(row);
        else headings.push(headingRecord(mapping, row, read.heading === true));
      }
      return [...headings, ...grouper.add(data)];
    },
    skip(rows: number) {
      position.seq += rows;
      before = undefined;
    },
  };
}

/** A block that is left out unless the next row turns out to continue its last record. */
interface PendingBlock {
  readonly piece: KnownPiece;
  readonly block: number;
  readonly place: TextPlace;
}

/** The records of a table with the ends of blocks, and known blocks. */
async function* walkBlocks(
  { header }: Table,
  { dialect, pieces }: NonNullable<Table['text']>,
  reading: TableReading,
  bounds: RecordBounds,
  { context, index, blockBytes = BLOCK_BYTES }: BlockOptions,
  mapRows: (rows: RecordRows) => SourceItem,
): AsyncGenerator<readonly SourceItem[]> {
  let cutter: BlockCutter | undefined;
  let finder: BlockFinder | undefined;
  let pending: PendingBlock | undefined;
  let out: SourceItem[] = [];
  const begin = (rows: readonly Row[]): BlockCutter => {
    const { table, width, surplus } = reading.boundTo(rows);
    const words = tableWords(JSON.stringify([context, dialect, header, table.digest, width, surplus]));
    if (index !== undefined) finder = { index, table: words };
    cutter = blockCutter(words, blockBytes);
    return cutter;
  };
  const emit = (records: readonly RecordRows[]) => {
    for (const record of records) {
      const end = cutter?.take(record);
      if (end !== undefined) out.push(end);
      out.push(mapRows(record));
    }
  };
  const read = (piece: RowsPiece) => {
    (cutter ?? begin(piece.rows)).addRows(piece, reading.position.seq);
    emit(reading.recordsOf(piece.rows));
  };
  const skipBlocks = ({ piece: { index }, block }: PendingBlock, to = block) => {
    pending = undefined;
    const known: KnownBlocks = { kind: 'known-blocks', index, from: block, to };
    reading.skip(index.total(known).rows);
    out.push(known);
  };
  const readBlock = ({ piece, block, place }: PendingBlock) => {
    pending = undefined;
    read(piece.rowsOf(block, place));
  };
  const takeKnown = (known: PendingBlock) => {
    const first = known.piece.index.first(known.block);
    if (pending !== undefined) {
      const last = pending.piece.index.last(pending.block);
      if (known.block === pending.block + 1 || !isSame(last, first)) skipBlocks(pending);
      else readBlock(pending);
    }
    const ended = bounds.endBefore((name) => isSame(nameHash(name), first));
    if (ended === undefined) {
      readBlock(known);
      return;
    }
    emit(ended);
    const end = cutter?.end(known.place, reading.position.seq);
    if (end !== undefined) out.push(end);
    pending = known;
  };
  for await (const piece of pieces(() => finder)) {
    if (piece.kind === 'known-blocks') {
      const { index, from, to, last } = piece;
      let { place } = piece;
      for (let block = from; block <= to && pending?.piece !== piece; block++) {
        takeKnown({ piece, block, place });
        place = index.after(block, place);
      }
      // The others follow it as they did.
      if (pending?.piece === piece && pending.block < to) {
        skipBlocks(pending, to - 1);
        pending = { piece, block: to, place: last };
      }
    } else {
      if (pending !== undefined) {
        const last = pending.piece.index.last(pending.block);
        const [row] = piece.rows;
        const begins =
          row !== undefined &&
          !reading.isHeading(row) &&
          bounds.begins(reading.row(row), (name) => isSame(nameHash(name), last));
        if (begins) skipBlocks(pending);
        else readBlock(pending);
      }
      read(piece);
    }
    if (out.length > 0) yield out;
    out = [];
  }
  // The next file may continue its last record.
  if (pending !== undefined) readBlock(pending);
  const end = cutter?.end(undefined, reading.position.seq);
  if (end !== undefined) out.push(end);
  if (out.length > 0) yield out;
}

const SECOND_HEADER = {
  code: 'second-header',
  message:
    'this row is a repeated header, or has units or explanations, but no data: delete it, or, if it is a record, correct its numbers',
};
const A_HEADING = { code: 'a-heading', message: 'a heading, no product' };

/**
 * A row between records, which belongs to none: a repeated header, or a heading that the mapping leaves out. A key that it
 * has is present in the source: nothing is deleted for a row that lost all other cells.
 */
function headingRecord({ mapper }: CompiledMapping, row: SourceRow, isHeader: boolean): RecordRows {
  const stray = ungroupedRow(row, { ...(isHeader ? SECOND_HEADER : A_HEADING), line: row.line });
  const key = keyOf(mapper, { ...stray, head: row, rows: [row] });
  const found = typeof key === 'string' ? { ...stray, key } : stray;
  return isHeader ? found : { ...found, isLeftOut: true };
}

/** A file within a zip, by its staged label. */
const IN_ARCHIVE = /\.zip\//i;
const LEAVE_IT_OUT = 'Remove files with other content from the zip: Storeferry reads every file in it.';

function bind(mapping: CompiledMapping, { header, file, name }: Table) {
  try {
    return mapping.bind(header, file);
  } catch (error) {
    if (!(error instanceof MappingError) || name === undefined) throw error;
    const { message } = error;
    const hint = IN_ARCHIVE.test(name) ? `${error.hint ?? ''} ${LEAVE_IT_OUT}`.trim() : error.hint;
    throw new MappingError(message, { place: { file: name }, hint, cause: error });
  }
}

function sourceRow(mapping: CompiledMapping, binding: Binding, row: Row, seq: number): SourceRow {
  const cells = cellsBySlot(row, binding);
  const misaligned = mapping.alignment(row, cells, binding);
  const { line, currencies: named } = row;
  const currencies = named && currenciesBySlot(named, binding);
  const bound = { table: binding.table, seq, line, cells, currencies, misaligned, chars: charsOf(row) };
  if (misaligned !== undefined || row.heading === true) return bound;
  const joined = mapping.mapper.joins.fill(bound, cells);
  return joined === undefined ? bound : { ...bound, currencies: { ...currencies, ...joined } };
}

function hasSameCells({ cells, currencies }: Row, { cells: others, currencies: named }: Row) {
  return (
    cells.length === others.length &&
    cells.every((cell, index) => cell === others[index]) &&
    JSON.stringify(currencies) === JSON.stringify(named)
  );
}

function charsOf({ cells }: Row) {
  let chars = 0;
  for (let index = 0; index < cells.length; index++) chars += cells[index]?.length ?? 0;
  return chars;
}

/**
 * Whether a row is a heading between records: its only text is in one cell, or in adjacent cells that all have it, as merged
 * cells do.
 */
export function isSectionHeading(cells: readonly string[]): boolean {
  let text: string | undefined;
  let last = -1;
  for (let index = 0; index < cells.length; index++) {
    const cell = cells[index]?.trim() ?? '';
    if (cell === '') continue;
    if (text !== undefined && (cell !== text || last !== index - 1)) return false;
    text = cell;
    last = index;
  }
  return text !== undefined && /\p{L}/u.test(text);
}

/**
 * Makes a record, a rejection or a skip from the rows. The key is read first, so that it is known even if the rest
 * fails. The record keeps the memo if it is valid: nothing was noted, and no date was judged.
 */
function mapRecord(mapper: RecordMapper, rows: RecordRows, memo?: string): Mapped {
  return mapWithKey(mapper, rows, beginRecord(mapper, rows), memo);
}

/** Forgets the notes of the previous record, and reads the key; undefined if it is blank, or no row can be read. */
function beginRecord(mapper: RecordMapper, rows: RecordRows) {
  mapper.notes.length = 0;
  mapper.clock.asked = false;
  return rows.head === undefined ? undefined : keyOf(mapper, rows);
}

function mapWithKey(
  mapper: RecordMapper,
  rows: RecordRows,
  read: Cell | Unreadable,
  memo: string | undefined,
): Mapped {
  const { head, fault, isLeftOut, spans, counted, partial } = rows;
  const key = typeof read === 'string' ? read : rows.key;
  const from = partial ? ({ spans, rows: counted, partial } as const) : { spans, rows: counted };
  const likeness = mapper.likeness;
  const leaveOut = (kind: 'rejected' | 'skipped', reason: Reason): Mapped => ({
    kind,
    key,
    reason,
    ...(likeness !== undefined && key !== null && { likeness: likeness(rows) }),
    ...from,
  });
  const reject = (reason: Reason) => leaveOut('rejected', reason);
  if (key !== null && mapper.leftOut.has(key)) return leaveOut('skipped', LEFT_OUT);
  if (fault !== undefined)
    return isLeftOut ? { kind: 'skipped', key, reason: fault, isNoRecord: true, ...from } : reject(fault);
  const skip = head && mapper.skips.find(({ test }) => test(head, 0));
  if (skip !== undefined) {
    return leaveOut('skipped', {
      code: slugify(skip.reason),
      message: skip.reason,
      line: head?.line ?? 0,
    });
  }
  const sound = mapper.damage.check(rows);
  if ('refused' in sound) {
    if (sound.keyIsKnown) return reject(sound.refused);
    return { kind: 'rejected', key: null, reason: sound.refused, ...from };
  }
  if (key === null || typeof read !== 'string') {
    const why = read instanceof Unreadable ? read : new Unreadable('key-missing', 'the key is blank');
    return reject(why.in(mapper.keyField).reason(head?.line));
  }
  const unjoined = mapper.joins.fault(rows);
  if (unjoined !== undefined) return reject(unjoined);
  const built = attempt((all) => mapper.build(all, key), sound, 0);
  if (built instanceof Unreadable) {
    return reject(mapper.faults.all(built.reason(head?.line), () => mapper.build(sound, key), head?.line));
  }
  if ('skipped' in built) return leaveOut('skipped', built.skipped);
  const refusal = mapper.damage.refusalOf(built.body);
  if (refusal !== undefined) return reject(refusal);
  return {
    kind: 'record',
    key,
    ...built,
    ...from,
    // Notes are counted per record, even if several cells of a record give the same note.
    ...(mapper.notes.length !== 0 && { notes: [...new Set(mapper.notes)] }),
    ...(memo === undefined || mapper.notes.length > 0 || mapper.clock.asked ? {} : { memo }),
  };
}

const LEFT_OUT: Reason = {
  code: 'left-out',
  message: 'left out by choice: the job names its key (leaveOut)',
};

/** The key of a record, or why it cannot be read. */
function keyOf({ key }: RecordMapper, rows: RecordRows) {
  return attempt(key, rows, 0);
}

/**
 * Defers the mapping of the rows until the plan needs it. Rows that are certainly no record, or may be only a part of
 * one, are mapped at once. `context` is a digest of everything besides the rows.
 */
function deferRecord(mapper: RecordMapper, rows: RecordRows, context: string): Mapped | DeferredRecord {
  const { head, fault, spans, counted, partial } = rows;
  const key = beginRecord(mapper, rows);
  if (
    head === undefined ||
    fault !== undefined ||
    partial ||
    typeof key !== 'string' ||
    mapper.leftOut.has(key) ||
    mapper.skips.some(({ test }) => test(head, 0)) ||
    mapper.damage.keyIsDamaged(head) ||
    mapper.joins.fault(rows) !== undefined
  ) {
    return mapWithKey(mapper, rows, key, undefined);
  }
  const memo = memoOf(context, rows);
  return {
    kind: 'deferred',
    key,
    spans,
    rows: counted,
    memo,
    chars: sumOf(rows.rows, (row) => row.chars),
    map: () => mapRecord(mapper, rows, memo),
  };
}
