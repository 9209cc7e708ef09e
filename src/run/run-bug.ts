import { explainError, firstError, StoreferryError } from '../model/errors.ts';
import { masked } from '../model/masked.ts';
import type { Run } from '../model/run.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { RunContext } from './run-context.ts';

/** A bug of our own that ended a run. The run is recorded as failed, and this is its report. */
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
