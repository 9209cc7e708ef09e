import { explainError, firstError, LockedError, StateError, StoreferryError } from '../model/errors.ts';
import { masked } from '../model/personal-data.ts';
import type { Run } from '../model/run.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { RunContext } from './context.ts';

/** A bug of our own that ended a run. The run is written down as failed, and this is its report. */
export class RunBug extends Error {
  readonly report: RunFacts;

  constructor(report: RunFacts, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'RunBug';
    this.report = report;
  }
}

/** What ended a run, as a sentence. */
export function explainFailure(given: unknown): string {
  const failure = firstError(given);
  if (failure instanceof StoreferryError) return explainError(failure);
  return `A bug in Storeferry: ${failure instanceof Error ? failure.message : String(failure)}`;
}

/** What ended a run, as its `error` says it: without secrets, and of contacts and orders without addresses and numbers. */
export function runErrorOf(
  failure: unknown,
  { resource }: Pick<Run, 'resource'>,
  { redact = (text) => text }: Pick<RunContext, 'redact'>,
): string {
  const text = explainFailure(failure);
  return redact(resource === 'products' ? text : masked(text));
}

/** The report of a run that `failure` ended; null: nothing did. Throws RunBug if that is no StoreferryError. */
export function reportUnlessBug(report: RunFacts, failure: unknown): RunFacts {
  if (failure !== null && !(failure instanceof StoreferryError)) throw new RunBug(report, failure);
  return report;
}

/**
 * Ends a run that `failure` ended (null: nothing did). When its end cannot be recorded, rejects with what the user must
 * know: the failure itself where that was the state's already, else both.
 */
export async function recordingEnd<Ended>(failure: unknown, record: () => Promise<Ended>): Promise<Ended> {
  try {
    return await record();
  } catch (error) {
    if (failure === null || error instanceof RunBug || error instanceof LockedError) throw error;
    if (failure instanceof StateError || !(failure instanceof StoreferryError)) throw failure;
    if (!(error instanceof StoreferryError)) throw error;
    throw new StateError(
      `${explainError(failure)} The end of the run could not be recorded: ${error.message}`,
      {
        hint: error.hint,
        cause: error,
      },
    );
  }
}
