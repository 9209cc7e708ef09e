import { randomUUID } from 'node:crypto';
import { CurrencyWatch, type KnownCurrency, type MappingContext } from '../../mapping/compile-mapping.ts';
import type { StoreList } from '../../mapping/lookup-table.ts';
import { mappedFields } from '../../mapping/spec/mapping-spec.ts';
import { membersOf, reportedField, type SourceItem } from '../../model/mapped-record.ts';
import { comparedEmail } from '../../model/operation.ts';
import type { Plan, PlanSource } from '../../model/plan.ts';
import { withMessages } from '../../model/reason.ts';
import { COMPLETED, EXECUTING_KINDS, isSameTarget, type Run, SENDING_KINDS } from '../../model/run.ts';
import { SafetyLimitError, StateError } from '../../model/storeferry-error.ts';
import { readPlan } from '../../plan/plan-file.ts';
import {
  findRenamed,
  joinPredecessors,
  type PlanOptions,
  planImport,
  takeSample,
} from '../../plan/plan-import.ts';
import { loadSnapshot, type Snapshot } from '../../source/snapshot.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import { importTarget } from '../../state/state.ts';
import { digestOf } from '../digest-of.ts';
import { comparableKeyDigest, readMappingTables } from '../inputs/open-mapping.ts';
import { tablesDigest } from '../inputs/side-table.ts';
import { changesUrls, flattensPrices, formsOf, readProbe } from '../kept-probe.ts';
import { ownDoubts } from '../own-doubts.ts';
import { sourceNamer } from '../read-corrections.ts';
import { planCopy } from '../records/plan-copy.ts';
import { planRestore } from '../records/plan-records.ts';
import { planRelease, undecidedKeys } from '../records/plan-release.ts';
import { guardRetry, isAttemptOf, loadRetryGuard, type RetryGuard } from '../retry-guard.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { planUndo } from '../undo/plan-undo.ts';
import { planPosition } from './continue-or-begin.ts';
import { keptBlocks } from './kept-blocks.ts';
import { openAdoption } from './open-adoption.ts';
import { productUpdates } from './product-updates.ts';
import { pictureFinder, pictureFindingsOf, type StagedPictures, stagedPictures } from './publish-pictures.ts';
import { comparedWithLast, readSnapshotThroughMapping, type SnapshotReading } from './snapshot-reading.ts';
import { endedBefore } from './stage-step.ts';
import { stagedCategories, stagedLists, withStoreLists } from './staged-lists.ts';
import { storeContacts } from './store-contacts.ts';

