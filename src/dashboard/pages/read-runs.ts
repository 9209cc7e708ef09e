import { asItStands } from '../../run/as-it-stands.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { pageOf } from './pager.ts';
import type { RunsFilter, RunsPageFacts } from './runs-page.ts';
import { serverTimezone } from './server-timezone.ts';

/** More are not kept but of very many jobs. */
const LOOKED_AT = 1_000;
const RUNS_A_PAGE = 25;

/** The runs that a filter asks for, a page of them. */
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
    reading: { now: context.clock(), timezone: serverTimezone() },
    program,
  };
}
