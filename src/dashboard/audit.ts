import type { FastifyRequest } from 'fastify';
import { ACTIONS } from '../model/action.ts';
import { type AuditedAction, recordAction } from '../model/audit-entry.ts';
import type { Viewer } from './access/sessions.ts';
import type { DashboardContext } from './dashboard-context.ts';

/** Who did something in the dashboard. */
type Actor = Pick<FastifyRequest, 'ip'> & { readonly viewer: Pick<Viewer, 'who'> };

/** Adds to both logs what a signed-in visitor did: by the token and the address. */
export async function audit(
  { context, log }: Pick<DashboardContext, 'context' | 'log'>,
  { ip, viewer }: Actor,
  done: AuditedAction,
): Promise<void> {
  const who = `${viewer.who} from ${ip}`;
  log.info({ who, ...done }, ACTIONS[done.action].audit);
  await recordAction(context.state.audit, { at: context.clock(), who, by: 'dashboard' }, done);
}
