import { sampleFlags } from '../../model/action.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import {
  consideredRecords,
  countUnaskedSkips,
  hasManyUnaskedSkips,
  type Plan,
  safetyFound,
} from '../../model/plan.ts';
import { hasDrifted, type Run } from '../../model/run.ts';
import { isPriceMove, type Move, safetyRule, stoppedWave, waveSizes } from '../../model/safety-limits.ts';
import { counted, grouped, isOrAre, listed, wasOrWere } from '../../text/printable.ts';
import { failedFile, isOnlyPlanned, type RunFacts, type View } from '../run-facts.ts';
import { type Block, foreign, onlyIn, paragraph, type Section, styled, type Words } from '../section.ts';
import { newParts, resourceNoun } from '../status-words.ts';
import { driftHeadline, verificationHeadline } from './drift-section.ts';
import { formatChange, formatNumber, moveFieldWords } from './fields-section.ts';
import { editedFacts } from './held-section.ts';
import { safetyVerdicts } from './safety-section.ts';

/** How many unusual prices are named; more if they stop the run. */
const MOVES_SHOWN = 3;
const MOVES_SHOWN_OF_STOP = 10;
const MAX_NAME_LENGTH = 60;

/** What happened in one sentence, its cause, and what to check first. */
export function leadSection(facts: RunFacts, view: View): Section | null {
  const { run, plan, reportFile } = facts;
  if (view.onRunPage === true && run.status === 'running' && run.error === null) return null;
  const { sentence, explanation } = headline(facts);
  // The sentence names the limit that stopped the run.
  const isExplained = run.error === null || (run.status === 'stopped' && plan !== null);
  const blocks: Block[] = [paragraph([sentence], { role: 'headline' })];
  const explained = [
    ...sampleWords(facts),
    ...explanation,
    ...comparedWords(facts),
    ...failedFileWords(facts),
  ];
  if (explained.length > 0) blocks.push(paragraph(explained, { role: 'explanation' }));
  if (!isExplained) {
    const why = onlyIn('page', [styled('strong', 'Why:'), ' ']);
    blocks.push(paragraph([[why, foreign(run.error ?? '')]], { role: 'problem' }));
  } else if (run.error !== null) blocks.push(paragraph([sentence], { role: 'problem', only: 'message' }));
  if (reportFile !== null) blocks.push(paragraph([`Report: ${reportFile}`], { role: 'file', only: 'text' }));
  if (plan !== null) blocks.push(...unusualPrices(facts, plan));
  return { id: 'lead', title: null, blocks };
}

/** What a run has found in the part of its records that it has compared with the store. */
function comparedWords({ run: { kind, drift, resource } }: RunFacts) {
  if (kind === 'drift' || drift === undefined || !hasDrifted(drift)) return [];
  return [`Before, a part was compared with the store. ${driftHeadline(drift, { resource })}`];
}

/** That no run reads the file again by itself. */
function failedFileWords(facts: RunFacts): Words[] {
  const file = failedFile(facts);
  if (file === null) return [];
  const { failed, arrived } = file;
  const folder = failed.slice(0, failed.lastIndexOf('/'));
  return [
    [
      'A worker moves its file to ',
      foreign(folder),
      '; to send the rest, move ',
      foreign(failed, 300),
      ' back to ',
      foreign(arrived, 300),
      '.',
    ],
  ];
}

/** That it was only a sample, and of how much. */
function sampleWords({ run, plan }: RunFacts) {
  if (run.sample === undefined) return [];
  const flags = sampleFlags(run.sample);
  if (plan === null) return [`The request was for a sample (${flags}).`];
  const of = counted(plan.counts.records, resourceNoun(plan.resource));
  const deletes = plan.mode === 'mirror' ? ' A sample deletes nothing.' : '';
  return [`This is a sample (${flags}): ${grouped(consideredRecords(plan))} of ${of}.${deletes}`];
}

