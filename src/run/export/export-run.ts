import type { Readable } from 'node:stream';
import { type ExportJob, keepsHistory, misnamed } from '../../config/job/job.ts';
import {
  EXPORTED_FILE,
  hasWholeReading,
  READING_FILES,
  readExported,
  readItems,
  readReading,
  readReadingFacts,
  saveExported,
  saveReading,
} from '../../export/reading/read-items.ts';
import {
  noteUnknownFields,
  openExportFile,
  openNewest,
  placeFilesSince,
  type Reconciliation,
  readableSince,
  readPosition,
  reconcileFiles,
  writeNewFile,
} from '../../export/writing/export-file.ts';
import { sumOf } from '../../model/json-object.ts';
import { storeIdentity } from '../../model/remote-address.ts';
import { type Exported, type Run, UNFINISHED } from '../../model/run.ts';
import { lockLostError, UsageError } from '../../model/storeferry-error.ts';
import { NO_TOTALS, REPORT_FILE, type RunFacts } from '../../report/run-facts.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { capitalise, counted, pathFrom } from '../../text/printable.ts';
import { digestOf } from '../digest-of.ts';
import { endOf, pruneRuns, RUNS_KEPT } from '../end-run.ts';
import { readProbe } from '../kept-probe.ts';
import { lockDestination, lockJob, whileHeld } from '../lock-job.ts';
import { readRunReport, writeReport } from '../report/read-stored-report.ts';
import { abortingWith, type ExportRequest, type RunContext } from '../run-context.ts';
import { continueInstead, newRun, runPipeline, supersede } from '../run-pipeline.ts';
import { runTraffic, trafficFiles } from '../traffic/run-traffic.ts';

/**
 * Runs an export job: read, write, finish. Rejects as `runPipeline`. After a failure no file is half written. With
 * `mode: new` a whole one may be in place already: the next run makes it again from the kept reading.
 */
export async function exportRun(surroundings: RunContext, request: ExportRequest): Promise<RunFacts> {
  return await runPipeline(surroundings, {
    run: newRun(surroundings, request, {
      kind: 'export',
      step: 'read',
      digest: exportDigest(request),
      ...(request.since !== undefined && { since: request.since }),
    }),
    lock: lockJob,
    async steps(work) {
      const context = whileHeld(work.context, work.lock);
      await context.state.runs.create(work.run);
      if (request.since !== undefined) {
        work.begin(work.run);
        work.run = await writeFilesAgain(context, request, work.run);
        return;
      }
      work.begin(await continueOrBeginExport(context, request, work.run));
      work.run = await readStep(context, request, work.run);
      const earlier = await writeEarlierReadings(context, request, work.run);
      work.run = await writeStep(context, request, work.run, earlier);
    },
    finish: ({ context, run }, failure) => finishExport(context, request, run, failure),
  });
}

/**
 * Reads the store into the run's folder, item by item as the store sent them. A continued run has already read.
 * Requests are counted even if reading fails.
 */
async function readStep(context: RunContext, request: ExportRequest, run: Run): Promise<Run> {
  if (run.stagedAt !== null) return run;
  const { job, store } = request;
  const { runs } = context.state;
  const readAt = context.clock();
  const folder = context.artifacts.run(run.id);
  const createdSince = await readableFrom(context, request);
  const notes: string[] = createdSince === null ? [] : [narrowedNote(createdSince)];
  let requests = 0;
  const storefront = await context.openStorefront(store);
  const traffic = runTraffic(folder, context.clock);
  const items = readItems(job.export, storefront, {
    signal: context.signal,
    concurrency: store.limits.concurrency,
    createdSince,
    onEnded: traffic.onEnded,
    onRequest: () => {
      requests++;
    },
    onProgress: (done, total) =>
      context.onEvent({ type: 'progress', step: 'read', done, total, unit: 'orders' }),
    onNotes: (found) => notes.push(...found),
  });
  let records = 0;
  try {
    records = await traffic.during(storefront, () => saveReading(folder, items, () => notes, createdSince));
  } catch (error) {
    await runs.update(run.id, { totals: { ...NO_TOTALS, requests } });
    throw error;
  }
  return await runs.update(run.id, { stagedAt: readAt, totals: { ...NO_TOTALS, records, requests } });
}

/**
 * From when on a job with `mode: new` reads, ISO 8601; null: all orders. Where the probe has seen that the store lists orders from a time
 * on, older ones are read once per week.
 */
async function readableFrom(context: RunContext, { job, store, full }: ExportRequest) {
  if (job.destination.mode !== 'new' || full === true) return null;
  const probe = await readProbe(context.artifacts, store);
  if (probe?.properties.readsOrdersSince !== true) return null;
  return readableSince(
    await readPosition(exportFolder(context, job), storeIdentity(store)),
    job,
    context.clock(),
  );
}

