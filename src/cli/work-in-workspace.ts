import { statSync } from 'node:fs';
import type { Workspace } from '../config/workspace.ts';
import type { AuditEntry } from '../model/action.ts';
import { actionOf } from '../model/action.ts';
import type { Run, RunStatus } from '../model/run.ts';
import { explainFailure, UsageError } from '../model/storeferry-error.ts';
import { Page } from '../report/document-text.ts';
import { nextSteps } from '../report/run-document.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { failureSummary, storesSummary } from '../report/run-summary.ts';
import { statusTone, totalsWords } from '../report/status-words.ts';
import type { RunTask } from '../run/execute-run.ts';
import { RunBug, type RunEvent } from '../run/run-context.ts';
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
import type { readTask } from './read-request.ts';
import { recordCommand, runRecorder } from './record-command.ts';
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

/** What a task is made with. */
export interface TaskTools extends OpenContext, Tools {
  readonly terminal: Terminal;
  /** The job that the command names, or one of its stores; of a command that names a run, the run. */
  readonly subject: string;
  /** `readTask` in this workspace. */
  readonly read: (...asked: RestOf<Parameters<typeof readTask>>) => Promise<RunTask>;
}

type RestOf<List> = List extends readonly [unknown, ...infer Rest] ? Rest : never;

/** What a command does in its workspace. */
export type MakeTask = (tools: TaskTools) => Promise<RunTask>;

/** How the work of a command is reported and recorded. */
export interface WorkOptions extends Omit<JsonResultOptions, 'job'> {
  readonly action: AuditEntry['action'];
  /** The job or the run that the command names, as it was typed. */
  readonly about: string;
  /** Replaces the report of a run that has a plan. */
  readonly onPlan?:
    | ((open: OpenContext, report: RunFacts, task: RunTask) => Promise<RecordOutput>)
    | undefined;
  readonly render?: RenderReport | undefined;
}

/** The job that a command names; null if it names a run. */
export function jobOf({ action, about }: Pick<WorkOptions, 'action' | 'about'>): string | null {
  return actionOf(action).to === 'job' ? about : null;
}

