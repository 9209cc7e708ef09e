import type { Notify } from '../config/job/notify.ts';
import { masked } from '../model/personal-data.ts';
import {
  beginNotification,
  endNotification,
  type Notification,
  notifiedEnd,
} from '../report/notification.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { reasonsForWebhook, withoutPersonalData } from '../report/wording/personal-data.ts';
import type { RunContext } from './context.ts';
import { withShownFiles } from './export/shown-location.ts';

/** Tells whom the job names how its run has ended, if that is an end they want to hear of. Never rejects. */
export async function tellEnd(
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
  await tell(context, notify, endNotification(end, facts, moment));
}

/** Tells that a job could not begin. */
export async function tellNotBegun(
  context: RunContext,
  notify: Notify | undefined,
  job: string,
  problem: string,
): Promise<void> {
  if (notify === undefined || !notify.on.includes('failed')) return;
  await tell(
    context,
    notify,
    beginNotification(job, masked(context.redact?.(problem) ?? problem), context.newRunId()),
  );
}

async function tell(context: RunContext, { url }: Notify, notification: Notification): Promise<void> {
  // Loaded when there is something to tell: its HTTP client takes a tenth of a second, more than many commands need.
  const { deliverNotification } = await import('../report/deliver-notification.ts');
  const problem = await deliverNotification(url, notification, context.signal);
  if (problem !== null) context.onEvent({ type: 'not-told', host: new URL(url).host, problem });
}