/** The plan of the run: its completed plan, or a new one from snapshot and ledger. Sends nothing. */
export async function planStep(context: RunContext, request: ImportRequest, staged: Run): Promise<Plan> {
  const folder = context.artifacts.run(staged.id);
  const known = await readPlan(folder);
  if (known !== undefined) return known;
  context.signal.throwIfAborted();
  const run = await context.state.runs.update(staged.id, { step: 'plan' });
  if (run.undo !== undefined) return await planUndo(context, request, run, run.undo);
  if (run.restore !== undefined) return await planRestore(context, request, run, run.restore);
  if (run.copy !== undefined) return await planCopy(context, request, run, run.copy);
  if (run.release !== undefined) return await planRelease(context, request, run, run.release);
  using opened = new DisposableStack();
  const source = await keptReading(context, request, run, opened);
  const reading = readSnapshotThroughMapping(source);
  const { job } = request;
  const ledger = context.state.ledger(importTarget(run));
  const plannedPosition = await planPosition(context, run);
  const guard = run.kind === 'retry' ? await loadRetryGuard(folder) : undefined;
  const nameSource = await sourceNamer(folder);
  const { redact } = context;
  const { reading: last, tableRows, ...previous } = await lastCompleted(context, run.job);
  const joins = [...source.tables.joins].map(([table, { rows }]) => ({
    table,
    figure: rows,
    base: tableRows?.[table] ?? null,
  }));
  if (joins.length > 0)
    await context.state.runs.update(run.id, {
      tableRows: Object.fromEntries(joins.map(({ table, figure }) => [table, figure])),
    });
  const lastReading = run.kind === 'retry' ? undefined : last;
  const renames = await renamesIn(context, request, run);
  const adoption = job.adopt === undefined ? undefined : await openAdoption(context, request, run);
  const hasBlocks =
    adoption === undefined &&
    guard === undefined &&
    run.sample === undefined &&
    job.mode !== 'update' &&
    job.mode !== 'create' &&
    // Which contact a row belongs to changes with the store.
    source.contacts === undefined;
  const isLatest = guard !== undefined && !(await isOvertaken(context, request, run, guard));
  const position = await ledger.position();
  const index = hasBlocks && !run.resend ? await keptBlocks(context, run, position) : undefined;
  const blocks = { index, position, open: () => withRedactedReasons(reading.openBlocks(index), redact) };
  return await planImport({
    run: run.id,
    job,
    origin: run.kind === 'retry' ? { kind: 'retry' } : { kind: 'source', sample: run.sample },
    advanced: advancedOf(request, source),
    losesPrices: await losesPrices(context, request),
    updates: await productUpdates(context, request, run, source.contacts?.stored),
    senders: request.senders,
    openMapped: () => (adoption === undefined ? reading.open() : adoption.rekey(reading.open())),
    ...(hasBlocks && { blocks }),
    plannedPosition,
    undecided: run.kind === 'retry' ? undefined : await undecidedKeys(context, run, fieldsOfUpdate(request)),
    admit: (records) =>
      withRedactedReasons(
        guard === undefined
          ? records
          : guardRetry(
              records,
              adoption?.guardOf(guard) ?? guard,
              ledger,
              (keys) => ownDoubts(context, run, keys, isAttemptOf(guard)),
              { isUpdate: job.mode === 'update', isLatest, keyWhenNew: source.contacts?.keyWhenNew },
            ),
        redact,
      ),
    predecessorsIn: async (draft) =>
      joinPredecessors((await adoption?.predecessorsIn(draft)) ?? null, (await renames?.(draft)) ?? null),
    mustReadAgain: () => settleCurrency(context, run, source.currencies),
    describeSource: () => {
      const found = redactedSource(nameSource(reading.describe()), redact);
      return comparedWithLast(found, request.mapping.spec, lastReading);
    },
    changesInStore: source.contacts?.changesOf,
    ledger,
    folder,
    resend: run.resend,
    keyDigest: run.keyDigest,
    previous,
    tables: joins,
    signal: context.signal,
    checkImages: imageCheckOf(context, request, folder),
    findPictures: pictureFindingsOf(context, request, run),
    onProgress: ({ rows }) =>
      context.onEvent({ type: 'progress', step: 'plan', done: rows, total: null, unit: 'rows' }),
  });
}

/** What an update changes, as reports name it; null for a job that sends whole records. */
export function fieldsOfUpdate({ job, mapping: { spec } }: ImportRequest) {
  if (job.mode !== 'update' || spec.import !== 'products') return null;
  const fields = mappedFields(spec);
  const ofVariants = membersOf(fields, 'variants').map((member) => `variants.${member}`);
  return new Set([...membersOf(fields, 'product'), ...ofVariants]);
}

/**
 * Whether the job has run since the run that this one retries, other than for the same retry, or another job may have sent what
 * it sends: of an update the same fields, of whole products any field that the job does not keep.
 */
export async function isOvertaken(
  { state: { runs }, artifacts }: RunContext,
  request: ImportRequest,
  run: Run,
  guard: RetryGuard,
) {
  const fields = fieldsOfUpdate(request);
  const kept = new Set(request.job.keep?.map(reportedField));
  const keeps = (sender: string) =>
    request.senders
      ?.find(({ job, updates }) => job === sender && updates)
      ?.fields.every((field) => kept.has(reportedField(field))) === true;
  const of = await runs.get(guard.retryOf);
  const isAttempt = isAttemptOf(guard);
  for (const since of await runs.list({ kinds: EXECUTING_KINDS })) {
    if (since.id === run.id || !isSameTarget(since, run)) continue;
    // A plan of another job that was made before may have been sent since.
    const isOwn = since.job === run.job;
    if (of !== undefined && (isOwn ? since.sequence <= of.sequence : endedBefore(since, of))) continue;
    const hasSent = since.totals?.applied !== 0;
    if (isAttempt(since) && (fields !== null || !hasSent)) continue;
    if (isOwn) return true;
    if (fields !== null && !hasSent) continue;
    const plan = await readPlan(artifacts.run(since.id)).catch(() => undefined);
    if (plan === undefined) return true;
    const isUpdate = plan.mode === 'update';
    const sends = (wanted: (field: string) => boolean) =>
      plan.fieldsChanged.some(({ field }) => wanted(field));
    const overtakes =
      fields === null
        ? !isUpdate || !keeps(since.job) || sends((field) => !kept.has(field))
        : isUpdate && sends((field) => fields.has(field));
    if (overtakes) return true;
  }
  return of === undefined;
}

