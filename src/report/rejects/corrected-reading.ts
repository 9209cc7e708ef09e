import { DELIMITER_CHARACTERS } from '../../model/delimiters.ts';
import { CsvError, EncodingError, SourceError } from '../../model/errors.ts';
import type { Dialect } from '../../model/table.ts';
import { compareRejects, type RejectsEdits } from './compare-rejects.ts';
import { layOut } from './corrected-layout.ts';
import { type CorrectedForm, type CorrectedRejectsOptions, withoutMarks } from './join-rejects.ts';
import { columnKeys, LINE_COLUMN } from './rejects-columns.ts';

/** A way to read the corrected file, and what comes of it. */
export interface CorrectedReading extends CorrectedForm {
  readonly dialect: Dialect;
  readonly edits: RejectsEdits;
}

/** The file as it says it is; when it is not in Unicode, the encoding under which it differs least from its copy. */
export async function findReading(options: CorrectedRejectsOptions): Promise<CorrectedReading> {
  try {
    return await tryReading(options, options.encoding);
  } catch (error) {
    if (!(error instanceof EncodingError) || options.encoding !== undefined) throw error;
    let best: CorrectedReading | undefined;
    for (const encoding of options.csv.encodings) {
      const reading = await tryReading(options, encoding).catch((reason: unknown) => {
        if (reason instanceof EncodingError) return undefined;
        throw reason;
      });
      if (
        reading !== undefined &&
        (best === undefined || reading.edits.editedCells < best.edits.editedCells)
      ) {
        best = reading;
      }
    }
    if (best === undefined || !best.edits.compared) throw error;
    return best;
  }
}

async function tryReading(
  options: CorrectedRejectsOptions,
  encoding: string | undefined,
): Promise<CorrectedReading> {
  const { delimiter, header, dialect } = await openBest(options, encoding);
  const layout = layOut(header, options.index);
  const edits = await compareRejects(options, { encoding, delimiter, layout });
  return { encoding, delimiter, dialect, layout, edits };
}

/** Tries the delimiters, since the header to expect is known: the one that finds most of its columns. */
async function openBest(options: CorrectedRejectsOptions, encoding: string | undefined) {
  const { csv, index, name } = options;
  const expected = new Set([...index.headers.flatMap((header) => columnKeys(header)), `1:${LINE_COLUMN}`]);
  let best: { delimiter: string; header: readonly string[]; dialect: Dialect; known: number } | undefined;
  let firstError: unknown;
  for (const delimiter of new Set([index.delimiter, ...DELIMITER_CHARACTERS])) {
    try {
      using table = await csv.open(await options.corrected(), { name, encoding, delimiter });
      const { dialect } = table;
      const { header } = withoutMarks(table, index);
      const known = new Set(columnKeys(header).filter((key) => expected.has(key))).size;
      if (known > (best?.known ?? 0)) best = { delimiter, header, dialect, known };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      firstError ??= error;
    }
  }
  const lines = best?.header.includes(LINE_COLUMN) === true;
  if (best !== undefined && (lines || best.known * 2 >= expected.size - 1)) return best;
  throw (
    firstError ??
    new SourceError(`${name} is no rejects file of this run: it has none of its columns.`, {
      place: { file: name, line: 1 },
      hint: 'Correct the rejects file of the run itself, and keep its header.',
    })
  );
}