function unusualPrices(facts: RunFacts, { moves, priceMoves, safety }: Plan): Block[] {
  const unusual = moves.prices.filter(isPriceMove);
  if (unusual.length === 0) return [];
  const stops = safety.some(({ limit, exceeded }) => limit === 'maxPriceMoves' && exceeded);
  const shown = unusual.slice(0, stops ? MOVES_SHOWN_OF_STOP : MOVES_SHOWN);
  const left = priceMoves - shown.length;
  const items = withoutAbsent([...shown.map(moveWords), left > 0 && `and ${counted(left, 'more product')}`]);
  const what = isOnlyPlanned(facts) ? 'Look at this first' : 'Look at this';
  return [
    {
      kind: 'list',
      style: 'alert',
      // After the prices are sent, only the page lists them.
      ...(!isOnlyPlanned(facts) && { only: 'page' }),
      title: [styled('strong', `${what}:`), ' prices that change more than usual'],
      items: items.map((words) => ({ words, tone: 'warning' })),
    },
  ];
}

/** `lamp (Large): price 10.00 → 1,000.00 (×100)`. */
function moveWords(move: Move): Words {
  const { key, what, old, new: now } = move;
  return [
    foreign(key, MAX_NAME_LENGTH),
    what !== null && [' (', foreign(what, MAX_NAME_LENGTH), ')'],
    `: ${moveFieldWords(move)} ${formatNumber(move, old)} → `,
    styled('strong', formatNumber(move, now)),
    ` (${formatChange(old, now)})`,
  ];
}

/** What happened or would happen, and sentences that explain it, for a reader without any other information. */
type Headline = ReturnType<typeof verificationHeadline>;

const NOTHING_SENT = 'Nothing was sent to the store.';
const STAYS_SENT = 'Requests sent before remain in effect.';

/** The result of a run or plan in one sentence. */
function headline(facts: RunFacts): Headline {
  const { kind, resource, status, verification } = facts.run;
  if (verification !== undefined) return verificationHeadline(verification, { resource, status });
  const { drift } = facts.run;
  if (kind === 'drift' && drift !== undefined) return said(driftHeadline(drift, { resource }));
  return kind === 'export' ? ofExport(facts) : ofImport(facts);
}

function ofImport(facts: RunFacts): Headline {
  const { run, plan, totals } = facts;
  switch (run.status) {
    case 'planned':
      return plan === null ? said('Planned.', NOTHING_SENT) : ofPlan(facts, plan);
    case 'stopped':
      return ofStop(facts);
    case 'running':
      return totals.unsent === 0
        ? said('Running.')
        : said(`Running: ${unsentOf(facts)} still to be sent.`, 'These figures change until the run ends.');
    case 'done':
      return ofSuccess(facts);
    case 'done-with-rejects':
      return said(
        `Done, except for ${listed(leftOut(facts))}.`,
        totals.applied + totals.unchanged === 0 ? null : 'All other records are up to date.',
      );
    case 'failed':
      return ofBreak(facts, 'Failed');
    case 'interrupted':
      return ofBreak(facts, 'Interrupted');
    case 'superseded':
      return said(supersededWords(run), totals.applied > 0 ? STAYS_SENT : NOTHING_SENT);
    default:
      return run.status satisfies never;
  }
}

function supersededWords({ discarded }: Run) {
  if (discarded === undefined) return 'Superseded: a later run of this job made a new plan.';
  return discarded === 'forgotten'
    ? 'Discarded: its files named a contact that was forgotten.'
    : 'Discarded: a person decided not to send this plan.';
}

/** `3 of 511 products that were rejected`, `10 of 511 products held by a guard`. */
function leftOut(facts: RunFacts) {
  const { rejected, held, refusedDeletes = 0 } = facts.totals;
  const skipped = facts.plan !== null && hasManyUnaskedSkips(facts.plan) ? countUnaskedSkips(facts.plan) : 0;
  return withoutAbsent([
    skipped > 0 && `${partOf(skipped, facts)} without a price`,
    (rejected > 0 || held + skipped + refusedDeletes === 0) &&
      `${partOf(rejected, facts)} that ${wasOrWere(rejected)} rejected`,
    held > 0 && `${partOf(held, facts)} ${heldWords(facts)}`,
    refusedDeletes > 0 &&
      `${counted(refusedDeletes, resourceNoun(facts.run.resource))} that the store did not delete`,
  ]);
}

/** Why records wait: for a guard, because somebody edited them in the store, or because their urls are uncertain. */
function heldWords(facts: RunFacts): string {
  const { plan, totals } = facts;
  const edited = editedFacts(facts)?.held ?? 0;
  const waiting = (plan?.renamed?.waiting ?? 0) + (plan?.adopted?.waiting ?? 0);
  if (edited + waiting === 0) return 'held by a guard';
  if (edited >= totals.held) return 'held, because the source changes what somebody edited in the store';
  if (waiting >= totals.held) return 'held, because they may be products under other urls';
  return 'held until somebody releases them';
}

