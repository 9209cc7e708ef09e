import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Job } from '../../config/job/job.ts';
import { isName } from '../../config/store-config.ts';
import { ACTION_NAMES, type JobAction } from '../../model/action.ts';
import { type Run, SENDING_KINDS } from '../../model/run.ts';
import { ConfigurationError } from '../../model/storeferry-error.ts';
import { changedSincePlan, changedSincePlanText, whyNotApprover } from '../../run/execute-run.ts';
import { openImport } from '../../run/inputs/open-mapping.ts';
import { laterRun, listLiveRuns, readStoredReport } from '../../run/report/read-stored-report.ts';
import { notFoundError } from '../guard/page-error.ts';
import { activityOf } from '../pages/activity.ts';
import { accessTo, actionHref, actionRoute } from '../pages/link-button.ts';
import type { Page } from '../pages/page.ts';
import { importOf, liveRun, type RouteParts, rememberedRun, workspaceOf } from '../route-parts.ts';
import {
  confirmApprove,
  confirmDiscard,
  confirmDrift,
  confirmPlan,
  confirmRun,
  confirmUndo,
  confirmVerify,
  howToCompare,
  KEYS_FIELD,
  type StartFacts,
} from './confirm-run.ts';
import {
  type ActionPage,
  type ActionPages,
  beginAction,
  type Confirmation,
  confirmationPage,
  confirmInterrupt,
  onceOf,
  runningPage,
  settleOnce,
  showResult,
} from './confirmation.ts';
import { recordActions } from './record-actions.ts';

