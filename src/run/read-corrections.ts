import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { z } from 'zod';
import { hasRejectsWorkbook, type PlanSource } from '../model/plan.ts';
import { formatRow, inertCell, rowPlace, withoutInertMark } from '../model/row.ts';
import type { Run } from '../model/run.ts';
import { SourceError, UsageError } from '../model/storeferry-error.ts';
import { readPlan, readRejections } from '../plan/plan-file.ts';
import { type CorrectedRejects, readCorrectedRejects } from '../rejects/corrected-rejects.ts';
import { isBlamed, type RejectsEdits } from '../rejects/judge-cell.ts';
import { REJECTS_FILE, REJECTS_WORKBOOK, readRejectsIndex, UNTOUCHED_FILE } from '../rejects/rejects-file.ts';
import { stageContents } from '../source/snapshot.ts';
import { findJson, type RunFolder, sha256OfBytes, sha256OfFile } from '../state/artifacts.ts';
import { importTarget } from '../state/state.ts';
import { csvForLanguage, csvLine, csvStyle, markOf } from '../tables/write-table.ts';
import { digestOf } from './digest-of.ts';
import type { Stage } from './import/stage-step.ts';
import { lockJob } from './lock-job.ts';
import { retryGuardOf, saveRetryGuard } from './retry-guard.ts';
import type { RunContext } from './run-context.ts';
import {
  type CorrectedFile,
  correctedAsCsv,
  editedWorkbook,
  openUntouched,
} from './write-rejects-workbook.ts';

/** A rejected row as its source had it. */
export interface RejectedRow {
  /** Where it is in the source: `line 17`, `Prices row 17`. */
  readonly place: string;
  /** Its `storeferry_line`, which no other row has. */
  readonly line: string;
  readonly reason: string;
  /** Whether it is the first row of its record. */
  readonly begins: boolean;
  readonly cells: readonly string[];
  /** The places of the cells that the reason names. */
  readonly blamed: readonly number[];
}

/** A page of the rejected rows of a run. */
export type RejectedPage = Awaited<ReturnType<typeof readRejectedPage>>;

/** Corrected cells: by the line of their row, because `forget` removes rows; then by their place. */
export type CellEdits = ReadonlyMap<string, ReadonlyMap<number, string>>;

const ROWS_PER_PAGE = 50;
/** A record with more rows continues on the next page. */
const MAX_ROWS_PER_PAGE = 200;
const CHARACTERS_PER_PAGE = 500_000;
/** Far more than people correct by hand. */
const MAX_ROWS = 20_000;

/** One page of the rejected rows of a run, with whole records, from the copy that is never edited. */
export async function readRejectedPage(folder: RunFolder, asked: number) {
  const { table, continues } = await openUntouched(folder);
  const files = (await readPlan(folder))?.source.files ?? [];
  const columns = table.header.slice(0, -OWN_COLUMNS).map(withoutInertMark);
  let [rows, pages, total, characters, onPage]: [RejectedRow[], number, number, number, number] = [
    [],
    1,
    0,
    0,
    0,
  ];
  using _closed = table;
  for await (const batch of table.batches()) {
    for (const { cells: marked } of batch) {
      if (total === MAX_ROWS)
        return { columns, rows, number: Math.min(asked, pages), pages, total, isCut: true };
      const cells = marked.map(withoutInertMark);
      const [reason = '', line = ''] = cells.splice(columns.length);
      const begins = !continues.has(line);
      const isFull = onPage >= ROWS_PER_PAGE || characters >= CHARACTERS_PER_PAGE;
      if ((isFull && begins) || onPage >= MAX_ROWS_PER_PAGE || characters >= 2 * CHARACTERS_PER_PAGE) {
        pages += 1;
        [characters, onPage] = [0, 0];
        if (pages <= asked) rows = [];
      }
      onPage += 1;
      for (const cell of cells) characters += cell.length;
      if (pages <= asked)
        rows.push({
          line,
          place: shortRow(line, files),
          reason,
          begins,
          cells,
          blamed: blamedIn(reason, columns),
        });
      total += 1;
    }
  }
  return {
    columns,
    rows,
    /** From 1; the last page if the one that was asked for does not exist. */
    number: Math.min(asked, pages),
    pages,
    /** The rejected rows on all pages. */
    total,
    /** Whether the run has more rejected rows than pages show. */
    isCut: false,
  };
}

