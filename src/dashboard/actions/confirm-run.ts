import type { ImportJob, Job } from '../../config/job/job.ts';
import type { StoreConfig } from '../../config/store-config.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import { type SafetyVerdict, safetyFound } from '../../model/plan.ts';
import { isUnsentPlan, type Run } from '../../model/run.ts';
import { limitWords, stoppedWave, waveSizes } from '../../model/safety-limits.ts';
import { foreign, html, type Markup, type Slot } from '../../report/html/markup.ts';
import { planWarnings } from '../../report/run-document.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { newParts, totalsWords } from '../../report/status-words.ts';
import { counted, grouped, listed } from '../../text/printable.ts';
import { PageError } from '../guard/page-error.ts';
import { waitingPlan } from '../pages/activity.ts';
import { describeMove, placeWords } from '../pages/job-card.ts';
import { jobHref, jobLink, runLink } from '../pages/link-button.ts';
import { type Reading, relativeTime } from '../pages/page.ts';
import { field } from '../pages/post-form.ts';
import type { Confirmation } from './confirmation.ts';

/** The input for the confirmation of a run or plan. */
export interface StartFacts {
  readonly job: Job;
  readonly store: Pick<StoreConfig, 'name' | 'baseUrl'>;
  /** The latest runs of the job, newest first, with their current status. */
  readonly runs: readonly Run[];
  /** A run of another job that this run will wait for. */
  readonly waitsFor: Run | undefined;
  /** Whether a worker executes it; otherwise the dashboard starts a process. */
  readonly byWorkers: boolean;
  readonly reading: Reading;
}

/** What a run of a job will do, as far as it is known before the source is read. */
export function confirmRun(beginning: StartFacts): Confirmation {
  const { job, byWorkers, waitsFor } = beginning;
  return {
    does: 'run',
    to: job.name,
    title: `Run ${job.name}?`,
    lead: html`${describeMove(job)}.`,
    effects: [
      ...(job.kind === 'import' ? importEffects(job, beginning) : exportEffects(beginning)),
      waitsFor !== undefined &&
        html`Waits until ${runLink(waitsFor.id)} of ${waitsFor.job} has ended, which writes to the same store.`,
      byWorkers
        ? 'A worker executes it; it continues when the dashboard stops.'
        : 'It runs on the machine of the dashboard. If the dashboard stops, the run is interrupted, and the next run continues it.',
    ],
  };
}

/** What planning a job will do. */
export function confirmPlan({ job, store, runs, reading }: StartFacts): Confirmation {
  const waiting = waitingPlan(runs);
  return {
    does: 'plan',
    to: job.name,
    title: `Plan ${job.name}?`,
    lead: html`Shows what a run would change in the store ${storeWords(store)}. Nothing is sent.`,
    effects: [
      job.kind === 'import' && html`Reads ${placeWords(job.source)} as it is now.`,
      'Compares each record with what the store has acknowledged.',
      'Ends with a report: what is new or changed, what is rejected and why, and whether a safety limit would stop it.',
      waiting !== undefined &&
        html`Replaces the plan <a href="/runs/${waiting.id}">${waiting.id}</a>, made ${relativeTime(waiting.startedAt, reading)}, which has not been approved.`,
    ],
  };
}

function importEffects(job: ImportJob, { store, runs, reading }: StartFacts): Slot[] {
  const waiting = waitingPlan(runs);
  const unfinished = runs.find(
    ({ status, kind }) => (status === 'failed' || status === 'interrupted') && kind !== 'plan',
  );
  const last = runs.find(({ kind, status }) => kind !== 'plan' && status !== 'superseded');
  const limits = limitWords(job);
  return [
    html`Reads ${placeWords(job.source)} as it is now, and compares each record with what the store has acknowledged.`,
    html`Sends what is new or has changed to the store ${storeWords(store)}, one request per record.`,
    job.mode === 'mirror'
      ? 'Deletes the products that this job last sent and the source no longer has.'
      : 'Deletes nothing.',
    limits.length > 0 && `Sends only if the plan is within the safety limits: ${limits.join('; ')}.`,
    unfinished !== undefined && continuationWords(unfinished),
    waiting !== undefined && waitingPlanWords(waiting, reading),
    last !== undefined &&
      last !== unfinished &&
      last !== waiting &&
      totalsWords(last) !== '' &&
      html`The <a href="/runs/${last.id}">last run</a>, ${relativeTime(last.startedAt, reading)}: ${totalsWords(last)}.`,
  ];
}

function exportEffects({ job, store }: StartFacts): Slot[] {
  if (job.kind !== 'export') return [];
  const { destination } = job;
  return [
    html`Reads from the store ${storeWords(store)}, and changes nothing there.`,
    {
      append: html`Adds to ${placeWords(destination)}; its content stays.`,
      new: html`Writes what is new or changed to ${placeWords(destination)}, a file of its own.`,
      replace: html`Replaces ${placeWords(destination)}, whole or not at all.`,
    }[destination.mode],
  ];
}

