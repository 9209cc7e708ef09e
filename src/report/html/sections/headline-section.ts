import type { Move } from '../../../model/plan.ts';
import { lastedMs } from '../../../model/run.ts';
import { headline } from '../../headline.ts';
import { isOnlyPlanned } from '../../outcomes.ts';
import { unusualMoves } from '../../unusual-moves.ts';
import { formatDuration } from '../../wording/durations.ts';
import { formatMoment } from '../../wording/moments.ts';
import { statusTone } from '../../wording/status-words.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { statusBadge } from '../status-badge.ts';
import { foreign } from '../text.ts';
import { moveSentence } from './move-sentence.ts';

/** What happened in one sentence, why, and what must be looked at before anything is done. */
export function headlineSection(facts: ReportFacts): Markup {
  const { run, plan, now } = facts;
  const { sentence, explanation } = headline(facts);
  const isTold = run.status === 'stopped' && plan !== null;
  const unusual = plan === null ? [] : unusualMoves(plan);
  const lasted = formatDuration(lastedMs(run, now));
  return html`<section class="lead tone-${statusTone(run.status)}" aria-label="In short">
<p class="state">${statusBadge(run.status)} <span class="when">${formatMoment(run.finishedAt ?? now)}, ${run.status === 'running' ? 'under way for' : 'took'} ${lasted}</span></p>
<p class="headline">${sentence}</p>
${explanation !== null && html`<p class="explanation">${explanation}</p>`}
${run.error !== null && !isTold && html`<p class="problem"><strong>Why:</strong> ${foreign(run.error)}</p>`}
${unusual.length > 0 && lookFirst(facts, unusual)}
</section>
`;
}

function lookFirst(facts: ReportFacts, unusual: readonly Move[]): Markup {
  const words = isOnlyPlanned(facts) ? 'Look at this first' : 'Look at this';
  return html`<div class="look-first"><p><strong>${words}:</strong> prices that change more than usual</p><ul>${unusual.map(
    (move) => html`<li>${moveSentence(move)}</li>`,
  )}</ul></div>`;
}
