import { buffer } from 'node:stream/consumers';
import type { StoreConfig } from '../../config/store-config.ts';
import { sumOf } from '../../model/json-object.ts';
import { hasManyUnaskedSkips, hasRejectsWorkbook, type Plan, REDIRECTS_FILE } from '../../model/plan.ts';
import { isUnmatched, KEY_NOT_REJECTED } from '../../model/reason.ts';
import { formatRow, inertCell, MAX_SHEET_ROWS } from '../../model/row.ts';
import { COMPLETED, partOf, type Run, type RunStatus, refusedIn, SENDING_KINDS } from '../../model/run.ts';
import { InterruptedError, SafetyLimitError } from '../../model/storeferry-error.ts';
import { readRejections, readShard } from '../../plan/plan-file.ts';
import {
  REJECTS_FILE,
  type RejectedKey,
  UNTOUCHED_FILE,
  type WriteRejectsOptions,
  writeRejects,
  writeUnmatched,
} from '../../rejects/rejects-file.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { loadSnapshot } from '../../source/snapshot.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { Lock } from '../../state/state.ts';
import { counted } from '../../text/printable.ts';
import { elapsedFigures, pruneHistory, pruneRuns } from '../end-run.ts';
import { refuseUnlessHeld } from '../lock-job.ts';
import { freeName } from '../read-corrections.ts';
import { editedByRun } from '../records/edited-record.ts';
import { keepReport, readRunReport, rejectsFileOf, writeReport } from '../report/read-stored-report.ts';
import { loadRetryGuard } from '../retry-guard.ts';
import { type ImportRequest, type RunContext, runErrorOf } from '../run-context.ts';
import { trafficFiles } from '../traffic/run-traffic.ts';
import { editedWorkbook, writeRejectsWorkbook } from '../write-rejects-workbook.ts';
import { judgeRejected } from './apply-step.ts';
import { discardPlan } from './continue-or-begin.ts';
import { openSnapshotFile } from './snapshot-reading.ts';

/** A run that is about to end, and the lock that allows this process to record its end. */
interface Ending {
  readonly run: Run;
  /** Null if the run had no plan. */
  readonly plan: Plan | null;
  readonly lock: Lock;
}

/**
 * Ends the run: totals, rejects file, report, status; removes what only an unfinished run needs. It can be repeated:
 * if this process dies, the run stays running, and the next process finishes it without sending anything. Rejects
 * with LockedError if the lock was lost.
 */
export async function finishStep(
  context: RunContext,
  request: ImportRequest,
  { run, plan, lock }: Ending,
  failure: unknown,
): Promise<RunFacts> {
  const edited = await editedByRun(context, run, plan);
  const ending = await context.state.runs.update(run.id, {
    step: 'finish',
    progress: null,
    ...(edited !== undefined && { edited }),
  });
  const before = await readRunReport(context, ending, plan);
  const status = statusOf(before, failure);
  // The records of an undo, a release, a restore or a copy have no rows to correct.
  const hasRows = partOf(run) === undefined && run.copy === undefined && run.restore === undefined;
  if (plan !== null && before.totals.rejected > 0 && status !== 'interrupted' && hasRows)
    await writeRunRejects(context, request, ending, plan);
  if (plan?.renamed !== undefined && before.totals.applied > 0) await writeRedirects(context, ending, plan);
  const end = {
    status,
    error: errorOf(context, request, before, failure, status),
    finishedAt: context.clock(),
    totals: before.totals,
    ...elapsedFigures(context),
    ...(plan !== null && plan.shards.length > 0 && (await paceFigures(context, before, request.store))),
  };
  const collected = {
    ...before,
    run: { ...ending, ...end },
    rejectsFile: await rejectsFileOf(context, ending),
  };
  // Before the status: a process that sees the end must find the report.
  const reportFile = await writeReport(context, collected);
  const folder = context.artifacts.run(run.id);
  const kept = collected.traffic !== null && (await keepReport(folder, end.finishedAt, collected));
  refuseUnlessHeld(lock);
  const ended = await context.state.runs.update(run.id, end);
  // Of any other end, snapshot and shards are kept: to continue or approve the run.
  if (COMPLETED.includes(status)) {
    await discardPlan(context, ended);
    if (kept) await folder.remove(await trafficFiles(folder));
  }
  await pruneRuns(context.state, context.artifacts, ended.job);
  await pruneHistory(context, ended, request.store);
  return { ...collected, run: ended, reportFile };
}