/** As `runInWorkspace`, within an `attempt` whose failure `--json` can still print; returns the exit code. */
export async function workInWorkspace(
  { terminal, directory, program, interruptSignal }: Invocation,
  { json, action, about, onPlan, render, summarise = failureSummary }: WorkOptions,
  makeTask: MakeTask,
  attempt: Attempt,
): Promise<number> {
  const job = jobOf({ action, about });
  const watch = watchRun(terminal, () => performance.now());
  /** The runs under way: one, or one for each store of the job. */
  const begun: Run[] = [];
  const onAgain = () => {
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
  let debug: Awaited<ReturnType<typeof debugLog>>;
  await using open = await openContext(directory, watch.onEvent, signal, {
    listener: {
      onEvent(...happened) {
        watch.onStoreEvent(...happened);
        debug?.onStoreEvent(...happened);
      },
      // Read when a client of a store is opened: only a debug log needs single requests.
      get onAttempt() {
        return debug?.onAttempt;
      },
    },
    async meanwhile(workspace) {
      await loadTools();
      // Its files are read and checked now; a problem is reported where the job is used.
      if (job !== null) workspace.inspectJob(job);
    },
    withoutThread: (workspace) => action === 'plan' && job !== null && readsLittle(workspace, job),
    program,
  });
  debug = await debugLog(open, job, terminal, watch);
  const tools = await loadTools();
  const recorder = (named: string | null) =>
    runRecorder(
      (done) =>
        recordCommand(open.context, done).catch((error: unknown) => {
          watch.clear();
          terminal.err(`Not added to the audit log: ${explainFailure(error)}\n`);
        }),
      { action, job: named, run: actionOf(action).to === 'run' ? about : null },
    );
  /** Carries out the task for a job, or for what the command names. A bug during a run still has a report, which `--json` must print. */
  const carryOut = async (named: string, shown: RunWatch, progress?: Attempt) => {
    const record = recorder(job === null ? null : named);
    const onEvent = (event: RunEvent) => {
      shown.onEvent(event);
      debug?.onEvent(event);
      progress?.onEvent(event);
      if (event.type !== 'begun') return;
      begun.push(event.run);
      void record(event.run);
      parent?.sendRun(event.run.id);
    };
    const at = { ...open, context: { ...open.context, onEvent } };
    try {
      const read: TaskTools['read'] = (...asked) => tools.readTask(at, ...asked);
      const task = await makeTask({ ...at, ...tools, terminal, subject: named, read });
      const ended = await tools.executeRun(at.context, task).then(
        (report) => ({ report, bug: undefined }),
        (error: unknown) => {
          if (error instanceof RunBug) return { report: error.report, bug: error.cause };
          throw error;
        },
      );
      shown.clear();
      await record(ended.report.run);
      return { ...ended, task };
    } catch (error) {
      shown.clear();
      await record(null);
      throw error;
    }
  };
  const print = (
    { report, bug }: Omit<Awaited<ReturnType<typeof carryOut>>, 'task'>,
    instead?: PrintOptions['instead'],
  ) => {
    parent?.sendRun(report.run.id);
    if (bug !== undefined) printError(terminal, bug, { program, directory });
    printReport(terminal, report, { workspaceDir: open.workspace.dir, program, render, json, instead });
  };
  const notify = async (report: RunFacts) =>
    await tools.notifyRecipients(open.context, open.workspace.job(report.run.job).notify, report.run.job, {
      kind: 'ended',
      report,
    });
  let names: readonly string[];
  try {
    names = job === null ? [about] : open.workspace.jobsNamed(job);
  } catch (error) {
    watch.clear();
    await recorder(job)(null);
    throw error;
  }
  if (names.length > 1) {
    const ended = await forEachStore(names, async (name) => {
      const startedAt = performance.now();
      const err = (text: string) => {
        watch.clear();
        terminal.err(`${name}: ${text}`);
      };
      // Bars of several runs would overwrite each other.
      const shown = watchRun({ ...terminal, interactive: false, err }, () => performance.now());
      try {
        const found = await carryOut(name, shown);
        const { run, totals } = found.report;
        if (!json) {
          if (render === undefined) terminal.out(storeHeading(name, terminal));
          print(found);
        }
        await notify(found.report);
        return {
          code: exitCodeOf(found.report),
          summary: jsonSummary(found.report, open.workspace.dir),
          row: storeRow(name, run.id, run.status, run.error ?? totalsWords({ ...run, totals })),
        };
      } catch (error) {
        const why = explainFailure(error);
        return {
          code: printError({ ...terminal, err }, error, { program, directory }),
          summary: summarise({
            run: null,
            job: name,
            status: statusOf(error),
            applied: 0,
            rejected: 0,
            durationMs: Math.round(performance.now() - startedAt),
            error: why,
          }),
          row: storeRow(name, '', 'failed', why),
        };
      }
    });
    if (json)
      printJson(
        terminal,
        storesSummary(
          about,
          ended.map(({ summary }) => summary),
        ),
      );
    else if (render === undefined) {
      const page = new Page(terminal);
      page.heading('All stores');
      page.table(
        ['job', 'run', 'status', 'records'],
        ended.map(({ row }) => row),
      );
      terminal.out(`${page}`);
    }
    attempt.printed();
    return worstCode(ended.map(({ code }) => code));
  }
  const [only = about] = names;
  const { task, ...found } = await carryOut(only, watch, attempt);
  const instead = found.report.plan === null ? undefined : await onPlan?.(open, found.report, task);
  print(found, instead);
  attempt.printed();
  await notify(found.report);
  if (instead?.problem === undefined) return exitCodeOf(found.report);
  return printError(terminal, new UsageError(instead.problem), { program, directory });
}

/** To plan a source of this size takes less time than to start a thread for the database. */
const LITTLE_BYTES = 256 * 1024;

/** Whether the source of a job is a small file. */
function readsLittle(workspace: Workspace, name: string) {
  const { job } = workspace.inspectJob(name);
  if (job?.kind !== 'import' || job.source.path === undefined) return false;
  try {
    return statSync(workspace.path(job.source.path)).size <= LITTLE_BYTES;
  } catch {
    return false;
  }
}

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

/** A store of a job with several, and how its run ended. */
function storeRow(name: string, run: string, status: RunStatus, words: string) {
  return { cells: [name, run, status, words], tone: statusTone(status) };
}

function storeHeading(name: string, terminal: Terminal) {
  const page = new Page(terminal);
  page.heading(name);
  return `${page}\n`;
}

/**
 * If `LOG_LEVEL` is `debug` or `trace`, logs JSON lines in addition to the output for people: one per request and per step of
 * the run.
 */
async function debugLog(
  { workspace, context: { redact } }: OpenContext,
  job: string | null,
  terminal: Terminal,
  watch: RunWatch,
) {
  const { logLevel } = workspace.settings();
  if (logLevel !== 'debug' && logLevel !== 'trace') return undefined;
  const [{ logRunEvents }, { logStoreTraffic, workerLogger }] = await Promise.all([
    import('../queue/start-worker.ts'),
    import('./worker/worker-logger.ts'),
  ]);
  const err = (line: string) => {
    watch.clear();
    terminal.err(line);
  };
  const log = workerLogger({ err }, { redact });
  log.level = logLevel;
  const { onEvent: onStoreEvent, onAttempt } = logStoreTraffic(log);
  let logEvent: ((event: RunEvent) => void) | null = null;
  return {
    onStoreEvent,
    onAttempt,
    onEvent(event: RunEvent): void {
      logEvent ??= logRunEvents(log, event.type === 'begun' ? event.run.job : (job ?? ''), Date.now);
      logEvent(event);
    },
  };
}
