import { hostname, userInfo } from 'node:os';
import { type AuditedAction, recordAction } from '../model/action.ts';
import { partOf, type Run } from '../model/run.ts';
import type { RunContext } from '../run/run-context.ts';
import { parentProcess } from './parent-process.ts';

/** Adds a command to the audit log; what the dashboard started is recorded by the dashboard. */
export async function recordCommand({ state, clock }: RunContext, done: AuditedAction): Promise<void> {
  if (parentProcess() !== undefined) return;
  await recordAction(state.audit, { at: clock(), who: userAndHost(), by: 'command' }, done);
}

/**
 * Records an action once: for its run when that begins, so that it is recorded even if this process is killed, or as refused, with
 * null, when nothing began.
 */
export function runRecorder(
  record: (done: AuditedAction) => Promise<void>,
  refused: Pick<AuditedAction, 'action' | 'job' | 'run'>,
): (run: Run | null) => Promise<void> {
  let recorded: Promise<void> | null = null;
  return (run) => {
    recorded ??= record(
      run === null
        ? { ...refused, outcome: 'refused' }
        : {
            action: refused.action,
            job: run.job,
            run: run.id,
            of: run.retryOf ?? partOf(run)?.of ?? null,
          },
    );
    return recorded;
  };
}

/** Who types commands: `deploy@shop1`; the number of the user where it has no name, as in a container. */
export function userAndHost(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}
