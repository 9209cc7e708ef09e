import type { FastifyInstance, FastifyRequest } from 'fastify';
import { withoutAbsent } from '../../model/json-object.ts';
import { type ConfigurationProblem, formatPlace } from '../../model/storeferry-error.ts';
import {
  code,
  dataTable,
  html,
  type Markup,
  type Slot,
  styledText,
  type TableParts,
} from '../../report/html/markup.ts';
import type { RunContext } from '../../run/run-context.ts';
import {
  capitalise,
  DAY,
  formatAgo,
  formatDuration,
  formatMoment,
  MINUTE,
  serverTimezone,
} from '../../text/printable.ts';
import type { Viewer } from '../access/sessions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { type Query, queryOf } from './link-button.ts';
import { attributes, postForm, submitButton } from './post-form.ts';

/** The entries of the navigation, in its order. */
const SECTIONS = ['jobs', 'runs', 'records', 'lists', 'stores', 'queues'] as const;
export type Section = (typeof SECTIONS)[number];

/** A sentence above the page: what was done, or why it was not. */
export interface Notice {
  readonly tone: 'good' | 'warning' | 'bad';
  readonly text: string;
}

/** The content of a page. */
export interface Page {
  /** The title of the window, and of the page unless `heading` is given. */
  readonly title: string;
  readonly heading?: Markup;
  /** The entry of the page in the navigation. */
  readonly section?: Section;
  readonly notice?: Notice | null;
  /** Loads the script that updates progress. */
  readonly live?: boolean;
  /** Loads the script that renders a form again after each change. */
  readonly form?: boolean;
  /** What the page is about, above all else. */
  readonly lead?: Slot;
  readonly body: Slot;
}

declare module 'fastify' {
  interface FastifyReply {
    /** Answers with a page of the dashboard. */
    sendPage(content: Page, status?: number): FastifyReply;
  }
}

/** What every page of a dashboard needs. */
type Site = Pick<DashboardContext, 'workspaceName' | 'redisUrl'>;

/** Gives all answers the function that sends a page. */
export function decorateReplies(app: FastifyInstance, site: Site): void {
  app.decorateReply('sendPage', function sendPage(content, status = 200) {
    const document = page(content, site, this.request.session);
    return this.code(status).type('text/html; charset=utf-8').send(document);
  });
}

