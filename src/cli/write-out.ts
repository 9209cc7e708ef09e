import { extname, resolve } from 'node:path';
import { writeWhole } from '../config/edit-file.ts';
import { RECORD_FORMATS, type RecordFormat } from '../model/run.ts';
import { DestinationError, UsageError } from '../model/storeferry-error.ts';
import { currentFolder } from './typed-program.ts';

/** The format of the file of `--out`, by its ending. UsageError where none has it. */
export function formatOf(out: string): RecordFormat {
  const ending = extname(out).slice(1).toLowerCase();
  const format = RECORD_FORMATS.find((known) => known === ending);
  if (format !== undefined) return format;
  throw new UsageError(`The format of ${out} is not known.`, {
    hint: `The name of the file must end in ${RECORD_FORMATS.map((known) => `.${known}`).join(', ')}.`,
  });
}

/** Writes the file of `--out`, relative to the current folder: completely, or not at all. DestinationError if it cannot be written. */
export async function writeOut(out: string, content: AsyncIterable<Uint8Array | string>): Promise<void> {
  const path = resolve(currentFolder(), out);
  try {
    await writeWhole(path, content, { mode: 0o600 });
  } catch (cause) {
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
    throw new DestinationError(`${path} cannot be written: ${cause.message}`, { cause });
  }
}
