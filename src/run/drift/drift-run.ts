import { z } from 'zod';
import type { ImportJob } from '../../config/job/job.ts';
import type { StoreConfig } from '../../config/store-config.ts';
import { DRIFT_FILE } from '../../model/plan.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import { type Drift, hasDrifted, type Run, UNFINISHED } from '../../model/run.ts';
import { explainError, InterruptedOnRequestError, UsageError } from '../../model/storeferry-error.ts';
import { NO_TOTALS, type RunFacts } from '../../report/run-facts.ts';
import { findJson, type RunFolder } from '../../state/artifacts.ts';
import { importTarget, targetTag } from '../../state/state.ts';
import { endRun } from '../end-run.ts';
import { readProbe } from '../kept-probe.ts';
import { createReconciledRun, lockJob, lockTarget } from '../lock-job.ts';
import { shownFile } from '../report/read-stored-report.ts';
import type { DriftRequest, RunContext } from '../run-context.ts';
import { continueInstead, newRun, runPipeline, supersede } from '../run-pipeline.ts';
import { nothingSampled, sampleLedger } from '../verify/verify-run.ts';
import { noteFindings } from './drift-finding.ts';
import { findDrift, type SelectedKeys } from './find-drift.ts';

/**
 * Compares the records of a job with the store, field by field with what it last answered, and records what differs.
 * The store does not change; the ledger learns which fields were edited. Continues an interrupted comparison of the same sample. Rejects as
 * `runPipeline`, and with UsageError where the store cannot be seen.
 */
export async function driftRun(surroundings: RunContext, request: DriftRequest): Promise<RunFacts> {
  const { job, store } = request;
  let found: { readonly drift: Drift; readonly requests: number } | null = null;
  return await runPipeline(surroundings, {
    run: newRun(surroundings, request, { kind: 'drift', step: 'apply' }),
    lock: lockJob,
    async admit(run) {
      await comparisonMethod(surroundings, store, job);
      return run;
    },
    async steps(work) {
      const { context } = work;
      const created = await createReconciledRun(context, work.run);
      const unfinished = await unfinishedDrift(context, created, request);
      work.begin(unfinished === undefined ? created : await continueInstead(context, created, unfinished));
      const { run } = work;
      await using lock = await lockTarget(context, run);
      const { accept = false } = request;
      const selected =
        (await readSelection(context.artifacts.run(run.id))) ?? (await selectKeys(context, run, request));
      const { drift, requests } = await findDrift(context, { ...request, run, lock }, selected);
      await noteFindings(context, { run, store, lock, accept });
      found = { drift: accept ? { ...drift, accepted: true } : drift, requests };
      const endPosition = await context.state.ledger(importTarget(run)).position();
      work.run = await context.state.runs.update(run.id, { endPosition });
    },
    finish: ({ context, run }, failure) => recordDrift(context, run, found, failure),
  });
}

/**
 * How the records of a store can be compared, by what its last probe has learned.
 *
 * @throws UsageError where there is no way, or none is known.
 */
export async function comparisonMethod(
  { artifacts }: RunContext,
  store: StoreConfig,
  { import: resource, name }: ImportJob,
): Promise<Drift['by']> {
  const probe = (await readProbe(artifacts, store))?.properties;
  const isProduct = resource === 'products';
  const [reads, answers] = isProduct
    ? [probe?.readsProducts, probe?.partialProductAnswersWhole === true && probe.absentFieldsStay === true]
    : [probe?.readsContacts, probe?.emptyContactPutAnswersWhole];
  if (reads === true) return 'reading';
  if (answers === true || answers === 'email') return 'touching';
  if (probe === undefined) {
    throw new UsageError(`Nothing is known of how the ${resource} of ${store.name} can be seen.`, {
      hint: `Learn it first: storeferry probe ${store.name}`,
    });
  }
  throw new UsageError(
    `The ${resource} of ${store.name} cannot be seen: its last probe found that it neither lists them nor answers an update that changes nothing with the whole ${isProduct ? 'product' : 'contact'}.`,
    {
      hint: `To probe it again: storeferry probe ${store.name}${isProduct ? '' : ' --contact ID'}. What is lost can be estimated: storeferry verify ${name}`,
    },
  );
}

const SELECTION_FILE = 'drift-keys.json';
const selectionSchema = z.object({
  by: z.enum(['reading', 'touching']),
  sample: z.int().nullable(),
  slice: z.string().default(''),
  known: z.int(),
  notComparable: z.int(),
  keys: z.array(z.string()),
});

/** The keys that a run has chosen to compare; undefined before that, and for a file of another version. */
function readSelection(folder: RunFolder) {
  return findJson(folder, SELECTION_FILE, selectionSchema);
}

/** Chooses the keys to compare, and stores them for the case that the run is interrupted. */
export async function selectKeys(
  context: RunContext,
  run: Run,
  { job, store, sample, slice, random }: DriftRequest,
): Promise<SelectedKeys> {
  const by = await comparisonMethod(context, store, job);
  const sampled = await sampleLedger(context.state.ledger(importTarget(run)), {
    job: job.name,
    resource: job.import,
    size: sample ?? Number.MAX_SAFE_INTEGER,
    includes: slice && ((key) => isInSlice(key, slice)),
    random,
    signal: context.signal,
  });
  const { keys, known, notComparable } = sampled;
  if (keys.length === 0 && slice === undefined) throw nothingSampled(job, sampled, 'compared');
  const selected = { by, sample, slice: sliceName(slice), known, notComparable, keys: [...keys] };
  await context.artifacts.run(run.id).write(SELECTION_FILE, [JSON.stringify(selected)]);
  return selected;
}

