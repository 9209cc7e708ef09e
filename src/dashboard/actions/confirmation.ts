import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ActionButton, type ActionName, actionOf, type JobAction } from '../../model/action.ts';
import type { Run } from '../../model/run.ts';
import { bullets, html, type Markup, type Slot } from '../../report/html/markup.ts';
import { discardRun } from '../../run/execute-run.ts';
import { askToInterrupt, withLiveStatus } from '../../run/report/read-stored-report.ts';
import { counted, grouped } from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { ActionResult, DashboardContext } from '../dashboard-context.ts';
import { PageError } from '../guard/page-error.ts';
import type { Activity } from '../pages/activity.ts';
import { activityWords } from '../pages/job-card.ts';
import { actionButton, actionHref, buttonRow, jobHref, jobLink, linkButton } from '../pages/link-button.ts';
import { noticeText, type Page, type Reading, relativeTime } from '../pages/page.ts';
import { postForm, submitButton } from '../pages/post-form.ts';
import { audit, type FormFields, keptRun } from '../route-parts.ts';

/** Identifies one confirmation. Sent twice, it has its effect once. */
const ONCE_FIELD = 'once';

/** A question before an action. */
export interface Confirmation {
  readonly does: ActionName;
  /** The job or the run that it is done to. */
  readonly to: string;
  /** As a question. */
  readonly title: string;
  readonly lead: Slot;
  /** What the action will do, with figures if they are known; false for what does not apply. */
  readonly effects: readonly Slot[];
  /** Warnings, shown first. */
  readonly warnings?: readonly Slot[];
  /** The button, where it is not the usual one of the action. */
  readonly button?: Partial<ActionButton>;
  readonly fields?: Readonly<Record<string, string | undefined>>;
  /** What can be chosen, above the button. */
  readonly controls?: Slot;
  /** The address of the cancel link, where it is not that of the job or the run. */
  readonly back?: string;
}

/** What the page of an action shows, and what its form does. */
export interface ActionPage {
  readonly ask: (request: FastifyRequest) => Promise<Page | Confirmation>;
  /** Gives the action to begin, the address of what was done, or a page about it. */
  readonly act: (request: FastifyRequest) => Promise<JobAction | string | Page>;
}

/** The pages of some actions. */
export type ActionPages = Readonly<Partial<Record<ActionName, ActionPage>>>;

const SECTIONS = { job: 'jobs', run: 'runs', record: 'records' } as const;

/** The page that describes the effects of an action, with the button that starts it. */
export function confirmationPage(confirmation: Confirmation, viewer: Viewer): Page {
  const { does, title, lead, effects, warnings = [] } = confirmation;
  return {
    title,
    section: SECTIONS[actionOf(does).to ?? 'record'],
    lead,
    body: html`${warnings.map((warning) => noticeText(warning, 'warning'))}
${bullets(effects, 'does')}
${confirmationForm(confirmation, viewer)}`,
  };
}

/** The page that replaces a confirmation while the job is running: it shows the running run and how to interrupt it. */
export function runningPage(job: string, activity: Activity, reading: Reading, viewer: Viewer): Page {
  const { run } = activity;
  return {
    title: `${job} is running`,
    section: 'jobs',
    lead: html`${activityWords(activity, reading)} Another run of ${job} can start once this one has ended.`,
    body: buttonRow(
      run && actionButton(viewer, 'see', run.id, { label: 'Watch', weight: 'primary' }),
      run && actionButton(viewer, 'cancel', run.id),
      linkButton(jobHref(job), { label: `Back to ${job}` }),
    ),
  };
}

type ConfirmationForm = Omit<Confirmation, 'title' | 'lead' | 'effects' | 'warnings'> & {
  /** Several buttons instead of the one of the action. */
  readonly buttons?: Slot;
};

/** Only the form, for pages with other content. */
export function confirmationForm(
  { does, to, fields = {}, controls, button, buttons, back }: ConfirmationForm,
  viewer: Viewer,
): Markup {
  const { to: kind, confirm } = actionOf(does);
  const { label, weight } = { ...confirm, ...button };
  const subject = kind === 'job' ? jobHref(to) : actionHref('see', to);
  const body = [
    controls,
    buttonRow(buttons ?? submitButton(label, { weight }), linkButton(back ?? subject, { label: 'Cancel' })),
  ];
  const hidden = { [ONCE_FIELD]: randomUUID(), ...fields };
  return postForm({ action: actionHref(does, to), style: 'confirm', fields: hidden, body }, viewer);
}

/** Whether a parameter or a field looks like an id that the dashboard has made. */
export function isUuid(given: string | undefined): given is string {
  return given !== undefined && /^[0-9a-f-]{36}$/.test(given);
}

/** The id of the confirmation in the form; PageError if it has none. */
export function onceOf(fields: FormFields): string {
  const once = fields[ONCE_FIELD];
  if (isUuid(once)) return once;
  throw new PageError(400, 'The form is incomplete', 'Go back, load the page again and repeat the step.');
}

