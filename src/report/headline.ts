import type { Plan } from '../model/plan.ts';
import type { Run, RunTotals } from '../model/run.ts';
import { safetyFound, verdictsNow } from './safety-words.ts';
import type { RunFacts } from './summary-text.ts';
import { verificationHeadline } from './verification-words.ts';
import { counted, grouped, listed } from './wording/words.ts';

/** What happened, or would happen, for somebody who knows nothing of the run yet. */
export interface Headline {
  /** One sentence. */
  readonly sentence: string;
  /** What else is to be known to read it right; null when it says all. */
  readonly explanation: string | null;
}

/** Says in one sentence what became of a run, or what a plan would do. */
export function headline(facts: RunFacts): Headline {
  const { kind, resource, status, verification } = facts.run;
  if (verification !== undefined) return verificationHeadline(verification, resource, status);
  return kind === 'export' ? ofExport(facts) : ofImport(facts);
}

function ofImport(facts: RunFacts): Headline {
  const { run, plan, totals } = facts;
  switch (run.status) {
    case 'planned':
      return plan === null ? said('Planned; nothing has been sent.') : ofPlan(plan);
    case 'stopped':
      return ofStop(facts);
    case 'running':
      return totals.unsent === 0
        ? said('Under way.')
        : said(`Under way: ${unsentOf(facts)} still to be sent.`, 'These figures are of the moment above.');
    case 'done':
      return ofSuccess(facts);
    case 'done-with-rejects':
      return said(
        `Done, except for ${partOf(totals.rejected, facts)} that ${were(totals.rejected)} rejected.`,
        'All others are as they should be. What to do about these is said below.',
      );
    case 'failed':
      return ofBreak(facts, 'Failed');
    case 'interrupted':
      return ofBreak(facts, 'Interrupted');
    case 'superseded':
      return said(
        'Given up: a later run of this job planned anew.',
        totals.applied > 0 ? 'What was sent by then stays sent.' : 'Nothing of it was sent.',
      );
    default:
      return run.status satisfies never;
  }
}

function ofPlan(plan: Plan): Headline {
  const { counts } = plan;
  const effects = effectsOf(plan);
  const left = counts.rejected.records > 0 ? ` ${cannotBeSent(counts.rejected.records, plan)}` : '';
  if (effects.length === 0) {
    const same =
      counts.unchanged.records > 0
        ? `: ${all(counts.unchanged.records, counts.records, plan)} unchanged`
        : '';
    return said(`Nothing would be sent${same}.`, left === '' ? null : left.trim());
  }
  const stay = counts.unchanged.records > 0 ? ` ${grouped(counts.unchanged.records)} stay as they are.` : '';
  return said(
    `${listed(effects)}.`,
    `This is a plan: nothing has been sent to the store yet, and nothing will be until someone says so.${stay}${left}`,
  );
}

/** `10 products would be created`, `2 updated`, `3 deleted`: the first with the thing and the verb. */
function effectsOf({ counts, resource }: Plan): string[] {
  const written = counts.changed.records + counts.resent.records;
  const parts: [number, string][] =
    resource === 'products'
      ? [
          [counts.new.records, 'created'],
          [written, 'updated'],
          [counts.deletes, 'deleted'],
        ]
      : [[counts.new.records + written, 'updated']];
  return parts
    .filter(([figure]) => figure > 0)
    .map(([figure, word], index) =>
      index === 0 ? `${counted(figure, thing(resource))} would be ${word}` : `${grouped(figure)} ${word}`,
    );
}

function ofStop(facts: RunFacts): Headline {
  const { run, totals } = facts;
  const when =
    totals.requests === 0 ? 'before the first request' : `after ${counted(totals.requests, 'request')}`;
  const verdict = verdictsNow(facts).find(({ exceeded }) => exceeded);
  const explanation =
    totals.requests === 0
      ? 'A safety limit of the job stopped it. Nothing has been sent to the store.'
      : 'A safety limit of the job stopped it. What was sent by then stays sent.';
  if (verdict === undefined) return said(`Stopped ${when} by a safety limit.`, explanation);
  const yours = verdict.allowed === undefined ? '' : `; your limit is ${verdict.allowed.text}`;
  return said(`Stopped ${when}: ${safetyFound(verdict, run)}${yours}.`, explanation);
}

