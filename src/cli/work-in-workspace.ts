import { statSync } from 'node:fs';
import { openWorkspace, type Workspace } from '../config/workspace.ts';
import { actionOf } from '../model/action.ts';
import type { AuditEntry } from '../model/audit-entry.ts';
import { partOf, type Run } from '../model/run.ts';
import { explainFailure, UsageError } from '../model/storeferry-error.ts';
import { Page, type PageOptions } from '../report/document-text.ts';
import { nextSteps } from '../report/run-document.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { failureSummary, storesSummary } from '../report/run-summary.ts';
import { statusTone, totalsWords } from '../report/status-words.ts';
import type { RunTask } from '../run/execute-run.ts';
import { RunBug, type RunEvent, type StoreListener } from '../run/run-context.ts';
import { type Invocation, printJson } from './define-command.ts';
import { findRun, knownRun, type OpenContext, openContext, refuseUnknownRun } from './open-context.ts';
import { parentProcess } from './parent-process.ts';
import { printError } from './print-error.ts';
import {
  exitCodeOf,
  jsonSummary,
  type PrintOptions,
  printReport,
  type RenderReport,
  worstCode,
} from './print-report.ts';
import { recordCommand } from './record-command.ts';
import type { Terminal } from './terminal.ts';
import { type RunWatch, watchRun } from './watch-run.ts';
import { type Attempt, type JsonResultOptions, type RecordOutput, statusOf } from './with-json-result.ts';

/** Executes tasks, and reads what they need. */
async function loadTools() {
  const [execution, reading] = await Promise.all([
    import('../run/execute-run.ts'),
    import('./read-request.ts'),
  ]);
  return { ...execution, ...reading, findRun, knownRun, refuseUnknownRun };
}

type Tools = Awaited<ReturnType<typeof loadTools>>;

/** What a command does in its workspace; `job` is the job that it names, or one of its stores. */
export type MakeTask = (open: OpenContext, tools: Tools, job: string) => Promise<RunTask>;

/** How the work of a command is reported and recorded. */
export interface WorkOptions extends Omit<JsonResultOptions, 'job'> {
  readonly action: AuditEntry['action'];
  /** The job or the run that the command names, as it was typed. */
  readonly about: string;
  /** Replaces the report of a run that has a plan. */
  readonly onPlan?: ((open: OpenContext, report: RunFacts) => Promise<RecordOutput>) | undefined;
  readonly render?: RenderReport | undefined;
}

/** The job that a command names; null if it names a run. */
export function jobOf({ action, about }: Pick<WorkOptions, 'action' | 'about'>): string | null {
  return actionOf(action).to === 'job' ? about : null;
}

