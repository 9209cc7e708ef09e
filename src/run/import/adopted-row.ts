import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '../../config/edit-file.ts';
import { formatRow, inertCell, withoutInertMark } from '../../model/row.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { readCsv } from '../../tables/csv/read-csv.ts';
import { digestOf } from '../digest-of.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';

/** A product that a store had before the first import, and that a record may be. */
export interface AdoptedRow {
  /** Of the record, as the mapping makes it. */
  readonly url: string;
  /** Of the product; empty where the record is new. */
  readonly storeUrl: string;
  readonly storeId: string;
  readonly foundBy: string;
  readonly score: string;
  /** `adopt`, `new`, or empty: nobody has decided yet. */
  readonly decision: string;
}

const COLUMNS = ['url', 'store_url', 'store_id', 'found_by', 'score', 'decision'] as const;
const DECISIONS = new Set(['adopt', 'new', '']);

/** The table of a job's decisions, relative to the workspace; people edit it. */
export function adoptedFile({ job, store }: Pick<ImportRequest, 'job' | 'store'>): string {
  return `adopted-${store.name}-${job.name}.csv`;
}

/** Over the decisions, which change what a plan sends; null where the job adopts nothing. */
export function adoptedDigest(
  { workspaceDir }: Pick<RunContext, 'workspaceDir'>,
  request: ImportRequest,
): string | null {
  if (request.job.adopt === undefined) return null;
  const path = join(workspaceDir, adoptedFile(request));
  return digestOf(existsSync(path) ? readFileSync(path, 'utf8') : '');
}

/** Replaces the table, completely or not at all. */
export async function writeDecisions(
  workspaceDir: string,
  file: string,
  decided: readonly AdoptedRow[],
): Promise<void> {
  const cells = decided.map(({ url, storeUrl, storeId, foundBy, score, decision }) =>
    [url, storeUrl, storeId, foundBy, score, decision].map(inertCell),
  );
  await writeWhole(
    join(workspaceDir, file),
    [[...COLUMNS], ...cells].map((row) => `${formatRow(row, ',')}\n`),
  );
}

/** The decisions so far. UsageError where the table is not as a person may edit it. */
export async function readDecisions(workspaceDir: string, file: string): Promise<AdoptedRow[]> {
  const path = join(workspaceDir, file);
  if (!existsSync(path)) return [];
  const table = await readCsv(createReadStream(path), { name: file });
  const places = COLUMNS.map((column) => table.header.indexOf(column));
  const missing = COLUMNS.find((_, index) => places[index] === -1);
  if (missing !== undefined) throw damaged(file, 1, `it has no column '${missing}'`);
  const rows: AdoptedRow[] = [];
  for await (const batch of table.batches()) {
    for (const { cells, line } of batch) {
      const [url = '', storeUrl = '', storeId = '', foundBy = '', score = '', decision = ''] = places.map(
        (at) => withoutInertMark(cells[at] ?? '').trim(),
      );
      const word = decision.toLowerCase();
      if (!DECISIONS.has(word))
        throw damaged(file, line, `the decision '${decision}' is none of adopt and new`);
      if (word === 'adopt' && (url === '' || storeUrl === '')) throw damaged(file, line, 'a url is missing');
      rows.push({ url, storeUrl, storeId, foundBy, score, decision: word });
    }
  }
  return rows;
}

function damaged(file: string, line: number, problem: string): UsageError {
  return new UsageError(`${file}, line ${line}: ${problem}.`, {
    hint: 'Correct it, or restore it from a copy. Without this file the store is matched again.',
  });
}
