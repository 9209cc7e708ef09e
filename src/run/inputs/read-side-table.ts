import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { readCsv } from '../../csv/read-csv.ts';
import { CsvError, SourceError, StoreferryError } from '../../model/errors.ts';
import { fileLimitError, type InputLimits } from '../../model/input-limits.ts';
import type { Row } from '../../model/row.ts';
import { refuseTooMuch, unpack } from '../../source/unpack.ts';
import { allowedPath, type FileAccess, openAllowed } from '../../state/file-access.ts';

/** A CSV file besides the source: a lookup table or a crosswalk. */
interface SideTable {
  readonly header: readonly string[];
  /** Over the file's bytes, in hexadecimal; known when the rows have been read. */
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

/**
 * Opens a CSV file, perhaps packed with gzip, that is read besides the source; `name` is its path as it is written. SourceError when it is not there or is
 * something else, CsvError when it is broken; either where it is beyond a limit.
 */
export async function readSideTable(
  name: string,
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
    const { content, format } = await unpack(hashed(), { noun: 'file', name });
    if (format !== undefined) {
      await content.close();
      throw refusal(name, {
        refused: `is ${format.toUpperCase()}, not a CSV file`,
        hint: 'Export it as CSV.',
      });
    }
    for await (const chunk of content) {
      unpackedBytes += chunk.length;
      refuseTooMuch(name, { packedBytes, unpackedBytes, totalBytes: unpackedBytes }, limits);
      yield chunk;
    }
  }
  try {
    const table = await readCsv(Readable.from(watched(), { objectMode: false }), { name, limits });
    if (table.doubt !== null) throw table.doubt;
    return {
      header: table.header,
      digest: () => hash.copy().digest('hex'),
      rows: () =>
        upTo(limits[rows], table.batches(), (line) =>
          fileLimitError(CsvError, limits, rows, { file: name, line }),
        ),
    };
  } catch (cause) {
    if (cause instanceof StoreferryError) throw cause;
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
  most: number,
  batches: AsyncIterable<readonly Row[]>,
  beyond: (line: number) => CsvError,
): AsyncGenerator<readonly Row[]> {
  let left = most;
  for await (const batch of batches) {
    const first = batch[left];
    if (first !== undefined) throw beyond(first.line);
    left -= batch.length;
    yield batch;
  }
}
