import { randomUUID } from 'node:crypto';
import { html, type Markup, type Slot } from '../../report/html/markup.ts';
import { PageError } from '../guard/page-error.ts';
import type { Frame } from '../pages/frame.ts';
import { activityWords, jobHref } from '../pages/job-card.ts';
import type { Activity } from '../pages/job-state.ts';
import { csrfInput, page } from '../pages/layout.ts';
import type { Reading } from '../pages/moment.ts';

/** Names one confirmation: sent twice, it does what it says once. */
const ONCE_FIELD = 'once';

/** What is asked before something is done. */
export interface Confirmation {
  /** As a question. */
  readonly title: string;
  readonly lead: Slot;
  /** What it will do, in figures where they are known. */
  readonly does: readonly Slot[];
  /** What to think about first. */
  readonly warnings?: readonly Slot[];
  /** On the button: what it does. */
  readonly label: string;
  readonly weight: 'primary' | 'danger';
  /** Where the form is sent. */
  readonly action: string;
  readonly fields?: Readonly<Record<string, string>>;
  /** Where to go instead. */
  readonly back: string;
}

/** The page that says what will be done, with the button that does it. */
export function confirmationPage(confirmation: Confirmation, frame: Frame): string {
  const { title, lead, does, warnings = [] } = confirmation;
  return page({
    ...frame,
    title,
    section: confirmation.back.startsWith('/runs') ? 'runs' : 'jobs',
    body: html`<p class="page-lead">${lead}</p>
${warnings.map((warning) => html`<p class="notice warning">${warning}</p>`)}
<ul class="does">${does.map((what) => html`<li>${what}</li>`)}</ul>
${confirmationForm(confirmation, frame)}`,
  });
}

/** The page in the place of a confirmation while the job is under way: what is running, and what can be done about that. */
export function underWayPage(job: string, activity: Activity, reading: Reading, frame: Frame): string {
  const { run } = activity;
  return page({
    ...frame,
    title: `${job} is under way`,
    section: 'jobs',
    body: html`<p class="page-lead">${activityWords(activity, reading)} Another run of ${job} can start once this one has ended.</p>
<p class="actions">${run !== null && html`<a class="button primary" href="/runs/${run.id}">Watch</a> <a class="button danger" href="/runs/${run.id}/interrupt">Interrupt</a> `}<a class="button" href="${jobHref(job)}">Back to ${job}</a></p>`,
  });
}

/** The form alone, for pages that have more to show. */
export function confirmationForm(
  { action, fields = {}, label, weight, back }: Omit<Confirmation, 'title' | 'lead' | 'does'>,
  { viewer }: Frame,
): Markup {
  const hidden = Object.entries({ [ONCE_FIELD]: randomUUID(), ...fields });
  return html`<form class="confirm" method="post" action="${action}">
${csrfInput(viewer)}
${hidden.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="actions"><button type="submit" class="button ${weight}">${label}</button> <a class="button" href="${back}">Cancel</a></p>
</form>`;
}

/** The name of the confirmation that was sent; PageError when it has none. */
export function onceOf(fields: Readonly<Record<string, string | undefined>>): string {
  const once = fields[ONCE_FIELD];
  if (once !== undefined && /^[0-9a-f-]{36}$/.test(once)) return once;
  throw new PageError(400, 'The form is incomplete', 'Go back, load the page again and repeat the step.');
}
