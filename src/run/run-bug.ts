import type { RunReport } from './run-report.ts';

/** A bug of our own that ended a run. The run is written down as failed, and this is its report. */
export class RunBug extends Error {
  readonly report: RunReport;

  constructor(report: RunReport, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'RunBug';
    this.report = report;
  }
}
