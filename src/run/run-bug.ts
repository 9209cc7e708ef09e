import { explainError, StoreferryError } from '../model/errors.ts';
import type { RunReport } from './report/run-report.ts';

/** A bug of our own that ended a run. The run is written down as failed, and this is its report. */
export class RunBug extends Error {
  readonly report: RunReport;

  constructor(report: RunReport, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'RunBug';
    this.report = report;
  }
}

/** What ended a run, as its `error` says it. */
export function explainFailure(failure: unknown): string {
  if (failure instanceof StoreferryError) return explainError(failure);
  return `A bug in Storeferry: ${failure instanceof Error ? failure.message : String(failure)}`;
}

/** The report of a run that `failure` ended; null: nothing did. Throws RunBug if that is no StoreferryError. */
export function reportUnlessBug(report: RunReport, failure: unknown): RunReport {
  if (failure !== null && !(failure instanceof StoreferryError)) throw new RunBug(report, failure);
  return report;
}