function ofPlan(facts: RunFacts, plan: Plan): Headline {
  const { counts } = plan;
  const effects = effectsOf(plan);
  const [rejected, held] = [counts.rejected.records, counts.held.records];
  const one = resourceNoun(plan.resource);
  const skipped = countUnaskedSkips(plan);
  const omitted = (figure: number, why: string) =>
    `${counted(figure, one)} ${why}, and ${isOrAre(figure)} left out.`;
  const left = withoutAbsent([
    hasManyUnaskedSkips(plan) && omitted(skipped, `${skipped === 1 ? 'has' : 'have'} no price`),
    rejected > 0 && omitted(rejected, 'cannot be sent'),
    held > 0 && `${counted(held, one)} would be ${heldWords(facts)}.`,
  ]);
  if (effects.length === 0) {
    const same =
      counts.unchanged.records > 0
        ? `: ${all(counts.unchanged.records, counts.records, plan)} unchanged`
        : '';
    return said(`Nothing would be sent${same}.`, left.join(' ') || null);
  }
  const stay =
    counts.unchanged.records > 0 ? `${grouped(counts.unchanged.records)} would stay unchanged.` : null;
  return said(
    `${listed(effects)}.`,
    'This is a plan: nothing was sent to the store.',
    stay,
    left.join(' ') || null,
  );
}

/** `10 products would be created`, `2 updated`, `3 deleted`: only the first part has the noun and the verb. */
function effectsOf(plan: Plan) {
  const { counts, resource } = plan;
  const made = madeIn(plan);
  const parts: [number, string][] = [
    [made.records, made.effect],
    [counts.new.records - made.records + counts.changed.records + counts.resent.records, 'updated'],
    [counts.deletes, 'deleted'],
  ];
  return parts
    .filter(([figure]) => figure > 0)
    .map(([figure, word], index) =>
      index === 0
        ? `${counted(figure, resourceNoun(resource))} would be ${word}`
        : `${grouped(figure)} ${word}`,
    );
}

/** The records that are created, or may be. */
function madeIn(plan: Plan) {
  const [first] = newParts(plan);
  return first === undefined || first.effect === 'updated' ? { records: 0, effect: 'created' } : first;
}

function ofStop(facts: RunFacts): Headline {
  const { run, totals, plan } = facts;
  const wave = stoppedWave(run);
  if (wave !== undefined) {
    const of = plan === null ? '' : ` of ${waveSizes(plan.shards).length}`;
    return said(
      `Stopped after wave ${wave.number}${of}: ${wave.stop}.`,
      `${counted(totals.applied, resourceNoun(run.resource))} ${wasOrWere(totals.applied)} sent; ${unsentOf(facts)} not sent.`,
    );
  }
  const when =
    totals.requests === 0 ? 'before the first request' : `after ${counted(totals.requests, 'request')}`;
  const verdict = safetyVerdicts(facts).find(({ exceeded }) => exceeded);
  const sent = totals.requests === 0 ? NOTHING_SENT : STAYS_SENT;
  if (verdict === undefined)
    return said(
      run.approval === undefined || run.approved
        ? `Stopped ${when} by a safety limit.`
        : `Stopped ${when}: the job asks for the approval of another person.`,
      sent,
    );
  const { limit, figure, allowed } = verdict;
  const stop = figure === 0 ? undefined : safetyRule(limit).stop;
  if (stop !== undefined && allowed !== undefined)
    return said(`Stopped ${when}: ${stop(verdict, allowed)}.`, sent);
  const bound = allowed === undefined ? '' : `; the limit is ${allowed.text}`;
  return said(`Stopped ${when}: ${safetyFound(verdict, run)}${bound}.`, sent);
}

