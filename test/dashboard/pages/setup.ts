import { join } from 'node:path';
import { type FastifyInstance, fastify } from 'fastify';
import { parseHTML } from 'linkedom';
import { listJobs } from '../../../src/cli/list-jobs.ts';
import { readWorkspace } from '../../../src/config/workspace.ts';
import type { Viewer } from '../../../src/dashboard/access/sessions.ts';
import type { AtWork, DashboardContext } from '../../../src/dashboard/dashboard-context.ts';
import { showErrors } from '../../../src/dashboard/guard/page-error.ts';
import { decorateRequests } from '../../../src/dashboard/pages/page.ts';
import { registerPages } from '../../../src/dashboard/start-dashboard.ts';
import { knownStore } from '../../../src/onboarding/new-workspace.ts';
import { openRunQueue } from '../../../src/queue/run-queue.ts';
import type { ScheduleStatus } from '../../../src/report/run-facts.ts';
import type { RunContext } from '../../../src/run/run-context.ts';
import { folderArtifacts } from '../../../src/state/folder-artifacts.ts';
import { openSqliteState } from '../../../src/state/sqlite/open-sqlite-state.ts';
import type { State } from '../../../src/state/state.ts';
import { htmlFindings } from '../../support/html-findings.ts';
import { makeWorkspace, type Workspace } from '../../support/workspace.ts';

/** Who may do everything, and who may only look. */
export const ACTING: Viewer = {
  who: 'full token',
  role: 'edit',
  names: [],
  csrfToken: 'token-of-the-session',
};
export const LOOKING: Viewer = {
  who: 'read-only token',
  role: 'view',
  names: [],
  csrfToken: 'token-of-the-session',
};

export interface ShownPage {
  readonly status: number;
  readonly text: string;
  readonly document: ReturnType<typeof parseHTML>['document'];
}

/** The pages of a workspace, without the server's sign-in around them. */
export interface PagesScene extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly workspace: Workspace;
  readonly state: State;
  readonly context: RunContext;
  readonly dashboard: DashboardContext;
  /** Throws when the page is no valid HTML, or lacks what its readers need. */
  get(url: string, viewer?: Viewer): Promise<ShownPage>;
}

export interface SceneOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly schedules?: ScheduleStatus;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly redisUrl?: string;
  /** What the dashboard has started, or the workers have, by job. */
  readonly atWork?: Readonly<Record<string, AtWork>>;
}

/** Opens the pages over a workspace of these files, with SQLite state. */
export async function setupPages(
  files: Readonly<Record<string, string>>,
  options: SceneOptions = {},
): Promise<PagesScene> {
  const workspace = await makeWorkspace(files, options.env);
  return await pagesOf(workspace, options);
}

/** Opens the pages over a workspace that is there. */
export async function pagesOf(
  workspace: Workspace,
  { env = {}, schedules = 'worker', now = Date.now, redisUrl, atWork = {} }: SceneOptions = {},
): Promise<PagesScene> {
  const home = join(workspace.dir, '.storeferry');
  // The thread would take longer to start than most pages take.
  const state = await openSqliteState(home, { withoutThread: true });
  const context: RunContext = {
    workspaceDir: workspace.dir,
    state,
    artifacts: folderArtifacts(join(home, 'artifacts')),
    version: '1.2.3',
    clock: now,
    redact: (text) => text,
    newRunId: () => 'abcdefgh',
    openStorefront: () => Promise.reject(new Error('Pages ask no store.')),
    onEvent: () => {},
    signal: new AbortController().signal,
  };
  const refuse = () => Promise.reject(new Error('Pages do nothing.'));
  const dashboard: DashboardContext = {
    context,
    readWorkspace: () => readWorkspace(workspace.dir, env),
    workspaceName: 'shop',
    newStore: {
      known: () => knownStore(workspace.dir, env),
      sandbox: { url: 'http://127.0.0.1:4010', apiKey: 'sandbox-key' },
    },
    redisUrl,
    program: 'storeferry -C shop',
    // Without Redis: a test says who keeps the clock.
    listJobs: async (only) => {
      const workspace = dashboard.readWorkspace();
      const queue = await openRunQueue({ redisUrl: undefined, context });
      return {
        ...(await listJobs(
          { workspace, context, redisUrl: undefined, queue },
          only === undefined ? undefined : [only],
        )),
        schedules,
      };
    },
    queue: { enqueue: refuse, find: async () => undefined, waiting: async () => [], workers: async () => 0 },
    actions: {
      begin: refuse,
      find: refuse,
      hasWorkers: refuse,
      atWork: async () => new Map(Object.entries(atWork)),
    },
    log: { info: () => {}, warn: () => {}, error: () => {} },
    redact: (text) => text,
  };

  const app = fastify();
  app.decorateRequest('viewer', { getter: () => LOOKING });
  app.decorateRequest('session', null);
  decorateRequests(app, context);
  showErrors(app, dashboard);
  const byName: Readonly<Record<string, Viewer>> = { acting: ACTING, looking: LOOKING };
  app.addHook('onRequest', async (request) => {
    const { 'x-viewer': name, 'x-timezone': timezone } = request.headers;
    const value = { ...(byName[String(name)] ?? ACTING), timezone };
    Object.defineProperty(request, 'viewer', { value });
    Object.defineProperty(request, 'session', { value });
  });
  registerPages(app, { dashboard });
  return {
    app,
    workspace,
    state,
    context,
    dashboard,
    async get(url, viewer = ACTING) {
      const { role, timezone } = viewer;
      const headers = {
        'x-viewer': role === 'edit' ? 'acting' : 'looking',
        ...(timezone && { 'x-timezone': timezone }),
      };
      const { statusCode, body } = await app.inject({ method: 'GET', url, headers });
      const findings = htmlFindings(body);
      if (findings.length > 0) throw new Error(`${url}: ${findings.join('; ')}`);
      return { status: statusCode, text: body, document: parseHTML(body).document };
    },
    async [Symbol.asyncDispose]() {
      await app.close();
      await state[Symbol.asyncDispose]();
      await workspace[Symbol.asyncDispose]();
    },
  };
}

/** What is read there: runs of white space are one space. */
export function textOf(element: { readonly textContent: string | null } | null): string {
  if (element === null) throw new Error('There is no such element.');
  return (element.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
}

/** The cells of a row, side by side. */
export function cellsOf(row: {
  querySelectorAll(selector: string): Iterable<{ readonly textContent: string | null }>;
}): string {
  return [...row.querySelectorAll('th, td')].map(textOf).join(' | ');
}
