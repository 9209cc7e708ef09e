import cronstrue from 'cronstrue';
import { type ExportJob, type Job, keepsHistory } from '../../config/job/job.ts';
import type { Workspace } from '../../config/workspace.ts';
import { mayDo } from '../../model/action.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import type { FilePlace } from '../../model/remote-address.ts';
import { lastedMs, type Run } from '../../model/run.ts';
import { historyPlot } from '../../report/html/document-sections.ts';
import { html, type Markup, quiet, runBadge, type Slot, styledText } from '../../report/html/markup.ts';
import type { JobFacts } from '../../report/run-facts.ts';
import { figuresWords, kindOf } from '../../report/status-words.ts';
import { listLiveRuns } from '../../run/report/read-stored-report.ts';
import { formatDuration } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { uploadedName } from '../new-job/upload-targets.ts';
import { type Activity, activityOf, type Need, needOf } from './activity.ts';
import { actionButton, jobHref, jobLink } from './link-button.ts';
import { fact, momentAndDistance, type Reading, relativeTime } from './page.ts';

/** A job with its recent runs. */
export type JobCardFacts = Awaited<ReturnType<typeof readCards>>['cards'][number];

/** This many runs of a job are kept. */
const RUNS_SHOWN = 20;

/** All jobs of the workspace, or the one with this name, and what keeps their schedules. */
export async function readCards(
  { context, listJobs, actions }: DashboardContext,
  workspace: Workspace,
  reading: Reading,
  only?: string,
) {
  const { jobs, schedules } = await listJobs(only);
  const atWork = await actions.atWork();
  const cards = await Promise.all(
    jobs.map(async (facts) => {
      const runs = await listLiveRuns(context, { job: facts.job, limit: RUNS_SHOWN });
      const { job, problems } = workspace.inspectJob(facts.job);
      return {
        facts,
        // Undefined if its file is invalid.
        job,
        problems,
        // The latest, newest first, with their current status.
        runs,
        reading,
        activity: activityOf(runs, atWork.get(facts.job)),
        need: needOf({ last: facts.last, runs, problems }),
        // Null if there are too few runs to compare.
        history: historyPlot(runs, reading),
      };
    }),
  );
  return { cards, schedules };
}

/** A job that needs attention or is running. */
export function jobCard(card: JobCardFacts, viewer: Viewer): Markup {
  const { facts, job, activity, need, history, reading } = card;
  const { job: name, last } = facts;
  // The last run may be the active one, which the card describes above.
  const isShownLive = last !== undefined && activity?.run?.id === last.id;
  return html`<article class="card job">
<div class="job-head"><h3>${jobLink(name)}</h3>${last !== undefined && runBadge(last)}</div>
${job !== undefined && html`<p class="job-what">${describeMove(job)}.</p>`}
${activity !== null ? html`<p class="job-why">${activityWords(activity, reading)}</p>` : need !== null && html`<p class="job-why ${need.tone}">${need.why}</p>`}
<dl class="facts">${scheduleFacts(facts, reading)}${isShownLive ? '' : lastFact(card, reading)}</dl>
${history}
${jobActions(card, viewer)}
</article>`;
}

/** A job that needs nothing, as the cells of a row: name, outcome, last run, next run, possible actions. */
export function jobCells(card: JobCardFacts, viewer: Viewer): Slot[] {
  const { facts, job, reading } = card;
  const { job: name, last } = facts;
  return [
    html`<a class="job-name" href="${jobHref(name)}">${name}</a>`,
    last === undefined ? quiet('Never run') : runBadge(last),
    last === undefined
      ? job !== undefined && html`<span class="quiet">${describeMove(job)}.</span>`
      : lastWords(last, reading),
    nextWords(facts, reading),
    jobActions(card, viewer),
  ];
}

/** When a job runs, in words, and when next. */
export function scheduleFacts(facts: JobFacts, reading: Reading): Markup {
  const { schedule, broken } = facts;
  if (broken) return html``;
  if (schedule === null) return fact('Schedule', 'None');
  const when = html`${scheduleWords(schedule.cron)} ${quiet(schedule.timezone)}`;
  return html`${fact('Schedule', when)}${fact('Next', nextWords(facts, reading))}`;
}

/** The possible actions of a job, each with a confirmation page; for an active job, to watch or interrupt it. */
export function jobActions({ facts, job, activity, need }: JobCardFacts, viewer: Viewer): Markup {
  const { job: name } = facts;
  const mayAct = mayDo(viewer.role, 'run');
  const trends = hasTrends(job) && actionButton(viewer, 'stats', name, { label: 'Trends', about: name });
  const buttons = withoutAbsent([
    ...(mayAct && activity !== null ? activityButtons(activity, name, viewer) : []),
    ...(mayAct && activity === null && job !== undefined ? startButtons(name, job, need, viewer) : []),
    trends,
  ]);
  return html`${buttons.length > 0 && styledText('actions', buttons)}`;
}

