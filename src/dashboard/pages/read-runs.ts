import { asItStands } from '../../run/as-it-stands.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { settledRuns } from './job-state.ts';
import { pageOf } from './pager.ts';
import type { RunsFilter, RunsPageFacts } from './runs-page.ts';
import { serverTimezone } from './server-timezone.ts';

/** 20 runs of each of 50 jobs. */
const LOOKED_AT = 1_000;
const RUNS_A_PAGE = 25;

/** One page of the runs that match a filter. */
export async function readRuns(
  { context, openWorkspace, program }: DashboardContext,
  filter: RunsFilter,
  number: unknown,
): Promise<RunsPageFacts> {
  const listed = await context.state.runs.list({ limit: LOOKED_AT });
  const standing = await Promise.all(listed.map((run) => asItStands(context, run)));
  const fitting = standing
    .filter(({ job }) => filter.job === null || job === filter.job)
    .filter(({ status }) => filter.status === null || status === filter.status);
  const jobs = new Set([...openWorkspace().jobNames(), ...listed.map(({ job }) => job)]);
  return {
    filter,
    jobs: [...jobs].sort(),
    shown: pageOf(fitting, RUNS_A_PAGE, number),
    settled: settledRuns(standing),
    reading: { now: context.clock(), timezone: serverTimezone() },
    program,
  };
}
