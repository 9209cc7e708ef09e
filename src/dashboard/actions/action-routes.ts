import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { asItStands } from '../../run/as-it-stands.ts';
import { askToInterrupt } from '../../run/interrupt-run.ts';
import { laterRun } from '../../run/later-run.ts';
import { readStoredReport } from '../../run/report/run-report.ts';
import type { Action } from '../dashboard-actions.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import type { DashboardLog } from '../dashboard-log.ts';
import { formFields } from '../form-fields.ts';
import { notFound } from '../guard/page-error.ts';
import { frameOf } from '../pages/frame.ts';
import { serverTimezone } from '../pages/server-timezone.ts';
import { confirmApprove } from './confirm-approve.ts';
import { confirmInterrupt } from './confirm-interrupt.ts';
import { type Beginning, confirmPlan, confirmRun } from './confirm-run.ts';
import { type Confirmation, confirmationPage, onceOf } from './confirmation.ts';
import { showResult } from './show-result.ts';

interface OfJob {
  readonly Params: { readonly job: string };
}

interface OfRun {
  readonly Params: { readonly run: string };
}

/** What may be done: each GET says what would be done, its POST does it and leads to the run. */
export function actionRoutes(app: FastifyInstance, dashboard: DashboardContext, log: DashboardLog): void {
  const { context, actions } = dashboard;
  const forActors = { config: { who: 'actors' } } as const;
  const reading = () => ({ now: context.clock(), timezone: serverTimezone() });
  const ask = (request: FastifyRequest, reply: FastifyReply, confirmation: Confirmation) =>
    reply.type('text/html; charset=utf-8').send(confirmationPage(confirmation, frameOf(dashboard, request)));
  const begin = async (request: FastifyRequest, reply: FastifyReply, action: Action) => {
    const once = onceOf(formFields(request.body));
    const result = await actions.begin(action, once);
    return showResult(reply, { action, result, once }, frameOf(dashboard, request), dashboard);
  };
  const runOf = async ({ params }: FastifyRequest<OfRun>) => {
    const run = await context.state.runs.get(params.run);
    if (run === undefined) throw notFound(`There is no run ${params.run}.`);
    return await asItStands(context, run);
  };
  const jobOf = ({ params }: FastifyRequest<OfJob>) => {
    const workspace = dashboard.openWorkspace();
    if (!workspace.jobNames().includes(params.job)) throw notFound(`There is no job ${params.job}.`);
    return { workspace, job: workspace.job(params.job) };
  };
  const beginningOf = async (request: FastifyRequest<OfJob>): Promise<Beginning> => {
    const { workspace, job } = jobOf(request);
    const runs = await context.state.runs.list({ job: job.name });
    return {
      job,
      store: workspace.store(job.store),
      runs: await Promise.all(runs.map((run) => asItStands(context, run))),
      byWorkers: await actions.hasWorkers(),
      reading: reading(),
    };
  };

  app.get<OfJob>('/jobs/:job/run', forActors, async (request, reply) =>
    ask(request, reply, confirmRun(await beginningOf(request))),
  );
  app.post<OfJob>('/jobs/:job/run', async (request, reply) => {
    const { job } = jobOf(request);
    return await begin(request, reply, { command: 'run', job: job.name });
  });

  app.get<OfJob>('/jobs/:job/plan', forActors, async (request, reply) =>
    ask(request, reply, confirmPlan(await beginningOf(request))),
  );
  app.post<OfJob>('/jobs/:job/plan', async (request, reply) => {
    const { job } = jobOf(request);
    return await begin(request, reply, { command: 'plan', job: job.name });
  });

  app.get<OfRun>('/runs/:run/approve', forActors, async (request, reply) => {
    const run = await runOf(request);
    const later = await laterRun(context, run);
    return ask(request, reply, confirmApprove(await readStoredReport(context, run), later, reading()));
  });
  app.post<OfRun>('/runs/:run/approve', async (request, reply) => {
    const { id, job } = await runOf(request);
    return await begin(request, reply, { command: 'approve', job, run: id });
  });

  app.get<OfRun>('/runs/:run/interrupt', forActors, async (request, reply) =>
    ask(request, reply, confirmInterrupt(await runOf(request), reading())),
  );
  app.post<OfRun>('/runs/:run/interrupt', async (request, reply) => {
    const { id, job, status } = await runOf(request);
    if (status === 'running') {
      await askToInterrupt(context, id);
      log.info({ job, run: id }, 'asked to interrupt');
    }
    return reply.redirect(`/runs/${id}`, 303);
  });

  app.get<{ Params: { once: string } }>('/starting/:once', async (request, reply) => {
    const { once } = request.params;
    const known = await actions.look(once);
    if (known === undefined)
      throw notFound('Nobody knows any more what was started here. See the latest runs.');
    return showResult(reply, { ...known, once }, frameOf(dashboard, request), dashboard);
  });
}
