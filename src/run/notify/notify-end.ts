import type { Notify } from '../../config/job/job.ts';
import { masked } from '../../model/masked.ts';
import {
  beginNotification,
  endNotification,
  type Notification,
  notifiedEnd,
} from '../../report/notification.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { reasonsForWebhook, withoutPersonalData } from '../../report/run-facts.ts';
import { withShownFiles } from '../export/shown-location.ts';
import type { RunContext } from '../run-context.ts';

/** Sends the notification that the job asks for at this end of a run, if any. Never rejects. */
export async function notifyEnd(
  context: RunContext,
  notify: Notify | undefined,
  report: RunFacts,
): Promise<void> {
  const shown = withShownFiles(withoutPersonalData(report), context.workspaceDir);
  const { run, plan, refusals } = shown;
  const facts = {
    ...shown,
    plan: plan && { ...plan, rejections: reasonsForWebhook(plan.rejections, run) },
    refusals: reasonsForWebhook(refusals, run),
  };
  const end = notifiedEnd(facts.run);
  if (notify === undefined || end === null || !notify.on.includes(end)) return;
  const moment = { now: context.clock(), version: context.version };
  await deliver(context, notify, endNotification(end, facts, moment));
}

/** Sends the notification that a job could not begin. Never rejects. */
export async function notifyNotBegun(
  context: RunContext,
  notify: Notify | undefined,
  job: string,
  problem: string,
): Promise<void> {
  if (notify === undefined || !notify.on.includes('failed')) return;
  const text = masked(context.redact?.(problem) ?? problem);
  await deliver(context, notify, beginNotification(job, text, context.newRunId()));
}

async function deliver(context: RunContext, { url }: Notify, notification: Notification): Promise<void> {
  // Loaded when there is something to send: its HTTP client takes a tenth of a second, more than many commands need.
  const { deliverNotification } = await import('./deliver-notification.ts');
  const problem = await deliverNotification(url, notification, context.signal);
  if (problem !== null) context.onEvent({ type: 'not-notified', host: new URL(url).host, problem });
}
