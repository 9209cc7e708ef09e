import { lastedMs } from '../../../model/run.ts';
import { formatDuration } from '../../wording/durations.ts';
import { formatMoment } from '../../wording/moments.ts';
import { grouped } from '../../wording/words.ts';
import { html, type Markup, type Slot } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { foreign } from '../text.ts';

/** When, where and by what, for whoever looks into it later. */
export function aboutSection(facts: ReportFacts): Markup {
  const entries = entriesOf(facts).filter(([, value]) => value !== null);
  return section(
    'about',
    'About this run',
    html`<dl class="about">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`,
  );
}

function entriesOf({ run, totals, now, version }: ReportFacts): [name: string, value: Slot][] {
  const lasted = formatDuration(lastedMs(run, now));
  return [
    ['Run', html`<code>${foreign(run.id)}</code> (${kindWords(run)})`],
    ['Job', foreign(run.job)],
    ['Store', html`${foreign(run.store)}, ${foreign(run.baseUrl, 200)}`],
    ['Begun', formatMoment(run.startedAt)],
    ['Source taken', run.stagedAt === null || run.kind === 'export' ? null : formatMoment(run.stagedAt)],
    ['Ended', run.finishedAt === null ? 'not yet' : formatMoment(run.finishedAt)],
    [run.finishedAt === null ? 'Has lasted' : 'Lasted', lasted],
    ['Requests', grouped(totals.requests)],
    ['Approved', run.approved ? 'a person said yes to the plan' : null],
    ['Resend', run.resend ? 'what is unchanged, too' : null],
    ['Storeferry', foreign(version)],
    ['Report made', formatMoment(now)],
  ];
}

function kindWords({ kind, retryOf }: ReportFacts['run']): Slot {
  switch (kind) {
    case 'run':
      return 'import';
    case 'plan':
      return 'plan only';
    case 'retry':
      return retryOf === null ? 'retry' : html`retry of <code>${foreign(retryOf)}</code>`;
    case 'export':
      return 'export';
    case 'verify':
      return 'verification';
    default:
      return kind satisfies never;
  }
}