/** The current activity, and who started it. */
export function activityWords({ run, by }: Activity, reading: Reading): Markup {
  if (run === null) return html`${STARTING[by]}`;
  const what = RUN_NOUNS[kindOf(run)];
  return html`<a href="/runs/${run.id}">${what} ${run.id}</a> is running, started ${relativeTime(run.startedAt, reading)} ${STARTED_BY[by]}.`;
}

/** What a run of each kind is called. */
export const RUN_NOUNS: Readonly<Record<Run['kind'], string>> = {
  run: 'Run',
  export: 'Run',
  plan: 'Plan',
  verify: 'Verification',
  drift: 'Comparison',
  retry: 'Retry',
  undo: 'Undo',
  release: 'Release',
  copy: 'Copy',
};

const STARTED_BY: Readonly<Record<Activity['by'], string>> = {
  dashboard: 'in this dashboard',
  worker: 'and executed by a worker',
  queue: 'by a command',
  command: 'by a command',
};

const STARTING: Readonly<Record<Activity['by'], string>> = {
  dashboard: 'Starting in this dashboard: it reads its source, or waits for another run of the same store.',
  worker: 'A worker is starting it.',
  queue: 'Queued: it waits for a worker.',
  command: 'Starting.',
};

function activityButtons({ run }: Activity, name: string, viewer: Viewer) {
  if (run === null) return [];
  const watch = { label: 'Watch', weight: 'primary', about: name } as const;
  return [
    actionButton(viewer, 'see', run.id, watch),
    actionButton(viewer, 'cancel', run.id, { about: name }),
  ];
}

function startButtons(about: string, job: Job, need: Need | null, viewer: Viewer) {
  const look = need?.look ?? null;
  const plan = job.kind === 'import' ? [actionButton(viewer, 'plan', about, { about })] : [];
  if (look === null) return [actionButton(viewer, 'run', about, { weight: 'primary', about }), ...plan];
  const label = `See the ${look.undo !== undefined ? 'undo' : look.kind === 'plan' ? 'plan' : 'last run'}`;
  return [
    actionButton(viewer, 'see', look.id, { label, weight: 'primary', about }),
    actionButton(viewer, 'run', about, { about }),
    ...plan,
  ];
}

function nextWords({ schedule, next }: JobFacts, reading: Reading): Slot {
  if (schedule === null) return quiet('No schedule');
  if (next === null) return 'Once a worker has read the schedule';
  return next <= reading.now
    ? html`Due since ${momentAndDistance(next, reading)}`
    : momentAndDistance(next, reading);
}

function lastFact({ facts: { last }, job, need }: JobCardFacts, reading: Reading) {
  if (last !== undefined) return fact('Last run', lastWords(last, reading));
  const advice =
    job?.kind === 'import' &&
    need?.look == null &&
    'Plan it first: that shows what a run would send, and sends nothing.';
  return fact('Last run', html`Never. ${advice}`);
}

function lastWords(last: Run, reading: Reading) {
  const words = figuresWords(last);
  const link = html`<a href="/runs/${last.id}">${words === '' ? `run ${last.id}` : words}</a>`;
  const lasted = formatDuration(lastedMs(last, reading.now));
  return html`${link} <span class="quiet">${relativeTime(last.startedAt, reading)}, took ${lasted}</span>`;
}

/** `15 2 * * *` as `At 02:15, every day`; the expression itself if it has no simple description. */
export function scheduleWords(cron: string): string {
  try {
    const words = cronstrue.toString(cron, { use24HourTimeFormat: true });
    return /^At [\d:]+$/.test(words) ? `${words}, every day` : words;
  } catch {
    return cron;
  }
}

/** What a job moves, from where and to where. */
export function describeMove(job: Job): Markup {
  if (job.kind === 'export') {
    const how = { append: 'adds to', new: 'writes what is new to', replace: 'writes' }[job.destination.mode];
    return html`Reads the ${exportedWords(job)} of the store <b>${job.store}</b> and ${how} ${placeWords(job.destination)}`;
  }
  const { mode } = job;
  const how = { upsert: 'Imports', mirror: 'Mirrors', update: 'Updates', create: 'Creates' }[mode];
  return html`${how} ${job.import} from ${placeWords(job.source)} into the store <b>${job.store}</b>`;
}

/** The place of a file for people, without secrets: an uploaded one by its name, any other as the job names it. */
export function placeWords({
  path,
  remote,
  table,
}: FilePlace & { readonly table?: string | undefined }): Markup {
  const name = uploadedName(path);
  if (name !== undefined) return html`the uploaded file <code>${name}</code>`;
  const place = html`<code>${remote === undefined ? path : remote.location}</code>`;
  return table === undefined ? place : html`the table <code>${table}</code> of ${place}`;
}

/** Whether a job collects list statistics over time. */
export function hasTrends(job: Job | undefined): job is ExportJob {
  return job?.kind === 'export' && keepsHistory(job);
}

/** `orders` or `subscriber lists`. */
export function exportedWords({ export: what }: ExportJob): string {
  return what.replace('-', ' ');
}
