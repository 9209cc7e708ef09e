import type { Plan } from '../model/plan.ts';
import type { RunFacts } from './summary-text.ts';
import { unsentWord } from './wording/totals-words.ts';
import { newWord } from './wording/words.ts';

/** What becomes of a record, one way or another. */
export type OutcomeKind =
  | 'new'
  | 'changed'
  | 'resent'
  | 'applied'
  | 'unchanged'
  | 'rejected'
  | 'skipped'
  | 'unsent';

/** What became of a part of the records, or would. */
export interface OutcomeFigures {
  readonly kind: OutcomeKind;
  readonly label: string;
  readonly records: number;
  readonly rows: number;
  /** The label explained. */
  readonly meaning: string;
}

/** A reader looks for these, also where there are none. */
const ALWAYS: ReadonlySet<OutcomeKind> = new Set(['new', 'changed', 'applied', 'unchanged', 'rejected']);

/**
 * Every record and row under one outcome: of a plan of which nothing was sent what would become of it, of a run what
 * has. Sums are the run's records and rows.
 */
export function outcomesOf(facts: RunFacts): OutcomeFigures[] {
  const { plan, totals } = facts;
  const sent = plan !== null && isOnlyPlanned(facts) ? toCome(plan) : come(facts);
  const { inRows } = totals;
  const outcomes: OutcomeFigures[] = [
    ...sent,
    {
      kind: 'unchanged',
      label: 'unchanged',
      records: totals.unchanged,
      rows: inRows.unchanged,
      meaning: 'the same as the store last confirmed: no request is needed',
    },
    {
      kind: 'rejected',
      label: 'rejected',
      records: totals.rejected,
      rows: inRows.rejected,
      meaning: 'wrong in the file, or refused by the store: left out',
    },
    {
      kind: 'skipped',
      label: 'skipped',
      records: totals.skipped,
      rows: inRows.skipped,
      meaning: 'left out on purpose, as the mapping or the job says',
    },
  ];
  return outcomes.filter(({ kind, records, rows }) => records > 0 || rows > 0 || ALWAYS.has(kind));
}

/** A plan, or a run that a limit stopped before its first request. */
export function isOnlyPlanned({ run, totals }: Pick<RunFacts, 'run' | 'totals'>): boolean {
  const { status } = run;
  if (totals.requests > 0) return false;
  return status === 'planned' || status === 'stopped' || (status === 'superseded' && run.kind === 'plan');
}

function toCome({ counts, resource }: Plan): OutcomeFigures[] {
  const isProducts = resource === 'products';
  return [
    {
      kind: 'new',
      label: newWord(resource),
      ...counts.new,
      meaning: isProducts ? 'not sent before: would be created' : 'would be updated',
    },
    { kind: 'changed', label: 'changed', ...counts.changed, meaning: 'would be updated' },
    {
      kind: 'resent',
      label: 'resent',
      ...counts.resent,
      meaning: 'unchanged, but would be sent all the same',
    },
  ];
}

function come({ run, totals }: RunFacts): OutcomeFigures[] {
  const isRunning = run.status === 'running';
  return [
    {
      kind: 'applied',
      label: 'applied',
      records: totals.applied,
      rows: totals.inRows.applied,
      meaning: 'sent, and confirmed by the store',
    },
    {
      // Of a run under way it is no fault: the colour of a warning is for what stays behind.
      kind: isRunning ? 'resent' : 'unsent',
      label: isRunning ? 'to be sent' : unsentWord(run),
      records: totals.unsent,
      rows: totals.inRows.unsent,
      meaning: isRunning ? 'still to come' : 'not confirmed by the store: sent when the run continues',
    },
  ];
}