function ofSuccess(facts: RunFacts): Headline {
  const { run, plan, totals } = facts;
  if (run.unchangedSince !== undefined) {
    return said(`Nothing to do: the source has not changed since run ${run.unchangedSince} read it.`);
  }
  if (totals.applied + totals.deleted === 0) {
    const same = totals.unchanged > 0 ? `: ${all(totals.unchanged, totals.records, run)} unchanged` : '';
    return said(`Nothing to do${same}.`, 'Nothing was sent to the store.');
  }
  const parts = plan === null ? [] : appliedParts(plan, totals.applied);
  const made = parts.length === 0 ? '' : ` (${listed(parts)})`;
  const things = counted(totals.applied, thing(run.resource));
  const done = [
    ...(totals.applied > 0 ? [`${things} ${were(totals.applied)} sent${made}`] : []),
    ...(totals.deleted > 0 ? [deletedWords(totals, run)] : []),
  ];
  const stay =
    totals.unchanged > 0
      ? `${grouped(totals.unchanged)} ${were(totals.unchanged)} unchanged and needed no request.`
      : null;
  return said(`Done: ${listed(done)}.`, stay);
}

/** `3 deleted` after what was sent, else with the thing and the verb. */
function deletedWords({ applied, deleted }: RunTotals, { resource }: Pick<Run, 'resource'>): string {
  return applied > 0
    ? `${grouped(deleted)} deleted`
    : `${counted(deleted, thing(resource))} ${were(deleted)} deleted`;
}

/** Which of the sent records were new: known only where all that was planned arrived. */
function appliedParts({ counts, resource }: Plan, applied: number): string[] {
  const written = counts.changed.records + counts.resent.records;
  if (resource !== 'products' || counts.new.records === 0 || applied !== counts.new.records + written)
    return [];
  if (written === 0) return ['all new'];
  return [`${grouped(counts.new.records)} new`, `${grouped(written)} updated`];
}

function ofBreak(facts: RunFacts, what: 'Failed' | 'Interrupted'): Headline {
  const { plan, totals, run } = facts;
  if (plan === null) return said(`${what} before anything was sent.`, 'The store is as it was.');
  if (run.kind === 'plan') return said(`${what} while planning.`, 'Nothing was sent to the store.');
  const stays =
    totals.applied > 0
      ? `${counted(totals.applied, thing(run.resource))} ${were(totals.applied)} sent and will not be sent again.`
      : 'Nothing has arrived at the store.';
  if (totals.unsent > 0) return said(`${what}: ${unsentOf(facts)} not sent.`, stays);
  return said(`${what} before it was through.`, stays);
}

function ofExport({ run, exported }: RunFacts): Headline {
  const one = run.resource === 'orders' ? 'order' : 'list';
  if (exported !== null && exported !== undefined) {
    const lines = counted(exported.lines, 'line');
    const isAdded = exported.mode === 'append' && exported.begun !== true;
    const where = isAdded ? `${lines} added to the file` : `${lines} in the file`;
    return said(`${counted(exported.items, one)} exported, ${where}.`);
  }
  switch (run.status) {
    case 'failed':
      return said('Failed: the file was not written.', 'What it held before is as it was.');
    case 'interrupted':
      return said('Interrupted before the file was written.', 'What it held before is as it was.');
    case 'running':
      return said(`Under way: ${one}s are being read.`);
    case 'done':
    case 'done-with-rejects':
    case 'planned':
    case 'stopped':
    case 'superseded':
      return said('Ended.');
    default:
      return run.status satisfies never;
  }
}

function said(sentence: string, explanation: string | null = null): Headline {
  return { sentence, explanation };
}

function thing(resource: Run['resource']): string {
  switch (resource) {
    case 'products':
      return 'product';
    case 'contacts':
      return 'contact';
    case 'orders':
      return 'order';
    case 'subscriber-lists':
      return 'list';
    default:
      return resource satisfies never;
  }
}

/** `3 of 511 products`. */
function partOf(figure: number, { run, totals }: RunFacts): string {
  return `${grouped(figure)} of ${counted(totals.records, thing(run.resource))}`;
}

function unsentOf(facts: RunFacts): string {
  const { unsent } = facts.totals;
  return `${partOf(unsent, facts)} ${unsent === 1 ? 'is' : 'are'}`;
}

/** `all 511 products are`; `498 products are` where there are others. */
function all(figure: number, records: number, { resource }: Pick<Run, 'resource'>): string {
  const some = counted(figure, thing(resource));
  if (figure === 1) return records === 1 ? `the ${thing(resource)} is` : `${some} is`;
  return `${figure === records ? 'all ' : ''}${some} are`;
}

function cannotBeSent(rejected: number, { resource }: Pick<Run, 'resource'>): string {
  return `${counted(rejected, thing(resource))} cannot be sent, and ${rejected === 1 ? 'is' : 'are'} left out.`;
}

function were(figure: number): string {
  return figure === 1 ? 'was' : 'were';
}
