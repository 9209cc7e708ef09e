import { checkWorkspace } from '../../config/check-workspace.ts';
import type { Workspace } from '../../config/workspace.ts';
import type { Run } from '../../model/run.ts';
import { historyPlot } from '../../report/html/document-sections.ts';
import type { JobFacts } from '../../report/run-facts.ts';
import { withLiveStatus } from '../../run/report/read-stored-report.ts';
import type { AtWork, DashboardContext } from '../dashboard-context.ts';
import { notFound } from '../guard/page-error.ts';
import { uploadTargets } from '../new-job/upload-targets.ts';
import { workspaceOf } from '../route-parts.ts';
import { activityOf, needOf } from './activity.ts';
import type { JobCardFacts } from './job-card.ts';
import type { JobPageFacts } from './job-page.ts';
import type { JobsPageFacts } from './jobs-page.ts';
import { serverTimezone } from './moment.ts';

/** This many runs of a job are kept. */
const RUNS_SHOWN = 20;

/** Everything that the first page shows. */
export async function readJobs(dashboard: DashboardContext): Promise<JobsPageFacts> {
  const { context, program } = dashboard;
  const workspace = dashboard.openWorkspace();
  const { problems: all, warnings, unset } = checkWorkspace(workspace);
  // A workspace that was made for the dashboard has no store before its first job.
  const isNew = workspace.jobNames().length === 0 && workspace.files.stores() === undefined;
  const problems = isNew ? [] : all;
  const { jobs, keeper } = await dashboard.listJobs();
  const atWork = await dashboard.actions.atWork();
  const now = context.clock();
  const cards = await Promise.all(
    jobs.map(async (facts) => {
      const runs = await standingRuns(context, facts.job);
      return await readCard({ workspace, facts, runs, atWork: atWork.get(facts.job), now });
    }),
  );
  return { jobs: cards, keeper, problems, warnings, unset, program, now };
}

/** The content of the page of a job. PageError if there is no such job. */
export async function readJob(dashboard: DashboardContext, name: string): Promise<JobPageFacts> {
  const { context, program } = dashboard;
  const workspace = workspaceOf(dashboard, name);
  const { jobs, keeper } = await dashboard.listJobs(name);
  const runs = await standingRuns(context, name);
  const [facts] = jobs;
  if (facts === undefined) throw notFound();
  const atWork = (await dashboard.actions.atWork()).get(name);
  const now = context.clock();
  const card = await readCard({ workspace, facts, runs, atWork, now });
  const uploads = card.job?.kind === 'import' ? uploadTargets(workspace, card.job) : [];
  return { card, keeper, runs, uploads, program, now };
}

interface CardSources {
  readonly workspace: Workspace;
  readonly facts: JobFacts;
  readonly runs: readonly Run[];
  readonly atWork: AtWork | undefined;
  readonly now: number;
}

async function readCard({ workspace, facts, runs, atWork, now }: CardSources): Promise<JobCardFacts> {
  const { job, problems } = workspace.inspectJob(facts.job);
  const timezone = facts.schedule?.timezone ?? serverTimezone();
  return {
    facts,
    job,
    problems,
    timezone,
    activity: activityOf(runs, atWork),
    need: needOf({ last: facts.last, runs, problems }),
    history: historyPlot(runs, { timezone, now }),
  };
}

/** The latest runs of a job, newest first, with their current status. */
async function standingRuns(context: DashboardContext['context'], job: string): Promise<Run[]> {
  const runs = await context.state.runs.list({ job, limit: RUNS_SHOWN });
  return await Promise.all(runs.map((run) => withLiveStatus(context, run)));
}
