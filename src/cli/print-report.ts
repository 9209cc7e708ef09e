import { hasManyUnaskedSkips } from '../model/plan.ts';
import { hasDifferences, isDriftOpen, type RunStatus } from '../model/run.ts';
import { documentText } from '../report/document-text.ts';
import { type RunDocument, runDocument } from '../report/run-document.ts';
import { type RunFacts, withoutPersonalData } from '../report/run-facts.ts';
import { driftSummary, runSummary, verificationSummary } from '../report/run-summary.ts';
import { withFilesFrom, withShownFiles } from '../run/report/read-stored-report.ts';
import { printableLines } from '../text/printable.ts';
import { printJson } from './define-command.ts';
import { packageVersion } from './package-version.ts';
import type { Terminal } from './terminal.ts';
import { currentFolder, withProgram } from './typed-program.ts';
import type { RecordOutput } from './with-json-result.ts';

/** The exit code for the status of a run (README, Commands). */
export function exitCodeOf({ run, plan, totals }: RunFacts): number {
  const leavesSome =
    (run.status === 'planned' &&
      (totals.rejected + totals.held > 0 ||
        (plan !== null && run.undo === undefined && hasManyUnaskedSkips(plan)))) ||
    (run.status === 'done' && run.verification !== undefined && hasDifferences(run.verification)) ||
    (run.kind === 'drift' && run.status === 'done' && run.drift !== undefined && isDriftOpen(run.drift));
  return leavesSome ? EXIT_CODES['done-with-rejects'] : EXIT_CODES[run.status];
}

const EXIT_CODES: Readonly<Record<RunStatus, number>> = {
  done: 0,
  superseded: 0,
  planned: 0,
  'done-with-rejects': 3,
  stopped: 4,
  failed: 1,
  running: 1,
  interrupted: 130,
};

/** From the best to the worst. */
const CODES_BY_SEVERITY: readonly number[] = [0, 3, 4, 1, 2, 130];

/** The worst of the exit codes of several runs. */
export function worstCode(codes: readonly number[]): number {
  return codes.reduce((worst, code) =>
    CODES_BY_SEVERITY.indexOf(code) > CODES_BY_SEVERITY.indexOf(worst) ? code : worst,
  );
}

/** How a report is printed. */
export interface PrintOptions {
  readonly workspaceDir: string;
  /** The beginning of the next commands. */
  readonly program: string;
  /** One JSON object as the last line of standard output; otherwise text for people. */
  readonly json: boolean;
  /** Printed in place of the report, and added to its summary. */
  readonly instead?: RecordOutput | undefined;
  /** Renders the report for a place outside this machine; default: as text for a terminal. */
  readonly render?: RenderReport | undefined;
}

/** Renders the document of a run. */
export type RenderReport = (document: RunDocument) => string;

/** The report with the commands in its error changed so that they use the same workspace. */
export function withTypedCommands(report: RunFacts, program: string): RunFacts {
  const { run } = report;
  return run.error === null ? report : { ...report, run: { ...run, error: withProgram(run.error, program) } };
}

/** What `--json` prints of a run. */
export function jsonSummary(report: RunFacts, workspaceDir: string) {
  const { run } = report;
  if (run.kind === 'drift') return driftSummary(run, run.drift);
  return run.verification === undefined
    ? runSummary(withShownFiles(report, workspaceDir), Date.now())
    : verificationSummary(run, run.verification);
}

/** Prints the report of a run. */
export function printReport(terminal: Terminal, report: RunFacts, options: PrintOptions): void {
  const { program, workspaceDir, json, instead, render } = options;
  const { run } = report;
  const now = Date.now();
  if (json) {
    if (run.error !== null) terminal.err(`${printableLines(withProgram(run.error, program))}\n`);
    printJson(terminal, { ...jsonSummary(report, workspaceDir), ...instead?.members });
    return;
  }
  if (instead !== undefined) {
    terminal.out(instead.text);
    return;
  }
  const facts = withFilesFrom(withTypedCommands(report, program), workspaceDir, currentFolder());
  const view = { now, program, version: packageVersion() };
  terminal.out(
    render === undefined
      ? documentText(runDocument(facts, view), terminal)
      : render(runDocument(withoutPersonalData(facts), view)),
  );
}
