import { updateMatch } from '../../config/job/job.ts';
import {
  type CompiledMapping,
  CurrencyWatch,
  compileMapping,
  type MappingContext,
} from '../../mapping/compile-mapping.ts';
import {
  deferTables,
  readBlocks,
  type TracedRecord,
  traceTables,
  type Wanted,
} from '../../mapping/map-tables.ts';
import type { BlockIndex } from '../../model/block-index.ts';
import type { JsonObject } from '../../model/json-object.ts';
import type { DeferredRecord, Mapped, SourceItem } from '../../model/mapped-record.ts';
import type { PlanSource } from '../../model/plan.ts';
import { isSheet } from '../../model/row.ts';
import { readSnapshotFile, type Snapshot, type SnapshotFile, stageSource } from '../../source/snapshot.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { openRowScratch } from '../../state/sqlite/open-row-scratch.ts';
import { type OpenedTable, openTable } from '../../tables/open-table.ts';
import { quotableHeaders } from '../../text/printable.ts';
import { type MappingTables, readMappingTables } from '../inputs/open-mapping.ts';
import { stageWithSideTables } from '../inputs/side-table.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import type { StoreContacts } from './store-contacts.ts';

/** A staged source, and how to read it. */
export interface SnapshotReading {
  readonly snapshot: Snapshot;
  readonly folder: RunFolder;
  readonly request: ImportRequest;
  /** How this store takes products, as a probe has seen it. */
  readonly forms: Pick<MappingContext, 'advanced' | 'nullQuantity' | 'categories' | 'findPicture'>;
  /** Set where contacts are found in the store itself. */
  readonly contacts?: StoreContacts;
  /** The mapping's, with the store's lists among the lookups. */
  readonly tables: MappingTables;
  /** The time at which dated sales are judged. */
  readonly stagedAt: number;
  /** What amounts are checked against: one for all readings of the source. */
  readonly currencies: CurrencyWatch;
  /** Digest of everything that decides how rows are mapped, except the rows and the time. */
  readonly memoContext: string;
}

/** Opens one file of a snapshot with the settings of the job and its mapping. */
export async function openSnapshotFile(
  { snapshot, folder, request }: Pick<SnapshotReading, 'snapshot' | 'folder' | 'request'>,
  stored: SnapshotFile,
  file: number,
): Promise<OpenedTable> {
  const { source: written, limits } = request.job;
  const { readAs } = snapshot;
  const { encoding, delimiter } = readAs ?? written;
  const { csv } = request.mapping.spec;
  const { quotes, headerRow, dataRow, escape: escapedBy, skipBlanks } = written;
  return await openTable(await readSnapshotFile(folder, stored), stored.table, {
    name: stored.name,
    file,
    encoding: encoding ?? csv?.encoding,
    delimiter: delimiter ?? csv?.delimiter,
    limits,
    // A corrected rejects file is written like none of the source.
    ...(readAs === undefined && { quotes, headerRow, dataRow, escape: escapedBy, skipBlanks }),
  });
}

/** Reads a snapshot through the job's mapping, from its beginning each time it is opened. */
export function readSnapshotThroughMapping(reading: SnapshotReading): {
  readonly open: () => AsyncIterable<readonly (Mapped | DeferredRecord)[]>;
  /** The same in blocks, those of the index in place of their records. */
  readonly openBlocks: (index: BlockIndex | undefined) => AsyncIterable<readonly SourceItem[]>;
  /** Findings about the files; complete after they have been read. */
  readonly describe: () => PlanSource;
} {
  const { snapshot, memoContext } = reading;
  let opened: OpenedTable[] = [];
  let columnsNotUsed = new Set<string>();
  let columnsMissing: readonly string[] | undefined;
  let mapping: CompiledMapping | undefined;
  const begin = () => {
    opened = [];
    columnsNotUsed = new Set();
    columnsMissing = undefined;
    mapping = compileFor(reading);
    return mapping;
  };
  const options = {
    context: memoContext,
    openScratch: openRowScratch,
    onTable: ({ missing, unused }: Readonly<Record<'missing' | 'unused', readonly string[]>>) => {
      for (const header of unused) columnsNotUsed.add(header);
      columnsMissing = (columnsMissing ?? missing).filter((name) => missing.includes(name));
    },
  };
  return {
    open: () => deferTables(begin(), openTables(reading, opened), options),
    openBlocks: (index) => readBlocks(begin(), openTables(reading, opened), { ...options, index }),
    describe: () => {
      const files = opened.map(({ dialect, counts, places }, index) => ({
        name: snapshot.files[index]?.name ?? '',
        rows: counts.rows,
        blankLines: counts.blankLines,
        delimiter: dialect.delimiter,
        encoding: dialect.encoding,
        ...(places !== undefined && { places }),
      }));
      const joins = mapping?.mapper.joins.facts() ?? [];
      return {
        files,
        ...nameColumns(reading.request, [...columnsNotUsed]),
        ...(columnsMissing !== undefined && {
          columnsFound: Object.keys(reading.request.mapping.spec.columns).filter(
            (name) => columnsMissing?.includes(name) === false,
          ),
        }),
        ...(joins.length !== 0 && { joins }),
        dates: mapping?.mapper.clock.judged() ?? null,
        ...(snapshot.readAs?.ofWorkbook === true && { ofWorkbook: true }),
      };
    },
  };
}

