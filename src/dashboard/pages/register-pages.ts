import { sep } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { RUN_STATUSES } from '../../model/run.ts';
import { html } from '../../report/html/markup.ts';
import { PageError } from '../guard/page-error.ts';
import {
  FOR_ACTORS,
  formFields,
  type OfJob,
  type OfRun,
  type RouteParts,
  sentenceOf,
  workspaceOf,
} from '../route-parts.ts';
import { auditPage } from './audit-page.ts';
import { historyPage } from './history-page.ts';
import { keepsHistory } from './job-card.ts';
import { jobPage } from './job-page.ts';
import { jobsPage } from './jobs-page.ts';
import { jobHref } from './link-button.ts';
import { historyJobs, listPage, listsPage } from './lists-page.ts';
import { outcomesPage } from './outcomes-page.ts';
import { emptyBox, type Page } from './page.ts';
import { readJob, readJobs } from './read-jobs.ts';
import { recordPage } from './record-page.ts';
import { runPage } from './run-page.ts';
import { readRuns, runsPage } from './runs-page.ts';

/** The pages for signed-in visitors. All are GET and have no effect. */
export function registerPages(app: FastifyInstance, { dashboard }: Pick<RouteParts, 'dashboard'>): void {
  const query = (request: FastifyRequest) => formFields(request.query);

  app.get('/', async (request, reply) => reply.sendPage(jobsPage(await readJobs(dashboard), request.viewer)));

  app.get<OfJob>('/jobs/:job', async (request, reply) =>
    reply.sendPage(jobPage(await readJob(dashboard, request.params.job), request.viewer)),
  );

  app.get('/runs', async (request, reply) => {
    const { job = '', status, page: number } = query(request);
    const filter = { job: job || null, status: RUN_STATUSES.find((known) => known === status) ?? null };
    return reply.sendPage(runsPage(await readRuns(dashboard, filter, number), request.viewer));
  });

  // It names addresses and users of machines.
  app.get('/audit', FOR_ACTORS, async (request, reply) =>
    reply.sendPage(await auditPage(dashboard, query(request))),
  );

  app.get<OfRun>('/runs/:run', async (request, reply) =>
    reply.sendPage(await runPage(dashboard, request.params.run, request.viewer)),
  );

  app.get<OfRun>('/runs/:run/records', async (request, reply) => {
    const { key = '' } = query(request);
    return reply.sendPage(await recordPage(dashboard, request.params.run, key.trim(), request.viewer));
  });

  app.get<OfRun>('/runs/:run/outcomes', async (request, reply) =>
    reply.sendPage(await outcomesPage(dashboard, request.params.run, query(request), request.viewer)),
  );

  app.get('/records', async (request, reply) =>
    reply.sendPage(await historyPage(dashboard, query(request), request.viewer)),
  );

  app.get('/lists', async (_request, reply) => {
    const jobs = historyJobs(dashboard.openWorkspace());
    const only = jobs.length === 1 ? jobs[0] : undefined;
    if (only !== undefined) return reply.redirect(`/lists/${encodeURIComponent(only.name)}`);
    return reply.sendPage(listsPage(jobs));
  });

  app.get<OfJob>('/lists/:job', async (request, reply) => {
    const { job: name } = request.params;
    const workspace = workspaceOf(dashboard, name);
    const { job } = workspace.inspectJob(name);
    if (!keepsHistory(job)) {
      const advice = 'Trends need a job with export: subscriber-lists and mode: append.';
      throw new PageError(404, `${name} collects no list statistics`, advice);
    }
    const content = await listPage(dashboard, workspace, job, query(request)['page'], request.viewer).catch(
      (error: unknown): Page => {
        // With paths relative to the workspace.
        const why = dashboard.redact(sentenceOf(error).replaceAll(`${workspace.dir}${sep}`, ''));
        const body = html`<p>${why}</p><p><a href="${jobHref(name)}">The job ${name}</a></p>`;
        const empty = emptyBox('The history cannot be read', body);
        return { title: `Lists of ${name}`, section: 'lists', body: empty };
      },
    );
    return reply.sendPage(content);
  });
}
