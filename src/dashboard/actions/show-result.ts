import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JobAction } from '../../model/action.ts';
import { html, type Markup } from '../../report/html/markup.ts';
import { audit } from '../audit.ts';
import type { ActionResult, DashboardContext } from '../dashboard-context.ts';
import { jobHref } from '../pages/link-button.ts';

const RELOAD_S = 2;

/** Begins an action for a visitor, adds it to the audit log, and shows its result. */
export async function beginAction(
  dashboard: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { action: asked, once, before }: Begun,
): Promise<FastifyReply> {
  const action = { ...asked, by: request.viewer.names };
  const result = await dashboard.actions.begin(action, once, {
    before,
    settled: async (settled) => {
      const named = 'run' in action ? action.run : null;
      const run = 'run' in settled ? settled.run : null;
      const isRefused = settled.kind === 'refused' || settled.kind === 'busy';
      await audit(dashboard, request, {
        action: action.does,
        job: action.job,
        outcome: isRefused ? 'refused' : 'done',
        run: isRefused ? named : (run ?? named),
        of: isRefused || run === null || run === named ? null : named,
      });
    },
  });
  return showResult(reply, { action, result, once }, dashboard);
}

interface Begun {
  readonly action: JobAction;
  /** Identifies the confirmation. */
  readonly once: string;
  readonly before?: () => Promise<void>;
}

/** Redirects to the run of an action, or explains why there is none or none yet. */
export function showResult(
  reply: FastifyReply,
  {
    action,
    result,
    once,
  }: { readonly action: JobAction; readonly result: ActionResult; readonly once: string },
  { redact }: Pick<DashboardContext, 'redact'>,
): FastifyReply {
  const show = (status: number, title: string, body: Markup) =>
    reply.sendPage({ title, section: 'jobs', body }, status);
  const toJob = html`<p class="actions"><a class="button" href="${jobHref(action.job)}">To the job ${action.job}</a></p>`;
  switch (result.kind) {
    case 'begun':
      return reply.redirect(`/runs/${result.run}`, 303);
    case 'busy':
      if (result.run !== null) return reply.redirect(`/runs/${result.run}`, 303);
      return show(
        409,
        `${action.job} is being started already`,
        html`<p>The page of the job shows it in a moment. A job has one run at a time.</p>${toJob}`,
      );
    case 'starting':
    case 'enqueued':
      // The address differs from that of the confirmation, so that a reload does not start the action again.
      if (reply.request.method === 'POST') return reply.redirect(`/starting/${once}`, 303);
      reply.header('refresh', RELOAD_S);
      return show(
        200,
        `Starting ${action.job}`,
        html`<p role="status">${waitingFor(result)}</p><p>This page reloads every ${RELOAD_S} seconds and shows the run as soon as there is one. <a href="/starting/${once}">Reload now</a></p>${toJob}`,
      );
    case 'refused':
      return show(
        409,
        `Not started: ${action.does} ${action.job}`,
        html`<p>Nothing was sent. The command printed:</p><pre>${redact(result.message)}</pre>${toJob}`,
      );
    default:
      return result satisfies never;
  }
}

function waitingFor(result: Extract<ActionResult, { kind: 'starting' | 'enqueued' }>): string {
  if (result.kind === 'starting') return 'It reads its source, or waits for another run to end.';
  return result.workers
    ? 'It waits for a worker to take it.'
    : 'It waits for a worker, and no worker is running. Start one: storeferry worker';
}
