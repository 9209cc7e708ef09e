import { sumOf, withoutAbsent } from '../../model/json-object.ts';
import { isNewContactKey } from '../../model/operation.ts';
import type { KeyExample, Plan, PlanSource } from '../../model/plan.ts';
import { counted, formatShare, grouped, listed } from '../../text/printable.ts';
import { formatExamplePlace } from '../format-place.ts';
import { isOnlyPlanned, type RunFacts } from '../run-facts.ts';
import {
  foreign,
  onlyIn,
  type Section,
  type Share,
  styled,
  type TableRow,
  table,
  type Words,
} from '../section.ts';
import { newParts, resourceNoun, unsentWord } from '../status-words.ts';

const MAX_KEY_LENGTH = 60;

/** The actual or planned outcome of a part of the records. */
interface Outcome extends Share {
  readonly rows: number;
  /** Explains the label. */
  readonly meaning: string;
  /** Further details. */
  readonly note?: Words;
}

/** These outcomes are always shown, because readers look for them. */
const ALWAYS: ReadonlySet<Outcome['kind']> = new Set(['new', 'changed', 'applied', 'unchanged', 'rejected']);

/** The actual or planned outcomes of all records: one bar, and figures that add up. Null while nothing is known. */
export function recordsSection(facts: RunFacts): Section | null {
  const { run, totals } = facts;
  if (run.verification !== undefined || run.kind === 'drift') return null;
  const outcomes = outcomesOf(facts);
  const all = sumOf(outcomes, (outcome) => outcome.records);
  const rows = sumOf(outcomes, (outcome) => outcome.rows);
  if (all === 0 && rows === 0) return null;
  const things = counted(all, resourceNoun(run.resource));
  const requests: TableRow[] = isOnlyPlanned(facts)
    ? []
    : [{ cells: ['requests', grouped(totals.requests), '', '', ''], only: 'text' }];
  return {
    id: 'records',
    title: rows === 0 ? things : `${things} in ${counted(rows, 'row')}`,
    blocks: [
      { kind: 'bars', title: `Outcome of ${things}`, shares: outcomes },
      table(
        'Outcomes, counted in records and in rows of the file',
        [
          'Outcome',
          ['Records', 'numeric'],
          ['Share', 'numeric', 'page'],
          ['Rows', 'numeric', 'page'],
          ['What it means', 'bare'],
        ],
        outcomes.map(({ kind, label, records: figure, rows: inRows, meaning, note = null }) => [
          [{ as: 'drawing', drawing: { of: 'outcome', kind } }, label],
          grouped(figure),
          formatShare(figure, all),
          grouped(inRows),
          [onlyIn('page', meaning), note],
        ]),
        {
          foot: [
            { cells: ['Total', grouped(all), '', grouped(rows), ''], only: 'page' },
            ...deletesRow(facts),
            ...requests,
          ],
        },
      ),
    ],
  };
}

/**
 * Every record and row has exactly one outcome: the planned one if nothing was sent, otherwise the actual one. The
 * sums are the run's records and rows.
 */
function outcomesOf(facts: RunFacts) {
  const { plan, totals } = facts;
  const { inRows } = totals;
  const outcome = (kind: keyof typeof LEFT_OUT): Outcome => {
    const [records, rows] = [totals[kind], inRows[kind]];
    const note = kind !== 'unchanged' && records !== rows && onlyIn('text', `in ${counted(rows, 'row')}`);
    return { kind, label: kind, records, rows, meaning: LEFT_OUT[kind], note };
  };
  const outcomes = [
    ...(plan !== null && isOnlyPlanned(facts) ? planned(plan) : sent(facts)),
    ...(['unchanged', 'rejected', 'held', 'skipped'] as const).map(outcome),
  ];
  return outcomes.filter((outcome) => outcome.records > 0 || outcome.rows > 0 || ALWAYS.has(outcome.kind));
}

/** What the outcomes of records mean that are not sent. */
const LEFT_OUT = {
  unchanged: 'the same as the store last confirmed: no request is needed',
  rejected: 'wrong in the file, or refused by the store: left out',
  held: 'kept back until somebody releases it: a guard, an edit in the store, an uncertain url, or a product that the store may already have',
  skipped: 'left out on purpose',
} as const;

