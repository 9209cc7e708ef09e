import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, Transform } from 'node:stream';
import { readCsv } from '../csv/read-csv.ts';
import { SourceError, StoreferryError } from '../model/errors.ts';
import type { Row } from '../model/row.ts';

/** A small CSV file beside the source: a lookup table or a crosswalk. */
export interface SideTable {
  readonly header: readonly string[];
  /** Over the file's bytes, in hexadecimal; known when the rows have been read. */
  digest(): string;
  rows(): AsyncIterable<readonly Row[]>;
}

/** Opens a CSV file that is read beside the source. SourceError when it is not there, CsvError when it is broken. */
export async function readSideTable(path: string, name: string): Promise<SideTable> {
  const hash = createHash('sha256');
  const hashed = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  // pipeline() closes the file when reading ends early, and hands its errors on to the reader.
  const input = pipeline(createReadStream(path), hashed, () => {});
  const unreadable = (cause: unknown) =>
    cause instanceof StoreferryError
      ? cause
      : new SourceError(`The file ${name} cannot be read.`, {
          place: { file: name },
          cause,
          hint: 'Is it there, and may this user read it? A lookup is looked for beside its mapping, a crosswalk in the workspace.',
        });
  const table = await readCsv(input, { name }).catch((cause: unknown) => {
    throw unreadable(cause);
  });
  return { header: table.header, digest: () => hash.copy().digest('hex'), rows: () => table.batches() };
}
