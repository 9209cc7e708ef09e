import { reportSections } from '../../report/html/report-page.ts';
import { asItStands } from '../../run/as-it-stands.ts';
import { shownFile } from '../../run/export/shown-location.ts';
import { readStoredReport } from '../../run/run-report.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import type { RunPageFacts } from './run-page.ts';
import { serverTimezone } from './server-timezone.ts';

/** Everything that the page of a run tells; undefined when there is no such run. */
export async function readRun(
  { context, program }: DashboardContext,
  id: string,
): Promise<RunPageFacts | undefined> {
  const run = await context.state.runs.get(id);
  if (run === undefined) return undefined;
  const stored = await readStoredReport(context, await asItStands(context, run));
  const now = context.clock();
  const rejectsFile =
    stored.rejectsFile === null ? null : shownFile(context.workspaceDir, stored.rejectsFile);
  const report = { ...stored, rejectsFile, traffic: null, now, program, version: context.version };
  return {
    report,
    sections: await reportSections(report),
    reading: { now, timezone: serverTimezone() },
  };
}
