import type { ConfigurationProblem } from '../../model/errors.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import type { ClockKeeper } from '../../report/jobs-text.ts';
import { counted } from '../../report/wording/words.ts';
import { clockNote } from './clock-note.ts';
import type { Frame } from './frame.ts';
import { type JobCardFacts, jobCard } from './job-card.ts';
import { page } from './layout.ts';
import { problemList } from './problem-list.ts';

/** What the first page is made of. */
export interface JobsPageFacts {
  readonly jobs: readonly JobCardFacts[];
  readonly keeper: ClockKeeper;
  /** What a run would stop at. */
  readonly problems: readonly ConfigurationProblem[];
  /** What may be meant so, or is yet to be set. */
  readonly warnings: readonly ConfigurationProblem[];
  /** Variables of the environment that are needed. */
  readonly unset: readonly string[];
  readonly program: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The jobs of the workspace: what each moves, when, how it went last and the nights before. */
export function jobsPage(facts: JobsPageFacts, frame: Frame): string {
  const { jobs, keeper, problems, warnings, unset, program, now } = facts;
  const scheduled = jobs.some(({ facts: { schedule } }) => schedule !== null);
  return page({
    ...frame,
    title: 'Jobs',
    section: 'jobs',
    body: html`${problems.length > 0 && problemsBox(problems, program)}
${unset.length > 0 && unsetBox(unset)}
${scheduled && clockNote(keeper, program)}
${jobs.length === 0 ? noJobs(program) : html`<ul class="cards">${jobs.map((job) => html`<li>${jobCard(job, { now, viewer: frame.viewer })}</li>`)}</ul>`}
${warnings.length > 0 && html`<details class="worth-knowing"><summary>Worth a look: ${counted(warnings.length, 'remark')} on the files of the workspace</summary>${problemList(warnings)}</details>`}`,
  });
}

function problemsBox(problems: readonly ConfigurationProblem[], program: string): Markup {
  return html`<section class="notice bad" aria-labelledby="problems"><h2 id="problems">To mend in the files of the workspace: ${counted(problems.length, 'problem')}</h2>
${problemList(problems)}
<p>Correct the files and load this page again; <code>${program} check</code> says the same.</p></section>`;
}

function unsetBox(unset: readonly string[]): Markup {
  return html`<p class="notice warning">Not set yet: ${unset.map((name, index) => html`${index > 0 && ', '}<code>${name}</code>`)}. Set ${unset.length === 1 ? 'it' : 'them'} in <code>.env</code>, then load this page again: what needs ${unset.length === 1 ? 'it' : 'them'} cannot run.</p>`;
}

function noJobs(program: string): Markup {
  return html`<section class="empty"><h2>No jobs yet</h2>
<p>A job is a file in <code>jobs/</code> that says what to move, by which mapping and when. This command asks a few questions, looks at your file and writes one:</p>
<pre><code>${program} init</code></pre></section>`;
}
