import { jobsText } from '../report/jobs-text.ts';
import { runsText, runText } from '../report/runs-text.ts';
import { asItStands } from '../run/as-it-stands.ts';
import { withShownFiles } from '../run/export/shown-location.ts';
import { readStoredReport } from '../run/report/run-report.ts';
import { interruptSignal } from './interrupt.ts';
import type { Invocation } from './invocation.ts';
import { listJobs } from './list-jobs.ts';
import { knownRun, openContext } from './open-context.ts';

/** Lists the jobs and their latest runs, or shows one run. */
export async function runs(
  { terminal, directory, program }: Invocation,
  id: string | undefined,
  { limit, job }: { readonly limit: number; readonly job?: string },
): Promise<number> {
  await using open = await openContext(
    directory,
    () => {},
    interruptSignal(() => {}),
  );
  const { context, workspace } = open;
  const { colors, width } = terminal;
  const options = { colors, width, program, now: context.clock() };
  if (id === undefined) {
    const { jobs, keeper } = await listJobs(open, job);
    const listed = await context.state.runs.list({ limit, ...(job === undefined ? {} : { job }) });
    if (job !== undefined && jobs.length + listed.length === 0) workspace.job(job);
    terminal.out(jobsText(jobs, keeper, options));
    const standing = await Promise.all(listed.map((run) => asItStands(context, run)));
    terminal.out(runsText(standing, options));
    return 0;
  }
  const report = await readStoredReport(context, await asItStands(context, await knownRun(context, id)));
  terminal.out(runText(withShownFiles(report, workspace.dir), options));
  return 0;
}