/** What happens to the rest of an interrupted run. */
const AFTER_INTERRUPT: Readonly<Record<Run['kind'], string>> = {
  run: 'The next run of the job continues where it stopped, if source and mapping are still the same: nothing is sent twice.',
  retry: 'To send the rest, retry again: nothing is sent twice. A run of the job would take its place.',
  plan: 'The next plan starts from the beginning. What this one has read is discarded.',
  export:
    'The next run reads the store again, unless this one was already writing and its reading is kept (`mode: new`, or `append` of lists).',
  verify: 'The next verification draws another sample.',
  drift: 'The next comparison continues where it stopped.',
  undo: 'What is restored stays restored. To restore the rest, plan the undo again: it leaves out what is done.',
  copy: 'What was sent stays sent. To send the rest, plan it again by the same command: it leaves out what is done.',
  release: 'What was released stays sent. To send the rest, release it again: nothing is sent twice.',
};

/** The same of a restore: an approved one is a release. */
const AFTER_RESTORE =
  'What was restored stays sent. To send the rest, compare the store again and restore what differs.';

/** The confirmation to interrupt a run. PageError if it is not running. */
export function confirmInterrupt(run: Run, reading: Reading): Confirmation {
  const { id, job, kind, progress, startedAt } = run;
  if (run.status !== 'running')
    throw new PageError(409, 'Nothing to interrupt', `Run ${id} has ended: it is ${run.status}.`);
  return {
    does: 'cancel',
    to: id,
    title: `Interrupt run ${id}?`,
    lead: html`The run of ${jobLink(job)} started ${relativeTime(startedAt, reading)}${
      progress != null &&
      progress.step === 'apply' &&
      html`, and has applied ${counted(progress.applied, 'record')} so far${progress.total !== null && `, at ${grouped(progress.done)} of ${counted(progress.total, 'request')}`}`
    }.`,
    effects: [
      'Stops new requests within about a second, waits for requests in flight, and records what the store has acknowledged.',
      run.restore === undefined || kind !== 'release' ? AFTER_INTERRUPT[kind] : AFTER_RESTORE,
    ],
  };
}

const RELOAD_S = 2;

/** Begins an action for a visitor, adds it to the audit log, and shows its result. */
export async function beginAction(
  dashboard: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { action: asked, once, before }: Begun,
): Promise<FastifyReply> {
  const action = { ...asked, by: request.viewer.names };
  const result = await dashboard.actions.begin(action, once, {
    before,
    onSettled: async (settled) => {
      const named = 'run' in action ? action.run : null;
      const run = 'run' in settled ? settled.run : null;
      const isRefused = settled.kind === 'refused' || settled.kind === 'busy';
      await audit(dashboard, request, {
        action: action.does,
        job: action.job,
        outcome: isRefused ? 'refused' : 'done',
        run: isRefused ? named : (run ?? named),
        of: isRefused || run === null || run === named ? null : named,
      });
    },
  });
  return showResult(reply, { action, result, once }, dashboard);
}

interface Begun {
  readonly action: JobAction;
  /** Identifies the confirmation. */
  readonly once: string;
  readonly before?: () => Promise<void>;
}

/** Redirects to the run of an action, or explains why there is none or none yet. */
export function showResult(
  reply: FastifyReply,
  {
    action,
    result,
    once,
  }: { readonly action: JobAction; readonly result: ActionResult; readonly once: string },
  { redact }: DashboardContext,
): FastifyReply {
  const show = (status: number, title: string, body: Markup) =>
    reply.sendPage({ title, section: 'jobs', body }, status);
  const toJob = buttonRow(linkButton(jobHref(action.job), { label: `To the job ${action.job}` }));
  switch (result.kind) {
    case 'begun':
      return reply.redirect(`/runs/${result.run}`, 303);
    case 'busy':
      if (result.run !== null) return reply.redirect(`/runs/${result.run}`, 303);
      return show(
        409,
        `${action.job} is being started already`,
        html`<p>The page of the job shows it in a moment. A job has one run at a time.</p>${toJob}`,
      );
    case 'starting':
    case 'enqueued':
      // The address differs from that of the confirmation, so that a reload does not start the action again.
      if (reply.request.method === 'POST') return reply.redirect(`/starting/${once}`, 303);
      reply.header('refresh', RELOAD_S);
      return show(
        200,
        `Starting ${action.job}`,
        html`<p role="status">${waitingFor(result)}</p><p>This page reloads every ${RELOAD_S} seconds and shows the run as soon as there is one. <a href="/starting/${once}">Reload now</a></p>${toJob}`,
      );
    case 'refused':
      return show(
        409,
        `Not started: ${action.does} ${action.job}`,
        html`<p>Nothing was sent. The command printed:</p><pre>${redact(result.message)}</pre>${toJob}`,
      );
    default:
      return result satisfies never;
  }
}

function waitingFor(result: Extract<ActionResult, { kind: 'starting' | 'enqueued' }>): string {
  if (result.kind === 'starting') return 'It reads its source, or waits for another run to end.';
  return result.workers
    ? 'It waits for a worker to take it.'
    : 'It waits for a worker, and no worker is running. Start one: storeferry worker';
}

/** Interrupts a run, or discards its plan. Asked twice, it has its effect once. */
export async function settleOnce(
  dashboard: DashboardContext,
  request: FastifyRequest,
  action: 'cancel' | 'discard',
  id: string,
): Promise<Run> {
  const { context } = dashboard;
  const run = await keptRun(dashboard, id);
  const isOpen =
    action === 'discard'
      ? run.discarded === undefined
      : (await withLiveStatus(context, run)).status === 'running';
  if (!isOpen) return run;
  if (action === 'cancel') await askToInterrupt(context, id);
  else await discardRun(context, run);
  await audit(dashboard, request, { action, job: run.job, run: id });
  return run;
}
