import { hostname, userInfo } from 'node:os';
import type { AuditEntry } from '../model/audit-entry.ts';
import type { RunContext } from '../run/run-context.ts';
import { parentProcess } from './parent-process.ts';

/** Adds a command to the audit log; what the dashboard started is recorded by the dashboard. */
export async function recordCommand(
  { state, clock }: Pick<RunContext, 'state' | 'clock'>,
  done: Pick<AuditEntry, 'action' | 'outcome'> & Partial<Pick<AuditEntry, 'job' | 'run' | 'of'>>,
): Promise<void> {
  if (parentProcess() !== undefined) return;
  const { job = null, run = null, of = null } = done;
  await state.audit.append({ ...done, at: clock(), who: whoTypes(), by: 'command', job, run, of });
}

/** `deploy@shop1`; the number of the user where it has no name, as in a container. */
function whoTypes(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}
