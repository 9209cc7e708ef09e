import type { ImportJob } from '../../config/job/import-job.ts';
import type { Job } from '../../config/job/job.ts';
import type { StoreConfig } from '../../config/stores.ts';
import type { Run } from '../../model/run.ts';
import { html, type Markup, type Slot } from '../../report/html/markup.ts';
import { totalsWords } from '../../report/wording/totals-words.ts';
import { counted } from '../../report/wording/words.ts';
import { jobHref } from '../pages/job-card.ts';
import { limitWords } from '../pages/job-settings.ts';
import { placeWords, whatItMoves } from '../pages/job-words.ts';
import { type Reading, relative } from '../pages/moment.ts';
import type { Confirmation } from './confirmation.ts';

/** What a job is about to be begun on. */
export interface Beginning {
  readonly job: Job;
  readonly store: Pick<StoreConfig, 'name' | 'baseUrl'>;
  /** The latest runs of the job, newest first, as they stand. */
  readonly runs: readonly Run[];
  /** Whether workers take it; else it runs beside the dashboard. */
  readonly byWorkers: boolean;
  readonly reading: Reading;
}

/** What running a job will do, as far as can be told before its source is read. */
export function confirmRun(beginning: Beginning): Confirmation {
  const { job, runs, byWorkers } = beginning;
  const running = runs.find(({ status, kind }) => status === 'running' && kind !== 'plan');
  return {
    title: `Run ${job.name}?`,
    lead: html`${whatItMoves(job)}.`,
    warnings: running === undefined ? [] : [underWay(running)],
    does: [
      ...(job.kind === 'import' ? importDoes(job, beginning) : exportDoes(beginning)),
      byWorkers
        ? 'It is handed over to the workers, and goes on when the dashboard ends.'
        : 'It runs beside the dashboard. Should that end, the run is interrupted, and the next one goes on from there.',
    ],
    label: 'Run now',
    weight: 'primary',
    action: `${jobHref(job.name)}/run`,
    back: jobHref(job.name),
  };
}

/** What planning a job will do. */
export function confirmPlan({ job, store, runs, reading }: Beginning): Confirmation {
  const waiting = waitingPlan(runs);
  return {
    title: `Plan ${job.name}?`,
    lead: html`Shows what a run would change in the store ${at(store)}. Nothing is sent.`,
    does: [
      job.kind === 'import' && html`Reads ${placeWords(job.source)} as it is now.`,
      'Compares each record with what the store has taken from this job before.',
      'Ends with a report: what is new or changed, what is rejected and why, and whether a safety limit would stop it.',
      waiting !== undefined &&
        html`Takes the place of the plan <a href="/runs/${waiting.id}">${waiting.id}</a>, made ${relative(waiting.startedAt, reading)}, which nobody has approved.`,
    ].filter((does) => does !== false),
    label: 'Plan now',
    weight: 'primary',
    action: `${jobHref(job.name)}/plan`,
    back: jobHref(job.name),
  };
}

function importDoes(job: ImportJob, { store, runs, reading }: Beginning): Slot[] {
  const waiting = waitingPlan(runs);
  const unfinished = runs.find(
    ({ status, kind }) => (status === 'failed' || status === 'interrupted') && kind !== 'plan',
  );
  const last = runs.find(({ kind, status }) => kind !== 'plan' && status !== 'superseded');
  return [
    html`Reads ${placeWords(job.source)} as it is now, and compares each record with what the store has taken before.`,
    html`Sends what is new or has changed to the store ${at(store)}, one request a record.`,
    ...(job.mode === 'mirror'
      ? ['Deletes the products that this job last sent and the source no longer has.']
      : ['Deletes nothing.']),
    ...sendsOnlyIf(job),
    ...(unfinished === undefined ? [] : [goesOn(unfinished)]),
    ...(waiting === undefined ? [] : [asPlanned(waiting, reading)]),
    ...(last === undefined || last === unfinished || last === waiting || totalsWords(last) === ''
      ? []
      : [
          html`The <a href="/runs/${last.id}">last run</a>, ${relative(last.startedAt, reading)}: ${totalsWords(last)}.`,
        ]),
  ];
}

function exportDoes({ job, store }: Beginning): Slot[] {
  if (job.kind !== 'export') return [];
  const { destination } = job;
  return [
    html`Reads from the store ${at(store)}, and changes nothing there.`,
    destination.mode === 'append'
      ? html`Adds to ${placeWords(destination)}; what it holds stays.`
      : html`Writes ${placeWords(destination)} anew, whole or not at all.`,
  ];
}

function sendsOnlyIf(job: ImportJob): string[] {
  const limits = limitWords(job);
  return limits.length === 0
    ? []
    : [`Sends only if the plan is within the safety limits: ${limits.join('; ')}.`];
}

function goesOn({ id, totals }: Run): Markup {
  const left =
    totals === null || totals.unsent === 0 ? '' : `: ${counted(totals.unsent, 'record')} left to send`;
  return html`If nothing has changed since, it goes on where <a href="/runs/${id}">run ${id}</a> stopped${left}; what the store has taken is not sent again.`;
}

function asPlanned({ id, status, totals, startedAt }: Run, reading: Reading): Markup {
  const figures = totals === null ? '' : `: ${counted(totals.operations, 'request')}`;
  return html`The <a href="/runs/${id}">${status === 'stopped' ? 'stopped plan' : 'plan'}</a> of ${relative(startedAt, reading)} waits for approval${figures}. A run plans anew; to send exactly that plan, <a href="/runs/${id}/approve">approve it</a>.`;
}

/** The plan that may still be approved: none after a run that has read its source since. */
function waitingPlan(runs: readonly Run[]): Run | undefined {
  const isWaiting = ({ status }: Run) => status === 'planned' || status === 'stopped';
  const latest = runs.find((run) => isWaiting(run) || (run.kind !== 'plan' && run.digest !== null));
  return latest !== undefined && isWaiting(latest) ? latest : undefined;
}

function underWay({ id }: Run): Markup {
  return html`<a href="/runs/${id}">Run ${id}</a> of this job is under way; a second one is refused until it has ended.`;
}

/** `main (https://shop.example)`. */
export function at({ name, baseUrl }: Pick<StoreConfig, 'name' | 'baseUrl'>): Markup {
  return html`<b>${name}</b> (${baseUrl})`;
}
