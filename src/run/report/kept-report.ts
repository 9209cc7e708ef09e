import { json } from 'node:stream/consumers';
import { z } from 'zod';
import type { ReasonGroup } from '../../model/plan.ts';
import type { Reason } from '../../model/reason.ts';
import type { RunTotals } from '../../model/run.ts';
import type { Traffic } from '../../model/traffic.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { ChangedId } from '../../state/state.ts';

/** What was collected of a run when it ended, so that it is not read together again each time somebody looks. */
const KEPT_REPORT_FILE = 'report.json';
const VERSION = 2;

const count = z.int().nonnegative();
const reasonGroup = z.object({
  records: count,
  rows: count,
  code: z.string(),
  message: z.string(),
  field: z.string().nullable(),
  column: z.string().nullable(),
  lines: z.array(z.object({ file: z.int(), line: z.int() })),
});
const totals: z.ZodType<RunTotals> = z.object({
  rows: count,
  records: count,
  new: count,
  changed: count,
  unchanged: count,
  removed: count,
  operations: count,
  applied: count,
  deleted: count,
  rejected: count,
  skipped: count,
  unsent: count,
  requests: count,
  fieldsChanged: z.record(z.string(), count),
  inRows: z.object({ applied: count, unchanged: count, rejected: count, skipped: count, unsent: count }),
});

const keptSchema = z.object({
  version: z.literal(VERSION),
  /** Of the end it was collected at: a run that was continued since has another. */
  finishedAt: z.number(),
  totals,
  unsentDeletes: z.int(),
  refusedDeletes: z.int(),
  leftDeletes: z.int().default(0),
  refusals: z.array(reasonGroup),
  unsentReasons: z.array(
    z.object({
      reason: z.object({
        code: z.string(),
        message: z.string(),
        field: z.string().exactOptional(),
        line: z.int().exactOptional(),
        column: z.string().exactOptional(),
      }),
      count,
    }),
  ),
  changedIds: z.array(z.object({ key: z.string(), knownId: z.int(), answeredId: z.int() })),
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

/** What is kept of a report: the rest is small, and read where it stands. */
export interface KeptReport {
  readonly totals: RunTotals;
  /** Planned deletes without a final outcome. */
  readonly unsentDeletes: number;
  /** Deletes that the store refused; they are in no total. */
  readonly refusedDeletes: number;
  /** Planned deletes that were not sent, since the product is no longer this job's. */
  readonly leftDeletes: number;
  /** Records that the store refused, by reason. */
  readonly refusals: readonly ReasonGroup[];
  readonly unsentReasons: readonly { readonly reason: Reason; readonly count: number }[];
  readonly changedIds: readonly ChangedId[];
  readonly changedIdCount: number;
  /** What went over the wire; null when nothing did, or nobody noted it. */
  readonly traffic: Traffic | null;
}

/** Keeps the report of a run that ended at that moment; false where that cannot be: then it is collected anew. */
export async function keepReport(
  folder: RunFolder,
  finishedAt: number,
  report: KeptReport,
): Promise<boolean> {
  const { totals, unsentDeletes, refusedDeletes, leftDeletes, refusals, unsentReasons, traffic } = report;
  const { changedIds, changedIdCount } = report;
  const kept = {
    ...{ version: VERSION, finishedAt, totals, unsentDeletes, refusedDeletes, leftDeletes },
    ...{ refusals, unsentReasons, changedIds, changedIdCount, traffic },
  };
  try {
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
): Promise<KeptReport | undefined> {
  if (finishedAt === null || !(await folder.exists(KEPT_REPORT_FILE))) return undefined;
  try {
    const { version: _, ...kept } = keptSchema.parse(await json(await folder.read(KEPT_REPORT_FILE)));
    const { finishedAt: keptAt, ...report } = kept;
    return keptAt === finishedAt ? report : undefined;
  } catch {
    return undefined;
  }
}