/** The name of these parts of a job's records, by which an interrupted comparison is found again. */
function sliceName(slice: Drift['slice']) {
  return slice === undefined ? '' : `${slice.number}+${slice.parts}/${slice.of}`;
}

/**
 * Whether a key belongs to these parts. It depends on the key alone, so that products which come and go move no other one to a part
 * that was compared already.
 */
export function isInSlice(key: string, { number, of, parts }: NonNullable<Drift['slice']>): boolean {
  let sum = 0;
  for (let at = 0; at < key.length; at += 1) sum = (Math.imul(sum, 31) + key.charCodeAt(at)) >>> 0;
  const mixed = Math.imul(sum ^ (sum >>> 15), 0x85ebca6b) >>> 0;
  const part = Math.floor((((mixed ^ (mixed >>> 13)) >>> 0) * of) / 2 ** 32);
  return (part - number + of) % of < parts;
}

/** The interrupted comparison that this one continues; others are over. */
async function unfinishedDrift(
  context: RunContext,
  begun: Run,
  { sample, slice }: DriftRequest,
): Promise<Run | undefined> {
  const { runs } = context.state;
  const open = (await runs.list({ job: begun.job, kinds: ['drift'], statuses: UNFINISHED })).filter(
    ({ id }) => id !== begun.id,
  );
  let continued: Run | undefined;
  for (const run of open) {
    const selected = await readSelection(context.artifacts.run(run.id));
    const isSame =
      run.storeId === begun.storeId &&
      run.resource === begun.resource &&
      selected?.sample === sample &&
      selected.slice === sliceName(slice);
    if (continued === undefined && isSame && begun.stateLoss === undefined) continued = run;
    else await supersede(context, run);
  }
  return continued;
}

async function recordDrift(
  context: RunContext,
  run: Run,
  found: { readonly drift: Drift; readonly requests: number } | null,
  failure: unknown,
) {
  const { requests } = await context.state.runs.tally(run.id);
  if (found === null)
    return await endRun(context, run, failure, { writesReport: false, totals: { ...NO_TOTALS, requests } });
  const folder = context.artifacts.run(run.id);
  const file = (await folder.exists(DRIFT_FILE))
    ? { file: shownFile(context.workspaceDir, `${folder.location}/${DRIFT_FILE}`) }
    : {};
  const { drift, requests: sent } = found;
  const totals = { ...NO_TOTALS, records: drift.checked, requests: Math.max(requests, sent) };
  return await endRun(context, run, failure, { writesReport: true, totals, drift: { ...drift, ...file } });
}

/** In a folder of the job: how far its comparisons have come. */
const PROGRESS_FILE = 'progress.json';

const progressSchema = z.object({
  target: z.string(),
  /** How many parts the records are divided into. */
  of: z.int().min(1),
  /** Parts that were compared, and that the runs so far should have compared. */
  done: z.int(),
  due: z.int(),
});
type SliceProgress = z.infer<typeof progressSchema>;

/** A run makes up for one that did not compare its part; more would delay it. */
const MAX_PARTS_PER_RUN = 2;

/** The parts that the next run compares, and the progress once it has begun. With another share it goes on at the same place. */
export function nextSlice(
  known: SliceProgress | undefined,
  target: string,
  percent: number,
): { readonly slice: NonNullable<Drift['slice']>; readonly progress: SliceProgress } {
  const of = Math.ceil(100 / percent);
  const { done, due } = known?.target === target ? rescaled(known, of) : { done: 0, due: 0 };
  const progress = { target, of, done, due: Math.min(due + 1, done + of) };
  const parts = Math.min(progress.due - done, MAX_PARTS_PER_RUN, of);
  return { slice: { number: done % of, of, parts }, progress };
}

function rescaled({ of: before, done, due }: SliceProgress, of: number): Pick<SliceProgress, 'done' | 'due'> {
  if (before === of) return { done, due };
  const place = Math.floor(((done % before) * of) / before);
  return { done: place, due: place };
}

/** What a run has learned of the part of its records that it compares before it begins. */
export interface ComparedSlice {
  readonly drift?: Drift;
  readonly notCompared?: string;
}

/**
 * Compares the next part of a job's records with the store. It is a run of its own, which is kept where it has found something or did not end; a part
 * that could not be compared is compared by the next run.
 *
 * @throws InterruptedOnRequestError if somebody has ended it.
 */
export async function compareSlice(
  context: RunContext,
  { job, store }: Pick<DriftRequest, 'job' | 'store'>,
  percent: number,
): Promise<ComparedSlice> {
  const { artifacts, state } = context;
  const target = targetTag({ storeId: storeIdentity(store), resource: job.import });
  const folder = artifacts.run(`drift-${job.name}`);
  const known = await findJson(folder, PROGRESS_FILE, progressSchema);
  const { slice, progress } = nextSlice(known, target, percent);
  await folder.write(PROGRESS_FILE, [JSON.stringify(progress)]);
  // Whoever waits for the run of the job must not take this one for it.
  const onEvent: RunContext['onEvent'] = (event) => {
    if (event.type !== 'begun') context.onEvent(event);
  };
  try {
    const { run } = await driftRun(
      { ...context, onEvent },
      { job, store, sample: null, random: Math.random, slice },
    );
    const { drift } = run;
    // Whoever ends the comparison does not want the import that would follow it.
    if (run.interruptAskedAt != null) throw new InterruptedOnRequestError();
    if (run.status !== 'done' || drift === undefined)
      return { notCompared: run.error ?? 'it was interrupted.' };
    await folder.write(PROGRESS_FILE, [JSON.stringify({ ...progress, done: progress.done + slice.parts })]);
    if (hasDrifted(drift)) return { drift };
    await artifacts.remove(run.id);
    await state.runs.remove(run.id);
    return { drift };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { notCompared: explainError(error) };
  }
}
