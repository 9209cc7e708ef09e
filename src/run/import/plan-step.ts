import { SafetyLimitError, StateError } from '../../model/errors.ts';
import type { Plan, PlanSource } from '../../model/plan.ts';
import type { DeferredRecord, Mapped } from '../../model/record.ts';
import { COMPLETED, type Run } from '../../model/run.ts';
import { readPlan } from '../../plan/plan-file.ts';
import { planImport } from '../../plan/plan-import.ts';
import { loadSnapshot } from '../../source/snapshot.ts';
import type { RunContext } from '../context.ts';
import { comparableKeyDigest } from '../inputs/open-mapping.ts';
import { guardRetry, loadRetryGuard } from '../retry-guard.ts';
import { targetOf } from '../run-locks.ts';
import type { ImportRequest } from './import-request.ts';
import { memoContext } from './memo-context.ts';
import { readSnapshotThroughMapping } from './read-snapshot.ts';
import { stagedLists, withStoreLists } from './store-lists.ts';

/** The run's plan: the one it has, if it was finished, else made from snapshot and ledger. Sends nothing. */
export async function planStep(context: RunContext, request: ImportRequest, staged: Run): Promise<Plan> {
  const folder = context.artifacts.run(staged.id);
  const known = await readPlan(folder);
  if (known !== undefined) return known;
  context.signal.throwIfAborted();
  const run = await context.state.runs.update(staged.id, { step: 'plan' });
  const snapshot = await loadSnapshot(folder);
  if (snapshot === undefined)
    throw new StateError(`The snapshot of run ${run.id} is gone.`, {
      hint: 'Somebody has cleared the artifacts away: run the job again, and it begins anew.',
    });
  const lists = await stagedLists(request.mapping, folder);
  const reading = readSnapshotThroughMapping({
    snapshot,
    folder,
    request,
    lookups: withStoreLists(request.mapping, lists),
    stagedAt: run.stagedAt ?? run.startedAt,
    memoContext: memoContext(context.version, request, lists?.lists ?? null),
  });
  const { job } = request;
  const ledger = context.state.ledger(targetOf(run, job.import));
  const guard = run.kind === 'retry' ? await loadRetryGuard(folder) : undefined;
  const openGuarded = () =>
    guard === undefined ? reading.open() : guardRetry(reading.open(), guard, ledger);
  return await planImport({
    run: run.id,
    job,
    openMapped: () => withRedactedReasons(openGuarded(), context.redact),
    describeSource: () => redactedSource(reading.describe(), context.redact),
    ledger,
    folder,
    resend: run.resend,
    retry: run.kind === 'retry',
    keyDigest: run.keyDigest,
    previous: await lastCompleted(context, run.job),
    signal: context.signal,
    onProgress: ({ rows }) =>
      context.onEvent({ type: 'progress', step: 'plan', done: rows, total: null, unit: 'rows' }),
  });
}

/** Reasons and notes may quote cells, and cells may hold anything. */
async function* withRedactedReasons(
  batches: AsyncIterable<readonly (Mapped | DeferredRecord)[]>,
  redact: RunContext['redact'],
): AsyncGenerator<readonly (Mapped | DeferredRecord)[]> {
  for await (const batch of batches) {
    yield batch.map((mapped) => {
      if (redact === undefined) return mapped;
      if (mapped.kind === 'rejected') {
        return { ...mapped, reason: { ...mapped.reason, message: redact(mapped.reason.message) } };
      }
      if (mapped.kind === 'record' && mapped.notes !== undefined) {
        return { ...mapped, notes: mapped.notes.map(redact) };
      }
      return mapped;
    });
  }
}

function redactedSource(source: PlanSource, redact: RunContext['redact'] = (text) => text): PlanSource {
  return {
    ...source,
    files: source.files.map((file) => ({ ...file, name: redact(file.name) })),
    columnsNotUsed: source.columnsNotUsed.map(redact),
  };
}

async function lastCompleted(
  context: RunContext,
  job: string,
): Promise<{ rows: number | null; keyDigest: string | null }> {
  const [last] = await context.state.runs.list({ job, kinds: ['run'], statuses: COMPLETED, limit: 1 });
  return { rows: last?.totals?.rows ?? null, keyDigest: comparableKeyDigest(last?.keyDigest ?? null) };
}

/** Rejects with SafetyLimitError when the plan exceeds a limit and nobody has approved it. */
export function refuseUnsafe(run: Run, plan: Plan): void {
  const exceeded = plan.safety.filter((verdict) => verdict.exceeded);
  if (exceeded.length === 0 || run.approved || run.kind === 'retry') return;
  throw new SafetyLimitError(exceeded.map(({ message }) => message).join('\n'));
}
