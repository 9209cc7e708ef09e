import { sep } from 'node:path';
import type { ExportJob } from '../../config/job/job.ts';
import type { Workspace } from '../../config/workspace.ts';
import { mayDo } from '../../model/action.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { sentenceOf } from '../../model/storeferry-error.ts';
import { sectionMarkup } from '../../report/html/document-sections.ts';
import { code, html, type Markup } from '../../report/html/markup.ts';
import { type ListTrend, latestFigures, listSection, listTrends } from '../../report/run-document.ts';
import { exportHistory } from '../../run/export/export-folder.ts';
import { counted } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { PageError } from '../guard/page-error.ts';
import { type PageRequest, workspaceOf } from '../route-parts.ts';
import { describeMove, hasTrends } from './job-card.ts';
import { actionHref, jobHref, jobLink, listsHref, queryOf } from './link-button.ts';
import {
  emptyBox,
  moment,
  momentAndDistance,
  noticeText,
  type Page,
  type Pages,
  pageOf,
  pager,
  type Reading,
  readingOf,
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
            html`<p>A job that exports subscriber lists and appends to its file collects their figures, and this page plots them over time.</p>${mayDo(role, 'make-job') && html`<p class="actions"><a class="button primary" href="/exports/new">Collect list statistics</a></p>`}`,
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
  { subject: name, fields, viewer }: PageRequest,
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
    const { location, history } = await exportHistory(workspace.fileAccess(), job, signal);
    const reading = readingOf(context, viewer);
    const range = { from: dayIn(fields['from']), to: dayIn(fields['to']) };
    const dayOf = dayFormat(reading.timezone);
    const points = history.points.filter(({ readAt }) => {
      const day = dayOf(readAt);
      return day >= range.from && (range.to === '' || day <= range.to);
    });
    const { lists, moments } = listTrends({ ...history, points });
    const shown = pageOf(lists, LISTS_PER_PAGE, fields['page']);
    const facts = {
      job: name,
      location,
      lists,
      moments,
      unreadable: history.unreadable,
      shown,
      reading,
      range,
    };
    const body = history.points.length === 0 ? noReadings(facts, viewer) : await trends(facts);
    return { ...page, heading: html`Lists`, body };
  } catch (error) {
    // With paths relative to the workspace.
    const why = redact(sentenceOf(error).replaceAll(`${workspace.dir}${sep}`, ''));
    const words = html`<p>${why}</p><p><a href="${jobHref(name)}">The job ${name}</a></p>`;
    return { ...page, body: emptyBox('The history cannot be read', words) };
  }
}

interface ListFacts {
  readonly job: string;
  /** The path of the history. */
  readonly location: string;
  /** All lists, those that the store still has first. */
  readonly lists: readonly ListTrend[];
  readonly shown: Pages<ListTrend>;
  /** The times of readings, in ascending order. */
  readonly moments: readonly number[];
  /** Number of unreadable lines. */
  readonly unreadable: number;
  readonly reading: Reading;
  /** Days, `2026-11-28`; empty for no bound. */
  readonly range: { readonly from: string; readonly to: string };
}

/** A day that was typed; empty for anything else. */
function dayIn(typed = ''): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(typed) ? typed : '';
}

/** Writes the day of a time as date fields do. */
function dayFormat(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  return (at) => format.format(at);
}

function rangeForm({ job, range }: ListFacts): Markup {
  const day = (name: 'from' | 'to', label: string) => ({
    name,
    label,
    control: html`<input type="date" id="${name}" name="${name}" value="${range[name]}">`,
  });
  return filterForm(listsHref(job), [day('from', 'From'), day('to', 'To')]);
}

async function trends(facts: ListFacts): Promise<Markup> {
  if (facts.moments.length === 0)
    return html`${rangeForm(facts)}${emptyBox('No readings in these days', html`<p><a href="${listsHref(facts.job)}">All readings</a></p>`)}`;
  const { job, lists, moments, location, unreadable, shown, reading, range } = facts;
  const [first, last] = [moments[0] ?? 0, moments.at(-1) ?? 0];
  const span =
    moments.length === 1
      ? html`taken ${relativeTime(last, reading)}`
      : html`from ${moment(first, reading)} to ${momentAndDistance(last, reading)}`;
  const since = range.from === '' || moments.length === 1 ? undefined : first;
  const dayOf = dayFormat(reading.timezone);
  const latest = {
    id: 'latest',
    title: since === undefined ? 'Latest figures' : `Changes from ${dayOf(first)} to ${dayOf(last)}`,
    blocks: [latestFigures(lists, { now: reading.now, since })],
  };
  const each = withoutAbsent(shown.items.map((list) => listSection(list, reading)));
  const sections = await Promise.all([latest, ...each].map((part) => sectionMarkup(part)));
  return html`<p class="page-lead">${counted(lists.length, 'list')}, ${counted(moments.length, 'reading')} ${span}, collected by ${jobLink(job)} in ${code(location)}.</p>
${rangeForm(facts)}
${unreadable > 0 && noticeText(`${counted(unreadable, 'line')} of the file cannot be read and ${unreadable === 1 ? 'is' : 'are'} left out.`, 'warning')}
${moments.length === 1 && noticeText(html`One reading shows no change yet: each run of ${jobLink(job)} takes another.`)}
<div class="report">${sections}</div>
${pager(shown, (number) => `${listsHref(job)}${queryOf({ ...range, page: number > 1 && number })}`)}`;
}

function noReadings({ job, location }: ListFacts, viewer: Viewer): Markup {
  return emptyBox(
    'No readings yet',
    html`<p>${code(location)} is empty. Each run of ${jobLink(job)} adds one line per list. ${mayDo(viewer.role, 'run') ? html`<a href="${actionHref('run', job)}">Run it now</a>.` : 'Somebody with the role operate can run it.'}</p>`,
  );
}