/** `options[].advanced` as mapping or store fix it; undefined where the variants of a product decide. */
function advancedOf({ mapping: { spec } }: ImportRequest, { forms }: SnapshotReading) {
  return spec.import === 'products' ? (spec.options?.advanced ?? forms.advanced) : undefined;
}

/** Whether the store gives all variants of a product one price; false where the mapping sets `advanced` itself. */
async function losesPrices({ artifacts }: RunContext, { store, mapping: { spec } }: ImportRequest) {
  if (spec.import !== 'products' || spec.options?.advanced !== undefined) return false;
  const probe = await readProbe(artifacts, store);
  return probe !== undefined && flattensPrices(probe.properties);
}

/** Finds products that got a new url; undefined where the job does not look for renames. */
async function renamesIn(
  { artifacts, state, signal }: RunContext,
  { job, store }: ImportRequest,
  run: Run,
): Promise<PlanOptions['predecessorsIn']> {
  if (job.import !== 'products' || job.renames === false) return undefined;
  if (job.mode !== 'mirror' && job.mode !== 'upsert') return undefined;
  // What a retry does not have may be in the source.
  const isPart = run.kind === 'retry';
  const isMirror = job.mode === 'mirror' && !isPart;
  const withoutPut = isMirror || job.renames === true ? 'create' : 'hold';
  const method = isPart ? 'hold' : (await changesUrls(artifacts, store)) ? 'put' : withoutPut;
  const folder = artifacts.run(run.id);
  const ledger = state.ledger(importTarget(run));
  return async ({ tally, seen, upserts }) =>
    await findRenamed({ folder, ledger, job: job.name, method, isMirror, upserts, tally, seen, signal });
}

/** Rejects with UnknownKeysError where the source lacks a key that the sample of the run names. */
export async function refuseUnknownKeys(
  context: RunContext,
  request: ImportRequest,
  run: Run,
): Promise<void> {
  const { sample, unchangedSince } = run;
  if (sample?.only === undefined || unchangedSince !== undefined) return;
  using opened = new DisposableStack();
  const reading = readSnapshotThroughMapping(await keptReading(context, request, run, opened));
  for await (const _ of takeSample(reading.open(), { only: sample.only })) context.signal.throwIfAborted();
}

/** Checks the images of planned records; undefined where the job does not ask for it. */
function imageCheckOf(
  { state, clock, signal }: RunContext,
  { job: { images } }: ImportRequest,
  folder: RunFolder,
): PlanOptions['checkImages'] {
  if (images === undefined || images.check === 'off') return undefined;
  return async (shards) => {
    const { checkImages } = await import('./check-images.ts');
    return await checkImages({ folder, images, checked: state.checkedAddresses, clock, signal }, shards);
  };
}

/**
 * The run's copy of its source, and how its plan reads it until `opened` is closed. StateError when the copy is gone or damaged. A
 * request that only plans keeps it: a record that is shown afterwards needs the same tables, and a crosswalk may be large.
 */
export async function snapshotReading(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  opened: DisposableStack,
): Promise<SnapshotReading> {
  const kept = readingsOfPlans.get(request);
  return await (kept?.run === run.id ? kept.reading : openReading(context, request, run, opened));
}

async function keptReading(...[context, request, run, opened]: Parameters<typeof snapshotReading>) {
  if (run.kind === 'plan' && readingsOfPlans.get(request)?.run !== run.id) {
    // What it opens ends with the request.
    const reading = openReading(context, request, run, new DisposableStack());
    readingsOfPlans.set(request, { run: run.id, reading });
  }
  return await snapshotReading(context, request, run, opened);
}

