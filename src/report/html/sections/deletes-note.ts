import { isOnlyPlanned } from '../../outcomes.ts';
import { pendingDeletes } from '../../pending-deletes.ts';
import { counted, grouped } from '../../wording/words.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { keyExamples } from './key-examples.ts';

/** What becomes of products that the source no longer has; they are in no sum of records. */
export function deletesNote(facts: ReportFacts): Markup | null {
  const { plan, totals } = facts;
  if (plan === null || totals.removed === 0) return null;
  const gone = `${counted(totals.removed, 'product')} that this job sent before ${totals.removed === 1 ? 'is' : 'are'} no longer in the source`;
  const pending = pendingDeletes(facts, plan);
  const fate = isOnlyPlanned(facts)
    ? `${grouped(plan.counts.deletes)} would be deleted`
    : `${grouped(totals.deleted)} ${totals.deleted === 1 ? 'was' : 'were'} deleted${pending === '' ? '' : `, ${pending}`}`;
  return html`<p class="deletes"><strong>Also:</strong> ${gone}: ${fate}. ${keyExamples(plan.examples.removed)}</p>
`;
}
