import { openWorkspace } from '../config/workspace.ts';
import { actionOf } from '../model/action.ts';
import type { AuditEntry } from '../model/audit-entry.ts';
import type { Run } from '../model/run.ts';
import { explainFailure, UsageError } from '../model/storeferry-error.ts';
import { nextSteps } from '../report/run-document.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { RunTask } from '../run/execute-run.ts';
import { RunBug, type RunEvent, type StoreListener } from '../run/run-context.ts';
import type { Invocation } from './define-command.ts';
import { findRun, knownRun, type OpenContext, openContext, refuseUnknownRun } from './open-context.ts';
import { parentProcess } from './parent-process.ts';
import { printError } from './print-error.ts';
import { exitCodeOf, printReport } from './print-report.ts';
import { recordCommand } from './record-command.ts';
import type { Terminal } from './terminal.ts';
import { type RunWatch, watchRun } from './watch-run.ts';
import type { Attempt, JsonResultOptions, RecordOutput } from './with-json-result.ts';

/** Executes tasks, and reads what they need. */
async function loadTools() {
  const [execution, reading] = await Promise.all([
    import('../run/execute-run.ts'),
    import('./read-request.ts'),
  ]);
  return { ...execution, ...reading, findRun, knownRun, refuseUnknownRun };
}

/** What a command does in its workspace. */
export type MakeTask = (open: OpenContext, tools: Awaited<ReturnType<typeof loadTools>>) => Promise<RunTask>;

/** How the work of a command is reported and recorded. */
export interface WorkOptions extends Omit<JsonResultOptions, 'job'> {
  readonly action: AuditEntry['action'];
  /** The job or the run that the command names, as it was typed. */
  readonly about: string;
  /** Replaces the report of a run that has a plan. */
  readonly onPlan?: ((open: OpenContext, report: RunFacts) => Promise<RecordOutput>) | undefined;
}

/** The job that a command names; null if it names a run. */
export function jobOf({ action, about }: Pick<WorkOptions, 'action' | 'about'>): string | null {
  return actionOf(action).to === 'job' ? about : null;
}

/** As `runInWorkspace`; returns what `--json` prints as the result. */
export async function workInWorkspace(
  { terminal, directory, program, interruptSignal }: Invocation,
  { json, action, about, onPlan }: WorkOptions,
  makeTask: MakeTask,
  attempt: Attempt,
): Promise<number> {
  const job = jobOf({ action, about });
  const watch = watchRun(terminal, () => performance.now());
  let begun: Run | null = null;
  const onAgain = (): void => {
    watch.clear();
    const [next] = begun === null ? [] : nextSteps({ run: { ...begun, status: 'interrupted' } }, program);
    const goOn = next === undefined ? '' : ` ${next.what} ${next.command}`;
    terminal.err(`Stopped at once; requests in flight may still reach the store.${goOn}\n`);
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
  const onEvent = (event: RunEvent): void => {
    watch.onEvent(event);
    debug?.onEvent(event);
    attempt.onEvent(event);
    if (event.type !== 'begun') return;
    begun = event.run;
    void record(event.run);
    parent?.sendRun(event.run.id);
  };
  let recorded: Promise<void> | null = null;
  /** Once: when the run begins, so that it is recorded even if this process is killed, or when nothing began. */
  const record = (run: Run | null): Promise<void> => {
    const outcome = run === null ? 'refused' : 'done';
    const subject =
      run === null
        ? { job, run: job === null ? about : null }
        : { job: run.job, run: run.id, of: run.retryOf ?? (run.undo ?? run.release)?.of ?? null };
    recorded ??= recordCommand(open.context, { action, outcome, ...subject }).catch((error: unknown) => {
      watch.clear();
      terminal.err(`Not added to the audit log: ${explainFailure(error)}\n`);
    });
    return recorded;
  };
  await using open = await openContext(directory, onEvent, signal, {
    listener: debug?.listener ?? { onEvent: watch.onStoreEvent },
    async meanwhile(workspace) {
      await loadTools();
      // Its files are read and checked now; a problem is reported where the job is used.
      if (job !== null) workspace.inspectJob(job);
    },
    program,
  });
  debug?.begin(open);
  const tools = await loadTools();
  const carryOut = async () => await tools.executeRun(open.context, await makeTask(open, tools));
  const { report, bug } = await reportedBug(carryOut()).catch(async (error: unknown) => {
    watch.clear();
    await record(begun);
    throw error;
  });
  watch.clear();
  await record(report.run);
  const instead = report.plan === null ? undefined : await onPlan?.(open, report);
  parent?.sendRun(report.run.id);
  if (bug !== undefined) printError(terminal, bug, { program, directory });
  const { requestsPerSecond } = open.workspace.store(report.run.store).limits;
  printReport(terminal, report, {
    workspaceDir: open.workspace.dir,
    program,
    json,
    instead,
    pace: requestsPerSecond === undefined ? null : { requestsPerSecond, because: 'the limit in stores.yaml' },
  });
  attempt.printed();
  await tools.notifyEnd(open.context, open.workspace.job(report.run.job).notify, report);
  if (instead?.problem === undefined) return exitCodeOf(report);
  return printError(terminal, new UsageError(instead.problem), { program, directory });
}

/** A bug during a run still has a report, which `--json` must print. */
async function reportedBug(
  run: Promise<RunFacts>,
): Promise<{ readonly report: RunFacts; readonly bug?: unknown }> {
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
    import('../text/masked.ts'),
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
