import type { ExportJob } from '../../config/job/job.ts';
import type { Workspace } from '../../config/workspace.ts';
import type { HistoryPoint } from '../../model/subscriber-list.ts';
import { trendPlot } from '../../report/plots/trend-plot.ts';
import { exportHistory } from '../../run/export/export-history.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { keepsHistory } from './job-words.ts';
import type { ListDrawing, ListPageFacts } from './list-page.ts';
import { type ListTrend, listTrends } from './list-trends.ts';
import { pageOf } from './pager.ts';
import { serverTimezone } from './server-timezone.ts';

const LISTS_A_PAGE = 10;
/** A history may be on another machine: a page does not wait for it longer than this. */
const READ_WITHIN_MS = 10_000;

/** The jobs that collect a history of lists. */
export function historyJobs(workspace: Workspace): ExportJob[] {
  return workspace.jobNames().flatMap((name) => {
    const { job } = workspace.inspectJob(name);
    return keepsHistory(job) ? [job] : [];
  });
}

/** Everything that the page of a job's lists shows; StoreferryError when its history cannot be read. */
export async function readLists(
  { context, program }: DashboardContext,
  workspace: Workspace,
  job: ExportJob,
  number: unknown,
): Promise<ListPageFacts> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(READ_WITHIN_MS)]);
  const { location, history } = await exportHistory(workspace.fileAccess(), job, signal);
  const { lists, moments } = listTrends(history);
  const shown = pageOf(lists, LISTS_A_PAGE, number);
  const items = await Promise.all(
    shown.items.map(async (list) => ({ list, drawing: await drawingOf(list) })),
  );
  return {
    job: job.name,
    location,
    lists,
    shown: { ...shown, items },
    moments,
    unreadable: history.unreadable,
    reading: { now: context.clock(), timezone: job.schedule?.timezone ?? serverTimezone() },
    program,
  };
}

/** Null while there are too few readings to draw. */
async function drawingOf({ points }: ListTrend): Promise<ListDrawing | null> {
  if (points.length < 2) return null;
  const series = (name: string, of: (point: HistoryPoint) => number | null) => ({
    name,
    points: points.flatMap((point) => {
      const value = of(point);
      return value === null ? [] : [{ at: point.readAt, value }];
    }),
  });
  const share = (value: number | null) => (value === null ? null : value * 100);
  const rates = [
    series('opens', ({ opens }) => share(opens)),
    series('clicks', ({ clicks }) => share(clicks)),
  ];
  return {
    subscribers: await trendPlot([series('subscribers', ({ subscribers }) => subscribers)]),
    rates: rates.some(({ points }) => points.length > 0) ? await trendPlot(rates) : null,
  };
}
