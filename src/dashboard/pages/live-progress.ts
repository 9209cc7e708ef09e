import type { Run, RunStep } from '../../model/run.ts';
import { progressWords, shareOf } from '../../report/format-progress.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { grouped } from '../../report/wording/words.ts';
import { type Reading, relative } from './moment.ts';

/** The steps of a run in order, and what each does, in words. */
const STEPS = {
  import: [
    ['stage', 'Copy the source'],
    ['plan', 'Plan what must change'],
    ['apply', 'Send it to the store'],
    ['finish', 'Write the reports'],
  ],
  verify: [['apply', 'Send a sample again']],
  export: [
    ['read', 'Read the store'],
    ['write', 'Write the file'],
    ['finish', 'Write the reports'],
  ],
} as const satisfies Record<string, readonly (readonly [RunStep, string])[]>;

/**
 * How far a run under way is. The script `live.js` fills whatever is marked `data-live` from the events at
 * `data-events`, and loads the page anew at the end; without it the page stays as it was, and says so.
 */
export function liveProgress(run: Run, reading: Reading): Markup {
  const { id, step, progress, interruptAskedAt = null } = run;
  const known = progress?.step === step ? progress : null;
  const share = known && shareOf(known);
  const words = known && progressWords({ ...known, ratePerSecond: null, etaMs: null });
  return html`<section class="live panel" aria-labelledby="under-way" data-events="/runs/${id}/events">
<h2 id="under-way">Under way <span class="quiet">started ${relative(run.startedAt, reading)}</span></h2>
<ol class="live-steps">${stepsOf(run).map(
    ([name, words]) =>
      html`<li data-step="${name}"${name === step && html` aria-current="step"`}>${words}</li>`,
  )}</ol>
<progress data-live="bar" aria-label="How far this step is" max="1"${share !== null && html` value="${share.toFixed(4)}"`}></progress>
<p class="live-line"><b data-live="percent">${words?.percent ?? ''}</b> <span data-live="figures">${words?.figures ?? ''}</span> <span data-live="rate"></span> <span data-live="left"></span></p>
<dl class="facts">
<div><dt>Applied so far</dt><dd data-live="applied">${grouped(progress?.applied ?? 0)}</dd></div>
<div><dt>Rejected so far</dt><dd data-live="rejected">${grouped(progress?.rejected ?? 0)}</dd></div>
</dl>
<p class="visually-hidden" role="status" data-live="spoken"></p>
<p class="notice" data-live="lost" hidden>The connection to the dashboard is lost; trying again.</p>
${interruptAskedAt !== null && html`<p class="notice">It was asked to stop ${relative(interruptAskedAt, reading)}, and finishes what is in flight.</p>`}
<noscript><p class="quiet">Without JavaScript this stands still: <a href="/runs/${id}">look again</a>.</p></noscript>
</section>`;
}

function stepsOf({ kind }: Run): readonly (readonly [RunStep, string])[] {
  const steps = STEPS[kind === 'export' || kind === 'verify' ? kind : 'import'];
  return kind === 'plan' ? steps.filter(([step]) => step !== 'apply') : steps;
}
