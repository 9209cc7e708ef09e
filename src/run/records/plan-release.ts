import type { Contact, Mapped, Product } from '../../model/mapped-record.ts';
import type { Operation } from '../../model/operation.ts';
import type { Plan } from '../../model/plan.ts';
import { IN_DOUBT_SINCE, type Reason } from '../../model/reason.ts';
import {
  COMPLETED,
  HOLDING_KINDS,
  isSameTarget,
  isUnsentPlan,
  type Run,
  type RunPart,
} from '../../model/run.ts';
import { StateError, UsageError } from '../../model/storeferry-error.ts';
import { type HeldRecord, readHeld, readPlan, readRejections, verifyHeld } from '../../plan/plan-file.ts';
import { joinPredecessors, KeySet, type Predecessor, readKnownPredecessors } from '../../plan/plan-import.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { IN_DOUBT, importTarget, type LedgerMark, type LedgerTarget } from '../../state/state.ts';
import { passedDate } from '../import/continue-or-begin.ts';
import { productUpdates } from '../import/product-updates.ts';
import { mayHaveRejectedOrHeld } from '../import/stage-step.ts';
import { storeContacts } from '../import/store-contacts.ts';
import { changesUrls, readProbe } from '../kept-probe.ts';
import { ownDoubts } from '../own-doubts.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { unsentOperations } from '../send-operations.ts';
import { adaptJobToBodies, planRecords, refuseOtherTarget } from './plan-records.ts';

/**
 * UsageError if the run has nothing to release: it is a plan or has not completed, it holds no records or not these, the job now
 * writes elsewhere, or a sale price begins or ends meanwhile. StateError if the file of held records was changed.
 */
export async function refuseUnlessReleasable(
  { state, artifacts, clock }: RunContext,
  releasing: Run,
  { of, only = [] }: RunPart,
): Promise<void> {
  const run = await state.runs.get(of);
  if (run === undefined) throw new StateError(`The run ${of} is gone.`);
  const { job, status } = run;
  if (run.kind === 'plan' || isUnsentPlan(run)) {
    throw new UsageError(`${of} is a plan: its run holds nothing yet.`, {
      hint: `Approve it first: storeferry approve ${of}. Then release what it holds.`,
    });
  }
  if (!COMPLETED.includes(status)) {
    throw new UsageError(`The run ${of} has not completed: it is ${status}.`, {
      hint: `Run the job until it completes: storeferry run ${job}`,
    });
  }
  refuseOtherTarget(run, releasing);
  const folder = artifacts.run(of);
  const plan = await readPlan(folder);
  if (plan === undefined || plan.counts.held.records === 0) {
    throw new UsageError(`The run ${of} holds no records: there is nothing to release.`);
  }
  const hint = `Run the job, then release what that run holds: storeferry run ${job}`;
  const passed = passedDate(of, plan, clock(), hint);
  if (passed !== undefined) throw passed;
  await verifyHeld(folder, plan);
  const missing = new Set(only);
  for await (const batch of readHeld(folder, plan)) {
    for (const { operation } of batch) missing.delete(operation.key);
  }
  const [first] = missing;
  if (first === undefined) return;
  throw new UsageError(`The run ${of} holds no record ${JSON.stringify(first)}.`, {
    hint: `The records that it holds: storeferry runs ${of} --records --outcome held`,
  });
}

/** Plans to send held records with the values that were held; `conflicts` decides about edited fields. Call it while the store's lock is held. */
export async function planRelease(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  { of, only, conflicts }: RunPart,
): Promise<Plan> {
  const { job, store } = request;
  const held = await context.state.runs.get(of);
  const folder = context.artifacts.run(of);
  const plan = held && (await readPlan(folder));
  if (plan === undefined || held === undefined) throw new StateError(`The plan of run ${of} is gone.`);
  const ledger = context.state.ledger(importTarget(run));
  const wanted = only && new Set(only);
  const renamed = new Map<string, string>();
  const adopted = new Map<string, Predecessor>();
  /** All keys of the release; with `conflicts`, one that turns out unchanged is confirmed, so that it is held no more. */
  const undecided = new KeySet();
  const openMapped = async function* (): AsyncGenerator<readonly Mapped[]> {
    for await (const batch of releasableRecords(context, held, plan, wanted)) {
      for (const { operation } of batch) {
        undecided.add(operation.key, true);
        const old = oldKeyOf(operation);
        if (old !== undefined) renamed.set(operation.key, old);
        if (operation.kind === 'upsert-product' && operation.adopts)
          adopted.set(operation.key, { key: operation.key, by: 'table' });
      }
      yield batch.flatMap(released);
    }
  };
  const method = (await changesUrls(context.artifacts, store)) ? 'put' : 'create';
  using opened = new DisposableStack();
  const reads = (await readProbe(context.artifacts, store))?.properties.readsContacts === true;
  const reading = {
    table: undefined,
    folder: context.artifacts.run(run.id),
    readEmails: async () => {},
    opened,
  };
  const contacts = reads ? await storeContacts(context, request, run, reading) : undefined;
  const { files, dates } = plan.source;
  return await planRecords(context, run, {
    // An update leaves the product to the job that has it. Nothing else may depend on the mode: no record is left out.
    job: adaptJobToBodies(job, plan.mode === 'update' ? 'update' : 'upsert'),
    origin: { kind: 'bodies', decided: conflicts },
    openMapped,
    predecessorsIn: async () =>
      joinPredecessors(
        adopted.size === 0
          ? null
          : { method, certain: adopted, waiting: new Map(), bodies: (keys) => ledger.bodies(keys) },
        await readKnownPredecessors(ledger, job.name, method, renamed),
      ),
    undecided: conflicts === undefined ? undefined : undecided,
    updates: await productUpdates(context, request, run, contacts?.stored),
    describeSource: () => ({ files, columnsNotUsed: [], dates }),
  });
}

