import { UsageError } from '../../model/storeferry-error.ts';
import { openRunQueue } from '../../queue/run-queue.ts';
import { auditText, listedEntry } from '../../report/audit-text.ts';
import { printable } from '../../report/printable.ts';
import { listedRun, runsSummary } from '../../report/run-summary.ts';
import { jobsText, runsText, runText } from '../../report/runs-text.ts';
import { findAudited } from '../../run/find-audited.ts';
import { asItStands } from '../../run/lock-job.ts';
import { findLedgerOf, RECORD_OUTCOMES, recordLines, runRecords } from '../../run/records/run-records.ts';
import { readStoredReport } from '../../run/report/read-stored-report.ts';
import { withFilesFrom, withShownFiles } from '../../run/shown-file.ts';
import {
  defineCommand,
  flag,
  type Invocation,
  JSON_FLAG,
  oneOf,
  optional,
  parsed,
  text,
  type ValuesOf,
  wholeNumber,
} from '../define-command.ts';
import { interruptSignal } from '../interrupt-signal.ts';
import { listJobs } from '../list-jobs.ts';
import { findRun, knownRun, type OpenContext, openContext, refuseUnknown } from '../open-context.ts';
import { withTypedCommands } from '../print-report.ts';
import { currentFolder } from '../typed-program.ts';
import { withJsonError } from '../with-json-result.ts';

const OPTIONS = {
  limit: parsed('n', 'how many to list', 20, wholeNumber(1, 1000)),
  job: text('job', 'only runs of this job'),
  records: flag('list the records of the run: the outcome of each, its reason, and the changes'),
  outcome: oneOf('outcome', 'with --records: only records with this outcome', RECORD_OUTCOMES),
  csv: flag('with --records: as CSV'),
  audit: flag('list who did what and when, of all runs or of one'),
  json: JSON_FLAG,
};

/** `storeferry runs`: lists the jobs and their latest runs, or shows one run. */
export const runsCommand = defineCommand({
  arguments: { run: optional('the id of a run, or its first characters, to see all of it') },
  options: OPTIONS,
  notes: `--records lists rejected and unsent records, and those that the store acknowledged for as long as its history keeps them,
also where the run itself is no longer kept. Unchanged records are not listed. With --json, one JSON object per line.`,
  examples: [
    'runs',
    'runs k3v9x2',
    'runs --job nightly-catalog',
    'runs k3v --json',
    'runs k3v --records --outcome rejected',
    'runs k3v --records --csv',
    'runs --audit --job nightly-catalog',
  ],
  json: 'the jobs with their next runs, the latest runs, and those that wait for a worker; or everything about one run; with --records, a line per record; with --audit, `{"audit": […]}`',
  run: (invocation, { run: id }, options) =>
    withJsonError(invocation, options.json, async () => {
      const signal = interruptSignal(() => {});
      await using open = await openContext(invocation.directory, () => {}, signal);
      if (options.audit) await listAudit(open, invocation, id, options);
      else if (options.records) await listRecords(open, invocation, id, options);
      else if (id === undefined) await list(open, invocation, options);
      else await show(open, invocation, id, options);
      return 0;
    }),
});

async function list(
  open: OpenContext,
  { terminal, program }: Invocation,
  { limit, job, json }: ValuesOf<typeof OPTIONS>,
): Promise<void> {
  const { context, workspace } = open;
  await using queue = await openRunQueue(open);
  const { colors, width } = terminal;
  const options = { colors, width, program, now: context.clock() };
  const { jobs, keeper } = await listJobs({ ...open, queue }, job);
  const listed = await context.state.runs.list({ limit, ...(job === undefined ? {} : { job }) });
  if (job !== undefined && jobs.length + listed.length === 0) workspace.job(job);
  const queued = (await queue.waiting()).filter((entry) => job === undefined || entry.job === job);
  const standing = await Promise.all(listed.map((run) => asItStands(context, run)));
  if (json) {
    terminal.out(`${JSON.stringify({ ...runsSummary(jobs, keeper, standing, options.now), queued })}\n`);
    return;
  }
  terminal.out(jobsText(jobs, keeper, options));
  for (const { run, job: name } of queued) {
    terminal.out(
      `Run ${run} of ${printable(name)} waits for a worker. To cancel it: ${program} cancel ${run}\n`,
    );
  }
  terminal.out(runsText(standing, options));
}

