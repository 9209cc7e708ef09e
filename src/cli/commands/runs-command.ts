import { type AuditEntry, auditWords, findAudited } from '../../model/action.ts';
import { jobFileName, lastedMs, partOf, RECORD_FORMATS, RECORD_OUTCOMES, type Run } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { openRunQueue } from '../../queue/run-queue.ts';
import { documentText, Page, type PageOptions } from '../../report/document-text.ts';
import { requestsWaitText, runDocument } from '../../report/run-document.ts';
import type { JobFacts, RunFacts, ScheduleStatus, View } from '../../report/run-facts.ts';
import { isoTime, listedRun, runsSummary } from '../../report/run-summary.ts';
import { kindOf, schedulesNote, statusTone, totalsWords } from '../../report/status-words.ts';
import {
  readStoredReport,
  shownRejectsFile,
  withFilesFrom,
  withLiveStatus,
  withShownFiles,
} from '../../run/report/read-stored-report.ts';
import { formatAgo, formatDuration, formatMoment, printable } from '../../text/printable.ts';
import {
  flag,
  type Invocation,
  oneOf,
  optionalArgument,
  parsedOption,
  text,
  type ValuesOf,
  wholeNumber,
} from '../define-command.ts';
import { defineStateCommand, type Printed } from '../define-state-command.ts';
import { listJobs } from '../list-jobs.ts';
import { findQueued, findRun, knownRun, type OpenContext, refuseUnknownRun } from '../open-context.ts';
import { withTypedCommands } from '../print-report.ts';
import { currentFolder } from '../typed-program.ts';

const OPTIONS = {
  limit: parsedOption('n', 'how many to list', 20, wholeNumber(1, 1000)),
  job: text('job', 'only runs of this job'),
  records: flag('list the records of the run: outcome, reason, changes'),
  outcome: oneOf('outcome', 'with --records: only these', RECORD_OUTCOMES),
  csv: flag('with --records: as CSV'),
  out: text('file', `with --records: the file to write, by its ending: ${RECORD_FORMATS.join(', ')}`),
  audit: flag('list who did what and when'),
};

type Open = OpenContext & Invocation;
type Options = ValuesOf<typeof OPTIONS>;

/** `storeferry runs`: lists the jobs and their latest runs, or shows one run. */
export const runsCommand = defineStateCommand({
  arguments: {
    run: optionalArgument('the id of a run, or its first characters, to show; or a job, to list its runs'),
  },
  options: OPTIONS,
  notes: `--records lists rejected and unsent records, and those that the store acknowledged for as long as its history keeps them,
also where the run itself is no longer kept. Unchanged records are not listed. With --json, one JSON object per line.`,
  examples: [
    'runs',
    'runs k3v9x2',
    'runs nightly-catalog',
    'runs k3v --json',
    'runs k3v --records --outcome rejected',
    'runs k3v --records --csv',
    'runs k3v --records --out records.xlsx',
    'runs --audit --job nightly-catalog',
  ],
  json: 'jobs with their next runs, the latest runs, and those that wait for a worker; or one run; with --records, a line per record; with --audit, `{"audit": […]}`',
  withoutThread: true,
  check(_, { records, csv, outcome, out }) {
    if (!records && (csv || outcome !== undefined || out !== undefined))
      throw new UsageError('--csv, --outcome and --out need --records.');
  },
  async run(open, { run: named }, { json, ...typed }) {
    const isJob = named !== undefined && (await isJobName(open, named));
    const id = isJob ? undefined : named;
    const options = isJob ? { ...typed, job: named } : typed;
    if (options.audit) return await listAudit(open, id, options);
    if (options.records) return await listRecords(open, id, { ...options, json });
    return id === undefined ? await list(open, options) : await show(open, id);
  },
});

/** Whether a job has this name, or had it when it last ran. */
async function isJobName({ context, workspace }: OpenContext, name: string) {
  return (
    workspace.jobNames().some((job) => job === name || jobFileName(job) === name) ||
    (await context.state.runs.list({ job: name, limit: 1 })).length > 0
  );
}

/** The jobs that a name means: those of its stores as well; undefined: all. */
function namedJobs({ workspace }: OpenContext, job: string | undefined): readonly string[] | undefined {
  if (job === undefined) return undefined;
  return [job, ...workspace.jobNames().filter((name) => name !== job && jobFileName(name) === job)];
}

/** Their latest runs, newest first. */
async function runsOf(
  { context: { state } }: OpenContext,
  jobs: readonly string[] | undefined,
  limit: number,
): Promise<readonly Run[]> {
  if (jobs === undefined) return await state.runs.list({ limit });
  const listed = await Promise.all(jobs.map((job) => state.runs.list({ job, limit })));
  return listed
    .flat()
    .sort((one, other) => other.sequence - one.sequence)
    .slice(0, limit);
}

