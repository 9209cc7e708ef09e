import type { RunStatus } from '../model/run.ts';
import { explainFailure, firstError, InterruptedError, SafetyLimitError } from '../model/storeferry-error.ts';
import { type FailedCommand, failureSummary } from '../report/run-summary.ts';
import type { RunEvent } from '../run/run-context.ts';
import { type Invocation, printJson } from './define-command.ts';
import { printError } from './print-error.ts';

/** The known facts about the run of a command while it works. */
export interface Attempt {
  readonly onEvent: (event: RunEvent) => void;
  /** Call it when the command has printed its result itself. */
  printed(): void;
}

export interface JsonResultOptions {
  readonly json: boolean;
  /** Null if the command names a run. */
  readonly job: string | null;
  /** The result object of a command that has no run; default: the summary of a run. */
  readonly summarise?: (failed: FailedCommand) => object;
}

/** What `plan --show` prints instead of the report: a record of the plan. */
export interface RecordOutput {
  /** To standard output, where the result is for people. */
  readonly text: string;
  /** Added to the run's summary with `--json`. */
  readonly members: object;
  /** What is wrong with the request: to standard error, with the exit code of wrong usage. */
  readonly problem?: string;
}

/**
 * Does the work of a command about a run; one about no run uses `withJsonError`. With `json` the last line of standard output is always
 * an object: if the work rejects before it has printed its result, the object has the error, with `run: null` if no run began. Without
 * `json` it rejects as the work does.
 */
export async function withJsonResult(
  invocation: Invocation,
  { json, job, summarise = failureSummary }: JsonResultOptions,
  work: (attempt: Attempt) => Promise<number>,
): Promise<number> {
  const startedAt = performance.now();
  let known: Pick<FailedCommand, 'run' | 'job' | 'applied' | 'rejected'> = {
    run: null,
    job,
    applied: 0,
    rejected: 0,
  };
  let hasPrinted = false;
  const attempt: Attempt = {
    onEvent(event) {
      if (event.type === 'begun') known = { ...known, run: event.run.id, job: event.run.job };
      if (event.type === 'progress') known = { ...known, ...event.records };
    },
    printed() {
      hasPrinted = true;
    },
  };
  try {
    return await work(attempt);
  } catch (error) {
    if (!json || hasPrinted) throw error;
    const code = printError(invocation.terminal, error, invocation);
    const durationMs = Math.round(performance.now() - startedAt);
    const summary = summarise({
      ...known,
      status: statusOf(error),
      durationMs,
      error: explainFailure(error),
    });
    printJson(invocation.terminal, summary);
    return code;
  }
}

/**
 * Does the work of a command whose `--json` prints an object of its own. If the work rejects, the last line of
 * standard output is `{"error": …}`. Without `json` it rejects as the work does.
 */
export async function withJsonError(
  invocation: Invocation,
  json: boolean,
  work: () => Promise<number>,
): Promise<number> {
  return await withJsonResult(invocation, { json, job: null, summarise: ({ error }) => ({ error }) }, work);
}

/** The status of a run that ended with an error before it had a report. */
export function statusOf(given: unknown): RunStatus {
  const error = firstError(given);
  if (error instanceof InterruptedError) return 'interrupted';
  return error instanceof SafetyLimitError ? 'stopped' : 'failed';
}