async function show(
  open: OpenContext,
  { terminal, program }: Invocation,
  id: string,
  { json }: ValuesOf<typeof OPTIONS>,
): Promise<void> {
  const { context, workspace } = open;
  const { colors, width } = terminal;
  const now = context.clock();
  const queued = (await findRun(context, id)) === undefined ? await lookInQueue(open, id) : undefined;
  if (queued !== undefined && queued.run === null) {
    const { job, error } = queued;
    if (json) terminal.out(`${JSON.stringify({ run: id, job, status: 'queued', error })}\n`);
    else if (error !== null) terminal.out(`Run ${id} of ${job} could not begin: ${error}\n`);
    else terminal.out(`Run ${id} of ${job} waits for a worker. To cancel it: ${program} cancel ${id}\n`);
    return;
  }
  const run = await asItStands(context, await knownRun(context, queued?.run ?? id));
  const report = await readStoredReport(context, run);
  const entries = await findAudited(context.state.audit, { run: run.id, limit: ENTRIES_OF_A_RUN });
  if (json) {
    const listed = listedRun(withShownFiles(report, workspace.dir), now);
    terminal.out(`${JSON.stringify({ ...listed, audit: entries.map(listedEntry) })}\n`);
    return;
  }
  const facts = withFilesFrom(withTypedCommands(report, program), workspace.dir, currentFolder());
  terminal.out(runText(facts, { now, program, version: context.version }, { colors, width }));
  if (entries.length > 0) terminal.out(`\n${auditText(entries, { colors, width })}`);
}

/** The newest of them. */
const ENTRIES_OF_A_RUN = 20;

/** Who did what: of all runs, or of one, also of one that is no longer kept. */
async function listAudit(
  { context }: OpenContext,
  { terminal }: Invocation,
  id: string | undefined,
  { json, job, limit }: ValuesOf<typeof OPTIONS>,
): Promise<void> {
  const run = id === undefined ? undefined : ((await findRun(context, id))?.id ?? id);
  const entries = await findAudited(context.state.audit, { job, run, limit });
  if (json) terminal.out(`${JSON.stringify({ audit: entries.map(listedEntry) })}\n`);
  else terminal.out(auditText(entries, { colors: terminal.colors, width: terminal.width }));
}

/** The outcome of each record of a run, also of one that only the history remembers. */
async function listRecords(
  { context, workspace }: OpenContext,
  { terminal }: Invocation,
  id: string | undefined,
  { json, csv, outcome }: ValuesOf<typeof OPTIONS>,
): Promise<void> {
  if (id === undefined)
    throw new UsageError('--records needs the id of a run: storeferry runs RUN --records');
  const run = await findRun(context, id);
  const stores = workspace.storeNames().map((name) => workspace.store(name));
  const found = await findLedgerOf(context, stores, run, id);
  if (found === undefined && run !== undefined) {
    throw new UsageError(`Run ${run.id} of ${run.job} exports ${run.resource}: it has no records.`);
  }
  if (found === undefined) return refuseUnknown(id);
  const records = runRecords(context, { ...found, run, outcome });
  const format = json ? 'jsonl' : csv ? 'csv' : 'text';
  for await (const lines of recordLines(records, format)) terminal.out(lines);
}

/** What the queue knows of a run that has not begun. */
async function lookInQueue(open: OpenContext, id: string) {
  await using queue = await openRunQueue(open);
  return (await queue.find(id)) ?? refuseUnknown(id);
}
