import type { Plan } from '../../../src/model/plan.ts';
import { KEY_NOT_REJECTED } from '../../../src/model/reason.ts';
import type { Run, RunStatus, RunTotals } from '../../../src/model/run.ts';
import { InterruptedError } from '../../../src/model/storeferry-error.ts';
import { readHeld, readRejections, readShard } from '../../../src/plan/plan-file.ts';
import { findRenamed, planImport } from '../../../src/plan/plan-import.ts';
import { REJECTS_FILE } from '../../../src/rejects/rejects-file.ts';
import { refusedDeletes, runTotals, unsentDeletes } from '../../../src/report/run-facts.ts';
import { discardPlan, planPosition } from '../../../src/run/import/continue-or-begin.ts';
import { positionsOf } from '../../../src/run/import/finish-step.ts';
import { fieldsOfUpdate, isOvertaken } from '../../../src/run/import/plan-step.ts';
import { productUpdates } from '../../../src/run/import/product-updates.ts';
import { changesUrls } from '../../../src/run/kept-probe.ts';
import { ownDoubts } from '../../../src/run/own-doubts.ts';
import { planRestore } from '../../../src/run/records/plan-records.ts';
import { planRelease, undecidedKeys } from '../../../src/run/records/plan-release.ts';
import { guardRetry, isAttemptOf, loadRetryGuard } from '../../../src/run/retry-guard.ts';
import type { RunContext } from '../../../src/run/run-context.ts';
import { planUndo } from '../../../src/run/undo/plan-undo.ts';
import { TARGET } from '../../state/samples.ts';
import { itemsOf, type JobSettings, requestOf, type Source } from './jobs.ts';

/** What a job is run with. */
export interface Settings extends JobSettings {
  readonly source: Source;
  readonly resend: boolean;
}

/** Plans as planStep does, without a snapshot. */
export async function planRun(
  context: RunContext,
  settings: Settings,
  run: Run,
  note: (what: string) => void,
): Promise<Plan> {
  const { state, artifacts, signal } = context;
  const folder = artifacts.run(run.id);
  const request = requestOf(run.job, settings, run.resend);
  if (run.undo !== undefined) return await planUndo(context, request, run, run.undo);
  if (run.release !== undefined) return await planRelease(context, request, run, run.release);
  if (run.restore !== undefined) return await planRestore(context, request, run, run.restore);
  const isRetry = run.kind === 'retry';
  const ledger = state.ledger(TARGET);
  const guard = isRetry ? await loadRetryGuard(folder) : undefined;
  const { job, store } = request;
  const isLatest = guard !== undefined && !(await isOvertaken(context, request, run, guard));
  if (isLatest) note('retries of the latest run');
  const method = (await changesUrls(artifacts, store)) ? 'put' : 'create';
  const fields = fieldsOfUpdate(request);
  return await planImport({
    run: run.id,
    folder,
    signal,
    ledger,
    resend: run.resend,
    origin: { kind: isRetry ? 'retry' : 'source' },
    updates: await productUpdates(context, request, run),
    plannedPosition: await planPosition(context, run),
    job,
    predecessorsIn: async ({ tally, seen, upserts }) =>
      isRetry || fields !== null
        ? null
        : await findRenamed({
            ...{ folder, ledger, job: job.name, method, isMirror: true, upserts, tally, seen, signal },
          }),
    async *openMapped() {
      yield itemsOf(run.job, settings.source);
    },
    undecided: isRetry ? undefined : await undecidedKeys(context, run, fields),
    admit: (records) =>
      guard === undefined
        ? records
        : guardRetry(records, guard, ledger, (keys) => ownDoubts(context, run, keys, isAttemptOf(guard)), {
            isUpdate: fields !== null,
            isLatest,
            keyWhenNew: undefined,
          }),
    describeSource: () => ({ files: [], columnsNotUsed: [], dates: null }),
    keyDigest: null,
    previous: { rows: null, keyDigest: null },
    onProgress: () => {},
  });
}

/** A row of a source. */
interface RowPlace {
  readonly file: number;
  readonly line: number;
}

/** How a run ended. */
export interface Ended {
  readonly plan: Plan | null;
  readonly totals: RunTotals;
  readonly isComplete: boolean;
  /** What it has sent, or was to send. */
  readonly sent: readonly { readonly key: string; readonly body: string }[];
  /** What it has rejected or held. */
  readonly left: ReadonlySet<string>;
  /** What it has rejected without a key. */
  readonly keyless: readonly RowPlace[];
}

/** Ends a run as finishStep does; its rejects file has only what the next retry needs to know of its keys. */
export async function finishRun(
  context: RunContext,
  run: Run,
  plan: Plan | null,
  failure: unknown,
): Promise<Ended> {
  const { runs } = context.state;
  const folder = context.artifacts.run(run.id);
  const tally = await runs.tally(run.id);
  const refused = new Set<string>();
  const keyless: RowPlace[] = [];
  const held = new Set<string>();
  const sent: { readonly key: string; readonly body: string }[] = [];
  let renamedKeys = 0;
  if (plan !== null) {
    for await (const page of readRejections(folder)) {
      for (const { key, reason, spans } of page) {
        if (key === null) keyless.push(...spans.map(({ file, from: line }) => ({ file, line })));
        else if (reason.code !== KEY_NOT_REJECTED) refused.add(key);
      }
    }
    for await (const page of readHeld(folder, plan))
      for (const { operation } of page) held.add(operation.key);
    for (const shard of plan.shards) {
      const outcomes = await runs.outcomes(run.id, shard.number);
      for (const operation of await readShard(folder, shard)) {
        if (operation.kind === 'upsert-product') sent.push(operation);
        const isRenamed = operation.kind === 'delete-product' && operation.renamedTo !== undefined;
        if (isRenamed && outcomes.get(operation.index) === 'applied') renamedKeys++;
      }
    }
  }
  const totals = runTotals(plan, tally, renamedKeys);
  for await (const page of runs.refusals(run.id)) for (const { key } of page) refused.add(key);
  const refusedOnes = plan === null ? 0 : refusedDeletes(plan, tally);
  const isComplete = failure === null && plan !== null && totals.unsent + unsentDeletes(plan, tally) === 0;
  const status = statusOf(isComplete, failure, totals.rejected + totals.held + refusedOnes > 0);
  const hasRows = run.undo === undefined && run.release === undefined && run.restore === undefined;
  if (hasRows && refused.size + keyless.length > 0 && status !== 'interrupted') {
    const positions = await positionsOf(context, run, refused);
    await folder.write(REJECTS_FILE, [Buffer.from(JSON.stringify({ keys: positions, keyless }))]);
  }
  const ended = await runs.update(run.id, { status, totals, finishedAt: 0 });
  if (isComplete) await discardPlan(context, ended);
  return { plan, totals, isComplete, sent, left: new Set([...refused, ...held]), keyless };
}

function statusOf(isComplete: boolean, failure: unknown, leavesSome: boolean): RunStatus {
  if (failure instanceof InterruptedError) return 'interrupted';
  if (!isComplete) return 'failed';
  return leavesSome ? 'done-with-rejects' : 'done';
}