/** The keys of the records of a page, by the line of their first row; none where a key cannot be read. */
export async function rejectedKeys(
  { artifacts, state }: RunContext,
  { id }: Run,
  { rows }: RejectedPage,
): Promise<ReadonlyMap<string, string>> {
  const folder = artifacts.run(id);
  const plan = await readPlan(folder);
  const keys = new Map<string, string>();
  if (plan === undefined) return keys;
  const { files } = plan.source;
  const first = new Set(rows.filter(({ begins }) => begins).map(({ line }) => line));
  for (const rejections of [readRejections(folder), state.runs.refusals(id)]) {
    for await (const batch of rejections) {
      for (const { key, spans } of batch) {
        const { file, from } = spans[0] ?? { file: 0, from: 0 };
        const line = files.length > 1 ? `${files[file]?.name}:${from}` : String(from);
        if (key !== null && first.has(line)) keys.set(line, key);
      }
    }
  }
  return keys;
}

/** The reason and the line of a row. */
const OWN_COLUMNS = 2;

/** The places of the columns that a reason names; of `Price` and `Variant Price` the longer one. */
function blamedIn(reason: string, columns: readonly string[]): readonly number[] {
  const named = columns.flatMap((column, place) =>
    column !== '' && isBlamed(reason, column, columns) ? [place] : [],
  );
  const name = (place: number) => columns[place] ?? '';
  return named.filter(
    (place) => !named.some((other) => name(other) !== name(place) && name(other).includes(name(place))),
  );
}

/** The rejects file of a run with these corrections: what `retry` reads. Formulas in it stay inert. */
export function correctedRejects(folder: RunFolder, edits: CellEdits): Readable {
  return Readable.from(correctedLines(folder, edits), { objectMode: false });
}

async function* correctedLines(folder: RunFolder, edits: CellEdits): AsyncGenerator<string> {
  const { table, delimiter } = await openUntouched(folder);
  using _closed = table;
  yield `\ufeff${formatRow(table.header, delimiter)}\n`;
  for await (const batch of table.batches()) {
    let lines = '';
    for (const { cells } of batch) {
      const typed = edits.get(withoutInertMark(cells.at(-1) ?? ''));
      const corrected = cells.map((cell, place) => {
        const now = typed?.get(place);
        return now === undefined ? cell : inertCell(now);
      });
      lines += `${formatRow(corrected, delimiter)}\n`;
    }
    yield lines;
  }
}

/**
 * The rejects file as spreadsheets of people who read this language open it: with semicolons where decimals have a comma. Cells stay
 * as the source has them, and a file that somebody has edited stays as it is.
 */
export async function rejectsForLanguage(
  folder: RunFolder,
  languages: string | undefined,
): Promise<Readable> {
  const style = csvStyle(csvForLanguage(languages));
  const { table, delimiter } = await openUntouched(folder);
  const [now, untouched] = await Promise.all(
    [REJECTS_FILE, UNTOUCHED_FILE].map((name) => sha256OfFile(folder, name)),
  );
  if (style.delimiter === ',' || delimiter !== ',' || now !== untouched) {
    table[Symbol.dispose]();
    return await folder.read(REJECTS_FILE);
  }
  async function* lines() {
    using rejects = table;
    yield markOf(style) + csvLine(rejects.header, style);
    for await (const batch of rejects.batches())
      yield batch.map(({ cells }) => csvLine(cells, style)).join('');
  }
  return Readable.from(lines(), { objectMode: false });
}

/** Names the rejects file that was typed in a browser, by its digest: any later change of it is one of a spreadsheet. */
const TYPED_FILE = 'rejects-typed.txt';

/** A corrected rejects file. */
interface CorrectedUpload {
  /** It was typed in a browser, so no cell of it was changed by a spreadsheet. */
  readonly typed: boolean;
  read(): Promise<Readable>;
}

