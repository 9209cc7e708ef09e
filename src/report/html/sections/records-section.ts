import type { Plan } from '../../../model/plan.ts';
import { type OutcomeFigures, outcomesOf } from '../../outcomes.ts';
import { formatShare } from '../../wording/shares.ts';
import { counted, grouped } from '../../wording/words.ts';
import { dataTable } from '../data-table.ts';
import { html, type Markup } from '../markup.ts';
import type { ReportFacts } from '../report-facts.ts';
import { section } from '../section.ts';
import { shareBar } from '../share-bar.ts';
import { deletesNote } from './deletes-note.ts';
import { keyExamples } from './key-examples.ts';

/** What became of all records, or would: one bar, and the figures that add up. Null while nothing is known. */
export function recordsSection(facts: ReportFacts): Markup | null {
  const { run, plan } = facts;
  const outcomes = outcomesOf(facts);
  const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  const rows = outcomes.reduce((sum, outcome) => sum + outcome.rows, 0);
  if (records === 0 && rows === 0) return null;
  const things = counted(records, run.resource === 'contacts' ? 'contact' : 'product');
  const table = dataTable({
    caption: 'What became of each, counted in records and in the rows of the file that they were made of',
    captionHidden: true,
    columns: [
      { header: 'Outcome' },
      { header: 'Records', numeric: true },
      { header: 'Share', numeric: true },
      { header: 'Rows', numeric: true },
      { header: 'What it means', bare: true },
    ],
    rows: outcomes.map((outcome) => [
      html`<span class="swatch share-${outcome.kind}" aria-hidden="true"></span>${outcome.label}`,
      grouped(outcome.records),
      formatShare(outcome.records, records),
      grouped(outcome.rows),
      html`${outcome.meaning}${examplesOf(outcome, plan)}`,
    ]),
    sum: ['Total', grouped(records), '', grouped(rows), ''],
  });
  return section(
    'records',
    `${things} in ${counted(rows, 'row')}`,
    html`${shareBar(outcomes, `What became of ${things}`)}${table}${deletesNote(facts)}`,
  );
}

function examplesOf({ kind, records }: OutcomeFigures, plan: Plan | null): Markup | null {
  if (plan === null || records === 0 || (kind !== 'new' && kind !== 'changed')) return null;
  return keyExamples(plan.examples[kind]);
}
