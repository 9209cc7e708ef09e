import type { FastifyRequest } from 'fastify';
import type { AuditEntry } from '../model/audit-entry.ts';
import type { Viewer } from './access/sessions.ts';
import type { Action, ActionResult, DashboardContext } from './dashboard-context.ts';

/** Who did something in the dashboard. */
type Doer = Pick<FastifyRequest, 'ip'> & { readonly viewer: Pick<Viewer, 'canAct'> };

/** Adds to the audit log what a signed-in visitor did: by the token and the address. */
export async function audit(
  { context }: Pick<DashboardContext, 'context'>,
  { ip, viewer }: Doer,
  done: Pick<AuditEntry, 'action'> & Partial<Pick<AuditEntry, 'job' | 'run' | 'of' | 'outcome'>>,
): Promise<void> {
  const { job = null, run = null, of = null, outcome = 'done' } = done;
  const who = `${viewer.canAct ? 'full' : 'read-only'} token from ${ip}`;
  await context.state.audit.append({
    ...{ at: context.clock(), who, by: 'dashboard', action: done.action, job, run, of, outcome },
  });
}

/** Begins an action, as `DashboardActions.begin`, and adds it to the audit log as soon as its run is known. */
export async function beginAudited(
  dashboard: Pick<DashboardContext, 'context' | 'actions'>,
  { ip, viewer }: Doer,
  action: Action,
  once: string,
  before?: () => Promise<void>,
): Promise<ActionResult> {
  return await dashboard.actions.begin(action, once, {
    before,
    settled: async (result) => {
      const named = 'run' in action ? action.run : null;
      const run = 'run' in result ? result.run : null;
      const isRefused = result.kind === 'refused' || result.kind === 'busy';
      await audit(
        dashboard,
        { ip, viewer },
        {
          ...{ action: action.command, job: action.job, outcome: isRefused ? 'refused' : 'done' },
          run: isRefused ? named : (run ?? named),
          of: isRefused || run === null || run === named ? null : named,
        },
      );
    },
  });
}