/**
 * Puts a corrected file where `retry` reads the rejects of a run. An edited file there is kept as `rejects-before-N.csv`;
 * an unedited one equals the untouched copy and is replaced. LockedError while a run of the job is active: it may be about
 * to read that file.
 */
export async function replaceRejects(
  context: RunContext,
  run: Run,
  { typed, read }: CorrectedUpload,
): Promise<void> {
  await using _job = await lockJob(context, run);
  const folder = context.artifacts.run(run.id);
  const [before, untouched, uploaded] = await Promise.all([
    sha256OfFile(folder, REJECTS_FILE),
    sha256OfFile(folder, UNTOUCHED_FILE),
    read().then(sha256OfBytes),
  ]);
  if (before !== uploaded) {
    if (before !== untouched) {
      const name = await freeName(folder, (number) => `rejects-before-${number}.csv`);
      await folder.write(name, await folder.read(REJECTS_FILE));
    }
    await folder.write(REJECTS_FILE, await read());
  }
  if (typed) await folder.write(TYPED_FILE, [uploaded]);
}

/** The first name that no file of the folder has; numbers from 1. */
export async function freeName(folder: RunFolder, nameOf: (number: number) => string): Promise<string> {
  const names = new Set(await folder.list());
  let number = 1;
  while (names.has(nameOf(number))) number += 1;
  return nameOf(number);
}

/** Whether the rejects file is still as it was typed in a browser. */
async function isTyped(folder: RunFolder) {
  if (!(await folder.exists(TYPED_FILE))) return false;
  return (await text(await folder.read(TYPED_FILE))) === (await sha256OfFile(folder, REJECTS_FILE));
}

/**
 * The corrected rejects file of a run; default: the file in its folder. CsvError if it is broken, SourceError if it
 * is not a rejects file of this run.
 */
export async function readCorrections(
  { artifacts }: RunContext,
  rejected: Run,
  file?: CorrectedFile,
): Promise<CorrectedRejects> {
  const from = artifacts.run(rejected.id);
  const given = file ?? (await correctedIn(from));
  const index = await readRejectsIndex(from);
  return await readCorrectedRejects({
    name: given.name,
    corrected: await correctedAsCsv(given, index.delimiter),
    untouched: () => from.read(UNTOUCHED_FILE),
    index,
    personal: rejected.resource === 'contacts',
    asTyped: given.asTyped ?? false,
  });
}

/** The corrected one of the two files; the CSV file if neither was edited. SourceError if both were. */
async function correctedIn(folder: RunFolder): Promise<CorrectedFile> {
  const csv = { name: `${folder.location}/${REJECTS_FILE}`, open: () => folder.read(REJECTS_FILE) };
  const workbook = await editedWorkbook(folder);
  if (workbook === undefined) return { ...csv, asTyped: await isTyped(folder) };
  const [written, now] = await Promise.all(
    [UNTOUCHED_FILE, REJECTS_FILE].map((name) => folder.read(name).then(buffer)),
  );
  if (written !== undefined && now !== undefined && !written.equals(now)) {
    throw new SourceError(
      `Both ${REJECTS_FILE} and ${REJECTS_WORKBOOK} in ${folder.location} were corrected.`,
      {
        hint: `Put all corrections into one of them, and delete ${REJECTS_WORKBOOK} or put ${UNTOUCHED_FILE} in the place of ${REJECTS_FILE}.`,
      },
    );
  }
  return {
    name: `${folder.location}/${REJECTS_WORKBOOK}`,
    open: async () => Readable.from([Buffer.from(workbook)]),
  };
}