function ofSuccess(facts: RunFacts): Headline {
  const { run, plan, totals } = facts;
  if (totals.applied + totals.deleted === 0) {
    if (run.release?.conflicts === 'store' && totals.unchanged > 0) {
      const kept = counted(totals.unchanged, resourceNoun(run.resource));
      return said(`Done: the values of the store stay in ${kept}.`, NOTHING_SENT);
    }
    const same = totals.unchanged > 0 ? `: ${all(totals.unchanged, totals.records, run)} unchanged` : '';
    const since = run.unchangedSince;
    const source = since === undefined ? '' : ` The source has not changed since run ${since} read it.`;
    return said(`Nothing to do${same}.${source}`, NOTHING_SENT);
  }
  const parts = plan === null ? [] : appliedParts(plan, totals.applied);
  const made = parts.length === 0 ? '' : ` (${listed(parts)})`;
  const things = counted(totals.applied, resourceNoun(run.resource));
  const { applied, deleted } = totals;
  // Only the first part has the noun and the verb.
  const gone =
    applied > 0 ? grouped(deleted) : `${counted(deleted, resourceNoun(run.resource))} ${wasOrWere(deleted)}`;
  const done = withoutAbsent([
    applied > 0 && `${things} ${wasOrWere(applied)} sent${made}`,
    deleted > 0 && `${gone} deleted`,
  ]);
  const stay =
    totals.unchanged > 0
      ? `${grouped(totals.unchanged)} ${wasOrWere(totals.unchanged)} unchanged and needed no request.`
      : null;
  return said(`Done: ${listed(done)}.`, stay);
}

/** How many of the sent records were new. Known only if everything planned was applied. */
function appliedParts(plan: Plan, applied: number) {
  const { counts } = plan;
  const { records, effect } = madeIn(plan);
  const updated = counts.new.records - records + counts.changed.records + counts.resent.records;
  if (records === 0 || applied !== records + updated) return [];
  const word = effect === 'created' ? 'new' : effect;
  if (updated === 0) return [`all ${word}`];
  return [`${grouped(records)} ${word}`, `${grouped(updated)} updated`];
}

function ofBreak(facts: RunFacts, what: 'Failed' | 'Interrupted'): Headline {
  const { plan, totals, run } = facts;
  if (plan === null) return said(`${what} before anything was sent.`, NOTHING_SENT);
  if (run.kind === 'plan') return said(`${what} while planning.`, NOTHING_SENT);
  const stays =
    totals.applied > 0
      ? `${counted(totals.applied, resourceNoun(run.resource))} ${wasOrWere(totals.applied)} sent and will not be sent again.`
      : totals.requests === 0
        ? NOTHING_SENT
        : 'The store confirmed nothing.';
  if (totals.unsent > 0) return said(`${what}: ${unsentOf(facts)} not sent.`, stays);
  return said(`${what} before the end.`, stays);
}

function ofExport({ run, exported }: RunFacts): Headline {
  const one = resourceNoun(run.resource);
  if (exported !== null) {
    const isTable = exported.isTable === true;
    const lines = counted(exported.lines, isTable ? 'row' : 'line');
    const isAdded = exported.mode === 'append' && exported.begun !== true;
    const added = isTable ? 'added or updated in the table' : 'added to the file';
    const where = `${lines} ${isAdded ? added : isTable ? 'in the table' : 'in the file'}`;
    const isSame = exported.lines === exported.items || run.since !== undefined;
    return said(`${counted(exported.items, one)} ${isSame ? 'exported' : 'read'}, ${where}.`);
  }
  switch (run.status) {
    case 'failed':
      return said('Failed: the file was not written.', 'It is unchanged.');
    case 'interrupted':
      return said('Interrupted before the file was written.', 'It is unchanged.');
    case 'running':
      return said(`Running: ${one}s are being read.`);
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

function said(sentence: string, ...explanation: readonly (string | null)[]): Headline {
  return { sentence, explanation: withoutAbsent(explanation) };
}

/** `3 of 511 products`. */
function partOf(figure: number, { run, totals }: RunFacts) {
  return `${grouped(figure)} of ${counted(totals.records, resourceNoun(run.resource))}`;
}

function unsentOf(facts: RunFacts) {
  const { unsent } = facts.totals;
  return `${partOf(unsent, facts)} ${isOrAre(unsent)}`;
}

/** `all 511 products are`; `498 products are` if there are others. */
function all(figure: number, records: number, { resource }: Pick<Run, 'resource'>) {
  const some = counted(figure, resourceNoun(resource));
  if (figure === 1) return records === 1 ? `the ${resourceNoun(resource)} is` : `${some} is`;
  return `${figure === records ? 'all ' : ''}${some} are`;
}
