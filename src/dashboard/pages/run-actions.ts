import type { Plan } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { section } from '../../report/html/section.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { counted, grouped, listed, newWord } from '../../report/wording/words.ts';
import { jobHref } from './job-card.ts';

interface RunAction {
  /** What it would do, in a sentence. */
  readonly what: string;
  readonly label: string;
  readonly href: string;
  readonly weight: 'primary' | 'danger' | 'plain';
}

/**
 * The actions that fit a run as it is now, each with what it would do, behind a confirmation; null for none. `later`: a
 * run of the job that has begun since, which settles what is planned or rejected here.
 */
export function runActions(facts: RunFacts, later: Run | undefined): Markup | null {
  const actions = fitting(facts, later);
  if (actions.length === 0) return null;
  return section(
    'next',
    'What you can do',
    html`<ul class="next-list">${actions.map(
      ({ what, label, href, weight }) =>
        html`<li><p>${what}</p><p><a class="button ${weight}" href="${href}">${label}</a></p></li>`,
    )}</ul>`,
  );
}

function fitting(facts: RunFacts, later: Run | undefined): RunAction[] {
  const { run, plan, rejectsFile, exported } = facts;
  const { id, status, kind } = run;
  const settled = (what: string): RunAction[] =>
    later === undefined
      ? []
      : [{ what, label: `See run ${later.id}`, href: `/runs/${later.id}`, weight: 'plain' }];
  const approve: RunAction[] =
    plan === null || plan.shards.length === 0
      ? []
      : [{ what: wouldSend(plan), label: 'Approve', href: `/runs/${id}/approve`, weight: 'primary' }];
  const download: RunAction[] =
    rejectsFile === null
      ? []
      : [
          {
            what: 'The rejected rows with their reasons, as a file for a spreadsheet.',
            label: 'Download the rejects',
            href: `/runs/${id}/rejects.csv`,
            weight: 'plain',
          },
        ];
  const trends: RunAction[] =
    exported?.mode !== 'append' || run.resource !== 'subscriber-lists'
      ? []
      : [
          {
            what: 'The figures of the lists over all readings.',
            label: 'See the trends',
            href: `/lists/${encodeURIComponent(run.job)}`,
            weight: 'plain',
          },
        ];
  const repeat = (what: string): RunAction => ({
    what,
    label: { plan: 'Plan', run: 'Run', export: 'Run', retry: 'Retry', verify: 'Run' }[kind],
    href: againHref(run),
    weight: 'plain',
  });
  // There is no button for verify: the report names the command.
  const again = (what: string): RunAction[] => (kind === 'verify' ? [] : [repeat(what)]);
  const overtaken = settled('A later run has begun since, so this plan cannot be approved any more.');
  switch (status) {
    case 'running':
      return [
        {
          what: `Finishes the requests in flight, then stops.${kind === 'verify' ? '' : ' The next run continues where it stopped.'}`,
          label: 'Interrupt',
          href: `/runs/${id}/interrupt`,
          weight: 'danger',
        },
      ];
    case 'planned':
      if (later !== undefined) return [...overtaken, ...download];
      return [...approve, ...download, repeat('Re-plan with the current file.')];
    case 'stopped':
      if (later !== undefined) return [...overtaken, ...download];
      return [
        repeat('If the source is wrong: correct it, then run again.'),
        ...download,
        ...approve.map((action) => ({ ...action, weight: 'danger' as const })),
      ];
    case 'done-with-rejects':
      return [
        ...settled(
          'A later run has begun since: what the store has taken from it is left out when the rejects here are retried.',
        ),
        ...download,
        {
          what: 'Takes the rejects file as you have corrected it, and sends the rows that are right now.',
          label: 'Upload the corrected file',
          href: `/runs/${id}/retry`,
          weight: 'primary',
        },
      ];
    case 'failed':
    case 'interrupted':
      if (later !== undefined) return [...settled('A later run of this job has started since.'), ...download];
      return [...again(continuation(kind)), ...download];
    case 'superseded':
      return later === undefined
        ? again('A later run has taken its place.')
        : settled('A later run has taken its place.');
    case 'done':
      return [...trends];
    default:
      return status satisfies never;
  }
}

function againHref({ kind, job, retryOf }: Run): string {
  if (kind === 'retry' && retryOf !== null) return `/runs/${retryOf}/retry`;
  return `${jobHref(job)}/${kind === 'plan' ? 'plan' : 'run'}`;
}

function continuation(kind: Run['kind']): string {
  return kind === 'run' || kind === 'retry'
    ? 'Continues where it stopped: what the store has acknowledged is not sent again.'
    : 'Starts again.';
}

/** What approving a plan would send. */
function wouldSend({ counts, resource }: Plan): string {
  const parts = [
    [counts.new.records, newWord(resource)],
    [counts.changed.records, 'changed'],
    [counts.resent.records, 'sent again'],
    [counts.deletes, 'to delete'],
  ] as const;
  const requests = parts.reduce((sum, [figure]) => sum + figure, 0);
  const named = parts.filter(([figure]) => figure > 0).map(([figure, word]) => `${grouped(figure)} ${word}`);
  return `Sends exactly this plan, safety limits notwithstanding: ${counted(requests, 'request')} (${listed(named)}).`;
}
