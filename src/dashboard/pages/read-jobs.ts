import { checkWorkspace } from '../../config/check-workspace.ts';
import type { Workspace } from '../../config/workspace.ts';
import type { Run } from '../../model/run.ts';
import type { JobFacts } from '../../report/jobs-text.ts';
import { historyPlot } from '../../report/plots/history-plot.ts';
import { asItStands } from '../../run/as-it-stands.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { inspectJob } from './inspect-job.ts';
import type { JobCardFacts } from './job-card.ts';
import type { JobPageFacts } from './job-page.ts';
import type { JobsPageFacts } from './jobs-page.ts';
import { nightsOf } from './nights.ts';
import { serverTimezone } from './server-timezone.ts';

/** So many runs of a job are kept. */
const RUNS_SHOWN = 20;
/** One night alone compares with nothing. */
const FEWEST_NIGHTS = 2;

/** Everything that the first page tells. */
export async function readJobs(dashboard: DashboardContext): Promise<JobsPageFacts> {
  const { context, program } = dashboard;
  const workspace = dashboard.openWorkspace();
  const { problems, warnings, unset } = checkWorkspace(workspace);
  const { jobs, keeper } = await dashboard.listJobs();
  const now = context.clock();
  const cards = await Promise.all(
    jobs.map(async (facts) => {
      const runs = await context.state.runs.list({ job: facts.job, limit: RUNS_SHOWN });
      return await readCard(workspace, facts, runs, now);
    }),
  );
  return { jobs: cards, keeper, problems, warnings, unset, program, now };
}

/** Everything that the page of a job tells; undefined when there is neither such a job nor a run of it. */
export async function readJob(dashboard: DashboardContext, name: string): Promise<JobPageFacts | undefined> {
  const { context, program } = dashboard;
  const workspace = dashboard.openWorkspace();
  const { jobs, keeper } = await dashboard.listJobs(name);
  const listed = await context.state.runs.list({ job: name, limit: RUNS_SHOWN });
  const runs = await Promise.all(listed.map((run) => asItStands(context, run)));
  const facts = jobs[0];
  if (facts === undefined) return undefined;
  const now = context.clock();
  return { card: await readCard(workspace, facts, runs, now), keeper, runs, program, now };
}

async function readCard(
  workspace: Workspace,
  facts: JobFacts,
  runs: readonly Run[],
  now: number,
): Promise<JobCardFacts> {
  const nights = nightsOf(runs, now);
  return {
    facts,
    ...inspectJob(workspace, facts.job),
    history: nights.length < FEWEST_NIGHTS ? null : await historyPlot(nights),
    timezone: facts.schedule?.timezone ?? serverTimezone(),
  };
}