function continuationWords({ id, totals }: Run) {
  const left =
    totals === null || totals.unsent === 0 ? '' : `: ${counted(totals.unsent, 'record')} left to send`;
  return html`If nothing has changed since, it continues where ${runLink(id)} stopped${left}; what the store has acknowledged is not sent again.`;
}

function waitingPlanWords(run: Run, reading: Reading) {
  const { id, status, totals, startedAt } = run;
  const [name, what] = isUnsentPlan(run) ? ['plan', 'exactly that one'] : ['run', 'its rest'];
  const figures =
    totals === null ? '' : `: ${counted(name === 'plan' ? totals.operations : totals.unsent, 'request')}`;
  return html`The <a href="/runs/${id}">${status === 'stopped' && 'stopped '}${name}</a> of ${relativeTime(startedAt, reading)} waits for approval${figures}. A run makes a new plan; to send ${what}, <a href="/runs/${id}/approve">approve it</a>.`;
}

/** `main (https://shop.example)`. */
export function storeWords({ name, baseUrl }: Pick<StoreConfig, 'name' | 'baseUrl'>): Markup {
  return html`<b>${name}</b> (${baseUrl})`;
}

/** What is known for the approval of a plan besides the plan. */
interface ApproveFacts {
  /** A run that has begun since. */
  readonly later: Run | undefined;
  /** What has changed since, in words. */
  readonly changed: string | undefined;
  readonly reading: Reading;
}

/**
 * What the approval of a plan will do, with exact figures. PageError if there is nothing to approve, or a `later` run
 * has begun.
 */
export function confirmApprove(report: RunFacts, { later, changed, reading }: ApproveFacts): Confirmation {
  const { run, plan, totals, unsentDeletes } = report;
  const { id, job, store, baseUrl } = run;
  if (plan === null || (run.status !== 'planned' && run.status !== 'stopped'))
    throw new PageError(
      409,
      'Nothing to approve',
      `The run ${id} is ${run.status}: only a planned or stopped run can be approved. Plan the job again.`,
    );
  if (later !== undefined)
    throw new PageError(
      409,
      'Nothing to approve any more',
      `The run ${later.id} of ${job} has begun since ${id} was planned. Plan the job again.`,
    );
  const { counts, resource, created } = plan;
  const resourceNoun = resource === 'products' ? 'product' : 'contact';
  const parts = [
    ...newParts(plan).map(({ records, word }) => [records, word] as const),
    [counts.changed.records, 'changed'],
    [counts.resent.records, 'sent again'],
  ] as const;
  const named = parts.filter(([figure]) => figure > 0).map(([figure, word]) => `${grouped(figure)} ${word}`);
  const kinds = named.length > 0 && `: ${listed(named)}`;
  const before = totals.applied + totals.deleted;
  const sentBefore = before > 0 && `; ${grouped(before)} of the plan were sent before`;
  const stopped = stoppedWave(run);
  const isExceeded = plan.safety.some(({ exceeded }) => exceeded);
  return {
    does: 'approve',
    to: id,
    title: run.undo === undefined ? `Approve the plan of ${job}?` : `Approve the undo of run ${run.undo.of}?`,
    lead: html`Sends exactly <a href="/runs/${id}">${isUnsentPlan(run) ? 'this plan' : 'the rest of this run'}</a>, made ${relativeTime(run.startedAt, reading)}. The source is not read again.`,
    warnings: withoutAbsent([
      changed,
      stopped !== undefined && html`Stopped after wave ${stopped.number}: ${stopped.stop}.`,
      ...plan.safety
        .filter(({ exceeded }) => exceeded)
        .map(
          (verdict) =>
            html`Safety limit exceeded: ${safetyFound(verdict, run)}${verdict.allowed && `; the limit is ${verdict.allowed.text}`}.${examplesOf(verdict)}`,
        ),
    ]),
    effects: [
      html`Sends <b>${counted(totals.unsent, 'request')}</b> to the store ${storeWords({ name: store, baseUrl })}${kinds}${sentBefore}.`,
      waveSizes(plan.shards).length > (run.waves?.length ?? 0) + 1 &&
        'Sends it in waves, and stops again by itself after a wave whose answers exceed a limit.',
      created !== undefined &&
        html`Creates <b>${counted(created.records, 'contact')}</b>${created.uncertain && ', or updates those whose address the store has'}. An undo cannot take them back: the API deletes no contacts.`,
      unsentDeletes > 0
        ? html`Deletes <b>${counted(unsentDeletes, resourceNoun)}</b>, after everything else and only if nothing is left unsent.`
        : 'Deletes nothing.',
      counts.unchanged.records > 0 &&
        `Leaves ${counted(counts.unchanged.records, `${resourceNoun} as it is`, `${resourceNoun}s as they are`)}.`,
      counts.rejected.records > 0 &&
        `Does not send ${counted(counts.rejected.records, `rejected ${resourceNoun}`)}.`,
      ...planWarnings(plan),
    ],
    button: {
      ...(unsentDeletes > 0 && { label: 'Send and delete' }),
      ...((unsentDeletes > 0 || isExceeded) && { weight: 'danger' }),
    },
  };
}