function planned(plan: Plan): Outcome[] {
  const { counts, examples, source, created } = plan;
  return [
    ...newParts(plan).map(({ word, effect, records, rows }, index): Outcome => {
      const isCreated = created !== undefined && index === 0;
      const shown = examples.new.filter(
        ({ key }) => created === undefined || isNewContactKey(key) === isCreated,
      );
      return {
        kind: index === 0 ? 'new' : 'changed',
        label: word,
        records,
        rows,
        meaning: `${word === 'new' ? 'not sent before: ' : ''}would be ${effect}`,
        note: firstOf(shown, source),
      };
    }),
    {
      kind: 'changed',
      label: 'changed',
      ...counts.changed,
      meaning: 'would be updated',
      note: firstOf(examples.changed, source),
    },
    {
      kind: 'resent',
      label: 'resent',
      ...counts.resent,
      meaning: '',
      note: 'unchanged, but would be sent again',
    },
  ];
}

function sent({ run, plan, totals }: RunFacts): Outcome[] {
  const isRunning = run.status === 'running';
  return [
    {
      kind: 'applied',
      label: 'applied',
      records: totals.applied,
      rows: totals.inRows.applied,
      meaning: 'sent, and confirmed by the store',
      ...(plan !== null && { note: onlyIn('text', inPlan(plan)) }),
    },
    {
      // For a running run this is not a problem; the warning colour is for records that stay unsent.
      kind: isRunning ? 'resent' : 'unsent',
      label: isRunning ? 'to be sent' : unsentWord(run),
      records: totals.unsent,
      rows: totals.inRows.unsent,
      meaning: isRunning ? 'not sent yet' : 'not confirmed by the store: sent when the run continues',
    },
  ];
}

function inPlan(plan: Plan) {
  const { counts } = plan;
  const parts = withoutAbsent([
    ...newParts(plan).map(({ records, word }) => `${grouped(records)} ${word}`),
    `${grouped(counts.changed.records)} changed`,
    counts.resent.records > 0 && `${grouped(counts.resent.records)} resent`,
  ]);
  return `${listed(parts)} in the plan`;
}

/** Products that are deleted. The sums of records do not include them. */
function deletesRow(facts: RunFacts): TableRow[] {
  const { plan, run, totals } = facts;
  if (plan === null || totals.removed === 0) return [];
  const examples = firstOf(plan.examples.removed, plan.source);
  const why = whyDeleted(run);
  if (isOnlyPlanned(facts)) {
    const meaning = onlyIn('page', [why, `: ${grouped(plan.counts.deletes)} would be deleted`]);
    return [row('removed', totals.removed, [meaning, examples])];
  }
  const pending = plan.counts.deletes - totals.deleted;
  const isOver = totals.unsent === 0 && run.status !== 'planned';
  const left = pending > 0 && `${grouped(pending)} ${isOver ? 'not deleted' : 'still to be deleted'}`;
  const rest = onlyIn('page', [left !== false && '; ', why, examples]);
  return [row('deleted', totals.deleted, [left, rest])];
}

function whyDeleted({ undo, copy }: RunFacts['run']): Words {
  if (undo !== undefined) return 'first sent by the run that is undone';
  const why = 'sent by this job before, and ';
  return copy === undefined ? `${why}no longer in the source` : [`${why}deleted from `, foreign(copy.store)];
}

function row(label: string, figure: number, words: Words): TableRow {
  return { cells: [label, grouped(figure), '', '', styled('text', words)] };
}

/** The first few of many, with their lines; false if there are none. */
function firstOf(examples: readonly KeyExample[], source: PlanSource): Words {
  if (examples.length === 0) return false;
  const named = examples.map(
    ({ key, ...place }, index): Words => [
      index > 0 && ', ',
      foreign(key, MAX_KEY_LENGTH),
      formatExamplePlace(place, source),
    ],
  );
  return styled('examples', ['first: ', named]);
}
