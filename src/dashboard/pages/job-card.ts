import type { Job } from '../../config/job/job.ts';
import type { ConfigurationProblem } from '../../model/errors.ts';
import { lastedMs, type Run } from '../../model/run.ts';
import { html, type Markup, type Slot } from '../../report/html/markup.ts';
import { statusBadge } from '../../report/html/status-badge.ts';
import type { JobFacts } from '../../report/jobs-text.ts';
import { formatDuration } from '../../report/wording/durations.ts';
import { totalsWords } from '../../report/wording/totals-words.ts';
import { keepsHistory, whatItMoves } from './job-words.ts';
import { momentAndDistance, type Reading, relative } from './moment.ts';
import { scheduleWords } from './schedule-words.ts';

/** A job, and how its nights went. */
export interface JobCardFacts {
  readonly facts: JobFacts;
  /** Undefined when its file cannot be used. */
  readonly job: Job | undefined;
  readonly problems: readonly ConfigurationProblem[];
  /** A drawing of the latest nights; null while there are too few to compare. */
  readonly history: Markup | null;
  /** Whose clock times are shown by. */
  readonly timezone: string;
}

interface CardView {
  readonly now: number;
  readonly viewer: { readonly canAct: boolean };
}

/** A job among others. */
export function jobCard({ facts, job, problems, history, timezone }: JobCardFacts, view: CardView): Markup {
  const reading = { now: view.now, timezone };
  const { job: name, last } = facts;
  return html`<article class="card job">
<div class="job-head"><h2><a href="${jobHref(name)}">${name}</a></h2>${last !== undefined && statusBadge(last.status)}</div>
${job !== undefined && html`<p class="job-what">${whatItMoves(job)}.</p>`}
${problems.length > 0 && html`<p class="job-problems">Its file cannot be used as it stands; what is wrong is said above.</p>`}
<dl class="facts">${scheduleFacts(facts, reading)}${lastFact(last, job, reading)}</dl>
${history}
${jobActions(name, job, view.viewer)}
</article>`;
}

/** When a job runs, in words, and when next. */
export function scheduleFacts({ schedule, next, broken }: JobFacts, reading: Reading): Markup {
  if (broken) return html``;
  if (schedule === null) return fact('Schedule', 'By hand only');
  const when = html`${scheduleWords(schedule.cron)} <span class="quiet">${schedule.timezone}</span>`;
  const coming =
    next === null
      ? 'When a worker has seen it'
      : next <= reading.now
        ? 'Due now'
        : momentAndDistance(next, reading);
  return html`${fact('Schedule', when)}${fact('Next', coming)}`;
}

/** What may be done with a job; each leads to a page that says what will happen. */
export function jobActions(name: string, job: Job | undefined, { canAct }: CardView['viewer']): Markup {
  const trends =
    keepsHistory(job) &&
    html`<a class="button" href="/lists/${encodeURIComponent(name)}">Trends${ofJob(name)}</a>`;
  if (!canAct || job === undefined)
    return html`${trends !== false && html`<p class="actions">${trends}</p>`}`;
  return html`<p class="actions"><a class="button primary" href="${jobHref(name)}/run">Run${ofJob(name)}</a>${job.kind === 'import' && html`<a class="button" href="${jobHref(name)}/plan">Plan${ofJob(name)}</a>`}${trends}</p>`;
}

/** The address of a job's page. */
export function jobHref(name: string): string {
  return `/jobs/${encodeURIComponent(name)}`;
}

/** A term with what is to be said about it, within a `<dl class="facts">`. */
export function fact(term: string, description: Slot): Markup {
  return html`<div><dt>${term}</dt><dd>${description}</dd></div>`;
}

/** Several buttons of a page bear the same word: which is whose must be heard, too. */
function ofJob(name: string): Markup {
  return html`<span class="visually-hidden"> ${name}</span>`;
}

function lastFact(last: Run | undefined, job: Job | undefined, reading: Reading): Markup {
  if (last === undefined) {
    const advice =
      job?.kind === 'import' && 'Plan it first: that shows what a run would send, and sends nothing.';
    return fact('Last run', html`Never. ${advice}`);
  }
  const link = (words: string) => html`<a href="/runs/${last.id}">${words}</a>`;
  if (last.status === 'running') {
    return fact(
      'Under way',
      html`${link('Watch it')} <span class="quiet">begun ${relative(last.startedAt, reading)}</span>`,
    );
  }
  const lasted = formatDuration(lastedMs(last, reading.now));
  const words = totalsWords(last);
  return fact(
    'Last run',
    html`${link(words === '' ? `run ${last.id}` : words)} <span class="quiet">${relative(last.startedAt, reading)}, took ${lasted}</span>`,
  );
}
