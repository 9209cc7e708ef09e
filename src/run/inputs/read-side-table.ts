import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { readCsv } from '../../csv/read-csv.ts';
import { fileLimitError, type InputLimits } from '../../model/input-limits.ts';
import type { Row, Table } from '../../model/row.ts';
import { CsvError, SourceError, StoreferryError } from '../../model/storeferry-error.ts';
import { stageSource } from '../../source/stage-source.ts';
import { isZip, peek, refuseTooMuch, unpack, ZIP_BYTES } from '../../source/unpack.ts';
import { allowedPath, type FileAccess, openAllowed } from '../../state/file-access.ts';
import { openTable } from '../../tables/open-table.ts';
import { SampleFolder } from '../look-at-source.ts';

/** A table besides the source: a lookup table or a crosswalk. */
interface SideTable {
  readonly header: readonly string[];
  /** Over what was read, in hexadecimal; known when the rows have been read. */
  digest(): string;
  rows(): AsyncIterable<readonly Row[]>;
}

/** What holds for a file besides the source. */
interface SideTableLimits {
  /** Where the file may be. */
  readonly access: FileAccess;
  readonly limits: InputLimits;
  /** The one on its rows, which are held in memory. */
  readonly rows: 'crosswalkRows' | 'lookupRows';
}

/** Where a table is that is read besides the source: its path as written, and which table of the file. */
interface SideTablePlace {
  readonly path: string;
  readonly sheet?: string | number | undefined;
  readonly headerRow?: number | undefined;
  readonly records?: string | undefined;
}

/** A file that is no CSV, or may be none: it is staged like a source. */
class NotCsv extends Error {}

/**
 * Opens a table in any format of a source that is read besides it. SourceError when it is not there or is something else,
 * CsvError when it is broken; either where it is beyond a limit.
 */
export async function readSideTable(place: SideTablePlace, options: SideTableLimits): Promise<SideTable> {
  const { sheet, records } = place;
  if (sheet !== undefined || records !== undefined) return await readStaged(place, options);
  try {
    return await readCsvTable(place, options);
  } catch (error) {
    if (!(error instanceof NotCsv)) throw error;
    return await readStaged(place, options);
  }
}

/** Its rows are held in memory anyway: so is what they are read from. */
async function readStaged(
  { path, headerRow, ...choice }: SideTablePlace,
  { limits, rows, access }: SideTableLimits,
): Promise<SideTable> {
  const folder = new SampleFolder(Number.POSITIVE_INFINITY);
  const { files, sha256 } = await stageSource({ path, ...choice }, { ...access, folder, limits });
  const [file] = files;
  if (file === undefined || files.length > 1) {
    throw refusal(path, { refused: `holds ${files.length} files`, hint: 'Name a file of one table.' });
  }
  const bytes = await folder.read(file.stored);
  const table =
    file.table === undefined
      ? await readCsv(bytes, { name: file.name, headerRow, limits })
      : await openTable(bytes, file.table, { name: file.name, file: 0, headerRow });
  if (table.doubt !== null) throw table.doubt;
  return { header: table.header, digest: () => sha256, rows: () => upTo(table, path, rows, limits) };
}

async function readCsvTable(
  { path: name, headerRow }: SideTablePlace,
  { limits, rows, access }: SideTableLimits,
): Promise<SideTable> {
  const allowed = await allowedPath(name, access).catch((cause: unknown) => {
    throw unreadable(name, cause);
  });
  if ('refused' in allowed) throw refusal(name, allowed);
  const path = allowed.real;
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array> {
    const opened = await openAllowed(path);
    if ('refused' in opened) throw refusal(name, opened);
    await using file = opened.file;
    for await (const chunk of file.createReadStream({ autoClose: false })) {
      hash.update(chunk);
      yield chunk;
    }
  }
  async function* watched(): AsyncGenerator<Uint8Array> {
    const { size: packedBytes } = await stat(path);
    let unpackedBytes = 0;
    const { beginning, whole } = await peek(hashed(), ZIP_BYTES);
    if (isZip(beginning)) {
      await whole.close();
      throw new NotCsv();
    }
    const { content, format } = await unpack(whole, { noun: 'file', name });
    if (format !== undefined) {
      await content.close();
      throw new NotCsv();
    }
    for await (const chunk of content) {
      unpackedBytes += chunk.length;
      refuseTooMuch(name, { packedBytes, unpackedBytes, totalBytes: unpackedBytes }, limits);
      yield chunk;
    }
  }
  try {
    const table = await readCsv(Readable.from(watched(), { objectMode: false }), { name, headerRow, limits });
    if (table.doubt !== null) throw table.doubt;
    return {
      header: table.header,
      digest: () => hash.copy().digest('hex'),
      rows: () => upTo(table, name, rows, limits),
    };
  } catch (cause) {
    if (cause instanceof StoreferryError || cause instanceof NotCsv) throw cause;
    throw unreadable(name, cause);
  }
}

function refusal(
  name: string,
  { refused, hint }: { readonly refused: string; readonly hint: string },
): SourceError {
  return new SourceError(`The file ${name} ${refused}.`, { place: { file: name }, hint });
}

function unreadable(name: string, cause: unknown): SourceError {
  return new SourceError(`The file ${name} cannot be read.`, {
    place: { file: name },
    cause,
    hint: 'Is it there, and may this user read it? A lookup is looked for beside its mapping, a crosswalk in the workspace.',
  });
}

async function* upTo(
  table: Table,
  file: string,
  limit: SideTableLimits['rows'],
  limits: InputLimits,
): AsyncGenerator<readonly Row[]> {
  let left = limits[limit];
  for await (const batch of table.batches()) {
    const first = batch[left];
    if (first !== undefined) throw fileLimitError(CsvError, limits, limit, { file, line: first.line });
    left -= batch.length;
    yield batch;
  }
}