/** Stages the corrected rejects of a run, with the guard that decides which of them a retry may send. */
export function stageCorrected(rejected: Run, onEdits: (edits: RejectsEdits) => void): Stage {
  return async (context, { job }, folder) => {
    const corrected = await readCorrections(context, rejected);
    onEdits(corrected.edits);
    const plan = await readPlan(context.artifacts.run(rejected.id));
    const ofWorkbook = plan !== undefined && hasRejectsWorkbook(plan.source);
    const readAs = { ...corrected.readAs, ...(ofWorkbook ? ({ ofWorkbook: true } as const) : {}) };
    const snapshot = await stageContents(corrected.files, readAs, folder);
    const guard = retryGuardOf(rejected, corrected, job.import);
    await saveRetryGuard(folder, guard);
    await folder.write(SOURCE_ROWS_FILE, [JSON.stringify(sourceRowsOf(corrected, plan?.source))]);
    // The same rows with other refused cells give another plan.
    return { ...snapshot, sha256: digestOf([snapshot.sha256, guard.refused]) };
  };
}

/** By file and line of the corrected rejects, the rows of the source from which they come. */
const SOURCE_ROWS_FILE = 'source-rows.json';
const sourceRowsSchema = z.array(z.record(z.string(), z.string()));
type SourceRows = z.infer<typeof sourceRowsSchema>;

function sourceRowsOf({ files, origins }: CorrectedRejects, source: PlanSource | undefined) {
  const rows: SourceRows = files.map(() => ({}));
  for (const { file, line, sourceLine } of origins) {
    const own = rows[file];
    if (own !== undefined) own[line] = sourceRow(sourceLine, source?.files ?? []);
  }
  return rows;
}

/** `Prices row 17`, or `line 17 of catalog.csv`; of a retry that is retried again, the row of the first source. */
function sourceRow(written: string, files: PlanSource['files']) {
  const end = files.length > 1 ? written.lastIndexOf(':') : -1;
  const line = written.slice(end + 1);
  const file = end < 0 ? files[0] : files.find(({ name }) => name === written.slice(0, end));
  if (file === undefined) return `line ${written} of the source`;
  const { name, places, sourceRows } = file;
  if (places === undefined) return sourceRows?.[line] ?? `line ${line} of ${name}`;
  return `${end < 0 ? '' : `${name} `}${rowPlace(Number(line), null, places)}`;
}

/** The same without the name of the file, where there is only one. */
function shortRow(written: string, files: PlanSource['files']) {
  const row = sourceRow(written, files);
  const end = ` of ${files[0]?.name}`;
  return files.length === 1 && row.endsWith(end) ? row.slice(0, -end.length) : row;
}

/** Adds to the source of a retry the rows from which its lines come; changes nothing in another run. */
export async function sourceNamer(folder: RunFolder): Promise<(source: PlanSource) => PlanSource> {
  const rows = await findJson(folder, SOURCE_ROWS_FILE, sourceRowsSchema);
  return (source) => {
    const files = source.files.map((file, index) => {
      const sourceRows = rows?.[index];
      return sourceRows === undefined ? file : { ...file, sourceRows };
    });
    return { ...source, files };
  };
}

/** UsageError if this run has no rejects to retry. */
export async function refuseUnlessRejected({ artifacts, state }: RunContext, rejected: Run): Promise<void> {
  if (rejected.kind === 'plan') {
    throw new UsageError(`${rejected.id} is a plan: nothing of it was sent, so there is nothing to retry.`, {
      hint: `Run the job, then correct the rejects of that run: storeferry run ${rejected.job}`,
    });
  }
  if (!(await artifacts.run(rejected.id).exists(REJECTS_FILE))) {
    const { id, job, totals } = rejected;
    throw totals !== null && totals.rejected > 0 && rejected.status === 'done-with-rejects'
      ? new UsageError(
          `The rejects file of the run ${id} is gone: it was in ${artifacts.run(id).location}.`,
          {
            hint: `Correct the source, then: storeferry run ${job}`,
          },
        )
      : new UsageError(`The run ${id} has no rejects file.`, {
          hint: `storeferry runs ${id} shows its status.`,
        });
  }
  if (await state.ledger(importTarget(rejected)).lostSince(rejected)) {
    throw new UsageError(
      `The state has lost a part of what was sent since run ${rejected.id}: another run may have sent these records since.`,
      { hint: `Correct the source, then: storeferry run ${rejected.job}` },
    );
  }
}