/** As `runInWorkspace`; returns what `--json` prints as the result. */
export async function workInWorkspace(
  { terminal, directory, program, interruptSignal }: Invocation,
  { json, action, about, onPlan, render, summarise }: WorkOptions,
  makeTask: MakeTask,
  attempt: Attempt,
): Promise<number> {
  const job = jobOf({ action, about });
  const watch = watchRun(terminal, () => performance.now());
  /** The runs under way: one, or one for each store of the job. */
  const begun: Run[] = [];
  const onAgain = (): void => {
    watch.clear();
    const goOn = begun.flatMap((run) => {
      const [next] = nextSteps({ run: { ...run, status: 'interrupted' } }, program);
      return next === undefined ? [] : [` ${next.what} ${next.command}`];
    });
    terminal.err(`Stopped at once; requests in flight may still reach the store.${goOn.join('')}\n`);
  };
  const interrupted = interruptSignal(
    (name) => {
      watch.clear();
      terminal.err(`${name}: finishing requests in flight; press again to stop at once.\n`);
    },
    { onAgain },
  );
  const parent = parentProcess();
  const signal = parent === undefined ? interrupted : AbortSignal.any([interrupted, parent.gone]);
  const { logLevel } = openWorkspace(directory, process.env).settings();
  const debug = await debugLog(logLevel, job, terminal, watch);
  await using open = await openContext(directory, watch.onEvent, signal, {
    listener: debug?.listener ?? { onEvent: watch.onStoreEvent },
    async meanwhile(workspace) {
      await loadTools();
      // Its files are read and checked now; a problem is reported where the job is used.
      if (job !== null) workspace.inspectJob(job);
    },
    withoutThread: (workspace) => action === 'plan' && job !== null && readsLittle(workspace, job),
    program,
  });
  debug?.begin(open);
  const tools = await loadTools();
  const audit = async (run: Run | null, named: string | null): Promise<void> => {
    const outcome = run === null ? 'refused' : 'done';
    const subject =
      run === null
        ? { job: named, run: actionOf(action).to === 'run' ? about : null }
        : { job: run.job, run: run.id, of: run.retryOf ?? partOf(run)?.of ?? null };
    await recordCommand(open.context, { action, outcome, ...subject }).catch((error: unknown) => {
      watch.clear();
      terminal.err(`Not added to the audit log: ${explainFailure(error)}\n`);
    });
  };
  /** Carries out the task for a job, or for what the command names. */
  const carryOut = async (named: string, shown: RunWatch, progress: Pick<Attempt, 'onEvent'>) => {
    /** Once: when the run begins, so that it is recorded even if this process is killed, or when nothing began. */
    let recorded: Promise<void> | null = null;
    const record = (run: Run | null): Promise<void> => {
      recorded ??= audit(run, job === null ? null : named);
      return recorded;
    };
    const onEvent = (event: RunEvent): void => {
      shown.onEvent(event);
      debug?.onEvent(event);
      progress.onEvent(event);
      if (event.type !== 'begun') return;
      begun.push(event.run);
      void record(event.run);
      parent?.sendRun(event.run.id);
    };
    const context = { ...open.context, onEvent };
    try {
      const made = makeTask({ ...open, context }, tools, named);
      const found = await reportedBug(made.then((task) => tools.executeRun(context, task)));
      shown.clear();
      await record(found.report.run);
      return found;
    } catch (error) {
      shown.clear();
      await record(null);
      throw error;
    }
  };
  const print = ({ report, bug }: ReportedRun, shown: Pick<PrintOptions, 'json' | 'instead'>): void => {
    parent?.sendRun(report.run.id);
    if (bug !== undefined) printError(terminal, bug, { program, directory });
    printReport(terminal, report, { workspaceDir: open.workspace.dir, program, render, ...shown });
  };
  const notify = async (report: RunFacts): Promise<void> =>
    await tools.notifyRecipients(open.context, open.workspace.job(report.run.job).notify, report.run.job, {
      kind: 'ended',
      report,
    });
  const names = await jobsOf(open.workspace, job, about).catch(async (error: unknown) => {
    watch.clear();
    await audit(null, job);
    throw error;
  });
  if (names.length > 1) {
    const ended = await forEachStore(names, async (name): Promise<EndedStore> => {
      const startedAt = performance.now();
      const err = (text: string): void => {
        watch.clear();
        terminal.err(`${name}: ${text}`);
      };
      // Bars of several runs would overwrite each other.
      const shown = watchRun({ ...terminal, interactive: false, err }, () => performance.now());
      try {
        const found = await carryOut(name, shown, { onEvent() {} });
        if (!json) {
          if (render === undefined) terminal.out(storeHeading(name, terminal));
          print(found, { json });
        }
        await notify(found.report);
        return { name, code: exitCodeOf(found.report), ...found };
      } catch (error) {
        const code = printError({ ...terminal, err }, error, { program, directory });
        return { name, code, failure: error, durationMs: Math.round(performance.now() - startedAt) };
      }
    });
    const summaries = ended.map((store) =>
      'failure' in store
        ? (summarise ?? failureSummary)(failedCommand(store))
        : jsonSummary(store.report, open.workspace.dir),
    );
    if (json) printJson(terminal, storesSummary(about, summaries));
    else if (render === undefined) terminal.out(storesText(ended, terminal));
    attempt.printed();
    return worstCode(ended.map(({ code }) => code));
  }
  const [only = about] = names;
  const found = await carryOut(only, watch, attempt);
  const instead = found.report.plan === null ? undefined : await onPlan?.(open, found.report);
  print(found, { json, instead });
  attempt.printed();
  await notify(found.report);
  if (instead?.problem === undefined) return exitCodeOf(found.report);
  return printError(terminal, new UsageError(instead.problem), { program, directory });
}

/** To plan a source of this size takes less time than to start a thread for the database. */
const LITTLE_BYTES = 256 * 1024;

/** Whether the source of a job is a small file. */
function readsLittle(workspace: Workspace, name: string): boolean {
  const { job } = workspace.inspectJob(name);
  if (job?.kind !== 'import' || job.source.path === undefined) return false;
  try {
    return statSync(workspace.path(job.source.path)).size <= LITTLE_BYTES;
  } catch {
    return false;
  }
}