/** A held record, and what a release would do with it. */
export interface ReleasableRecord extends HeldRecord {
  /** The store has acknowledged exactly this since. */
  readonly isSent: boolean;
  /** Why it would not be sent; null if it would. */
  readonly refusal: Pick<Reason, 'code' | 'message'> | null;
}

/** The records that a run holds, or those `wanted`, as a release would now find them. */
export async function* releasableRecords(
  context: RunContext,
  run: Run,
  plan: Plan,
  wanted?: ReadonlySet<string>,
): AsyncGenerator<readonly ReleasableRecord[]> {
  const ledger = context.state.ledger(importTarget(run));
  const newer = await newerRuns(context, run);
  const { endPosition: heldAt = '' } = run;
  const isLost = await ledger.lostSince(run);
  for await (const batch of readHeld(context.artifacts.run(run.id), plan)) {
    context.signal.throwIfAborted();
    const records = batch.filter(({ operation: { key } }) => wanted?.has(key) !== false);
    const keys = records.map(({ operation: { key } }) => key);
    const old = records.map(({ operation }) => oldKeyOf(operation));
    const written = [...keys, ...old.filter((key) => key !== undefined)];
    const [marks, since] = await Promise.all([ledger.marks(keys), ledger.writtenSince(heldAt, written)]);
    const { attempted } = await ownDoubts(context, run, [...since], ({ release }) => release?.of === run.id);
    const isByOthers = (key: string) => since.has(key) && !attempted.has(key);
    yield records.map((record, index): ReleasableRecord => {
      const { operation, before } = record;
      const [mark, oldKey] = [marks[index], old[index]];
      const judged = (refusal: ReleasableRecord['refusal'], isSent = false) => ({
        ...record,
        isSent,
        refusal,
      });
      const changed = (what: string) =>
        judged({ code: 'changed-since', message: `${what} since run ${run.id} held this one` });
      if (operation.kind === 'delete-product') return judged(null);
      const { key, fingerprint } = operation;
      if (mark?.fingerprint === fingerprint) return judged(null, true);
      if (isLost) return changed('the state has lost data');
      // Another run has written or confirmed a version since.
      if (isByOthers(key)) return judged(otherVersion(mark, before, run.id));
      if (oldKey !== undefined && isByOthers(oldKey))
        return changed('another run has sent or found it under its old url');
      const other = newer.find(({ named }) => named.has(key));
      if (other === undefined || other.named.get(key) === fingerprint) return judged(null);
      const message = `run ${other.id} is newer and does not hold these values`;
      return judged({ code: 'not-held-now', message });
    });
  }
}

/** What another run has done with a record that this run held, and that was `before` then; groups of a report share a code. */
function otherVersion(mark: LedgerMark | undefined, before: string | null, run: string) {
  const since = `since run ${run} held this one`;
  if (mark?.fingerprint === IN_DOUBT || (mark === undefined && before === null))
    return { code: IN_DOUBT_SINCE, message: `another run has begun to send it ${since}` };
  if (mark === undefined) return { code: 'deleted-since', message: `another run has deleted it ${since}` };
  return mark.fingerprint === before
    ? { code: 'confirmed-since', message: `another run has sent or found its earlier version ${since}` }
    : { code: 'changed-since', message: `the store has acknowledged another version ${since}` };
}

/** The key under which a product that gets a new url is until then. */
function oldKeyOf(operation: HeldRecord['operation']) {
  return operation.kind === 'upsert-product' ? operation.renames : undefined;
}

function released({ operation, refusal }: ReleasableRecord): readonly Mapped[] {
  if (operation.kind === 'delete-product') return [];
  const { key, rows, spans, memo } = operation;
  if (refusal !== null) return [{ kind: 'rejected', key, rows, spans, reason: refusal }];
  // It was written by `heldLine`; it is serialised to the same bytes again.
  const body: Product | Contact = JSON.parse(operation.body);
  return [{ kind: 'record', key, body, rows, spans, ...(memo !== undefined && { memo }) }];
}

/** A completed run, with the keys that it rejects, and those that it holds with their fingerprints. */
interface NewerRun {
  readonly id: string;
  readonly named: ReadonlyMap<string, string | null>;
}

