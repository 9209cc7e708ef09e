import { hasDifferences } from '../model/run.ts';
import { documentText } from '../report/document-text.ts';
import { printableLines } from '../report/printable.ts';
import { runDocument } from '../report/run-document.ts';
import type { Pace, RunFacts } from '../report/run-facts.ts';
import { runSummary, verificationSummary } from '../report/run-summary.ts';
import { withFilesFrom, withShownFiles } from '../run/report/read-stored-report.ts';
import { packageVersion } from './package-files.ts';
import type { Terminal } from './terminal.ts';
import { currentFolder, withProgram } from './typed-program.ts';
import type { Instead } from './with-json-result.ts';

/** The exit code for the status of a run (design.md). */
export function exitCodeOf({ run, totals }: RunFacts): number {
  switch (run.status) {
    case 'done':
      return run.verification !== undefined && hasDifferences(run.verification) ? 3 : 0;
    case 'superseded':
      return 0;
    case 'planned':
      return totals.rejected + totals.held > 0 ? 3 : 0;
    case 'done-with-rejects':
      return 3;
    case 'stopped':
      return 4;
    case 'failed':
    case 'running':
      return 1;
    case 'interrupted':
      return 130;
    default:
      return run.status satisfies never;
  }
}

/** How a report is printed. */
export interface PrintOptions {
  readonly workspaceDir: string;
  /** The beginning of the next commands. */
  readonly program: string;
  /** One JSON object as the last line of standard output; otherwise text for people. */
  readonly json: boolean;
  /** For the estimated duration of a plan; null if unknown. */
  readonly pace?: Pace | null;
  /** Printed in place of the report, and added to its summary. */
  readonly instead?: Instead | undefined;
}

/** The report with the commands in its error changed so that they use the same workspace. */
export function withTypedCommands(report: RunFacts, program: string): RunFacts {
  const { run } = report;
  return run.error === null ? report : { ...report, run: { ...run, error: withProgram(run.error, program) } };
}

/** Prints the report of a run. */
export function printReport(terminal: Terminal, report: RunFacts, options: PrintOptions): void {
  const { colors, width } = terminal;
  const { program } = options;
  const now = Date.now();
  if (options.json) {
    if (report.run.error !== null) {
      terminal.err(`${printableLines(withProgram(report.run.error, options.program))}\n`);
    }
    const { run } = report;
    const summary =
      run.verification === undefined
        ? runSummary(withShownFiles(report, options.workspaceDir), now)
        : verificationSummary(run, run.verification);
    terminal.out(`${JSON.stringify({ ...summary, ...options.instead?.members })}\n`);
    return;
  }
  if (options.instead !== undefined) {
    terminal.out(options.instead.text);
    return;
  }
  const facts = withFilesFrom(withTypedCommands(report, program), options.workspaceDir, currentFolder());
  const { pace = null } = options;
  const document = runDocument(facts, { now, program, version: packageVersion(), pace });
  terminal.out(documentText(document, { colors, width }));
}
