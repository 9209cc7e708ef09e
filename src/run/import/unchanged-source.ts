import { type Run, type RunTotals, SENDING_KINDS } from '../../model/run.ts';
import { importTarget } from '../../state/state.ts';
import type { RunContext } from '../context.ts';
import type { ImportRequest } from './import-request.ts';
import { runDigest } from './run-digest.ts';

/** A run after which nothing is left to do while its source stays as it is. */
export interface SettledRun extends Run {
  readonly source: NonNullable<Run['source']>;
  readonly totals: RunTotals;
}

/**
 * The run whose source, if it has not changed since, makes this one needless: the last of the job, done without
 * rejects, with the same job, mapping, store and version, and nobody else has written there since. Undefined when the
 * source has to be read: also for a plan, `--resend`, and mappings that look at the clock or at lists of the store.
 */
export async function settledRun(
  context: Pick<RunContext, 'state' | 'version'>,
  request: ImportRequest,
  run: Run,
): Promise<SettledRun | undefined> {
  if (run.kind !== 'run' || run.resend || request.job.source.remote === undefined) return undefined;
  if (looksAtClock(request) || request.mapping.listLookups.length > 0) return undefined;
  const { runs } = context.state;
  const ofJob = await runs.list({ job: run.job, kinds: SENDING_KINDS });
  // A run that could not read its source has done nothing.
  const last = ofJob.find(
    ({ id, digest, status }) => id !== run.id && !(digest === null && status === 'failed'),
  );
  if (last === undefined || !isSettled(last)) return undefined;
  if (last.digest !== runDigest(context.version, request, run, last.source.sha256, null)) return undefined;
  const wroteSince = (await runs.list({ kinds: SENDING_KINDS })).some(
    (other) => other.job !== run.job && isSameTarget(other, run) && !endedBefore(other, last),
  );
  const ledger = context.state.ledger(importTarget(run));
  if (wroteSince || (await ledger.hasDoubts()) || (await ledger.lostSince(last))) return undefined;
  return last;
}

function isSettled(run: Run): run is SettledRun {
  if (run.source === undefined || run.totals === null || run.endSequence === undefined) return false;
  return run.kind === 'run' && run.status === 'done';
}

/** Of an end that an earlier version wrote nothing more is known than that an end of this version came later. */
function endedBefore(other: Run, last: SettledRun): boolean {
  return other.finishedAt !== null && (other.endSequence ?? 0) < last.sequence;
}

function isSameTarget(one: Run, other: Run): boolean {
  return one.storeId === other.storeId && one.resource === other.resource;
}

/** Dated sales are judged at the moment of staging: they begin and end without the source. */
function looksAtClock({ mapping: { spec } }: ImportRequest): boolean {
  if (spec.import !== 'products') return false;
  const { from, to, during } = spec.variants.pricing;
  return from !== undefined || to !== undefined || during !== undefined;
}

/** The figures of a run whose source is what it was: everything that was applied is unchanged. */
export function unchangedTotals({ totals }: SettledRun): RunTotals {
  const { rows, records, skipped, inRows } = totals;
  return {
    rows,
    records,
    new: 0,
    changed: 0,
    unchanged: records - skipped,
    removed: totals.removed - totals.deleted,
    operations: 0,
    applied: 0,
    deleted: 0,
    rejected: 0,
    skipped,
    unsent: 0,
    requests: 0,
    fieldsChanged: {},
    inRows: { applied: 0, unchanged: rows - inRows.skipped, rejected: 0, skipped: inRows.skipped, unsent: 0 },
  };
}
