import type { ReportFacts } from '../../report/html/report-facts.ts';
import { reportSections } from '../../report/html/report-page.ts';
import { withoutPersonalData } from '../../report/wording/personal-data.ts';
import { asItStands } from '../../run/as-it-stands.ts';
import { shownFile } from '../../run/export/shown-location.ts';
import { laterRun } from '../../run/later-run.ts';
import { readStoredReport } from '../../run/report/run-report.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { runActions } from './run-actions.ts';
import type { RunPageFacts } from './run-page.ts';
import { serverTimezone } from './server-timezone.ts';

/** Everything that the page of a run shows this viewer; undefined when there is no such run. */
export async function readRun(
  { context, program }: DashboardContext,
  id: string,
  { canAct }: { readonly canAct: boolean },
): Promise<RunPageFacts | undefined> {
  const run = await context.state.runs.get(id);
  if (run === undefined) return undefined;
  const stored = await readStoredReport(context, await asItStands(context, run));
  const now = context.clock();
  const rejectsFile =
    stored.rejectsFile === null ? null : shownFile(context.workspaceDir, stored.rejectsFile);
  const later = await laterRun(context, run);
  const report: ReportFacts = withoutPersonalData({
    ...stored,
    rejectsFile,
    now,
    program,
    version: context.version,
  });
  return {
    run: report.run,
    report: await reportSections({ ...report, actions: canAct ? runActions({ ...report, later }) : null }),
    hasReportFile: stored.reportFile !== null,
    reading: { now, timezone: serverTimezone() },
  };
}