/** A whole document. Before the sign-in there is no viewer and no navigation. */
function page(parts: Page, site: Site, viewer: Viewer | null) {
  const { title, heading, notice, lead, body } = parts;
  const name = withoutAbsent([title, viewer !== null && site.workspaceName, 'Storeferry']).join(' · ');
  return `<!doctype html>\n${html`<html lang="en">
<head>
<meta charset="utf-8">
<title>${name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/report.css">
<link rel="stylesheet" href="/assets/dashboard.css">
${parts.live === true && html`<script src="/assets/live.js" defer></script>`}
${parts.form === true && html`<script src="/assets/form.js" defer></script>`}
</head>
<body class="dashboard">
<a class="skip-link" href="#main">Skip to the content</a>
${banner(parts, site, viewer)}
<main id="main" class="page" tabindex="-1">
${notice && alertText(notice.text, notice.tone)}
<h1>${heading ?? title}</h1>
${lead !== undefined && styledText('page-lead', lead)}
${body}
</main>
<footer class="site-footer"><p>Storeferry${viewer?.role === 'view' && ' · read-only access'}</p></footer>
</body>
</html>`}\n`;
}

function banner({ section }: Page, { workspaceName, redisUrl }: Site, viewer: Viewer | null) {
  if (viewer === null)
    return html`<header class="site-header"><div class="site-bar"><span class="site-name">Storeferry</span></div></header>`;
  const entries = SECTIONS.filter((entry) => entry !== 'queues' || redisUrl !== undefined);
  return html`<header class="site-header"><div class="site-bar">
<a class="site-name" href="/">Storeferry <span class="site-workspace">${workspaceName}</span></a>
<nav aria-label="Main"><ul>${entries.map(
    (entry) =>
      html`<li><a href="${entry === 'jobs' ? '/' : `/${entry}`}"${attributes({ 'aria-current': entry === section && 'page' })}>${capitalise(entry)}</a></li>`,
  )}</ul></nav>
${postForm({ action: '/sign-out', style: 'sign-out', body: submitButton('Sign out', { weight: 'quiet' }) }, viewer)}
</div></header>`;
}

/** A table on its own. */
export function tableBox(parts: TableParts): Markup {
  return html`<div class="report"><div class="part">${dataTable(parts)}</div></div>`;
}

/** A table of a form that scrolls sideways, made of whole rows. */
export function scrolledTable({ style, caption, headers, rows }: ScrolledTable): Markup {
  return html`<div class="table-scroll"><table class="${style}"><caption>${caption}</caption>
<thead><tr>${headers.map((header) => html`<th scope="col">${header}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

interface ScrolledTable {
  readonly style: 'columns' | 'preview';
  readonly caption: Slot;
  readonly headers: readonly string[];
  readonly rows: readonly Markup[];
}

/** Words that stand out on a page. */
export function noticeText(words: Slot, tone = ''): Markup {
  return styledText(`notice ${tone}`.trim(), words);
}

/** Words that stand out, and are read aloud at once. */
export function alertText(words: Slot, tone: Notice['tone'] = 'bad'): Markup {
  return html`<p class="notice ${tone}" role="alert">${words}</p>`;
}

/** What is said where there is nothing to show; `more`: below it. */
export function emptyBox(title: Slot, words: Slot, more: Slot = ''): Markup {
  return html`<section class="empty"><h2>${title}</h2>${words !== false && html`<p>${words}</p>`}${more}</section>`;
}

/** What few readers need, under a line that opens it. */
export function foldedPart(summary: Slot, body: Slot, open = false): Markup {
  return html`<details class="worth-knowing"${open && html` open`}><summary>${summary}</summary>${body}</details>`;
}

/** A term with its description, for a `<dl class="facts">`. */
export function fact(term: Slot, description: Slot): Markup {
  return html`<div><dt>${term}</dt><dd>${description}</dd></div>`;
}

/** One page of many things. */
export interface Pages<T> {
  readonly items: readonly T[];
  readonly total: number;
  /** Counts from 1. */
  readonly number: number;
  readonly count: number;
}

/** The page of this number, or the last one; 1 for an invalid number. */
export function pageOf<T>(items: readonly T[], size: number, asked = '1'): Pages<T> {
  const count = Math.max(1, Math.ceil(items.length / size));
  const wanted = /^\d{1,6}$/.test(asked) ? Number(asked) : 1;
  const number = Math.min(count, Math.max(1, wanted));
  return { items: items.slice((number - 1) * size, number * size), total: items.length, number, count };
}

/** The words of a pager for things of which the newest come first. */
export const BY_TIME = ['Newer', 'Older'] as const;

/** Links to the previous and next page at this address with this query; nothing if there is only one page. */
export function pager(
  { number, count }: Pages<unknown>,
  path: string,
  query: Query = {},
  [before, after]: readonly [string, string] = ['Previous', 'Next'],
): Markup {
  if (count === 1) return html``;
  const href = (page: number) => `${path}${queryOf({ ...query, page: page > 1 && page })}`;
  return html`<nav class="pager" aria-label="Pages">
${number > 1 && html`<a class="button" rel="prev" href="${href(number - 1)}">${before}</a>`}
<span>Page ${number} of ${count}</span>
${number < count && html`<a class="button" rel="next" href="${href(number + 1)}">${after}</a>`}
</nav>`;
}

/** The errors in the files of the workspace, each with file, line and column. */
export function problemList(problems: readonly ConfigurationProblem[]): Markup {
  return html`<ul class="problems">${problems.map(
    ({ place, message }) => html`<li>${code(formatPlace(place))} <span>${message}</span></li>`,
  )}</ul>`;
}

/** A notice with what is wrong in a file, which only a correction by hand settles. */
export function fileProblems(title: string, problems: readonly ConfigurationProblem[]): Markup {
  return html`<section class="notice bad"><h2>${title}</h2>${problemList(problems)}<p>Correct the file and load this page again.</p></section>`;
}

/** The context for times on a page. */
export interface Reading {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The time zone of shown times, such as `Europe/London`. */
  readonly timezone: string;
}

/** `<time>`: `Sat 21 Nov 02:15 GMT`, with the year if it is not the current one. */
export function moment(at: number, { now, timezone }: Reading): Markup {
  return html`<time datetime="${new Date(at).toISOString()}">${written(at, now, timezone)}</time>`;
}

/** The distance from now in words, with the exact time as its title: `3 h ago`, `in 5 h 12 min`. */
export function relativeTime(at: number, { now, timezone }: Reading): Markup {
  // Seconds are irrelevant for distant times.
  const distance = at - now < MINUTE ? at - now : Math.round((at - now) / MINUTE) * MINUTE;
  const words = at > now ? `in ${formatDuration(distance)}` : formatAgo(now - at);
  const title = written(at, now, timezone);
  return html`<time datetime="${new Date(at).toISOString()}" title="${title}">${words}</time>`;
}

/** The time and its distance from now. */
export function momentAndDistance(at: number, reading: Reading): Markup {
  return html`${moment(at, reading)} <span class="quiet">(${relativeTime(at, reading)})</span>`;
}

function written(at: number, now: number, timezone: string) {
  return formatMoment(at, { timezone, year: Math.abs(at - now) > 300 * DAY });
}

/** The fields of a form or a query; of repeated names the first. */
export type FormFields = Readonly<Record<string, string | undefined>>;

/** The fields of a parsed body or query. */
export function formFields(parsed: unknown): FormFields {
  if (typeof parsed !== 'object' || parsed === null) return {};
  return Object.fromEntries(Object.entries(parsed).filter(([, value]) => typeof value === 'string'));
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What its address names first: a job, a run, a store; '' for none. */
    subject: string;
    /** The fields of its form; of a page those of the query. */
    fields: FormFields;
    /** Now, in the time zone of the visitor. */
    reading: Reading;
  }
}

/** Gives all requests their subject, their fields and their reading. */
export function decorateRequests(app: FastifyInstance, { clock }: Pick<RunContext, 'clock'>): void {
  app.decorateRequest('subject', {
    getter() {
      return String(Object.values(this.params ?? {})[0] ?? '');
    },
  });
  app.decorateRequest('fields', {
    getter() {
      return formFields(isReading(this) ? this.query : this.body);
    },
  });
  app.decorateRequest('reading', {
    getter() {
      return { now: clock(), timezone: this.viewer.timezone ?? serverTimezone() };
    },
  });
}

/** Whether a request has no effect. */
export function isReading({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}
