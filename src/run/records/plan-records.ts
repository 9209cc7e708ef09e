import type { ImportJob } from '../../config/job/job.ts';
import type { Contact, ImportMode, Mapped, MappedRecord, Product } from '../../model/mapped-record.ts';
import { otherUrlIn } from '../../model/observation.ts';
import type { Plan } from '../../model/plan.ts';
import type { Run, RunPart } from '../../model/run.ts';
import { StateError, UsageError } from '../../model/storeferry-error.ts';
import { type PlanOptions, planImport } from '../../plan/plan-import.ts';
import { FORGOTTEN_BODY, type History, importTarget, type StoredView } from '../../state/state.ts';
import { type DriftFinding, readFindings } from '../drift/drift-finding.ts';
import { planPosition } from '../import/continue-or-begin.ts';
import { productUpdates } from '../import/product-updates.ts';
import { withLiveStatus } from '../report/read-stored-report.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';

/** The records to plan, and what else their plan depends on. */
type RecordsToPlan = Pick<PlanOptions, 'job' | 'origin' | 'openMapped'> & Partial<PlanOptions>;

/** Plans records that come from no source: bodies that a store has acknowledged, or that were held. */
export async function planRecords(context: RunContext, run: Run, records: RecordsToPlan): Promise<Plan> {
  const { state, artifacts, signal, onEvent } = context;
  return await planImport({
    run: run.id,
    describeSource: () => ({ files: [], columnsNotUsed: [], dates: null }),
    plannedPosition: await planPosition(context, run),
    ledger: state.ledger(importTarget(run)),
    folder: artifacts.run(run.id),
    resend: false,
    keyDigest: null,
    previous: { rows: null, keyDigest: null },
    signal,
    onProgress: ({ keys }) =>
      onEvent({ type: 'progress', step: 'plan', done: keys, total: null, unit: 'rows' }),
    ...records,
  });
}

/** A record whose body was acknowledged, or made before, so it is what it claims to be; it is serialised to the same bytes again. */
export function recordOf(key: string, written: string): MappedRecord {
  const body: Product | Contact = JSON.parse(written);
  return { kind: 'record', key, body, rows: 0, spans: [] };
}

/** A record that stays as it is. */
export function leftRecord(key: string, code: string, message: string): Mapped {
  return { kind: 'skipped', key, rows: 0, spans: [], reason: { code, message } };
}

/**
 * The run whose records another one takes back or elsewhere, if it is still kept. `ofPlan` and `ofExport` say what those are not, `hint`
 * what to do instead, `stop` what to do while it runs. UsageError for a plan, an export, and a run that is at work.
 */
export async function endedRunOf(
  context: RunContext,
  of: string,
  {
    ofPlan,
    ofExport,
    hint,
    stop,
  }: Readonly<Record<'ofPlan' | 'ofExport' | 'stop', string>> & { readonly hint?: string },
): Promise<Run | undefined> {
  const kept = await context.state.runs.get(of);
  const run = kept && (await withLiveStatus(context, kept));
  if (run?.kind === 'plan') throw new UsageError(`${of} is a plan: ${ofPlan}.`, { hint });
  if (run?.kind === 'export') throw new UsageError(`${of} is an export${ofExport}.`, { hint });
  if (run?.status === 'running') throw new UsageError(`The run ${of} has not ended.`, { hint: stop });
  return run;
}

/** UsageError, which ends with these words, where the history has no version of the run. */
export async function refuseWithoutVersions(history: History, of: string, words: string): Promise<void> {
  for await (const keys of history.keysOf(of)) if (keys.length > 0) return;
  throw new UsageError(`The history has no version of the run ${of}: ${words}.`, {
    hint: 'It changed nothing, or the history no longer goes back to it (`history` in stores.yaml).',
  });
}

/** UsageError where the job no longer writes to what the earlier run has written. */
export function refuseOtherTarget(of: Run, { storeId, resource, store, baseUrl }: Run): void {
  if (of.storeId === storeId && of.resource === resource) return;
  throw new UsageError(
    `The run ${of.id} sent ${of.resource} to ${of.store} (${of.baseUrl}); the job ${of.job} now writes ${resource} to ${store} (${baseUrl}).`,
    { hint: 'Let the job write there again, then repeat the command.' },
  );
}

/**
 * The job for bodies that it has sent or made before: what it keeps was kept, and what its guards hold was judged, at that time.
 */
export function adaptJobToBodies({ keep: _, ...job }: ImportJob, mode: ImportMode): Omit<ImportJob, 'keep'> {
  return { ...job, guards: [], mode };
}

/**
 * Plans to send what the ledger has of records that a comparison has found edited, deleted or made again in the store: of edited
 * ones only the fields that differ, where the store takes that, and the stock as the store has it. What was sent since is left out, and
 * so are products whose url was changed there: they would be created a second time.
 */
export async function planRestore(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  { of }: RunPart,
): Promise<Plan> {
  const { job } = request;
  const { artifacts, signal, state } = context;
  const compared = await state.runs.get(of);
  if (compared === undefined) throw new StateError(`The comparison ${of} is gone.`);
  const ledger = state.ledger(importTarget(run));
  const folder = artifacts.run(of);
  const openMapped = async function* (): AsyncGenerator<readonly Mapped[]> {
    for await (const batch of readFindings(folder)) {
      signal.throwIfAborted();
      const findings = batch.filter(({ kind }) => kind !== 'stranger');
      const keys = findings.map(({ key }) => key);
      const [bodies, views, since] = await Promise.all([
        ledger.bodies(keys),
        ledger.views(keys),
        ledger.writtenSince(compared.endPosition ?? '', keys),
      ]);
      yield findings.map((finding, index) =>
        restored(finding, { body: bodies[index], view: views[index], isWritten: since.has(finding.key) }),
      );
    }
  };
  return await planRecords(context, run, {
    job: adaptJobToBodies(job, job.mode === 'update' ? 'update' : 'upsert'),
    origin: { kind: 'bodies' },
    openMapped,
    updates: await productUpdates(context, request, run),
    resend: true,
  });
}

/** What the ledger has of a record that was found. */
interface LedgerFacts {
  readonly body: string | undefined;
  readonly view: StoredView | undefined;
  readonly isWritten: boolean;
}

function restored({ kind, key, differences }: DriftFinding, { body, view, isWritten }: LedgerFacts) {
  if (body === undefined || body === FORGOTTEN_BODY)
    return leftRecord(key, 'forgotten', 'its values are no longer known');
  if (isWritten) return leftRecord(key, 'changed-since', 'it was sent since the comparison');
  // One that was accepted is no difference.
  const isMoved = kind === 'edited' && otherUrlIn(view?.observation) !== undefined;
  if (isMoved || differences.some(({ path }) => path === 'url')) {
    return leftRecord(
      key,
      'other-url',
      'its url was changed in the store, so that sending it would create a second product',
    );
  }
  const record = recordOf(key, body);
  // Contacts are not created again.
  if (kind === 'deleted' && 'title' in record.body)
    return {
      ...record,
      inStore: null,
      notes: ['was deleted in the store: is created again, under a new id'],
    };
  const inStore = differences.map(({ path, believed, found }) => ({
    field: path,
    old: found,
    new: believed,
  }));
  if (kind !== 'edited') return { ...record, inStore };
  return { ...record, inStore, restored: differences.map(({ path }) => path.split('.', 1).join()) };
}