/** Fewer requests say little about how fast a store is. */
const REQUESTS_OF_PACE = 20;
const RUNS_OF_PACE = 5;
const RUNS_LOOKED_AT = 100;

/** How fast the run has sent; of one that has only planned, how fast the last runs to its store did. */
async function paceFigures(
  { state }: RunContext,
  { run, traffic }: RunFacts,
  { limits }: StoreConfig,
): Promise<Pick<Run, 'sent' | 'pace'>> {
  if (traffic !== null) {
    const sum = (of: 'requests' | 'retries' | 'ms') => sumOf(traffic.samples, (sample) => sample[of]);
    return { sent: { requests: sum('requests') - sum('retries'), ms: sum('ms') } };
  }
  const rates = (await state.runs.list({ kinds: SENDING_KINDS, limit: RUNS_LOOKED_AT }))
    .filter(({ storeId, sent }) => storeId === run.storeId && (sent?.requests ?? 0) >= REQUESTS_OF_PACE)
    .slice(0, RUNS_OF_PACE)
    .map(({ sent = { requests: 0, ms: 0 } }) => (sent.requests / Math.max(1, sent.ms)) * 1_000)
    .map((perSecond) => Math.min(perSecond, limits.requestsPerSecond ?? perSecond));
  if (rates.length === 0) return {};
  return { pace: { slowest: Math.min(...rates), fastest: Math.max(...rates), runs: rates.length } };
}

/** Writes the old and new urls of the products that have their new ones. */
async function writeRedirects({ artifacts, state }: RunContext, run: Run, { shards }: Plan) {
  const folder = artifacts.run(run.id);
  const rows = async function* () {
    yield 'old_url,new_url\n';
    for (const shard of shards.filter(({ kind }) => kind === 'renames')) {
      const outcomes = await state.runs.outcomes(run.id, shard.number);
      for (const operation of await readShard(folder, shard)) {
        if (operation.kind !== 'delete-product' || outcomes.get(operation.index) !== 'applied') continue;
        const { key, renamedTo = '' } = operation;
        yield `${formatRow([key, renamedTo].map(inertCell), ',')}\n`;
      }
    }
  };
  await folder.write(REDIRECTS_FILE, rows());
}

/** The end of an import. */
type End = Exclude<RunStatus, 'running' | 'superseded'>;

/** Whether a run of the whole source leaves out so many records, unasked, that somebody should look. */
function leavesMany({ kind, sample }: RunFacts['run'], plan: Plan) {
  return (kind === 'run' || kind === 'plan') && sample === undefined && hasManyUnaskedSkips(plan);
}

function statusOf({ run, plan, totals, unsentDeletes }: RunFacts, failure: unknown): End {
  if (failure instanceof InterruptedError) return 'interrupted';
  if (failure instanceof SafetyLimitError) return 'stopped';
  if (failure === null && run.unchangedSince !== undefined) return 'done';
  if (failure !== null || plan === null) return 'failed';
  if (run.kind === 'plan') return 'planned';
  if (totals.unsent + unsentDeletes > 0) return 'failed';
  const leavesSome = refusedIn(totals) + totals.held > 0 || leavesMany(run, plan);
  return leavesSome ? 'done-with-rejects' : 'done';
}

function errorOf(
  context: RunContext,
  request: ImportRequest,
  facts: RunFacts,
  failure: unknown,
  status: End,
) {
  if (failure !== null) return runErrorOf(withFinalFigure(failure, request, facts), facts.run, context);
  return status === 'failed' ? unsentError(facts.totals.unsent + facts.unsentDeletes) : null;
}

