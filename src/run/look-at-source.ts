import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { type CsvOptions, type CsvTable, readCsv } from '../csv/read-csv.ts';
import type { FilePlace } from '../model/remote-address.ts';
import type { Dialect, Row, TablePlaces } from '../model/row.ts';
import { SourceError, StateError } from '../model/storeferry-error.ts';
import { stageSource } from '../source/stage-source.ts';
import type { RunFolder } from '../state/artifacts.ts';
import type { FileAccess } from '../state/file-access.ts';
import { openTable } from '../tables/open-table.ts';

/** What a file contains when it is read like an import. */
export interface SourceLook {
  /** The files in it: one, or those of a zip. */
  readonly files: readonly string[];
  /** All following values are those of the first file. */
  readonly header: readonly string[];
  readonly dialect: Dialect;
  /** Set where the file is no CSV. */
  readonly places: TablePlaces | undefined;
  /** The first rows. */
  readonly rows: readonly Row[];
  /** The number of rows; null if the file is too large to be read completely for this. */
  readonly rowCount: number | null;
}

/** Files up to this size are read completely first; of a larger file only the beginning. */
const SAMPLE_BYTES = 32 * 1024 * 1024;
/** Enough to see how values are written; of a larger file a run refuses later rows that are written otherwise. */
const ROWS_KEPT = 5000;

export interface LookOptions extends Omit<CsvOptions, 'name' | 'file' | 'limits' | 'blockBytes'> {
  readonly sheet?: string | number | undefined;
  readonly records?: string | undefined;
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
export async function lookAtSource(
  place: string | FilePlace,
  options: LookOptions = {},
): Promise<SourceLook> {
  const { path, remote } = typeof place === 'string' ? { path: place } : place;
  const { sampleBytes = SAMPLE_BYTES, sheet, records, signal, access, ...dialect } = options;
  const real = path === undefined || access ? path : await realpath(path).catch(() => path);
  const folder = new SampleFolder(sampleBytes);
  const { files } = await stageSource(
    { ...(real === undefined ? { remote } : { path: real }), sheet, records },
    { workspaceDir: dirname(real ?? '/'), ...access, folder, signal },
  );
  const [first] = files;
  if (first === undefined) throw new SourceError(`There is no file in ${remote?.location ?? path}.`);
  const { cut } = folder.sampled(first.stored);
  const { name } = first;
  const bytes = await folder.read(first.stored);
  using table: Omit<CsvTable, 'pieces'> & { readonly places?: TablePlaces } =
    first.table === undefined
      ? await readCsv(bytes, { ...dialect, name })
      : await openTable(bytes, first.table, { name, file: 0, headerRow: dialect.headerRow });
  if (table.doubt !== null) throw table.doubt;
  const rows: Row[] = [];
  for await (const batch of table.batches()) {
    if (rows.length < ROWS_KEPT) rows.push(...batch.slice(0, ROWS_KEPT - rows.length));
    // The sample of a larger file may end within a row.
    if (cut) break;
  }
  return {
    files: files.map(({ name }) => name),
    header: table.header,
    dialect: table.dialect,
    places: table.places,
    rows,
    rowCount: cut ? null : table.counts.rows,
  };
}

/** The content of a sample file. */
interface SampledFile {
  readonly bytes: Buffer;
  /** Whether the file continues after it. */
  readonly cut: boolean;
}

/** A folder in memory that keeps the beginnings of files, to look at a source before there is a run. */
export class SampleFolder implements RunFolder {
  readonly location = 'memory';
  readonly #files = new Map<string, SampledFile>();
  readonly #mostBytes: number;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  async write(
    name: string,
    content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  ): Promise<number> {
    const chunks: Buffer[] = [];
    let size = 0;
    let cut = false;
    for await (const chunk of content) {
      if (size >= this.#mostBytes) {
        cut = true;
        break;
      }
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      size += bytes.length;
    }
    this.#files.set(name, { bytes: Buffer.concat(chunks), cut });
    return size;
  }

  /** The kept part of a file; StateError if there is none. */
  sampled(name: string): SampledFile {
    const file = this.#files.get(name);
    if (file === undefined) throw new StateError(`The sample has no file ${name}.`);
    return file;
  }

  async read(name: string): Promise<Readable> {
    return Readable.from([this.sampled(name).bytes]);
  }

  async exists(name: string): Promise<boolean> {
    return this.#files.has(name);
  }

  async list(): Promise<readonly string[]> {
    return [...this.#files.keys()].sort();
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) this.#files.delete(name);
  }
}
