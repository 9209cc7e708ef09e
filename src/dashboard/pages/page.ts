import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ConfigurationProblem, formatPlace } from '../../model/storeferry-error.ts';
import { html, type Markup, type Slot } from '../../report/html/markup.ts';
import type { DashboardContext } from '../dashboard-context.ts';

/** The hidden field of every form that has an effect, with the token of the session. */
export const CSRF_FIELD = 'csrfToken';

/** The entries of the navigation. */
export type Section = 'jobs' | 'runs' | 'records' | 'lists' | 'queues';

/** A sentence above the page: what was done, or why it was not. */
export interface Notice {
  readonly tone: 'good' | 'warning' | 'bad';
  readonly text: string;
}

/** The content of a page. */
export interface PageParts {
  /** The title of the window, and of the page unless `heading` is given. */
  readonly title: string;
  readonly heading?: Markup;
  /** Null before the sign-in: then there is no navigation. */
  readonly viewer: { readonly canAct: boolean; readonly csrfToken: string } | null;
  /** The entry of the page in the navigation. */
  readonly section?: Section;
  /** The name of the workspace, to distinguish several dashboards. */
  readonly workspace?: string;
  /** Whether there are queues to show: only with Redis. */
  readonly queues?: boolean;
  readonly notice?: Notice | null;
  /** Loads the script that updates progress. */
  readonly live?: boolean;
  /** Loads the script that renders a form again after each change. */
  readonly form?: boolean;
  readonly body: Slot;
}

const ENTRIES: readonly { readonly section: Section; readonly href: string; readonly label: string }[] = [
  { section: 'jobs', href: '/', label: 'Jobs' },
  { section: 'runs', href: '/runs', label: 'Runs' },
  { section: 'records', href: '/records', label: 'Records' },
  { section: 'lists', href: '/lists', label: 'Lists' },
  { section: 'queues', href: '/queues', label: 'Queues' },
];

/** A whole document, for every page of the dashboard. */
export function page(parts: PageParts): string {
  const { title, heading, viewer, workspace, notice, body } = parts;
  const name = [title, ...(workspace === undefined ? [] : [workspace]), 'Storeferry'].join(' · ');
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
${banner(parts)}
<main id="main" class="page" tabindex="-1">
${notice && noticeBox(notice)}
<h1>${heading ?? title}</h1>
${body}
</main>
<footer class="site-footer"><p>Storeferry${viewer !== null && !viewer.canAct && ' · read-only access'}</p></footer>
</body>
</html>`}\n`;
}

/** Answers with a document of `page`. */
export function sendPage(reply: FastifyReply, document: string, status = 200): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(document);
}

function banner({ viewer, section, workspace, queues = false }: PageParts): Markup {
  if (viewer === null) {
    return html`<header class="site-header"><div class="site-bar"><span class="site-name">Storeferry</span></div></header>`;
  }
  const entries = ENTRIES.filter((entry) => entry.section !== 'queues' || queues);
  return html`<header class="site-header"><div class="site-bar">
<a class="site-name" href="/">Storeferry${workspace !== undefined && html` <span class="site-workspace">${workspace}</span>`}</a>
<nav aria-label="Main"><ul>${entries.map(
    ({ section: own, href, label }) =>
      html`<li><a href="${href}"${own === section && html` aria-current="page"`}>${label}</a></li>`,
  )}</ul></nav>
<form class="sign-out" method="post" action="/sign-out">${csrfInput(viewer)}<button type="submit" class="button quiet">Sign out</button></form>
</div></header>`;
}

/** The hidden field that proves that a form comes from this session. */
export function csrfInput({ csrfToken }: { readonly csrfToken: string }): Markup {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${csrfToken}">`;
}

/** A notice above the heading. Screen readers read it immediately. */
function noticeBox({ tone, text }: Notice): Markup {
  return html`<p class="notice ${tone}" role="${tone === 'good' ? 'status' : 'alert'}">${text}</p>`;
}

/** The common parts of all pages of a dashboard for this visitor. */
export function frameOf(
  { workspaceName, redisUrl }: Pick<DashboardContext, 'workspaceName' | 'redisUrl'>,
  { viewer }: Pick<FastifyRequest, 'viewer'>,
): Frame {
  return { viewer, workspace: workspaceName, queues: redisUrl !== undefined };
}

export type Frame = Required<Pick<PageParts, 'workspace' | 'queues'>> & {
  readonly viewer: NonNullable<PageParts['viewer']>;
};

/** The errors in the files of the workspace, each with file, line and column. */
export function problemList(problems: readonly ConfigurationProblem[]): Markup {
  return html`<ul class="problems">${problems.map(
    ({ place, message }) => html`<li><code>${formatPlace(place)}</code> <span>${message}</span></li>`,
  )}</ul>`;
}