/** A source with how it differs from what a run has read before, as a lost column gives no other message. */
export function comparedWithLast(
  source: PlanSource,
  { columns }: ImportRequest['mapping']['spec'],
  last: { readonly run: string; readonly source: PlanSource } | undefined,
): PlanSource {
  if (last === undefined || source.columnsFound === undefined) return source;
  const found = new Set(source.columnsFound);
  const columnsGone = (last.source.columnsFound ?? [])
    .filter((name) => !found.has(name))
    .flatMap((name) => {
      const written = columns[name];
      if (written === undefined) return [];
      const headers = typeof written === 'object' && 'header' in written ? written.header : written;
      return [[headers].flat().join(' / ')];
    });
  const [sheet, before] = [source, last.source].map(onlySheet);
  const isOtherSheet = sheet !== undefined && before !== undefined && sheet !== before;
  if (columnsGone.length === 0 && !isOtherSheet) return source;
  return {
    ...source,
    sinceLastRun: { run: last.run, columnsGone, ...(isOtherSheet && { sheetBefore: before }) },
  };
}

function onlySheet({ files }: PlanSource) {
  const [file, ...others] = files;
  return others.length === 0 && isSheet(file?.places) ? file?.places?.title : undefined;
}

/** The records of an export of the store, which a job reads beside its source; its copy is removed after that. */
export async function* readExport(
  { signal, workspaceDir, allowedFolders }: RunContext,
  request: ImportRequest,
  folder: RunFolder,
  stagedAt: number,
): AsyncGenerator<readonly JsonObject[]> {
  const { job, mapping } = request;
  const { source, limits } = job;
  const staging = { folder, copyAs: 'baseline', limits, signal };
  const snapshot = await stageWithSideTables(
    mapping.tables,
    null,
    () => stageSource(source, { ...staging, workspaceDir, allowedFolders }),
    staging,
  );
  if (snapshot === undefined) throw new TypeError('a source without a known version cannot be unchanged');
  using opened = new DisposableStack();
  const { open } = readSnapshotThroughMapping({
    snapshot,
    folder,
    request: { ...request, job: { ...job, mode: 'upsert' } },
    tables: await readMappingTables(mapping, snapshot, folder, limits, opened),
    stagedAt,
    forms: {},
    currencies: new CurrencyWatch({}),
    memoContext: '',
  });
  try {
    for await (const batch of open()) {
      yield batch.flatMap((item) => {
        const mapped = item.kind === 'deferred' ? item.map() : item;
        return mapped.kind === 'record' ? [{ ...mapped.body }] : [];
      });
    }
  } finally {
    const copies = [...snapshot.files, ...(snapshot.tables ?? [])];
    await folder.remove(copies.map(({ stored }) => stored));
  }
}

function nameColumns(
  { mapping, knownContactHeaders }: ImportRequest,
  headers: readonly string[],
): Pick<PlanSource, 'columnsNotUsed' | 'columnsNotNamed'> {
  const findKnown = knownContactHeaders && (() => knownContactHeaders(headers));
  const columnsNotUsed = quotableHeaders(mapping.spec.import, headers, findKnown);
  const columnsNotNamed = headers.length - columnsNotUsed.length;
  return { columnsNotUsed, ...(columnsNotNamed !== 0 && { columnsNotNamed }) };
}

/** Reads a snapshot again, and traces the records that `wanted` chooses; all others give null. */
export function traceSnapshot(
  reading: SnapshotReading,
  wanted: Wanted,
): AsyncIterable<readonly (TracedRecord | null)[]> {
  return traceTables((trace) => compileFor(reading, trace), openTables(reading, []), wanted, {
    openScratch: openRowScratch,
  });
}

function compileFor(
  { request, tables, stagedAt, currencies, forms }: SnapshotReading,
  trace?: Parameters<typeof compileMapping>[2],
) {
  const { spec, params, custom } = request.mapping;
  const { job } = request;
  const { limits, html, prices, leaveOut } = job;
  const { weightUnit } = request.store;
  const context = {
    ...forms,
    params,
    ...tables,
    weightUnit,
    currencies,
    limits,
    html,
    prices,
    leaveOut,
    custom,
  };
  const ofJob = { match: updateMatch(job), isMirror: job.mode === 'mirror' };
  return compileMapping(spec, { ...context, ...ofJob, now: stagedAt }, trace);
}

async function* openTables(reading: SnapshotReading, opened: OpenedTable[]) {
  for (const [index, file] of reading.snapshot.files.entries()) {
    using table = await openSnapshotFile(reading, file, index);
    if (table.doubt !== null) throw table.doubt;
    opened.push(table);
    // Records give the columns of such a file: a list without any has none that a mapping could require.
    if (file.table !== undefined && file.bytes === 0) continue;
    const { pieces, dialect } = table;
    const { quotes = 'standard', dataRow = '' } = reading.request.job.source;
    yield {
      header: table.header,
      file: index,
      name: file.name,
      batches: table.batches(),
      ...(pieces !== undefined && { text: { dialect: `${dialect.delimiter}${quotes}${dataRow}`, pieces } }),
    };
  }
}