async function list(open: Open, { limit, job }: Options): Promise<Printed> {
  const { context, workspace, terminal, program } = open;
  await using queue = await openRunQueue(open);
  const options = { ...terminal, program, now: context.clock() };
  const named = namedJobs(open, job);
  const { jobs, schedules } = await listJobs({ ...open, queue }, named);
  const listed = await runsOf(open, named, limit);
  if (job !== undefined && jobs.length + listed.length === 0) workspace.job(job);
  const queued = (await queue.waiting()).filter((entry) => named?.includes(entry.job) !== false);
  const live = await Promise.all(listed.map((run) => withLiveStatus(context, run)));
  return {
    json: async () => {
      const shown = live.map(async (run) => ({ run, rejectsFile: await shownRejectsFile(context, run) }));
      return { ...runsSummary(jobs, schedules, await Promise.all(shown), options.now), queued };
    },
    text: [
      jobsText(jobs, schedules, options),
      ...queued.map(({ run, job: name }) => waitingText(run, printable(name), program)),
      runsText(live, options),
    ].join(''),
  };
}

function waitingText(run: string, job: string, program: string) {
  return `Run ${run} of ${job} waits for a worker. To cancel it: ${program} cancel ${run}\n`;
}

async function show(open: Open, typed: string): Promise<Printed> {
  const { context, workspace, terminal, program } = open;
  const now = context.clock();
  const kept = await findRun(context, typed);
  const found = kept === undefined ? await findWaiting(open, typed) : undefined;
  if (found?.queued.run === null) {
    const { id, queued } = found;
    const { error } = queued;
    const { job } = queued.action;
    return {
      json: { run: id, job, status: 'queued', error },
      text:
        error === null ? waitingText(id, job, program) : `Run ${id} of ${job} could not begin: ${error}\n`,
    };
  }
  const run = await withLiveStatus(context, kept ?? (await knownRun(context, found?.queued.run ?? typed)));
  const report = await readStoredReport(context, run);
  const entries = await findAudited(context.state.audit, { run: run.id, limit: ENTRIES_PER_RUN });
  const facts = withFilesFrom(withTypedCommands(report, program), workspace.dir, currentFolder());
  const text = runText(facts, { now, program, version: context.version }, terminal);
  return {
    json: {
      ...listedRun(withShownFiles(report, workspace.dir), now),
      audit: entries.map(listedEntry),
    },
    text: entries.length === 0 ? text : `${text}\n${auditText(entries, terminal)}`,
  };
}

/** How many audit entries of a run are shown, newest first. */
const ENTRIES_PER_RUN = 20;

/** Who did what: of all runs, or of one, also of one that is no longer kept. */
async function listAudit(
  { context, terminal }: Open,
  id: string | undefined,
  { job, limit }: Options,
): Promise<Printed> {
  const run = id === undefined ? undefined : ((await findRun(context, id))?.id ?? id);
  const entries = await findAudited(context.state.audit, { job, run, limit });
  return { json: { audit: entries.map(listedEntry) }, text: auditText(entries, terminal) };
}

/** The outcome of each record of a run, also of one that only the history remembers. */
async function listRecords(
  { context, workspace }: Open,
  id: string | undefined,
  { json, csv, out, outcome }: Options & { readonly json: boolean },
): Promise<Printed> {
  if (id === undefined)
    throw new UsageError('--records needs the id of a run: storeferry runs RUN --records');
  // Lists of runs need neither mapping nor plans.
  const [{ findRunLedger, recordContent, runRecords }, { formatOf, writeOut }] = await Promise.all([
    import('../../run/records/run-records.ts'),
    import('../write-out.ts'),
  ]);
  const run = await findRun(context, id);
  const found = await findRunLedger(context, workspace, run, id);
  if (found === undefined && run !== undefined)
    throw new UsageError(`Run ${run.id} of ${run.job} exports ${run.resource}: it has no records.`);
  if (found === undefined) return refuseUnknownRun(id);
  const open = () => runRecords(context, { ...found, run, outcome });
  if (out === undefined)
    return { text: recordContent(open, json ? 'jsonl' : csv ? 'csv' : 'text'), isData: json || csv };
  await writeOut(out, recordContent(open, formatOf(out)));
  return { text: `The records of run ${id} are written to ${out}.\n` };
}

/** What the queue knows of a run that has not begun. */
async function findWaiting(open: OpenContext, typed: string) {
  await using queue = await openRunQueue(open);
  return await findQueued(queue, typed);
}

/** Where and when (milliseconds since the epoch) a text about runs is shown. */
type RunsTextOptions = PageOptions & { readonly now: number };

