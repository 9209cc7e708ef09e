import type { ConfigurationProblem } from '../../model/errors.ts';
import type { Run } from '../../model/run.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { section } from '../../report/html/section.ts';
import { statusBadge } from '../../report/html/status-badge.ts';
import type { ClockKeeper } from '../../report/jobs-text.ts';
import { clockNote } from './clock-note.ts';
import type { Frame } from './frame.ts';
import { activityWords, type JobCardFacts, jobActions, scheduleFacts } from './job-card.ts';
import { jobSettings } from './job-settings.ts';
import { settledRuns } from './job-state.ts';
import { whatItMoves } from './job-words.ts';
import { page } from './layout.ts';
import { problemList } from './problem-list.ts';
import { runsTable } from './runs-table.ts';

/** What the page of a job is made of. */
export interface JobPageFacts {
  readonly card: JobCardFacts;
  readonly keeper: ClockKeeper;
  /** Newest first. */
  readonly runs: readonly Run[];
  readonly program: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** One job: what it needs, its recent runs, and what its file says. */
export function jobPage({ card, keeper, runs, program, now }: JobPageFacts, frame: Frame): string {
  const { facts, job, problems, activity, need, history, timezone } = card;
  const reading = { now, timezone };
  const { last } = facts;
  return page({
    ...frame,
    title: facts.job,
    section: 'jobs',
    heading: html`${facts.job} ${last !== undefined && statusBadge(last.status)}`,
    body: html`${job !== undefined && html`<p class="page-lead">${whatItMoves(job)}.</p>`}
${problems.length > 0 && problemsBox(problems)}
${activity !== null ? html`<p class="notice">${activityWords(activity, reading)}</p>` : need !== null && problems.length === 0 && html`<p class="notice ${need.tone}">${need.why}</p>`}
${facts.schedule !== null && keeper !== 'worker' && clockNote(keeper, program)}
<dl class="facts">${scheduleFacts(facts, reading)}</dl>
${jobActions(card, frame.viewer)}
<div class="report">
${history !== null && section('recent', 'Recent runs', history)}
${section('runs', 'All runs', runs.length === 0 ? noRuns(card, program) : runsTable(runs, { caption: `Runs of ${facts.job}, newest first`, captionHidden: true, ofOneJob: true, reading, settled: settledRuns(runs) }))}
${job !== undefined && section('settings', 'Settings', jobSettings(job))}
</div>`,
  });
}

function problemsBox(problems: readonly ConfigurationProblem[]): Markup {
  return html`<section class="notice bad"><h2>This job cannot run: its file has errors</h2>${problemList(problems)}<p>Correct the file and load this page again.</p></section>`;
}

function noRuns({ facts, job }: JobCardFacts, program: string): Markup {
  if (job === undefined) return html`<p>No runs yet.</p>`;
  if (job.kind !== 'import')
    return html`<p>No runs yet. Start one: <code>${program} run ${facts.job}</code></p>`;
  return html`<p>No runs yet. A plan shows what a run would send, and sends nothing: <code>${program} plan ${facts.job}</code></p>`;
}
