import { sep } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { didYouMean } from '../../model/nearest.ts';
import { RUN_STATUSES, type RunStatus } from '../../model/run.ts';
import { explainError, StoreferryError } from '../../model/storeferry-error.ts';
import { html, type Slot } from '../../report/html/markup.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { auditPage } from './audit-page.ts';
import { type HistoryQuery, historyPage } from './history-page.ts';
import { jobHref, keepsHistory } from './job-card.ts';
import { jobPage } from './job-page.ts';
import { jobsPage } from './jobs-page.ts';
import { historyJobs, listPage, listsPage } from './lists-page.ts';
import { outcomesPage } from './outcomes-page.ts';
import { type Frame, frameOf, page, type Section, sendPage } from './page.ts';
import { readJob, readJobs } from './read-jobs.ts';
import { recordPage } from './record-page.ts';
import { runPage } from './run-page.ts';
import { readRuns, runsPage } from './runs-page.ts';

interface Query {
  readonly job?: unknown;
  readonly status?: unknown;
  readonly page?: unknown;
  readonly key?: unknown;
  readonly outcome?: unknown;
}

/** The pages for signed-in visitors. All are GET and have no effect. */
export function registerPages(app: FastifyInstance, dashboard: DashboardContext): void {
  const frame = (request: FastifyRequest) => frameOf(dashboard, request);
  const missing = (request: FastifyRequest, reply: FastifyReply, what: Missing) =>
    sendPage(reply, missingPage(what, frame(request)), 404);

  app.get('/', async (request, reply) =>
    sendPage(reply, jobsPage(await readJobs(dashboard), frame(request))),
  );

  app.get<{ Params: { job: string } }>('/jobs/:job', async (request, reply) => {
    const { job } = request.params;
    const facts = await readJob(dashboard, job);
    if (facts !== undefined) return sendPage(reply, jobPage(facts, frame(request)));
    return missing(request, reply, noJob(job, dashboard.openWorkspace().jobNames()));
  });

  app.get<{ Querystring: Query }>('/runs', async (request, reply) => {
    const { job, status, page: number } = request.query;
    const filter = { job: typeof job === 'string' && job !== '' ? job : null, status: statusOf(status) };
    return sendPage(reply, runsPage(await readRuns(dashboard, filter, number), frame(request)));
  });

  // It names addresses and users of machines.
  app.get<{ Querystring: Query }>('/audit', { config: { who: 'actors' } }, async (request, reply) =>
    sendPage(reply, await auditPage(dashboard, request.query, frame(request))),
  );

  app.get<{ Params: { run: string } }>('/runs/:run', async (request, reply) => {
    const { run } = request.params;
    const document = await runPage(dashboard, run, frame(request));
    if (document !== undefined) return sendPage(reply, document);
    return missing(request, reply, noRun(run));
  });

  app.get<{ Params: { run: string }; Querystring: Query }>('/runs/:run/records', async (request, reply) => {
    const { run } = request.params;
    const { key } = request.query;
    const document = await recordPage(
      dashboard,
      run,
      typeof key === 'string' ? key.trim() : '',
      frame(request),
    );
    if (document !== undefined) return sendPage(reply, document);
    return missing(request, reply, noRun(run));
  });

  app.get<{ Params: { run: string }; Querystring: Query }>('/runs/:run/outcomes', async (request, reply) => {
    const { run } = request.params;
    const document = await outcomesPage(dashboard, run, request.query, frame(request));
    if (document !== undefined) return sendPage(reply, document);
    return missing(request, reply, noRun(run));
  });

  app.get<{ Querystring: HistoryQuery }>('/records', async (request, reply) =>
    sendPage(reply, await historyPage(dashboard, request.query, frame(request))),
  );

  app.get('/lists', async (request, reply) => {
    const jobs = historyJobs(dashboard.openWorkspace());
    const only = jobs.length === 1 ? jobs[0] : undefined;
    if (only !== undefined) return reply.redirect(`/lists/${encodeURIComponent(only.name)}`);
    return sendPage(reply, listsPage(jobs, frame(request)));
  });

  app.get<{ Params: { job: string }; Querystring: Query }>('/lists/:job', async (request, reply) => {
    const workspace = dashboard.openWorkspace();
    const name = request.params.job;
    const { job } = workspace.inspectJob(name);
    if (!keepsHistory(job)) {
      if (!workspace.jobNames().includes(name))
        return missing(request, reply, noJob(name, workspace.jobNames()));
      return missing(request, reply, {
        title: `${name} collects no list statistics`,
        advice: html`Trends need a job with <code>export: subscriber-lists</code> and <code>mode: append</code>. <a href="${jobHref(name)}">The job ${name}</a>`,
        section: 'lists',
      });
    }
    try {
      const document = await listPage(dashboard, workspace, job, request.query.page, frame(request));
      return sendPage(reply, document);
    } catch (error) {
      if (!(error instanceof StoreferryError)) throw error;
      return sendPage(
        reply,
        unreadableHistory(
          job.name,
          dashboard.retell(inWorkspace(explainError(error), workspace.dir)),
          request,
        ),
      );
    }
  });

  function unreadableHistory(job: string, why: string, request: FastifyRequest): string {
    return page({
      ...frame(request),
      title: `Lists of ${job}`,
      section: 'lists',
      body: html`<section class="empty"><h2>The history cannot be read</h2><p>${why}</p><p><a href="${jobHref(job)}">The job ${job}</a></p></section>`,
    });
  }
}

/** The text with paths relative to the workspace. */
function inWorkspace(text: string, dir: string): string {
  return text.replaceAll(`${dir}${sep}`, '');
}

function noJob(name: string, names: readonly string[]): Missing {
  return {
    title: `There is no job ${name}`,
    advice: html`Jobs are the files in <code>jobs/</code>${didYouMean(name, names) || '.'} <a href="/">All jobs</a>`,
    section: 'jobs',
  };
}

function noRun(run: string): Missing {
  return {
    title: `There is no run ${run}`,
    advice: html`The latest 20 runs of each job are kept; this one may be older. <a href="/runs">All runs</a>`,
    section: 'runs',
  };
}

function statusOf(text: unknown): RunStatus | null {
  return RUN_STATUSES.find((status) => status === text) ?? null;
}

/** A page that says what is missing, and what to do instead. */
interface Missing {
  readonly title: string;
  readonly advice: Slot;
  readonly section?: Section;
}

/** The page for an unknown address, sent with the status 404. */
function missingPage({ title, advice, section }: Missing, frame: Frame): string {
  return page({
    ...frame,
    title,
    ...(section === undefined ? {} : { section }),
    body: html`<div class="empty"><p>${advice}</p></div>`,
  });
}