/** Runs, one per line, in the given order: id, job, status, start, duration and figures. */
export function runsText(runs: readonly Run[], options: RunsTextOptions): string {
  const page = new Page(options);
  if (runs.length === 0) {
    page.say(`No runs yet. Start one: ${options.program ?? 'storeferry'} run JOB`);
    return page.toString();
  }
  page.table(
    ['run', 'job', 'status', 'started', 'duration', 'records'],
    runs.map((run) => ({
      cells: [
        run.id,
        run.kind === 'run' ? run.job : `${run.job} (${kindOf(run)})`,
        run.status,
        formatAgo(options.now - run.startedAt),
        formatDuration(lastedMs(run, options.now)),
        totalsWords(run),
      ],
      tone: statusTone(run.status),
    })),
  );
  return page.toString();
}

/** One run: its kind and its start, then its document. */
export function runText(facts: RunFacts, view: View, options: PageOptions): string {
  const { run } = facts;
  const page = new Page(options);
  const of = partOf(run)?.of ?? run.retryOf;
  const how = of === null ? kindOf(run) : `${kindOf(run)} of ${of}`;
  page.say(`Run ${run.id} of ${run.job} (${how}) on the store ${run.store}, ${run.baseUrl}`, {
    tone: 'strong',
  });
  page.say(`started ${formatAgo(view.now - run.startedAt)}, ${new Date(run.startedAt).toISOString()}`, {
    indent: 2,
  });
  if (run.status === 'running') page.say(`at the step ${run.step}`, { indent: 2 });
  const waitsMs = run.status === 'running' && run.waiting != null ? run.waiting.until - view.now : 0;
  if (run.waiting != null && waitsMs > 0)
    page.say(requestsWaitText(run.waiting.operations, waitsMs), { indent: 2 });
  return `${page}\n${documentText(runDocument(facts, view), options)}`;
}

/** Jobs, one per line: schedule, next run, last run and its result. Empty without jobs. */
export function jobsText(
  jobs: readonly JobFacts[],
  schedules: ScheduleStatus,
  options: RunsTextOptions & { readonly program: string },
): string {
  const page = new Page(options);
  if (jobs.length === 0) return '';
  page.table(
    ['job', 'schedule', 'next', 'last', 'outcome'],
    jobs.map((facts) => ({
      cells: [
        facts.job,
        scheduleOf(facts),
        nextOf(facts, options.now),
        facts.last === undefined ? 'never' : formatAgo(options.now - facts.last.startedAt),
        outcomeOf(facts, options.now),
      ],
      tone: facts.broken ? 'bad' : facts.last === undefined ? 'quiet' : statusTone(facts.last.status),
    })),
  );
  const scheduled = jobs.some(({ schedule }) => schedule !== null);
  if (scheduled && schedules !== 'worker')
    page.say(schedulesNote(schedules, options.program), { tone: 'warning' });
  if (jobs.some(({ broken }) => broken))
    page.say(`What is wrong with a broken job: ${options.program} check`, { tone: 'warning' });
  return `${page}\n`;
}

function scheduleOf({ schedule, broken }: JobFacts) {
  if (broken) return 'broken file';
  return schedule === null ? 'by hand' : `${schedule.cron} ${schedule.timezone}`;
}

/** `Sun 22 Nov 02:15 UTC (in 5 h 12 min)`. */
function nextOf({ schedule, next }: JobFacts, now: number) {
  if (schedule === null) return '';
  if (next === null) return 'once a worker has read the schedule';
  if (next <= now) return 'due now';
  const time = formatMoment(next, { year: false });
  return `${time} (in ${formatDuration(next - now)})`;
}

function outcomeOf({ last }: JobFacts, now: number) {
  if (last === undefined) return '';
  if (last.status === 'running') return `running for ${formatDuration(lastedMs(last, now))}`;
  const figures = totalsWords(last);
  return figures === '' ? last.status : `${last.status}: ${figures}`;
}

/** Entries of the audit log, one per line, in the given order. */
function auditText(entries: readonly AuditEntry[], options: PageOptions) {
  if (entries.length === 0) return 'The audit log has no such entry.\n';
  const page = new Page(options);
  page.table(
    ['when', 'who', 'by', 'did', 'job', 'run'],
    entries.map((entry) => ({
      cells: [isoTime(entry.at), entry.who, entry.by, auditWords(entry), entry.job ?? '', auditedRun(entry)],
      tone: entry.outcome === 'refused' ? 'warning' : 'strong',
    })),
  );
  return page.toString();
}

/** `b2b2c3d4, of k3v9x2ab`. */
function auditedRun({ run, of }: AuditEntry) {
  return of === null ? (run ?? '') : `${run ?? '?'}, of ${of}`;
}

/** An entry for programs: the time as ISO 8601. */
function listedEntry({ at, ...entry }: AuditEntry) {
  return { at: isoTime(at), ...entry };
}