/** What discarding a plan will do. PageError if it does not wait. */
export function confirmDiscard(run: Run, reading: Reading): Confirmation {
  const { id, job, status, totals, startedAt } = run;
  if (status !== 'planned' && status !== 'stopped')
    throw new PageError(
      409,
      'Nothing to discard',
      `The run ${id} is ${status}: only a plan that waits can be discarded.`,
    );
  const sent = (totals?.applied ?? 0) + (totals?.deleted ?? 0);
  return {
    does: 'discard',
    to: id,
    title: `Discard the ${isUnsentPlan(run) ? 'plan' : 'rest of a run'} of ${job}?`,
    lead: html`<a href="/runs/${id}">${isUnsentPlan(run) ? 'This plan' : 'This run'}</a>, made ${relativeTime(startedAt, reading)}, can then no longer be approved.`,
    effects: [
      sent === 0
        ? 'Nothing of it was sent.'
        : `Leaves ${counted(sent, 'record')} in the store as they were sent before.`,
      'Its report and its rejects are kept.',
    ],
  };
}

/** What is done with the differences between a store and what it last answered. */
type Comparison = 'compare' | 'accept' | 'restore';

/** The comparison that a query or a form names; without one, or with another, nothing but comparing. */
export function howToCompare(named: string | undefined): Comparison {
  return named === 'accept' || named === 'restore' ? named : 'compare';
}

const COMPARISONS: Readonly<
  Record<Comparison, { readonly title: string; readonly button: string; readonly effects: readonly string[] }>
> = {
  compare: {
    title: 'Compare the store with what it last answered?',
    button: 'Compare now',
    effects: [
      'Shows what was edited, deleted or made again in the store. Nothing of the source is sent.',
      'Needs to know what the store does (Stores). A store that lists no products is asked by updates that change nothing: a title that was edited there by hand is then overwritten.',
    ],
  },
  accept: {
    title: 'Accept what the store has?',
    button: 'Compare and accept',
    effects: [
      'Compares again, and takes what it finds as known: later runs keep the edited values, and later comparisons do not report them.',
    ],
  },
  restore: {
    title: 'Restore what the job has sent?',
    button: 'Plan to restore',
    effects: [
      'Plans to send the values of the job again where the last comparison found others. Nothing is sent now: the next page shows the plan, with a button to approve it.',
    ],
  },
};

/** What a comparison of a store will do. */
export function confirmDrift({ name, store }: ImportJob, how: Comparison): Confirmation {
  const { title, button: label, effects } = COMPARISONS[how];
  return {
    does: 'drift',
    to: name,
    title,
    lead: html`The records of ${jobLink(name)} in the store <b>${store}</b>.`,
    effects,
    fields: { how },
    button: { label },
  };
}

/** What verifying a sample of records will do. */
export function confirmVerify({ name, store }: ImportJob): Confirmation {
  return {
    does: 'verify',
    to: name,
    title: `Verify ${name}?`,
    lead: html`Checks in the store <b>${store}</b> a sample of the records that ${jobLink(name)} has sent.`,
    effects: [
      'Sends the records of the sample again, as the store last acknowledged them, and counts those that are gone or have another id.',
      'Edits made in the store since are overwritten, and products that were deleted there are created again.',
    ],
  };
}

/** The field with the keys of the records to undo, one per line. */
export const KEYS_FIELD = 'keys';

/** What planning the undo of a run will do. `key`: the record that was chosen, '' for all. */
export function confirmUndo(
  { id, job }: Pick<Run, 'id' | 'job'>,
  { key, isScheduled }: { readonly key: string; readonly isScheduled: boolean },
): Confirmation {
  return {
    does: 'undo',
    to: id,
    title: `Undo run ${id}?`,
    lead: html`Plans to take back what ${runLink(id)} of ${jobLink(job)} sent. Nothing is sent now: the next page shows the plan, with a button to approve it.`,
    effects: [
      'Changed records get the values that they had before the run.',
      'Products that the run created are deleted; those that it deleted are created again, under new ids.',
      'Contacts that it created stay: the API deletes no contacts.',
      'Records that another run has changed since stay as they are, and the plan names them.',
      html`The source stays as it is: the next run of ${job} would send the same again. Correct the source first${isScheduled && html`, or <a href="${jobHref(job)}/edit">pause the schedule</a>`}.`,
    ],
    controls: field(
      KEYS_FIELD,
      'Only these records',
      html`<textarea id="${KEYS_FIELD}" name="${KEYS_FIELD}" rows="3" spellcheck="false" aria-describedby="about-keys">\n${key}</textarea>`,
      html`<span class="quiet" id="about-keys">One key per line: the url of a product, the id of a contact. Leave it empty to undo the whole run.</span>`,
    ),
  };
}

/** The worst examples, and the number of further ones. */
function examplesOf({ examples = [], figure }: SafetyVerdict): Slot {
  const more = examples.length === 0 ? 0 : figure - examples.length;
  const rest = more > 0 ? [html`and ${grouped(more)} more`] : [];
  return [...examples.map((text) => foreign(text)), ...rest].map((line) => html`<br>${line}`);
}
