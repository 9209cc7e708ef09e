import { every } from '../model/clock.ts';
import { messageOf } from '../model/storeferry-error.ts';
import { notifyRecipients } from '../run/execute-run.ts';
import { logTick, type TickOutcome } from './keep-schedules.ts';
import type { WorkerSettings } from './worker-settings.ts';

/** How often a worker sends what a recipient has not taken, or what a process that died has left. */
const DELIVER_EVERY_MS = 60_000;

/**
 * Notifies the recipients of jobs from a worker: of ticks whose run did not start in time, and of what waits for them. It ends when the
 * stack is disposed of.
 */
export function noticeSender(
  { context, files, log }: Pick<WorkerSettings, 'context' | 'files' | 'log'>,
  ending: AsyncDisposableStack,
) {
  const sending = new Set<Promise<void>>();
  const track = (sent: Promise<void>): void => {
    sending.add(sent);
    void sent.finally(() => sending.delete(sent));
  };
  const deliver = async (): Promise<void> => {
    try {
      for (const job of files.jobNames()) {
        if (context.signal.aborted) return;
        await notifyRecipients(context, files.notifyOf(job), job);
      }
    } catch (error) {
      const reason = messageOf(error);
      log.error({ reason }, 'cannot read the jobs; notices wait');
    }
  };
  track(deliver());
  const delivering = every(DELIVER_EVERY_MS, deliver);
  ending.defer(async () => {
    await delivering.stop();
    await Promise.all(sending);
  });
  return {
    /** Logs the outcome of a tick, and sends what is to be said of it. */
    onTick(tick: TickOutcome): void {
      const problem = logTick(log, tick);
      const { job, queued, added } = tick;
      const id = `tick-${queued}${added ? '' : '-dropped'}`;
      const recipients = files.notifyOf(job);
      if (!recipients?.some(({ on }) => on.includes('missed'))) return;
      track(notifyRecipients(context, recipients, job, { kind: 'tick', id, problem }));
    },
  };
}
