import { hash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { Notify } from '../../config/job/job.ts';
import { withoutAbsent } from '../../model/json-object.ts';
import type { NotifiedCondition } from '../../model/run.ts';
import { messageOf } from '../../model/storeferry-error.ts';
import {
  beginNotification,
  conditionsOf,
  endId,
  endNotification,
  isNotified,
  type MessageKind,
  missedNotification,
  type Notification,
  testNotification,
  weeklyNotification,
  weekOf,
} from '../../report/run-document.ts';
import {
  REPORT_FILE,
  type RunFacts,
  reasonsForWebhook,
  withoutPersonalData,
} from '../../report/run-facts.ts';
import { type RunFolder, sealedFile } from '../../state/artifacts.ts';
import { maskPersonalData } from '../../text/mask-personal-data.ts';
import { readStoredReport, withShownFiles } from '../report/read-stored-report.ts';
import type { RunContext } from '../run-context.ts';
import { deliverNotification } from './deliver-notification.ts';

const waitingSchema = z.object({
  /** Which recipient of the job, without its address, which is secret. */
  recipient: z.string(),
  /** When it was written, in milliseconds since the epoch. */
  at: z.number(),
  /** Whose report is attached. */
  run: z.string().nullable(),
  /** As `Notification`. */
  notification: z.custom<Notification>((value) => typeof value === 'object' && value !== null),
  /** Of a recovery: the conditions that end with it. */
  ended: z.array(z.string()).default([]),
});
type Waiting = z.infer<typeof waitingSchema>;

/** What a job has notified, and what it has yet to deliver: written before the first attempt. */
const noticesSchema = z.object({
  /** What ended before was not notified, and is not later. */
  since: z.number(),
  /** The newest events that were notified, by the ids of their messages, without those below. */
  known: z.array(z.string()),
  /** The newest ends of runs that were notified: ticks do not displace them. */
  ends: z.array(z.string()).default([]),
  /** The Monday of the last weekly summary. */
  week: z.string().default(''),
  /** The conditions that each recipient knows to hold, or will from a message that waits, for `when: change`. */
  alarms: z.record(z.string(), z.array(z.string())),
  waiting: z.array(waitingSchema),
});
type Notices = z.infer<typeof noticesSchema>;

const noticesFile = sealedFile(
  'notices.json',
  noticesSchema,
  'is damaged',
  'Remove it: messages that it has are lost.',
);
const MAX_KNOWN = 50;
/** Of one job; the oldest are dropped. */
const MAX_WAITING = 50;
/** A message that nobody takes for this long is dropped with the next attempt that fails. */
const KEPT_MS = 3 * 86_400_000;

/** Something that recipients may be notified of. */
export type News =
  | { readonly kind: 'ended'; readonly report: RunFacts }
  /** A run could not begin, or the state does not allow to record the end of the `run` that it was. */
  | { readonly kind: 'not-recorded'; readonly run: string | null; readonly problem: string }
  /** A tick of a schedule; `problem`: why its run did not start in time, null if it did. */
  | { readonly kind: 'tick'; readonly id: string; readonly problem: string | null };

/** What is said of it. */
interface Occurrence {
  /** `end`: of a run; `week`: its id is the date of its Monday. */
  readonly kind: 'end' | 'week' | 'other';
  readonly id: string;
  readonly run: string | null;
  /** Whether each condition holds that this occurrence decides about. */
  readonly conditions: Partial<Readonly<Record<NotifiedCondition, boolean>>>;
  readonly notify: (kind: MessageKind) => Notification;
}

function occurrencesOf(context: RunContext, job: string, news: News, week: string): readonly Occurrence[] {
  switch (news.kind) {
    case 'ended':
      return withoutAbsent([endOccurrence(context, news.report), weekOccurrence(context, news.report, week)]);
    case 'not-recorded': {
      const id = context.newRunId();
      const reason = maskPersonalData(context.redact(news.problem));
      return [
        {
          kind: 'other',
          id,
          run: null,
          conditions: { failed: true },
          notify: () => beginNotification(job, reason, id, news.run),
        },
      ];
    }
    case 'tick': {
      const { id, problem } = news;
      const conditions = { missed: problem !== null };
      const notify = (kind: MessageKind) => missedNotification(kind, job, problem, id);
      return [{ kind: 'other', id, run: null, conditions, notify }];
    }
    default:
      return news satisfies never;
  }
}

/** A week of list statistics, by its first run that could compare; undefined for all other runs. */
function weekOccurrence(
  context: RunContext,
  { run, history = null }: RunFacts,
  week: string,
): Occurrence | undefined {
  const now = context.clock();
  if (week >= weekOf(now)) return undefined;
  const notification = history && weeklyNotification(run.job, history, now);
  if (notification === null) return undefined;
  // Without the name of the job, which may have another one when it is delivered.
  return {
    kind: 'week',
    id: weekOf(now),
    run: run.id,
    conditions: { weekly: true },
    notify: () => notification,
  };
}

/** The end of a run; undefined where nobody is notified of such an end. */
function endOccurrence(context: RunContext, report: RunFacts): Occurrence | undefined {
  const conditions = conditionsOf(report);
  if (conditions === undefined) return undefined;
  const shown = withShownFiles(withoutPersonalData(report), context.workspaceDir);
  const { run, plan, refusals } = shown;
  const facts = {
    ...shown,
    plan: plan && { ...plan, rejections: reasonsForWebhook(plan.rejections, run) },
    refusals: reasonsForWebhook(refusals, run),
  };
  const moment = { now: context.clock(), version: context.version };
  return {
    kind: 'end',
    id: endId(run),
    run: run.id,
    conditions,
    notify: (kind) => endNotification(kind, facts, moment),
  };
}

/**
 * Notifies the recipients of a job of what has happened, and of ends of its runs whose process died before it did; then delivers all
 * that waits. Never rejects. A message is written before it is sent, in one file with the conditions that it reports: it
 * is sent though the process dies, and none is sent of the end of a condition that no delivered message has reported.
 */
export async function sendNotices(
  context: RunContext,
  job: string,
  recipients: readonly Notify[],
  news?: News,
): Promise<void> {
  if (recipients.length === 0) return;
  const warn = (host: string, problem: string) => context.onEvent({ type: 'not-notified', host, problem });
  try {
    const holder = { job, run: context.newRunId() };
    const { signal } = context;
    await using _lock = await context.state.locks.acquire(`notices:${job}`, holder, { signal, onWait() {} });
    const folder = context.artifacts.run(`notices-${job}`);
    const before = await noticesFile.find(folder);
    const forgotten = before === undefined ? [] : await unnotifiedEnds(context, job, before);
    const happened = news === undefined ? [] : occurrencesOf(context, job, news, before?.week ?? '');
    const found = [...forgotten, ...happened];
    if (before === undefined && found.length === 0) return;
    const start =
      before ?? noticesSchema.parse({ since: context.clock(), known: [], alarms: {}, waiting: [] });
    const added = found.reduce(
      (notices, one) => withOccurrence(notices, one, recipients, context.clock()),
      start,
    );
    if (added !== before) await noticesFile.write(folder, added);
    await deliverWaiting({ context, folder, recipients, warn }, added);
  } catch (error) {
    if (context.signal.aborted) return;
    warn('Recipients', messageOf(error));
  }
}

/** What became of a test message to a recipient. */
export interface TestedRecipient {
  readonly host: string;
  /** Null: it was delivered. */
  readonly problem: string | null;
}

/** Sends each recipient of a job a test message. Never rejects. */
export async function testRecipients(
  { newRunId, signal }: RunContext,
  job: string,
  recipients: readonly Notify[],
): Promise<readonly TestedRecipient[]> {
  const message = { notification: testNotification(job, newRunId()), report: null };
  return await Promise.all(
    recipients.map(async (recipient) => ({
      host: hostOf(recipient),
      problem: await deliverNotification(recipient, message, signal),
    })),
  );
}

/** The newest runs of the job that have ended without a word, oldest first. */
async function unnotifiedEnds(
  context: RunContext,
  job: string,
  { since, known, ends }: Notices,
): Promise<readonly Occurrence[]> {
  const runs = await context.state.runs.list({ job, limit: 5 });
  const ended = runs.filter(
    (run) => (run.finishedAt ?? 0) >= since && isNotified(run) && ![...ends, ...known].includes(endId(run)),
  );
  const reports = await Promise.all(ended.reverse().map((run) => readStoredReport(context, run)));
  return reports.flatMap((report) => endOccurrence(context, report) ?? []);
}

/** The notices with the messages about an occurrence, unless they have it already. */
function withOccurrence(
  notices: Notices,
  { kind: of, id, run, conditions, notify }: Occurrence,
  recipients: readonly Notify[],
  at: number,
) {
  const { known, ends, week } = notices;
  if (of === 'week' ? week >= id : [...ends, ...known].includes(id)) return notices;
  const decided = recipients.map((recipient) => {
    const name = recipientName(recipient);
    const known = notices.alarms[name] ?? [];
    return { name, known, ...decide(recipient, known, conditions) };
  });
  const messages = decided.flatMap(({ name, known, kind }) => {
    const ended = kind === 'recovered' ? [...known] : [];
    return kind === null ? [] : [{ recipient: name, at, run, notification: notify(kind), ended }];
  });
  const all: Notices = {
    ...notices,
    known: of === 'other' ? [...known, id].slice(-MAX_KNOWN) : known,
    ends: of === 'end' ? [...ends, id].slice(-MAX_KNOWN) : ends,
    week: of === 'week' ? id : week,
    alarms: Object.fromEntries(decided.map(({ name, alarms }) => [name, alarms])),
    waiting: [...notices.waiting, ...messages],
  };
  return all.waiting.slice(0, -MAX_WAITING).reduce(withoutUndelivered, all);
}

/**
 * The notices without the oldest message to a recipient, which did not get it. What it reported has not begun for this recipient: it is
 * reported when it is found again, and its end is not, unless another condition ends with it.
 */
function withoutUndelivered(notices: Notices, dropped: Waiting): Notices {
  const {
    recipient,
    notification: { end },
  } = dropped;
  const without = (conditions: readonly string[] = []) => conditions.filter((one) => one !== end);
  const waiting = notices.waiting.filter((one) => one !== dropped);
  const next = waiting.find(
    (one) => one.recipient === recipient && [end, 'recovered'].includes(one.notification.end),
  );
  if (next === undefined) {
    const alarms = { ...notices.alarms, [recipient]: without(notices.alarms[recipient]) };
    return { ...notices, waiting, alarms };
  }
  if (!next.ended.includes(end)) return { ...notices, waiting };
  const ended = without(next.ended);
  const instead = ended.length === 0 ? [] : [{ ...next, ended }];
  return { ...notices, waiting: waiting.flatMap((one) => (one === next ? instead : [one])) };
}

/** A recipient in files: equal for equal addresses, which it does not show. */
function recipientName({ kind, address }: Notify) {
  return `${kind}-${hash('sha256', JSON.stringify(address), 'base64url').slice(0, 12)}`;
}

/** What a recipient is sent, and the conditions that it knows to hold then. */
export function decide(
  { on, when }: Pick<Notify, 'on' | 'when'>,
  known: readonly string[],
  conditions: Occurrence['conditions'],
): { readonly kind: MessageKind | null; readonly alarms: string[] } {
  const holding = on.filter((condition) => conditions[condition] === true);
  // A summary is no condition that begins and ends.
  if (conditions.weekly === true) return { kind: holding[0] ?? null, alarms: [...known] };
  if (when === 'always') return { kind: holding[0] ?? null, alarms: [] };
  // Each end of a run is done or not: that is no condition that lasts.
  const lasting = holding.filter((condition) => condition !== 'done');
  const others = known.filter((condition) => !Object.hasOwn(conditions, condition));
  const alarms = [...others, ...lasting];
  const fresh = lasting.find((condition) => !known.includes(condition));
  if (fresh !== undefined) return { kind: fresh, alarms };
  return { kind: known.length > 0 && alarms.length === 0 ? 'recovered' : null, alarms };
}

interface Delivery {
  readonly context: RunContext;
  readonly folder: RunFolder;
  readonly recipients: readonly Notify[];
  readonly warn: (host: string, problem: string) => void;
}

/**
 * Sends what waits, oldest first; what a recipient does not take waits on, or is dropped when it has waited for long, and what follows for
 * it waits.
 */
async function deliverWaiting({ context, folder, recipients, warn }: Delivery, notices: Notices) {
  const named = new Map(recipients.map((recipient) => [recipientName(recipient), recipient]));
  const failed = new Set<string>();
  let kept = notices;
  for (const waiting of notices.waiting) {
    const recipient = named.get(waiting.recipient);
    if (failed.has(waiting.recipient) || context.signal.aborted) continue;
    let isTaken = true;
    if (recipient !== undefined) {
      const message = { notification: waiting.notification, report: await reportOf(context, waiting.run) };
      const problem = await deliverNotification(recipient, message, context.signal);
      if (problem !== null) {
        failed.add(waiting.recipient);
        warn(hostOf(recipient), problem);
        if (context.signal.aborted || context.clock() - waiting.at < KEPT_MS) continue;
        isTaken = false;
      }
    }
    kept = isTaken
      ? { ...kept, waiting: kept.waiting.filter((one) => one !== waiting) }
      : withoutUndelivered(kept, waiting);
    await noticesFile.write(folder, kept);
  }
}

async function reportOf({ artifacts }: RunContext, run: string | null) {
  if (run === null) return null;
  const folder = artifacts.run(run);
  return (await folder.exists(REPORT_FILE)) ? await text(await folder.read(REPORT_FILE)) : null;
}

function hostOf(recipient: Notify) {
  return new URL(recipient.kind === 'email' ? recipient.server : recipient.address).host;
}
