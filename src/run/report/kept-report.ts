import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { RunFacts } from '../../report/run-facts.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { storedChangedId, storedReason, storedTotals } from '../../state/stored-record.ts';

/** What was collected of a run when it ended, so that it is not collected again each time a page shows it. */
const KEPT_REPORT_FILE = 'report.json';
const VERSION = 2;

const count = z.int().nonnegative();

const keptFacts = z.object({
  totals: storedTotals,
  unsentDeletes: z.int(),
  refusedDeletes: z.int(),
  leftDeletes: z.int().default(0),
  refusals: z.array(
    z.object({
      records: count,
      rows: count,
      code: z.string(),
      message: z.string(),
      field: z.string().nullable(),
      column: z.string().nullable(),
      lines: z.array(z.object({ file: z.int(), line: z.int() })),
    }),
  ),
  unsentReasons: z.array(z.object({ reason: storedReason.schema, count })),
  changedIds: z.array(storedChangedId.schema),
  changedIdCount: count,
  traffic: z
    .object({
      samples: z.array(
        z.object({
          at: z.number(),
          ms: z.number(),
          requests: count,
          failed: count,
          retries: count,
          p50: z.number().nullable(),
          p95: z.number().nullable(),
          concurrency: count,
          pausedMs: z.number(),
        }),
      ),
    })
    .nullable(),
});

/** `finishedAt` is of the end it was collected at: a run that was continued since has another. */
const keptFile = keptFacts.extend({ version: z.literal(VERSION), finishedAt: z.number() });

/** What is kept of the facts of a run; all others are small, and read where they are. */
type KeptFacts = Pick<RunFacts, keyof z.infer<typeof keptFacts>>;

/** Keeps the facts of a run that ended at that moment; false where that fails: then they are collected again. */
export async function keepReport(folder: RunFolder, finishedAt: number, facts: KeptFacts): Promise<boolean> {
  try {
    // Fields that the schema does not name are dropped.
    const kept = { ...keptFacts.parse(facts), version: VERSION, finishedAt };
    await folder.write(KEPT_REPORT_FILE, [JSON.stringify(kept)]);
    return true;
  } catch {
    return false;
  }
}

/** What was kept when the run ended at that moment; undefined where nothing was, or another version kept it. */
export async function readKeptReport(
  folder: RunFolder,
  finishedAt: number | null,
): Promise<KeptFacts | undefined> {
  if (finishedAt === null || !(await folder.exists(KEPT_REPORT_FILE))) return undefined;
  try {
    const kept = keptFile.parse(await json(await folder.read(KEPT_REPORT_FILE)));
    const { version: _, finishedAt: keptAt, ...facts } = kept;
    return keptAt === finishedAt ? facts : undefined;
  } catch {
    return undefined;
  }
}
