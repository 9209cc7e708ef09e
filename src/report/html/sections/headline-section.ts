import { lastedMs } from '../../../model/run.ts';
import { headline } from '../../headline.ts';
import { isOnlyPlanned } from '../../outcomes.ts';
import { type UnusualMoves, unusualMoves } from '../../unusual-moves.ts';
import { formatDuration } from '../../wording/durations.ts';
import { formatMoment } from '../../wording/moments.ts';
import { statusTone } from '../../wording/status-words.ts';
import { counted } from '../../wording/words.ts';
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
  const unusual = plan === null ? null : unusualMoves(plan);
  const lasted = formatDuration(lastedMs(run, now));
  return html`<section class="lead tone-${statusTone(run.status)}" aria-label="In short">
<p class="state">${statusBadge(run.status)} <span class="when">${formatMoment(run.finishedAt ?? now)}, ${run.status === 'running' ? 'under way for' : 'took'} ${lasted}</span></p>
<p class="headline">${sentence}</p>
${explanation !== null && html`<p class="explanation">${explanation}</p>`}
${run.error !== null && !isTold && html`<p class="problem"><strong>Why:</strong> ${foreign(run.error)}</p>`}
${unusual !== null && unusual.shown.length > 0 && lookFirst(facts, unusual)}
</section>
`;
}

function lookFirst(facts: ReportFacts, { shown, more }: UnusualMoves): Markup {
  const words = isOnlyPlanned(facts) ? 'Look at this first' : 'Look at this';
  return html`<div class="look-first"><p><strong>${words}:</strong> prices that change more than usual</p><ul>${shown.map(
    (move) => html`<li>${moveSentence(move)}</li>`,
  )}${more > 0 && html`<li>and ${counted(more, 'more product')}</li>`}</ul></div>`;
}
