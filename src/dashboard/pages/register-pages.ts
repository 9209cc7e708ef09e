import type { FastifyInstance } from 'fastify';
import type { DashboardContext } from '../dashboard-context.ts';
import {
  FOR_EDITORS,
  formFields,
  type OfAny,
  type PageRequest,
  type RouteParts,
  subjectIn,
} from '../route-parts.ts';
import { auditPage } from './audit-page.ts';
import { historyPage } from './history-page.ts';
import { jobPage } from './job-page.ts';
import { jobsPage } from './jobs-page.ts';
import { listsHref } from './link-button.ts';
import { historyJobs, listPage, listsPage } from './lists-page.ts';
import { outcomesPage } from './outcomes-page.ts';
import type { Page } from './page.ts';
import { recordPage } from './record-page.ts';
import { runPage } from './run-page.ts';
import { runsPage } from './runs-page.ts';

/** The pages by their addresses. To add one, add a file and an entry here. */
const PAGES: Readonly<Record<string, (dashboard: DashboardContext, request: PageRequest) => Promise<Page>>> =
  {
    '/': jobsPage,
    '/jobs/:job': jobPage,
    '/runs': runsPage,
    '/runs/:run': runPage,
    '/runs/:run/records': recordPage,
    '/runs/:run/outcomes': outcomesPage,
    '/records': historyPage,
    '/lists/:job': listPage,
    '/audit': auditPage,
  };

/** The pages for signed-in visitors. All are GET and have no effect. */
export function registerPages(app: FastifyInstance, { dashboard }: Pick<RouteParts, 'dashboard'>): void {
  for (const [path, makePage] of Object.entries(PAGES)) {
    // The audit log names addresses and users of machines.
    app.get<OfAny>(path, path === '/audit' ? FOR_EDITORS : {}, async ({ params, query, viewer }, reply) =>
      reply.sendPage(await makePage(dashboard, { of: subjectIn(params), query: formFields(query), viewer })),
    );
  }

  app.get('/lists', async (request, reply) => {
    const jobs = historyJobs(dashboard.openWorkspace());
    const only = jobs.length === 1 ? jobs[0] : undefined;
    return only === undefined
      ? reply.sendPage(listsPage(jobs, request.viewer))
      : reply.redirect(listsHref(only.name));
  });
}