function narrowedNote(since: string) {
  return `Only orders created since ${since.slice(0, 10)} were read. What has changed in older ones is found once per week, or with --full.`;
}

/**
 * Writes the readings that earlier runs did not write: oldest first, each with its own time, none twice. After a
 * failure, this run's reading is also left for a later run.
 */
async function writeEarlierReadings(context: RunContext, request: ExportRequest, begun: Run) {
  const notes: string[] = [];
  for (const run of await unfinishedBefore(context, begun)) {
    if (!(await hasKeptReading(context, request, run))) continue;
    const own = { ...context, workedMs: () => run.workedMs ?? 0 };
    const { run: ended } = await finishExport(own, request, await writeStep(own, request, run), null);
    const exported = await readExported(context.artifacts.run(run.id));
    if (exported !== null && exported.lines > 0)
      notes.push(
        `Run ${ended.id} had read the store and not written its file; it is written now: ${exported.location}, ${counted(exported.lines, 'line')}.`,
      );
  }
  return notes;
}

/** Writes what is new or changed since the last file into a file of its own; see `writeNewFile`. */
async function writeNewStep(
  context: RunContext,
  request: ExportRequest,
  run: Run,
  notes: readonly string[],
): Promise<Run> {
  const { job, limit } = request;
  const folder = context.artifacts.run(run.id);
  const readAt = new Date(run.stagedAt ?? context.clock()).toISOString();
  const { createdSince } = await readReadingFacts(folder);
  const written = await writeNewFile({
    ...filesOf(context, request),
    run: run.id,
    readAt,
    reading: () => readReading(folder),
    createdSince,
    limit,
  });
  return await noteExported(context, job, run, {
    location: written.location ?? namedPlace(job),
    readAt,
    lines: written.lines,
    bytes: written.bytes,
    notes: [...nameNotes(written.location, job), ...notes, ...written.notes],
  });
}

/** The files of a job with `mode: new`. */
function filesOf(context: RunContext, { job, store }: ExportRequest) {
  const { signal } = context;
  return { job, access: context, kept: exportFolder(context, job), store: storeIdentity(store), signal };
}

/** The place as the job names it. */
function namedPlace({ destination: { path, remote } }: ExportJob) {
  return remote?.location ?? path ?? '';
}

/** Keeps the facts about what was written, in the folder of the run and in its totals; `items`: default what it has read. */
async function noteExported(
  { artifacts, state, workspaceDir }: RunContext,
  { destination: { mode, format, table } }: ExportJob,
  run: Run,
  written: Omit<Exported, 'mode' | 'format' | 'items'> & Partial<Pick<Exported, 'items'>>,
): Promise<Run> {
  const totals = run.totals ?? NO_TOTALS;
  const { items = totals.records, lines } = written;
  await saveExported(artifacts.run(run.id), {
    ...written,
    items,
    location: pathFrom(workspaceDir, written.location),
    mode,
    format,
    ...(table !== undefined && { isTable: true }),
  });
  return await state.runs.update(run.id, { totals: { ...totals, records: items, rows: lines } });
}

/** A sentence about a file that other programs take for one of another format. */
function nameNotes(location: string | null, { destination: { table, format } }: ExportRequest['job']) {
  const problem = location === null || table !== undefined ? undefined : misnamed(location, format);
  return problem === undefined ? [] : [`${capitalise(problem)}.`];
}

/** Writes the files of a job with `mode: new` again that are lost, from those of a run or a time on. */
async function writeFilesAgain(context: RunContext, request: ExportRequest, run: Run): Promise<Run> {
  const { job, since = '' } = request;
  const placed = await placeFilesSince(filesOf(context, request), since);
  const written = placed.filter(({ isWritten }) => isWritten).map(({ file }) => file);
  const sum = (what: 'lines' | 'bytes' | 'count') => sumOf(written, (file) => file[what]);
  return await noteExported(context, job, run, {
    location: namedPlace(job),
    readAt: placed.at(-1)?.file.readAt ?? '',
    items: sum('count'),
    lines: sum('lines'),
    bytes: sum('bytes'),
    notes: placed.map(
      ({ file, isWritten }) =>
        `${pathFrom(context.workspaceDir, file.file)} ${isWritten ? 'is written again' : 'is there'}.`,
    ),
  });
}

