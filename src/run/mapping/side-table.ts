import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { readCsv } from '../../csv/read-csv.ts';
import { SourceError, StoreferryError } from '../../model/errors.ts';
import type { Row } from '../../model/row.ts';
import { gunzip } from '../../source/gunzip.ts';
import { peek } from '../../source/peek.ts';
import { RECOGNISED_BYTES, recognise, SAVE_AS_CSV } from '../../source/recognise.ts';

/** A CSV file beside the source: a lookup table or a crosswalk. */
export interface SideTable {
  readonly header: readonly string[];
  /** Over the file's bytes, in hexadecimal; known when the rows have been read. */
  digest(): string;
  rows(): AsyncIterable<readonly Row[]>;
}

/**
 * Opens a CSV file, perhaps packed with gzip, that is read beside the source. SourceError when it is not there or is
 * something else, CsvError when it is broken.
 */
export async function readSideTable(path: string, name: string): Promise<SideTable> {
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of createReadStream(path)) {
      hash.update(chunk);
      yield chunk;
    }
  }
  try {
    const table = await readCsv(Readable.from(await unpacked(hashed(), name), { objectMode: false }), {
      name,
    });
    return { header: table.header, digest: () => hash.copy().digest('hex'), rows: () => table.batches() };
  } catch (cause) {
    if (cause instanceof StoreferryError) throw cause;
    throw new SourceError(`The file ${name} cannot be read.`, {
      place: { file: name },
      cause,
      hint: 'Is it there, and may this user read it? A lookup is looked for beside its mapping, a crosswalk in the workspace.',
    });
  }
}

async function unpacked(bytes: AsyncIterable<Uint8Array>, name: string): Promise<AsyncIterable<Uint8Array>> {
  const { beginning, whole } = await peek(bytes, RECOGNISED_BYTES);
  const recognised = recognise(beginning);
  switch (recognised.kind) {
    case 'text':
      return whole;
    case 'gzip':
      return gunzip(whole, name);
    case 'zip':
      await whole.close();
      throw somethingElse(name, 'a zip archive or a workbook', SAVE_AS_CSV);
    case 'mistaken':
      await whole.close();
      throw somethingElse(name, recognised.what, recognised.hint);
    default:
      return recognised satisfies never;
  }
}

function somethingElse(name: string, what: string, hint: string): SourceError {
  return new SourceError(`The file ${name} is ${what}, not a CSV file.`, { place: { file: name }, hint });
}
