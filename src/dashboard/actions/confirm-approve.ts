import type { SafetyVerdict } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { foreign, html, type Slot } from '../../report/html/markup.ts';
import { counted, grouped, listed, newWord } from '../../report/printable.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { planWarnings } from '../../report/sections/notes-section.ts';
import { safetyFound } from '../../report/sections/safety-section.ts';
import { PageError } from '../guard/page-error.ts';
import { type Reading, relative } from '../pages/moment.ts';
import { at } from './confirm-run.ts';
import type { Confirmation } from './confirmation.ts';

/** What approving a plan will do, to the figure. PageError when there is nothing to approve, or a `later` run has begun. */
export function confirmApprove(report: RunFacts, later: Run | undefined, reading: Reading): Confirmation {
  const { run, plan, totals, unsentDeletes } = report;
  const { id, job, store, baseUrl } = run;
  if (plan === null || (run.status !== 'planned' && run.status !== 'stopped')) {
    throw new PageError(
      409,
      'Nothing to approve',
      `The run ${id} is ${run.status}: only a planned or stopped run can be approved. Plan the job again.`,
    );
  }
  if (later !== undefined) {
    throw new PageError(
      409,
      'Nothing to approve any more',
      `The run ${later.id} of ${job} has begun since ${id} was planned. Plan the job again.`,
    );
  }
  const { counts, resource } = plan;
  const thing = resource === 'products' ? 'product' : 'contact';
  const upserts = totals.unsent;
  const parts = [
    [counts.new.records, newWord(resource)],
    [counts.changed.records, 'changed'],
    [counts.resent.records, 'sent again'],
  ] as const;
  const named = parts.filter(([figure]) => figure > 0).map(([figure, word]) => `${grouped(figure)} ${word}`);
  const before = totals.applied + totals.deleted;
  return {
    title: `Approve the plan of ${job}?`,
    lead: html`Sends exactly <a href="/runs/${id}">this plan</a>, made ${relative(run.startedAt, reading)}. The source is not read again.`,
    warnings: plan.safety
      .filter(({ exceeded }) => exceeded)
      .map(
        (verdict) =>
          html`Beyond the safety limit: ${safetyFound(verdict, run)}${limitOf(verdict)}.${examplesOf(verdict)}`,
      ),
    does: [
      html`Sends <b>${counted(upserts, 'request')}</b> to the store ${at({ name: store, baseUrl })}${named.length > 0 && `: ${listed(named)}`}${before > 0 && `; ${grouped(before)} of the plan were sent before`}.`,
      unsentDeletes > 0
        ? html`Deletes <b>${counted(unsentDeletes, thing)}</b>, after everything else and only if nothing is left unsent.`
        : 'Deletes nothing.',
      counts.unchanged.records > 0 &&
        `Leaves ${counted(counts.unchanged.records, `${thing} as it is`, `${thing}s as they are`)}.`,
      counts.rejected.records > 0 &&
        `Does not send ${counted(counts.rejected.records, `rejected ${thing}`)}.`,
      ...planWarnings(plan),
    ].filter((what) => what !== false),
    label: unsentDeletes > 0 ? `Send and delete` : 'Send this plan',
    weight: unsentDeletes > 0 || plan.safety.some(({ exceeded }) => exceeded) ? 'danger' : 'primary',
    action: `/runs/${id}/approve`,
    back: `/runs/${id}`,
  };
}

/** The worst of what was found, and how much more there is. */
function examplesOf({ examples = [], figure }: SafetyVerdict): Slot {
  const more = examples.length === 0 ? 0 : figure - examples.length;
  const rest = more > 0 ? [html`and ${grouped(more)} more`] : [];
  return [...examples.map((text) => foreign(text)), ...rest].map((line) => html`<br>${line}`);
}

function limitOf({ allowed }: SafetyVerdict): string {
  return allowed === undefined ? '' : `; the limit is ${allowed.text}`;
}