/** Writes the reading to the destination: completely, or the destination is unchanged; for `mode: new` see `writeNewFile`. */
async function writeStep(
  context: RunContext,
  request: ExportRequest,
  run: Run,
  earlier: readonly string[] = [],
): Promise<Run> {
  const { job } = request;
  await context.state.runs.update(run.id, { step: 'write' });
  const folder = context.artifacts.run(run.id);
  const { notes } = await readReadingFacts(folder);
  notes.push(...earlier);
  if (job.export === 'orders') notes.push(...(await noteUnknownFields(readReading(folder), job)));
  if (job.destination.mode === 'new') return await writeNewStep(context, request, run, notes);
  const readAt = new Date(run.stagedAt ?? context.clock()).toISOString();
  const { location, lockedAs, write } = await openExportFile(context, job, readAt);
  await using lock = await lockDestination(context, run, lockedAs);
  const written = await write({
    items: () => readReading(folder),
    readAt,
    signal: AbortSignal.any([
      context.signal,
      abortingWith(lock.lost, () => lockLostError('on the destination', 'nothing more is written.')),
    ]),
    onProgress: (done) =>
      context.onEvent({
        type: 'progress',
        step: 'write',
        done,
        total: run.totals?.records ?? null,
        unit: 'rows',
      }),
  });
  return await noteExported(context, job, run, {
    location,
    ...(written.begun === true && { begun: true }),
    readAt,
    lines: written.lines,
    bytes: written.bytes,
    notes: [...nameNotes(location, job), ...notes, ...written.notes],
  });
}

/**
 * Ends an export run: records status and error, and empties its folder except for the report, the facts about the export,
 * traffic, and an unwritten reading.
 */
async function finishExport(
  context: RunContext,
  request: ExportRequest,
  run: Run,
  failure: unknown,
): Promise<RunFacts> {
  const ending = await context.state.runs.update(run.id, { step: 'finish', progress: null });
  const end = endOf(context, run, failure);
  const collected = {
    ...(await readRunReport(context, { ...ending, ...end }, null)),
    history: failure === null ? await historyOf(context, request) : null,
  };
  // Before the status: a process that sees the end must find the report.
  const reportFile = await writeReport(context, collected);
  const ended = await context.state.runs.update(run.id, end);
  const folder = context.artifacts.run(run.id);
  const reading = failure !== null && keepsReading(request) ? READING_FILES : [];
  const kept = [EXPORTED_FILE, REPORT_FILE, ...(await trafficFiles(folder)), ...reading];
  await folder.remove((await folder.list()).filter((name) => !kept.includes(name)));
  await pruneRuns(context.state, context.artifacts, ended.job, RUNS_KEPT, {
    isNeeded: (old) => hasKeptReading(context, request, old),
    most: MAX_KEPT_READINGS,
  });
  return { ...collected, run: ended, reportFile };
}

/** The history of the job; null if it is on another machine, from which it is downloaded again for a weekly summary only. */
async function historyOf(context: RunContext, { job }: ExportRequest) {
  if (!keepsHistory(job)) return null;
  if (job.destination.remote !== undefined && !job.notify?.some(({ on }) => on.includes('weekly')))
    return null;
  const read = await exportHistory(context, job, context.signal).catch(() => null);
  return read?.history ?? null;
}

/** The most runs whose readings wait to be written: eight days of hourly readings. */
const MAX_KEPT_READINGS = 200;
/** A new run would read almost the same statistics as a reading of up to this age, so the run that took it is continued. */
const FRESH_MS = 15 * 60 * 1_000;

/**
 * A digest of the settings that decide where readings are written. An unfinished run with the same digest wrote to
 * the same place.
 */
export function exportDigest({ job, store, limit }: ExportRequest): string {
  const { remote, ...rest } = job.destination;
  const { columns, rows, filter, mask } = job;
  // A new password does not change the place: readings that could not be written with the old password must not be
  // lost.
  const place = remote === undefined ? null : [remote.location, remote.endpoint ?? null];
  const written = rest.mode === 'new' ? { columns, rows, filter, mask, limit } : {};
  return digestOf([job.export, store.baseUrl, { ...rest, place, ...written }]);
}

/**
 * Whether a reading is kept if it could not be written: a history cannot be read again later, and a file of its own may be in place
 * already, to be made again from the same reading.
 */
function keepsReading({ job }: ExportRequest) {
  const { mode } = job.destination;
  return mode === 'new' || (job.export === 'subscriber-lists' && mode === 'append');
}

/** Whether the run did not end well and has a complete reading for the job's present destination. */
async function hasKeptReading({ artifacts }: RunContext, request: ExportRequest, run: Run) {
  if (run.kind !== 'export' || !UNFINISHED.includes(run.status) || run.stagedAt === null) return false;
  if (!keepsReading(request) || run.digest !== exportDigest(request)) return false;
  return await hasWholeReading(artifacts.run(run.id));
}