const readingsOfPlans = new WeakMap<
  ImportRequest,
  { readonly run: string; readonly reading: Promise<SnapshotReading> }
>();

async function openReading(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  opened: DisposableStack,
): Promise<SnapshotReading> {
  const folder = context.artifacts.run(run.id);
  const snapshot = await loadSnapshot(folder);
  if (snapshot === undefined)
    throw new StateError(`The snapshot of run ${run.id} is gone.`, {
      hint: 'The files of the run were deleted. Run the job again: it begins from the start.',
    });
  const lists = await stagedLists(request.mapping, folder);
  const { limits } = request.job;
  const tables = await readMappingTables(request.mapping, snapshot, folder, limits, opened);
  const probe = (await readProbe(context.artifacts, request.store))?.properties;
  const categories = await stagedCategories(folder);
  const pictures = request.job.images?.publish && (await stagedPictures(folder));
  const forms = {
    ...formsOf(probe),
    ...(categories && { categories }),
    ...(pictures && { findPicture: pictureFinder(pictures) }),
  };
  const reading = {
    forms,
    snapshot,
    folder,
    request,
    tables: { ...tables, lookups: withStoreLists(tables.lookups, request.mapping, lists) },
    stagedAt: run.stagedAt ?? run.startedAt,
    currencies: new CurrencyWatch(await knownCurrency(context, request, run)),
    memoContext: memoContext(context.version, request, snapshot, lists?.lists ?? null, forms, pictures),
  };
  const readEmails = (note: (email: string) => void) => readMatched(context, reading, note);
  const contacts = await storeContacts(context, request, run, {
    table: tables.crosswalk,
    folder,
    readEmails,
    opened,
  });
  return contacts === undefined
    ? reading
    : { ...reading, contacts, tables: { ...reading.tables, crosswalk: contacts } };
}

/** Reads the source once to learn the values by which its contacts are matched. */
async function readMatched({ signal }: RunContext, reading: SnapshotReading, note: (value: string) => void) {
  const find = (value: string) => {
    const email = comparedEmail(value);
    // A store may search byte by byte.
    for (const form of new Set([email, email.normalize('NFD')])) note(form);
    return 1;
  };
  const crosswalk = { match: 'email', file: '', find };
  const collecting = { ...reading, tables: { ...reading.tables, crosswalk } };
  for await (const _ of readSnapshotThroughMapping(collecting).open()) signal.throwIfAborted();
}

/** The currency of the store: from stores.yaml, else that of the last run that may have sent prices to it. */
async function knownCurrency(
  { state }: RunContext,
  { store }: ImportRequest,
  { id, job, storeId }: Run,
): Promise<KnownCurrency> {
  if (store.currency !== undefined) return { store: store.currency };
  const runs = await state.runs.list({ job, kinds: SENDING_KINDS });
  const last = runs.find(
    (run) =>
      run.id !== id &&
      run.storeId === storeId &&
      run.currency !== undefined &&
      !['planned', 'stopped', 'superseded'].includes(run.status),
  );
  return { earlier: last?.currency };
}

/** Whether the source must be read again, because its prices name several currencies: all of these are refused then. Else notes the one found in the run. */
async function settleCurrency({ state }: RunContext, run: Run, currencies: CurrencyWatch) {
  if (currencies.isMixed && currencies.refuseAll()) return true;
  const { found } = currencies;
  if (found !== undefined) await state.runs.update(run.id, { currency: found });
  return false;
}

/** Rejects with SafetyLimitError if the plan exceeds a limit, or its job asks for an approval, and it is not approved. */
export function refuseUnsafe(run: Run, plan: Plan): void {
  if (run.approved) return;
  const exceeded = run.kind === 'retry' ? [] : plan.safety.filter((verdict) => verdict.exceeded);
  if (exceeded.length > 0) throw new SafetyLimitError(exceeded.map(({ message }) => message).join('\n'));
  if (run.approval !== undefined && run.kind !== 'plan' && plan.shards.length > 0)
    throw new SafetyLimitError('The job asks for the approval of another person.');
}

