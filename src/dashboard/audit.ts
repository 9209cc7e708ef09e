import type { FastifyRequest } from 'fastify';
import type { AuditEntry } from '../model/audit-entry.ts';
import type { Viewer } from './access/sessions.ts';
import type { DashboardContext } from './dashboard-context.ts';

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
    at: context.clock(),
    who,
    by: 'dashboard',
    action: done.action,
    job,
    run,
    of,
    outcome,
  });
}
