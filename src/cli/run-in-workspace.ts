import { openWorkspace } from '../config/workspace.ts';
import type { Run } from '../model/run.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { nextSteps } from '../report/sections/next-section.ts';
import { notifyEnd } from '../run/execute-run.ts';
import { RunBug, type RunEvent } from '../run/run-context.ts';
import { debugLog } from './debug-log.ts';
import type { Invocation } from './define-command.ts';
import { interruptSignal } from './interrupt-signal.ts';
import { type OpenContext, openContext } from './open-context.ts';
import { parentProcess } from './parent-process.ts';
import { printError } from './print-error.ts';
import { exitCodeOf, printReport } from './print-report.ts';
import { watchRun } from './watch-run.ts';
import { type Attempt, type JsonResultOptions, withJsonResult } from './with-json-result.ts';

/** What `--json` of these commands prints, for the reference. */
export const RUN_SUMMARY =
  'the run: its id, job and status, the counts of rows, records and operations, and `rejectsFile`';

/** What a command does in its workspace. */
export type Work = (open: OpenContext) => Promise<RunFacts>;

/**
 * What run, plan, approve and retry have in common: opens the workspace, shows progress, ends cleanly on Ctrl-C,
 * prints the report, gives the exit code. What a command does is loaded while the state opens, which halves the start.
 */
export function runInWorkspace(
  invocation: Invocation,
  options: JsonResultOptions,
  loadWork: () => Promise<Work>,
): Promise<number> {
  return withJsonResult(invocation, options, (attempt) => work(invocation, options, loadWork, attempt));
}

async function work(
  { terminal, directory, program }: Invocation,
  { json, job }: JsonResultOptions,
  loadWork: () => Promise<Work>,
  attempt: Attempt,
): Promise<number> {
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
    parent?.sendRun(event.run.id);
  };
  await using open = await openContext(directory, onEvent, signal, {
    listener: debug?.listener ?? { onEvent: watch.onStoreEvent },
    meanwhile: loadWork,
    program,
  });
  debug?.begin(open);
  const carryOut = await loadWork();
  const { report, bug } = await reportedBug(carryOut(open)).finally(() => watch.clear());
  parent?.sendRun(report.run.id);
  if (bug !== undefined) printError(terminal, bug, { program, directory });
  const { requestsPerSecond } = open.workspace.store(report.run.store).limits;
  printReport(terminal, report, {
    workspaceDir: open.workspace.dir,
    program,
    json,
    pace: requestsPerSecond === undefined ? null : { requestsPerSecond, because: 'the limit in stores.yaml' },
  });
  attempt.printed();
  await notifyEnd(open.context, open.workspace.job(report.run.job).notify, report);
  return exitCodeOf(report);
}

/** A bug within a run still has a report, which `--json` must print. */
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
