import { sep } from 'node:path';
import type { ExportJob } from '../../config/job/job.ts';
import type { Workspace } from '../../config/workspace.ts';
import { mayDo } from '../../model/action.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { sentenceOf } from '../../model/storeferry-error.ts';
import { sectionMarkup } from '../../report/html/document-sections.ts';
import { code, html, link } from '../../report/html/markup.ts';
import { latestFigures, listSection, listTrends } from '../../report/run-document.ts';
import { exportHistory } from '../../run/export/export-run.ts';
import { counted, isOrAre } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { PageError } from '../guard/page-error.ts';
import { type FormFields, type PageRequest, workspaceOf } from '../route-parts.ts';
import { describeMove, hasTrends } from './job-card.ts';
import { actionHref, buttonRow, jobHref, jobLink, linkButton, listsHref } from './link-button.ts';
import {
  emptyBox,
  moment,
  momentAndDistance,
  noticeText,
  type Page,
  pageOf,
  pager,
  type Reading,
  relativeTime,
} from './page.ts';
import { filterForm } from './post-form.ts';

const LISTS_PER_PAGE = 10;
/** A history may be on another machine: a page waits for it at most this long. */
const READ_WITHIN_MS = 10_000;

/** The jobs that collect list statistics, as a list of links. */
export function listsPage(jobs: readonly ExportJob[], { role }: Pick<Viewer, 'role'>): Page {
  return {
    title: 'Lists',
    section: 'lists',
    body:
      jobs.length === 0
        ? emptyBox(
            'No list statistics yet',
            'A job that exports subscriber lists and appends to its file collects their figures, and this page plots them over time.',
            mayDo(role, 'make-job') &&
              buttonRow(linkButton('/exports/new', { label: 'Collect list statistics', weight: 'primary' })),
          )
        : html`<ul class="cards">${jobs.map(
            (job) =>
              html`<li><article class="card"><h2><a href="${listsHref(job.name)}">${job.name}</a></h2><p>${describeMove(job)}.</p></article></li>`,
          )}</ul>`,
  };
}

/** The jobs that collect a history of lists. */
export function historyJobs(workspace: Workspace): ExportJob[] {
  return workspace.jobNames().flatMap((name) => {
    const { job } = workspace.inspectJob(name);
    return hasTrends(job) ? [job] : [];
  });
}

/**
 * The lists that an export job reads: their latest figures, and plots over time, some lists per page; or why its file
 * cannot be read. PageError if it collects none.
 */
export async function listPage(
  dashboard: DashboardContext,
  { subject: name, fields, viewer, reading }: PageRequest,
): Promise<Page> {
  const { context, redact } = dashboard;
  const workspace = workspaceOf(dashboard, name);
  const { job } = workspace.inspectJob(name);
  if (!hasTrends(job)) {
    const advice =
      'Trends need a job that adds the statistics of lists to its file: New export, on the page Jobs, makes one.';
    throw new PageError(404, `${name} collects no list statistics`, advice);
  }
  const page = { title: `Lists of ${name}`, section: 'lists' } as const;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(READ_WITHIN_MS)]);
  try {
    const found = await exportHistory(workspace.fileAccess(), job, signal);
    const body =
      found.history.points.length === 0
        ? noReadings(name, found.location, viewer)
        : await trends(name, found, fields, reading);
    return { ...page, heading: html`Lists`, body };
  } catch (error) {
    // With paths relative to the workspace.
    const why = redact(sentenceOf(error).replaceAll(`${workspace.dir}${sep}`, ''));
    const toJob = html`<p>${link(jobHref(name), `The job ${name}`)}</p>`;
    return { ...page, body: emptyBox('The history cannot be read', why, toJob) };
  }
}

/** A day that was typed, `2026-11-28`; empty for anything else, which is no bound. */
function dayIn(typed = '') {
  return /^\d{4}-\d{2}-\d{2}$/.test(typed) ? typed : '';
}

async function trends(
  job: string,
  { location, history }: Awaited<ReturnType<typeof exportHistory>>,
  fields: FormFields,
  reading: Reading,
) {
  const href = listsHref(job);
  const range = { from: dayIn(fields['from']), to: dayIn(fields['to']) };
  // As date fields write days.
  const days = new Intl.DateTimeFormat('en-CA', { timeZone: reading.timezone, dateStyle: 'short' });
  const points = history.points.filter(({ readAt }) => {
    const day = days.format(readAt);
    return day >= range.from && (range.to === '' || day <= range.to);
  });
  const { lists, moments } = listTrends({ ...history, points });
  const day = (name: 'from' | 'to', label: string) => ({
    name,
    label,
    control: html`<input type="date" id="${name}" name="${name}" value="${range[name]}">`,
  });
  const form = filterForm(href, [day('from', 'From'), day('to', 'To')]);
  const [first, last = first] = [moments[0], moments.at(-1)];
  if (first === undefined || last === undefined)
    return html`${form}${emptyBox('No readings in these days', link(href, 'All readings'))}`;
  const shown = pageOf(lists, LISTS_PER_PAGE, fields['page']);
  const isOne = moments.length === 1;
  const span = isOne
    ? html`taken ${relativeTime(last, reading)}`
    : html`from ${moment(first, reading)} to ${momentAndDistance(last, reading)}`;
  const since = range.from === '' || isOne ? undefined : first;
  const latest = {
    id: 'latest',
    title:
      since === undefined ? 'Latest figures' : `Changes from ${days.format(first)} to ${days.format(last)}`,
    blocks: [latestFigures(lists, { now: reading.now, since })],
  };
  const each = withoutAbsent(shown.items.map((list) => listSection(list, reading)));
  const sections = await Promise.all([latest, ...each].map((part) => sectionMarkup(part)));
  const { unreadable } = history;
  return html`<p class="page-lead">${counted(lists.length, 'list')}, ${counted(moments.length, 'reading')} ${span}, collected by ${jobLink(job)} in ${code(location)}.</p>
${form}
${unreadable > 0 && noticeText(`${counted(unreadable, 'line')} of the file cannot be read and ${isOrAre(unreadable)} left out.`, 'warning')}
${isOne && noticeText(html`One reading shows no change yet: each run of ${jobLink(job)} takes another.`)}
<div class="report">${sections}</div>
${pager(shown, href, range)}`;
}

function noReadings(job: string, location: string, viewer: Viewer) {
  return emptyBox(
    'No readings yet',
    html`${code(location)} is empty. Each run of ${jobLink(job)} adds one line per list. ${mayDo(viewer.role, 'run') ? html`${link(actionHref('run', job), 'Run it now')}.` : 'Somebody with the role operate can run it.'}`,
  );
}
