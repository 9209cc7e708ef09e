import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { formatRow } from '../csv/format-row.ts';
import { readCsv } from '../csv/read-csv.ts';
import { hasRejectsWorkbook } from '../model/plan.ts';
import { LEGACY_ENCODINGS } from '../model/row.ts';
import type { Run } from '../model/run.ts';
import { SourceError, UsageError } from '../model/storeferry-error.ts';
import { readPlan } from '../plan/plan-file.ts';
import { type CorrectedRejects, readCorrectedRejects } from '../report/rejects/corrected-rejects.ts';
import type { RejectsEdits } from '../report/rejects/rejects-edits.ts';
import {
  REJECTS_FILE,
  REJECTS_WORKBOOK,
  readRejectsIndex,
  UNTOUCHED_FILE,
} from '../report/rejects/rejects-file.ts';
import { stageContents } from '../source/snapshot.ts';
import type { RunFolder } from '../state/artifacts.ts';
import { digestOf } from './digest-of.ts';
import type { Stage } from './import/stage-step.ts';
import { isTyped } from './rejected-page.ts';
import { retryGuardOf, saveRetryGuard } from './retry-guard.ts';
import type { RunContext } from './run-context.ts';
import { type CorrectedFile, correctedAsCsv, editedWorkbook } from './write-rejects-workbook.ts';

/**
 * The corrected rejects file of a run; default: the file in its folder. CsvError if it is broken, SourceError if it
 * is not a rejects file of this run.
 */
export async function readCorrections(
  { artifacts }: Pick<RunContext, 'artifacts'>,
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
    csv: { open: readCsv, formatRow, encodings: LEGACY_ENCODINGS },
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
    // The same rows with other refused cells give another plan.
    return { ...snapshot, sha256: digestOf([snapshot.sha256, guard.refused]) };
  };
}

/** UsageError if this run has no rejects to retry. */
export async function refuseUnlessRejected(
  { artifacts }: Pick<RunContext, 'artifacts'>,
  rejected: Run,
): Promise<void> {
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
}
