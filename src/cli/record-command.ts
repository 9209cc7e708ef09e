import { hostname, userInfo } from 'node:os';
import { type AuditedAction, recordAction } from '../model/action.ts';
import type { RunContext } from '../run/run-context.ts';
import { parentProcess } from './parent-process.ts';

/** Adds a command to the audit log; what the dashboard started is recorded by the dashboard. */
export async function recordCommand({ state, clock }: RunContext, done: AuditedAction): Promise<void> {
  if (parentProcess() !== undefined) return;
  await recordAction(state.audit, { at: clock(), who: userAndHost(), by: 'command' }, done);
}

/** Who types commands: `deploy@shop1`; the number of the user where it has no name, as in a container. */
export function userAndHost(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}