/** Runs of the job that did not end well, oldest first. */
async function unfinishedBefore({ state }: RunContext, { id, job }: Run): Promise<Run[]> {
  const runs = await state.runs.list({ job, kinds: ['export'], statuses: UNFINISHED });
  return runs.filter((run) => run.id !== id).reverse();
}

/**
 * The run to continue: a run with a fresh unwritten reading, so that the store is not read again; otherwise the new
 * run. Dead runs without anything to continue are superseded.
 */
async function continueOrBeginExport(context: RunContext, request: ExportRequest, begun: Run): Promise<Run> {
  for (const run of await unfinishedBefore(context, begun)) {
    if (!(await hasKeptReading(context, request, run))) {
      if (run.status === 'running') await supersedeEmptied(context, run);
      continue;
    }
    // Such a reading is written first, into its own file: after an event the store is asked again.
    if (request.job.destination.mode === 'new') continue;
    const ageMs = context.clock() - (run.stagedAt ?? 0);
    // Below 0 the clock was set back, so the age is unknown.
    if (ageMs < 0 || ageMs >= FRESH_MS) continue;
    return await continueInstead(context, begun, run);
  }
  return begun;
}

async function supersedeEmptied(context: RunContext, run: Run) {
  await supersede(context, run);
  await context.artifacts.remove(run.id);
}

/** Reads the history that a job has collected. UsageError for a job without history, and before its first run. */
export async function exportHistory(access: FileAccess, job: ExportJob, signal: AbortSignal) {
  const { mode } = job.destination;
  if (job.export !== 'subscriber-lists') {
    throw new UsageError(
      `The job ${job.name} exports ${job.export}; only subscriber lists have statistics.`,
      {
        hint: 'Name a job with `export: subscriber-lists` and `mode: append`.',
      },
    );
  }
  if (mode === 'replace') {
    throw new UsageError(`The job ${job.name} replaces its file each time, so there is no history to draw.`, {
      hint: `Set \`mode: append\` under destination in jobs/${job.name}.yaml. Each run then adds one line per list.`,
    });
  }
  if (job.destination.table !== undefined) {
    throw new UsageError(`The job ${job.name} writes into a table, whose history is not drawn here.`, {
      hint: 'Query the table, or export to a file with `mode: append` as well.',
    });
  }
  // A history has one name.
  const file = await openExportFile(access, job, '');
  const location = pathFrom(access.workspaceDir, file.location);
  const history = await file.history(signal);
  if (history !== undefined) return { location, history };
  throw new UsageError(`There is no history yet: ${location} does not exist.`, {
    hint: `Take the first reading with: storeferry run ${job.name}`,
  });
}

/** The folder with the position and the copies of a job with `mode: new`. */
export function exportFolder(
  { artifacts }: Pick<RunContext, 'artifacts'>,
  { name }: Pick<ExportJob, 'name'>,
) {
  return artifacts.run(`export-${name}`);
}

/**
 * The file of an export job as it is now, the newest one of a job with `mode: new`. UsageError before its first run; the caller reads
 * or destroys the content.
 */
export async function openExport(
  access: RunContext,
  job: ExportJob,
  signal: AbortSignal,
): Promise<{ readonly location: string; readonly content: Readable }> {
  if (job.destination.mode === 'new') {
    const newest = await openNewest(exportFolder(access, job));
    if (newest !== undefined) return newest;
    throw new UsageError('There is no file yet.', { hint: `Write it with: storeferry run ${job.name}` });
  }
  const [newest] = await access.state.runs.list({
    job: job.name,
    kinds: ['export'],
    statuses: ['done'],
    limit: 1,
  });
  const { location, read } = await openExportFile(access, job, new Date(newest?.stagedAt ?? 0).toISOString());
  const found = await read(signal);
  if (found !== undefined) return { location, content: found.content };
  throw new UsageError(`There is no file yet: ${pathFrom(access.workspaceDir, location)} does not exist.`, {
    hint: `Write it with: storeferry run ${job.name}`,
  });
}

/** Compares the files of a job with `mode: new` with their manifests, and with the orders of the store. */
export async function reconcileExport(context: RunContext, request: ExportRequest): Promise<Reconciliation> {
  const { signal } = context;
  const { job, store } = request;
  const storefront = await context.openStorefront(store);
  return await reconcileFiles({
    ...filesOf(context, request),
    reading: async function* () {
      const items = readItems(job.export, storefront, {
        signal,
        concurrency: store.limits.concurrency,
        onProgress: () => {},
        onNotes: () => {},
      });
      for await (const batch of items) yield batch.map(({ text }) => text);
    },
  });
}