/** The error of a run whose store did not confirm everything. */
export function unsentError(operations: number): string {
  return `${counted(operations, 'operation')} ${operations === 1 ? 'was' : 'were'} not confirmed by the store.`;
}

/**
 * A limit that was exceeded during sending was checked with the figure of that moment. Requests in flight have ended
 * since, so the message gets the figures of the summary.
 */
function withFinalFigure(failure: unknown, { job }: ImportRequest, { run, plan, totals }: RunFacts) {
  if (!(failure instanceof SafetyLimitError) || plan === null || totals.requests === 0) return failure;
  return judgeRejected({ run, plan, job }, refusedIn(totals) - plan.counts.rejected.records) ?? failure;
}

/** Reads the snapshot again and writes the rows that the mapping or the store refused into the run's rejects file. */
async function writeRunRejects(context: RunContext, request: ImportRequest, run: Run, { source }: Plan) {
  const folder = context.artifacts.run(run.id);
  const snapshot = await loadSnapshot(folder);
  if (snapshot === undefined) return;
  await keepCorrections(folder);
  const sources = snapshot.files.map((file, index) => ({
    name: file.name,
    places: source.files[index]?.places,
    sourceRows: source.files[index]?.sourceRows,
    open: () => openSnapshotFile({ snapshot, folder, request }, file, index),
  }));
  const { rows } = await writeRejects({
    folder,
    sources,
    rejections: refused(context, run),
    currency: request.store.currency,
    describeKeys: (keys) => positionsOf(context, run, keys),
  });
  if (hasRejectsWorkbook(source) && rows > 0 && rows < MAX_SHEET_ROWS) {
    await writeRejectsWorkbook(folder);
  }
  const isUpdate = request.job.mode === 'update';
  if (request.job.crosswalk === undefined && !isUpdate) return;
  await writeUnmatched({ folder, sources, rejections: unmatched(folder) }, { withReason: isUpdate });
}

/** A continued run writes its rejects again. Corrections made meanwhile are kept beside them, as `rejects-corrected.csv`, `-2` and so on. */
async function keepCorrections(folder: RunFolder) {
  if (!(await folder.exists(REJECTS_FILE)) || !(await folder.exists(UNTOUCHED_FILE))) return;
  const workbook = await editedWorkbook(folder);
  const corrected = await buffer(await folder.read(REJECTS_FILE));
  const isEdited = !corrected.equals(await buffer(await folder.read(UNTOUCHED_FILE)));
  for (const edited of [workbook, isEdited ? corrected : undefined])
    if (edited !== undefined) await folder.write(await freeName(folder, correctedName), [edited]);
}

function correctedName(number: number) {
  return `rejects-corrected${number === 1 ? '' : `-${number}`}.csv`;
}

/** The planned rejections of contacts that the crosswalk does not have, and of what an update does not find. */
async function* unmatched(folder: RunFolder) {
  for await (const batch of readRejections(folder)) {
    yield batch.filter(({ reason }) => isUnmatched(reason.code));
  }
}

async function* refused(context: RunContext, run: Run): WriteRejectsOptions['rejections'] {
  for await (const batch of readRejections(context.artifacts.run(run.id))) {
    // Such a rejection keeps no key: it allows no retry of a key that was not rejected.
    yield batch.map(({ key, spans, reason }) =>
      reason.code === KEY_NOT_REJECTED && key !== null ? { spans, reason } : { key, spans, reason },
    );
  }
  yield* context.state.runs.refusals(run.id);
}

/** Each key with the position of the ledger when it was rejected; for a retry also the keys of the retried run, with theirs. */
export async function positionsOf(
  { artifacts }: RunContext,
  run: Run,
  keys: Iterable<string>,
): Promise<RejectedKey[]> {
  const own = [...keys].map((key): RejectedKey => [key, run.endPosition ?? '']);
  const retried = run.kind === 'retry' ? (await loadRetryGuard(artifacts.run(run.id))).keys : [];
  return [...new Map([...own, ...retried])];
}