/** The jobs that a command names; where it names a run, the run. */
async function jobsOf(workspace: Workspace, job: string | null, about: string): Promise<readonly string[]> {
  return job === null ? [about] : workspace.jobsNamed(job);
}

/** The end of the run of one store, of a job with several. */
type EndedStore = { readonly name: string; readonly code: number } & (
  | ReportedRun
  | { readonly failure: unknown; readonly durationMs: number }
);

/** Stores that one process works on at a time; each plan needs memory of its own. */
const STORES_AT_ONCE = 4;

/** In the order of the names; at most some at a time, so that a slow store does not hold the others. */
async function forEachStore<Ended>(
  names: readonly string[],
  work: (name: string) => Promise<Ended>,
): Promise<readonly Ended[]> {
  const ended = new Map<string, Ended>();
  const waiting = names.values();
  const slot = async () => {
    for (const name of waiting) ended.set(name, await work(name));
  };
  await Promise.all(Array.from({ length: Math.min(STORES_AT_ONCE, names.length) }, slot));
  return names.flatMap((name) => ended.get(name) ?? []);
}

function failedCommand({ name, failure, durationMs }: Extract<EndedStore, { failure: unknown }>) {
  const facts = { run: null, job: name, applied: 0, rejected: 0 };
  return { ...facts, status: statusOf(failure), durationMs, error: explainFailure(failure) };
}

function storeHeading(name: string, options: PageOptions): string {
  const page = new Page(options);
  page.heading(name);
  return `${page}\n`;
}

/** All stores of a job, one per line. */
function storesText(ended: readonly EndedStore[], options: PageOptions): string {
  const page = new Page(options);
  page.heading('All stores');
  page.table(
    ['job', 'run', 'status', 'records'],
    ended.map((store) => {
      if ('failure' in store)
        return {
          cells: [store.name, '', 'failed', explainFailure(store.failure)],
          tone: statusTone('failed'),
        };
      const { run, totals } = store.report;
      return {
        cells: [store.name, run.id, run.status, run.error ?? totalsWords({ ...run, totals })],
        tone: statusTone(run.status),
      };
    }),
  );
  return `${page}`;
}

/** How a run ended, and the bug that ended it. */
interface ReportedRun {
  readonly report: RunFacts;
  readonly bug?: unknown;
}

/** A bug during a run still has a report, which `--json` must print. */
async function reportedBug(run: Promise<RunFacts>): Promise<ReportedRun> {
  try {
    return { report: await run };
  } catch (error) {
    if (error instanceof RunBug) return { report: error.report, bug: error.cause };
    throw error;
  }
}

/** Logs JSON lines in addition to the output for people, if `LOG_LEVEL` is `debug` or `trace`. */
interface DebugLog {
  readonly onEvent: (event: RunEvent) => void;
  /** Call it after the workspace is open: before that its secrets are unknown. */
  readonly begin: (open: OpenContext) => void;
  readonly listener: StoreListener;
}

/**
 * The debug log of a command: one line per request and per step of the run. Undefined if `level` does not enable it.
 */
async function debugLog(
  level: string,
  job: string | null,
  terminal: Terminal,
  watch: RunWatch,
): Promise<DebugLog | undefined> {
  if (level !== 'debug' && level !== 'trace') return undefined;
  const [{ secretRedactor }, { logRunEvents }, { logStoreTraffic, workerLogger }] = await Promise.all([
    import('../text/mask-personal-data.ts'),
    import('../queue/start-worker.ts'),
    import('./worker/worker-logger.ts'),
  ]);
  const secrets = secretRedactor();
  let opened: OpenContext | null = null;
  const err = (line: string): void => {
    for (const secret of opened?.workspace.secrets() ?? []) secrets.add(secret);
    watch.clear();
    terminal.err(secrets.redact(line));
  };
  const log = workerLogger({ ...terminal, err }, secrets);
  log.level = level;
  const { onEvent, onAttempt } = logStoreTraffic(log);
  let logEvent: ((event: RunEvent) => void) | null = null;
  return {
    begin(open) {
      opened = open;
    },
    onEvent(event) {
      const named = event.type === 'begun' ? event.run.job : (job ?? '');
      logEvent ??= logRunEvents(log, named, Date.now);
      logEvent(event);
    },
    listener: {
      onEvent(store, event) {
        watch.onStoreEvent(store, event);
        onEvent(store, event);
      },
      onAttempt,
    },
  };
}
