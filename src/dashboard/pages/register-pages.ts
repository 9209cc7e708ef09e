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
import { jobHref, keepsHistory } from './job-card.ts';
import { jobPage } from './job-page.ts';
import { jobsPage } from './jobs-page.ts';
import { historyJobs, listPage, listsPage } from './lists-page.ts';
import { outcomesPage } from './outcomes-page.ts';
import { emptyBox, frameOf, page, sendPage } from './page.ts';
import { readJob, readJobs } from './read-jobs.ts';
import { recordPage } from './record-page.ts';
import { runPage } from './run-page.ts';
import { readRuns, runsPage } from './runs-page.ts';

/** The pages for signed-in visitors. All are GET and have no effect. */
export function registerPages(app: FastifyInstance, { dashboard }: Pick<RouteParts, 'dashboard'>): void {
  const frame = (request: FastifyRequest) => frameOf(dashboard, request);
  const query = (request: FastifyRequest) => formFields(request.query);

  app.get('/', async (request, reply) =>
    sendPage(reply, jobsPage(await readJobs(dashboard), frame(request))),
  );

  app.get<OfJob>('/jobs/:job', async (request, reply) =>
    sendPage(reply, jobPage(await readJob(dashboard, request.params.job), frame(request))),
  );

  app.get('/runs', async (request, reply) => {
    const { job = '', status, page: number } = query(request);
    const filter = { job: job || null, status: RUN_STATUSES.find((known) => known === status) ?? null };
    return sendPage(reply, runsPage(await readRuns(dashboard, filter, number), frame(request)));
  });

  // It names addresses and users of machines.
  app.get('/audit', FOR_ACTORS, async (request, reply) =>
    sendPage(reply, await auditPage(dashboard, query(request), frame(request))),
  );

  app.get<OfRun>('/runs/:run', async (request, reply) =>
    sendPage(reply, await runPage(dashboard, request.params.run, frame(request))),
  );

  app.get<OfRun>('/runs/:run/records', async (request, reply) => {
    const { key = '' } = query(request);
    return sendPage(reply, await recordPage(dashboard, request.params.run, key.trim(), frame(request)));
  });

  app.get<OfRun>('/runs/:run/outcomes', async (request, reply) =>
    sendPage(reply, await outcomesPage(dashboard, request.params.run, query(request), frame(request))),
  );

  app.get('/records', async (request, reply) =>
    sendPage(reply, await historyPage(dashboard, query(request), frame(request))),
  );

  app.get('/lists', async (request, reply) => {
    const jobs = historyJobs(dashboard.openWorkspace());
    const only = jobs.length === 1 ? jobs[0] : undefined;
    if (only !== undefined) return reply.redirect(`/lists/${encodeURIComponent(only.name)}`);
    return sendPage(reply, listsPage(jobs, frame(request)));
  });

  app.get<OfJob>('/lists/:job', async (request, reply) => {
    const { job: name } = request.params;
    const workspace = workspaceOf(dashboard, name);
    const { job } = workspace.inspectJob(name);
    if (!keepsHistory(job)) {
      const advice = 'Trends need a job with export: subscriber-lists and mode: append.';
      throw new PageError(404, `${name} collects no list statistics`, advice);
    }
    const document = await listPage(dashboard, workspace, job, query(request)['page'], frame(request)).catch(
      (error: unknown) => {
        // With paths relative to the workspace.
        const why = dashboard.retell(sentenceOf(error).replaceAll(`${workspace.dir}${sep}`, ''));
        return page({
          ...frame(request),
          title: `Lists of ${name}`,
          section: 'lists',
          body: emptyBox(
            'The history cannot be read',
            html`<p>${why}</p><p><a href="${jobHref(name)}">The job ${name}</a></p>`,
          ),
        });
      },
    );
    return sendPage(reply, document);
  });
}