/** The actions that are confirmed: each GET shows what would be done; its POST does it. */
export function actionRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { dashboard } = parts;
  const { context, actions } = dashboard;
  const begin = async (request: FastifyRequest, reply: FastifyReply, action: JobAction) => {
    const once = onceOf(request.fields);
    const known = await actions.find(once);
    const running = known === undefined ? (await activityOn(action.job))?.run : undefined;
    if (running == null) return await beginAction(dashboard, request, reply, { action, once });
    return reply.redirect(`/runs/${running.id}`, 303);
  };
  const activityOn = async (job: string) =>
    activityOf(await listLiveRuns(context, { job }), (await actions.atWork()).get(job));
  /** A run of another job that writes to the same store and resource; a run of this job waits for it. */
  const writerTo = async (job: Job): Promise<Run | undefined> => {
    if (job.kind !== 'import') return undefined;
    const listed = await listLiveRuns(context, { statuses: ['running'], kinds: SENDING_KINDS });
    return listed.find(
      ({ status, ...run }) =>
        status === 'running' &&
        run.store === job.store &&
        run.resource === job.import &&
        run.job !== job.name,
    );
  };
  const comparable = (name: string) => importOf(dashboard, name, 'it sends nothing that could differ').job;
  const unlessActive = async (
    { viewer, reading, subject }: FastifyRequest,
    confirmation: Confirmation,
  ): Promise<Page | Confirmation> => {
    const activity = await activityOn(subject);
    return activity === null ? confirmation : runningPage(subject, activity, reading, viewer);
  };
  /** The page of an action that begins with the source of a job. */
  const startOf = (does: 'run' | 'plan', confirm: (beginning: StartFacts) => Confirmation): ActionPage => ({
    async ask(request) {
      const { subject: name, reading } = request;
      const workspace = workspaceOf(dashboard, name);
      const job = workspace.job(name);
      const beginning = {
        job,
        store: workspace.store(job.store),
        runs: await listLiveRuns(context, { job: name }),
        waitsFor: await writerTo(job),
        byWorkers: await actions.hasWorkers(),
        reading,
      };
      return await unlessActive(request, confirm(beginning));
    },
    act: async ({ subject: name }) => ({ does, job: workspaceOf(dashboard, name).job(name).name }),
  });

  /** What has changed since the run was planned; undefined where nothing has, or its job is gone or faulty. */
  const changedWords = async (run: Run) => {
    const workspace = dashboard.readWorkspace();
    const { job } = workspace.inspectJob(run.job);
    if (job?.kind !== 'import') return undefined;
    try {
      return changedSincePlanText(await changedSincePlan(context, await openImport(workspace, job), run));
    } catch (error) {
      if (error instanceof ConfigurationError) return `The job cannot be used as it is now: ${error.message}`;
      throw error;
    }
  };
  const settling =
    (does: 'cancel' | 'discard'): ActionPage['act'] =>
    async (request) =>
      actionHref('see', (await settleOnce(dashboard, request, does, request.subject)).id);

  const pages: ActionPages = {
    run: startOf('run', confirmRun),
    plan: startOf('plan', confirmPlan),
    approve: {
      async ask({ subject: id, viewer, reading }) {
        const run = await liveRun(dashboard, id);
        const why = whyNotApprover(run, viewer.names);
        if (why !== undefined) throw why;
        return confirmApprove(await readStoredReport(context, run), {
          later: await laterRun(context, run),
          changed: await changedWords(run),
          reading,
        });
      },
      act: async ({ subject: run }) => ({ does: 'approve', job: (await liveRun(dashboard, run)).job, run }),
    },
    discard: {
      ask: async ({ subject: id, reading }) => confirmDiscard(await liveRun(dashboard, id), reading),
      act: settling('discard'),
    },
    undo: {
      async ask({ subject: id, fields }) {
        const { job } = await rememberedRun(dashboard, id);
        const { job: settings } = dashboard.readWorkspace().inspectJob(job);
        return confirmUndo(
          { id, job },
          { key: fields['key'] ?? '', isScheduled: settings?.schedule !== undefined && isName(job) },
        );
      },
      async act({ subject: run, fields }) {
        const { job } = await rememberedRun(dashboard, run);
        const keys = keysOf(fields[KEYS_FIELD] ?? '');
        return { does: 'undo', job, run, only: keys.length === 0 ? undefined : keys };
      },
    },
    verify: {
      ask: async (request) => await unlessActive(request, confirmVerify(comparable(request.subject))),
      act: async ({ subject }) => ({ does: 'verify', job: comparable(subject).name }),
    },
    drift: {
      async ask(request) {
        const how = howToCompare(request.fields['how']);
        return await unlessActive(request, confirmDrift(comparable(request.subject), how));
      },
      async act({ subject, fields }) {
        const how = howToCompare(fields['how']);
        const chosen = how === 'compare' ? {} : { [how]: true };
        return { does: 'drift', job: comparable(subject).name, ...chosen };
      },
    },
    cancel: {
      ask: async ({ subject: id, reading }) => confirmInterrupt(await liveRun(dashboard, id), reading),
      act: settling('cancel'),
    },
    ...recordActions(parts),
  };

  for (const name of ACTION_NAMES) {
    const { ask, act } = pages[name] ?? {};
    if (ask === undefined || act === undefined) continue;
    app.get(actionRoute(name), accessTo(name), async (request, reply) => {
      const asked = await ask(request);
      return reply.sendPage('body' in asked ? asked : confirmationPage(asked, request.viewer));
    });
    app.post(actionRoute(name), accessTo(name), async (request, reply) => {
      const done = await act(request);
      if (typeof done === 'string') return reply.redirect(done, 303);
      return 'body' in done ? reply.sendPage(done) : await begin(request, reply, done);
    });
  }

  app.get('/starting/:once', async (request, reply) => {
    const { subject: once } = request;
    const known = await actions.find(once);
    if (known === undefined)
      throw notFoundError('The dashboard no longer has the result of this action. See the latest runs.');
    return showResult(reply, { ...known, once }, dashboard);
  });
}

/** The keys of a text, one per line. */
function keysOf(text: string): readonly string[] {
  const keys = text.split(/\r?\n/).map((line) => line.trim());
  return [...new Set(keys.filter((key) => key !== ''))];
}