async function lastCompleted(context: RunContext, job: string) {
  const completed = await context.state.runs.list({ job, kinds: ['run'], statuses: COMPLETED });
  // The figures of a sample say nothing about the whole source.
  const whole = completed.filter(({ sample }) => sample === undefined);
  const { keyDigest = null } = whole.find(provesKeys) ?? {};
  const [last] = whole;
  return {
    rows: last?.totals?.rows ?? null,
    tableRows: last?.tableRows,
    keyDigest: comparableKeyDigest(keyDigest),
    reading: last === undefined ? undefined : await readingOf(context, last.unchangedSince ?? last.id),
  };
}

/** What a run has read; undefined where that is no longer known: it only serves a comparison. */
async function readingOf({ artifacts }: RunContext, run: string) {
  try {
    const plan = await readPlan(artifacts.run(run));
    return plan && { run, source: plan.source };
  } catch (error) {
    if (error instanceof StateError) return undefined;
    throw error;
  }
}

/** A run without a record that was sent or is known proves nothing of how its keys are made. */
function provesKeys({ totals, approved, keyDigest }: Run) {
  if (keyDigest === null) return false;
  return approved || (totals !== null && totals.new + totals.changed + totals.unchanged > 0);
}

/**
 * A digest of all input of the mapping except the rows and the time of staging. Rows that were mapped with another
 * digest are mapped again.
 */
function memoContext(
  version: string,
  { mapping, store, job }: ImportRequest,
  { tables = [] }: Snapshot,
  lists: readonly StoreList[] | null,
  { advanced, nullQuantity, categories }: SnapshotReading['forms'],
  pictures: StagedPictures | undefined,
) {
  const context: Record<Exclude<keyof MappingContext, 'now'>, unknown> = {
    // In the digest of the mapping.
    params: null,
    custom: null,
    // In the digest of the tables, like lookups in files.
    crosswalk: null,
    joins: null,
    lookups: lists,
    weightUnit: store.weightUnit,
    // Where stores.yaml names none, all runs of a job have the same.
    currencies: store.currency ?? null,
    limits: job.limits ?? null,
    html: job.html ?? null,
    leaveOut: job.leaveOut ?? null,
    prices: job.prices ?? null,
    advanced: advanced ?? null,
    nullQuantity: nullQuantity ?? null,
    categories: categories ?? null,
    findPicture: pictures ?? null,
    match: job.match ?? null,
    // Of rejections alone, which are mapped in every run.
    isMirror: null,
  };
  const { keep = null } = job;
  return digestOf([version, MAPPING_CODE, mapping.digest, tablesDigest(tables), context, keep]);
}

/** The digest of the code that reads rows and maps them, and of its packages: the build inserts it (rolldown.config.ts). */
declare const BUILT_SOURCES_DIGEST: string | undefined;

/**
 * Stands for all code that reads rows and maps them, and the runtime, on whose Unicode and time zones transforms depend. The version of
 * Storeferry is not enough: a correction between two versions must reach records whose rows have not changed. Code that was not built
 * may change at any time: what it has mapped counts only in the same process.
 */
const { node, icu, unicode, tz } = process.versions;
const digest = typeof BUILT_SOURCES_DIGEST === 'string' ? BUILT_SOURCES_DIGEST : randomUUID();
const MAPPING_CODE = [digest, node, icu, unicode, tz];

/** Reasons and notes may quote cells, and cells may contain anything. */
async function* withRedactedReasons<Item extends SourceItem>(
  batches: AsyncIterable<readonly Item[]>,
  redact: RunContext['redact'],
): AsyncGenerator<readonly Item[]> {
  for await (const batch of batches) {
    yield batch.map((mapped) => {
      if (mapped.kind === 'rejected') {
        return { ...mapped, reason: withMessages(mapped.reason, redact) };
      }
      if (mapped.kind === 'record' && mapped.notes !== undefined) {
        return { ...mapped, notes: mapped.notes.map(redact) };
      }
      return mapped;
    });
  }
}

function redactedSource(source: PlanSource, redact: RunContext['redact']): PlanSource {
  return {
    ...source,
    files: source.files.map((file) => ({ ...file, name: redact(file.name) })),
    columnsNotUsed: source.columnsNotUsed.map(redact),
    ...(source.joins && {
      joins: source.joins.map((join) => ({ ...join, examples: join.examples.map(redact) })),
    }),
  };
}
