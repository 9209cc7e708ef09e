import { type ActionButton, type ActionName, actionOf, mayDo } from '../../model/action.ts';
import type { ConflictSide } from '../../model/observation.ts';
import { CLONE_JOB, jobFileName } from '../../model/run.ts';
import { html, link, type Markup, type Slot, styledText } from '../../report/html/markup.ts';
import type { Viewer } from '../access/sessions.ts';

/** The labels of the choice about fields that were changed in the store and in the source. */
export const CONFLICT_BUTTONS: Readonly<Record<ConflictSide, string>> = {
  source: 'Send the values of the source',
  store: 'Keep the values of the store',
};

/** The address of a job's page; of clones, whose job has no file and no page, that of their runs. */
export function jobHref(name: string): string {
  if (jobFileName(name) === CLONE_JOB) return `/runs${queryOf({ job: name })}`;
  return `/jobs/${encodeURIComponent(name)}`;
}

/** A job by its name, with a link to its page. */
export function jobLink(name: string): Markup {
  return link(jobHref(name), name);
}

/** A run by its id, with a link to its page: `run k3v9x2`. */
export function runLink(id: string, noun: 'run' | 'Run' = 'run'): Markup {
  return link(`/runs/${id}`, `${noun} ${id}`);
}

/** The address of the plots of a job that collects list statistics. */
export function listsHref(job: string): string {
  return `/lists/${encodeURIComponent(job)}`;
}

/** The parameters of an address. Those that are absent, false or empty are left out. */
export type Query = Readonly<Record<string, string | number | false | undefined>>;

/** A query with its question mark; nothing if it has no parameters. Without those that are empty, false or 0. */
export function queryOf(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/** The address of the page of an action on a job or a run; on a record, which the query names. */
export function actionHref(name: ActionName, of: string, query: Query = {}): string {
  if (name === 'stats') return listsHref(of);
  return `${pathOf(name, encodeURIComponent(of))}${queryOf(query)}`;
}

/** The route of the page of an action: `/runs/:run/approve`. */
export function actionRoute(name: ActionName): string {
  return pathOf(name, `:${actionOf(name).to}`);
}

function pathOf(name: ActionName, of: string) {
  const { to, page = name } = actionOf(name);
  if (to === undefined) return `/records/${page}`;
  return `/${to}s/${of}${page === '' ? '' : `/${page}`}`;
}

/** Who may open the page of an action, for the guard of requests. */
export function accessTo(name: ActionName) {
  return { config: { role: actionOf(name).role ?? 'edit' } } as const;
}

/** How the button of an action differs from the usual one. */
interface ButtonOptions extends Partial<ActionButton> {
  readonly query?: Query | undefined;
  /** What screen readers hear after the label, where a page has several alike. */
  readonly about?: string;
}

/** The button that leads to the page of an action; null if the dashboard has none, or the visitor may not do it. */
export function actionButton(
  { role }: Pick<Viewer, 'role'>,
  name: ActionName,
  of: string,
  { query, about, ...different }: ButtonOptions = {},
): Markup | null {
  const { button } = actionOf(name);
  return button === undefined || !mayDo(role, name)
    ? null
    : linkButton(actionHref(name, of, query), { ...button, ...different }, about);
}

/** A link that looks like a button. */
export function linkButton(href: string, { label, weight }: ActionButton, about?: string): Markup {
  return html`<a class="button${weight !== undefined && ` ${weight}`}" href="${href}">${label}${about !== undefined && html`<span class="unseen"> ${about}</span>`}</a>`;
}

/** Buttons and words beside them in a row; absent ones are left out. */
export function buttonRow(...parts: readonly Slot[]): Markup {
  const shown = parts.filter((part) => part !== false && part !== null && part !== undefined);
  return styledText(
    'actions',
    shown.map((part, index) => [index > 0 && ' ', part]),
  );
}
