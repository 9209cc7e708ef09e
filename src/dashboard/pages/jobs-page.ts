import { checkWorkspace } from '../../config/workspace.ts';
import { type ActionButton, mayDo } from '../../model/action.ts';
import type { ConfigurationProblem } from '../../model/storeferry-error.ts';
import { wordsMarkup } from '../../report/html/document-sections.ts';
import {
  code,
  dataTable,
  enumerated,
  html,
  type Markup,
  quiet,
  section,
  styledText,
} from '../../report/html/markup.ts';
import type { ScheduleStatus } from '../../report/run-facts.ts';
import { schedulesNote } from '../../report/status-words.ts';
import { counted, itOrThem } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import type { PageRequest } from '../route-parts.ts';
import { type JobCardFacts, jobCard, jobCells, readCards } from './job-card.ts';
import { buttonRow, linkButton } from './link-button.ts';
import { emptyBox, foldedPart, noticeText, type Page, problemList } from './page.ts';

/** The jobs of the workspace: first those that need attention, then active jobs, then all others, one per line. */
export async function jobsPage(dashboard: DashboardContext, { viewer, reading }: PageRequest): Promise<Page> {
  const { program } = dashboard;
  const workspace = dashboard.readWorkspace();
  const { problems, warnings, unset } = checkWorkspace(workspace);
  // A workspace that was made for the dashboard has no store before its first job.
  const isNew = workspace.jobNames().length === 0 && workspace.files.stores() === undefined;
  const { cards, schedules } = await readCards(dashboard, workspace, reading);
  const scheduled = cards.some(({ facts: { schedule } }) => schedule !== null);
  return {
    title: 'Jobs',
    section: 'jobs',
    body: html`${problems.length > 0 && !isNew && problemsBox(problems, program)}
${unset.length > 0 && unsetBox(unset)}
${scheduled && scheduleNotice(schedules, program)}
${cards.length === 0 ? noJobs(viewer) : html`${mayDo(viewer.role, 'make-job') && newJobButtons()}${jobGroups(cards, viewer)}`}
${warnings.length > 0 && foldedPart(`${counted(warnings.length, 'note')} on the files of the workspace`, problemList(warnings))}`,
  };
}

/** Jobs grouped by what they need: the most urgent group first, within a group by name. */
function jobGroups(jobs: readonly JobCardFacts[], viewer: Viewer) {
  const running = jobs.filter(({ activity }) => activity !== null);
  const needing = jobs
    .filter(({ activity, need }) => activity === null && need !== null)
    .sort((one, other) => (one.need?.rank ?? 0) - (other.need?.rank ?? 0));
  const others = jobs.filter(({ activity, need }) => activity === null && need === null);
  const cards = (id: string, title: string, group: readonly JobCardFacts[]) =>
    group.length > 0 &&
    html`<section class="job-group" aria-labelledby="${id}"><h2 id="${id}">${title} ${quiet(group.length)}</h2>
<ul class="cards">${group.map((job) => html`<li>${jobCard(job, viewer)}</li>`)}</ul></section>`;
  return html`${cards('needing', 'Needs attention', needing)}${cards('running', 'Running', running)}
${
  others.length > 0 &&
  html`<div class="report job-group">${section(
    'quiet-jobs',
    html`${needing.length === 0 ? 'No job needs attention' : 'No action needed'} ${quiet(others.length)}`,
    html`${dataTable({
      caption: 'Jobs that need no action',
      captionHidden: true,
      columns: ['Job', ['Outcome', 'bare', 'short'], ['Last run', 'bare'], 'Next', ['Actions', 'bare']],
      rows: others.map((job) => jobCells(job, viewer)),
    })}${others.some(({ facts, job }) => facts.last === undefined && job?.kind === 'import') && styledText('quiet', 'Plan a job that has never run first: a plan shows what a run would send, and sends nothing.')}`,
  )}</div>`
}`;
}

function problemsBox(problems: readonly ConfigurationProblem[], program: string) {
  return html`<section class="notice bad" aria-labelledby="problems"><h2 id="problems">Correct the files of the workspace: ${counted(problems.length, 'problem')}</h2>
${problemList(problems)}
<p>Then load this page again. <code>${program} check</code> prints the same list.</p></section>`;
}

function unsetBox(unset: readonly string[]) {
  return noticeText(
    html`Not set yet: ${enumerated(unset.map(code))}. Jobs that need ${itOrThem(unset.length)} cannot run. Give a store its address and key under <a href="/stores">Stores</a>; set others in <code>.env</code>, then load this page again.`,
    'warning',
  );
}

function newJobButtons(different: Partial<ActionButton> = {}) {
  return buttonRow(
    linkButton('/new', { label: 'New job', ...different }),
    linkButton('/exports/new', { label: 'New export' }),
  );
}

function noJobs({ role }: Viewer) {
  return emptyBox(
    'No jobs yet',
    `A job moves a file into a store, or reads from a store into a file: once, or on a schedule. ${mayDo(role, 'make-job') ? 'Upload a file or give its address: its columns are matched, and you see the first records before anything is sent.' : 'Somebody with the role edit can make one.'}`,
    mayDo(role, 'make-job') && newJobButtons({ weight: 'primary' }),
  );
}

/** Whether schedules are active, and what to do if they are not. */
export function scheduleNotice(schedules: ScheduleStatus, program: string): Markup {
  const style = { worker: 'quiet', 'no-worker': 'notice warning' }[schedules];
  return html`<p class="${style}">${wordsMarkup(schedulesNote(schedules, program))}</p>`;
}