/** The completed runs of the job to the same target after this one, newest first. What they sent or found unchanged, the ledger knows. */
async function newerRuns({ state, artifacts }: RunContext, of: Run): Promise<readonly NewerRun[]> {
  const runs = await state.runs.list({ job: of.job, kinds: HOLDING_KINDS, statuses: COMPLETED });
  const newer: NewerRun[] = [];
  for (const run of runs.filter((run) => run.sequence > of.sequence && isSameTarget(run, of))) {
    const folder = artifacts.run(run.id);
    const plan = await readPlan(folder);
    if (plan === undefined) continue;
    const named = new Map<string, string | null>();
    for await (const batch of readRejections(folder)) {
      for (const { key } of batch) if (key !== null) named.set(key, null);
    }
    for await (const batch of readHeld(folder, plan)) {
      for (const { operation } of batch) {
        if (operation.kind !== 'delete-product') named.set(operation.key, operation.fingerprint);
      }
    }
    newer.push({ id: run.id, named });
  }
  return newer;
}

/**
 * The keys that earlier runs have rejected or held, of any job with the same target; undefined if there are none. A run that finds one of them
 * unchanged confirms it (`Ledger.confirm`), so that no later retry or release sends the older version. `updates`: the fields of an update,
 * which says nothing of the others.
 */
export async function undecidedKeys(
  { state, artifacts }: RunContext,
  run: Run,
  updates: ReadonlySet<string> | null,
): Promise<KeySet | undefined> {
  const keys = new KeySet();
  for (const other of await state.runs.list({ kinds: HOLDING_KINDS })) {
    if (other.id === run.id || !isSameTarget(other, run)) continue;
    if (!mayHaveRejectedOrHeld(other)) continue;
    const note = (key: string | null, fields: readonly (string | undefined)[]) => {
      const isConcerned =
        updates === null ||
        other.job === run.job ||
        fields.some((field) => field === undefined || updates.has(field));
      if (key !== null && isConcerned) keys.add(key, true);
    };
    const folder = artifacts.run(other.id);
    for await (const page of state.runs.refusals(other.id))
      for (const { key, reason } of page) note(key, [reason.field]);
    try {
      const plan = await readPlan(folder);
      if (plan === undefined) continue;
      for await (const page of readRejections(folder))
        for (const { key, reason } of page) note(key, [reason.field]);
      for await (const page of readHeld(folder, plan)) {
        for (const { operation, hits } of page) {
          const fields = hits.map(({ field }) => field);
          note(operation.key, fields);
          note(oldKeyOf(operation) ?? null, fields);
        }
      }
    } catch (error) {
      // Without its files, nothing of the run can be retried or released.
      if (!(error instanceof StateError)) throw error;
    }
  }
  return keys.size === 0 ? undefined : keys;
}

/** What a run holds of a record. */
interface HeldValues extends Pick<HeldRecord, 'hits'> {
  readonly run: string;
  readonly job: string;
}

/** What is held of a record and can be released: by the newest complete run of each job that holds it. */
export async function heldValues(
  context: RunContext,
  { storeId, resource }: LedgerTarget,
  key: string,
): Promise<readonly HeldValues[]> {
  const runs = await context.state.runs.list({ kinds: HOLDING_KINDS, statuses: COMPLETED });
  const settled = new Set<string>();
  const found: HeldValues[] = [];
  for (const run of runs) {
    const { id, job, totals } = run;
    if (run.storeId !== storeId || run.resource !== resource || settled.has(job) || totals?.held === 0)
      continue;
    const folder = context.artifacts.run(id);
    const plan = await readPlan(folder);
    // What a release would do with it takes longer to find out.
    if (plan === undefined || !(await holdsRecord(folder, plan, key))) continue;
    for await (const [record] of releasableRecords(context, run, plan, new Set([key]))) {
      if (record === undefined || record.operation.kind === 'delete-product') continue;
      settled.add(job);
      const { hits, isSent, refusal } = record;
      const isPassed = passedDate(id, plan, context.clock()) !== undefined;
      if (!isSent && refusal === null && !isPassed) found.push({ run: id, job, hits });
    }
  }
  return found;
}

async function holdsRecord(folder: RunFolder, plan: Plan, key: string) {
  for await (const batch of readHeld(folder, plan))
    if (batch.some(({ operation }) => operation.key === key)) return true;
  return false;
}

/** Whether a release decides between store and source about fields; about the url none does. */
export function isConflict(hits: HeldRecord['hits']): boolean {
  return hits.some(({ field, edited }) => edited === true && field !== 'url');
}

/** The operations of an unfinished run that have no outcome, or were not sent. */
export async function* openOperations(context: RunContext, run: Run): AsyncGenerator<readonly Operation[]> {
  const folder = context.artifacts.run(run.id);
  for (const shard of (await readPlan(folder))?.shards ?? []) {
    if (await folder.exists(shard.name)) yield await unsentOperations(context, run, shard);
  }
}
