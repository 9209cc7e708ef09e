import type { Job, Queue } from 'bullmq';
import { type JobSchedule, nextTick } from '../config/job/job.ts';
import type { JobSchedules } from '../config/workspace.ts';
import { repeatEvery } from '../model/clock.ts';
import { messageOf } from '../model/storeferry-error.ts';
import type { RunContext } from '../run/run-context.ts';
import type { Locks, Runs } from '../state/state.ts';
import { formatDuration } from '../text/printable.ts';
import type { Queues, TickData } from './queues.ts';
import type { WorkerLog } from './worker-settings.ts';

/** If workers run, a tick that was due this long ago should be in the queue. */
const DUE_LONG_AGO_MS = 10_000;
const POLL_EVERY_MS = 2_000;
/** The interval at which changes that other programs made to the queue are corrected. */
const COMPARE_EVERY_MS = 30_000;
const LOCK_NAME = 'schedules';

interface ScheduleKeeperOptions {
  readonly schedules: ScheduleStore;
  readonly locks: Locks;
  readonly readSchedules: () => JobSchedules;
  /** Changes when the files change. */
  readonly version: () => Promise<string>;
  /** Called after the files have been read again. */
  readonly onRead: () => void;
  readonly newRunId: () => string;
  readonly clock: () => number;
  readonly log: WorkerLog;
}

/** The schedules of a queue: of BullMQ, or of the embedded state. */
export interface ScheduleStore {
  /** All of them, also those that other programs set. */
  list(now: number): Promise<readonly KeptSchedule[]>;
  /** Sets the schedule of its job. `overdue`: also queues a run, for the tick that the change discards. */
  set(schedule: JobSchedule, overdue: boolean): Promise<void>;
  remove(job: string): Promise<void>;
}

/** Keeps the schedules of the queue equal to those of the job files until it is closed. */
export type ScheduleKeeper = Awaited<ReturnType<typeof keepSchedules>>;

/**
 * Compares the schedules once before it resolves, then whenever a file changes. Any number of workers may do so: only
 * one at a time compares and changes. A failure is logged and tried again; the schedules are unchanged meanwhile.
 */
export async function keepSchedules(options: ScheduleKeeperOptions) {
  const { schedules: kept, locks, version, newRunId, clock, log } = options;
  let seen: string | null = null;
  let comparedAt = Number.NEGATIVE_INFINITY;
  let missing: ReadonlySet<string> = new Set();
  let lastFailure: string | null = null;
  const logBroken = brokenJobLogger(log);

  const apply = async (change: ScheduleChange) => {
    if (change.kind === 'remove') {
      await kept.remove(change.job);
      log.info({ job: change.job, because: change.because }, 'schedule removed');
      return;
    }
    const { schedule, overdue, postponedTo } = change;
    const { job, cron, timezone } = schedule;
    await kept.set(schedule, overdue);
    if (overdue) log.warn({ job }, 'missed tick: run queued once');
    if (postponedTo !== undefined) {
      const next = new Date(postponedTo).toISOString();
      log.warn({ job, next }, 'the next run was too late: the clock of a worker was ahead; it is corrected');
    }
    log.info({ job, cron, timezone }, 'schedule set');
  };

  /** Returns false if it must be done again at the next poll. */
  const compare = async () => {
    const lock = await locks.tryAcquire(LOCK_NAME, { job: LOCK_NAME, run: newRunId() });
    if ('heldBy' in lock) return false;
    try {
      const schedules = options.readSchedules();
      logBroken(schedules);
      const changes = planScheduleChanges(schedules, await kept.list(clock()), clock());
      // An editor may have moved a file away briefly: it must be missing twice.
      const gone = changes.flatMap((change) =>
        change.kind === 'remove' && change.because === 'gone' ? [change.job] : [],
      );
      const justGone = new Set(gone.filter((job) => !missing.has(job)));
      missing = new Set(gone);
      for (const change of changes) {
        if (change.kind === 'set' || !justGone.has(change.job)) await apply(change);
      }
      return justGone.size === 0;
    } finally {
      await lock.release();
    }
  };

  const poll = async () => {
    try {
      const present = await version();
      const sinceMs = clock() - comparedAt;
      // Below 0 the clock was set back: then the queue is compared, too.
      if (present === seen && sinceMs >= 0 && sinceMs < COMPARE_EVERY_MS) return;
      if (!(await compare())) return;
      seen = present;
      comparedAt = clock();
      lastFailure = null;
      options.onRead();
    } catch (error) {
      const reason = messageOf(error);
      if (reason === lastFailure) return;
      lastFailure = reason;
      log.error({ reason }, 'cannot compare schedules with the job files; they are unchanged');
    }
  };

  await poll();
  // Without Redis a comparison may take minutes.
  const polling = repeatEvery(POLL_EVERY_MS, poll);
  return { close: polling.stop };
}

/** The schedules in the queue of ticks. */
export function bullScheduleStore(
  queues: Queues,
  { newRunId, state }: Pick<RunContext, 'newRunId' | 'state'>,
): ScheduleStore {
  return {
    list: (now) => listSchedulers(queues.ticks(), now),
    async set(schedule, overdue) {
      const { enqueueRun } = await import('./queues.ts');
      const action = { does: 'run', job: schedule.job } as const;
      if (overdue) await enqueueRun(queues, action, newRunId(), state.runs);
      await upsertScheduler(queues, schedule);
    },
    async remove(job) {
      await queues.ticks().removeJobScheduler(job);
    },
  };
}

async function listSchedulers(ticks: Queue<TickData, null>, now: number): Promise<readonly KeptSchedule[]> {
  const schedulers = await ticks.getJobSchedulers();
  return await Promise.all(
    schedulers.map(async ({ key, pattern, tz, next }) => ({
      job: key,
      cron: pattern,
      timezone: tz,
      next,
      stalled:
        next !== undefined &&
        next < now - DUE_LONG_AGO_MS &&
        (await ticks.getJob(`repeat:${key}:${next}`)) === undefined,
    })),
  );
}

async function upsertScheduler({ ticks }: Queues, { job, cron, timezone }: JobSchedule) {
  await ticks().upsertJobScheduler(
    job,
    { pattern: cron, tz: timezone },
    {
      name: job,
      data: { job },
      // A tick that cannot be queued is tried again; after that nothing of it needs to be kept.
      opts: {
        attempts: 10,
        backoff: { type: 'exponential', delay: 1_000 },
        removeOnComplete: true,
        removeOnFail: { count: 100 },
      },
    },
  );
}

/** Logs once that a job is invalid, and when it is valid again. */
function brokenJobLogger(log: WorkerLog): (schedules: JobSchedules) => void {
  let logged = new Map<string, string>();
  return ({ broken }) => {
    for (const { job, problem } of broken) {
      if (logged.get(job) !== problem)
        log.error({ job, problem }, 'job file is invalid; its schedule is unchanged');
    }
    const now = new Map(broken.map(({ job, problem }) => [job, problem]));
    for (const job of logged.keys()) if (!now.has(job)) log.info({ job }, 'job file is valid again');
    logged = now;
  };
}

/**
 * The clocks of workers differ, and a clock may be set back: a tick that is past for one is in the future for another, and does not run twice.
 */
const CLOCKS_DIFFER_MS = 10 * 60 * 1_000;

/** A schedule in the queue. */
export interface KeptSchedule {
  readonly job: string;
  readonly cron: string | undefined;
  readonly timezone: string | undefined;
  /** When its next tick is due; undefined if the queue does not know. */
  readonly next: number | undefined;
  /** The queue has lost the due tick: unless it is set again, there will be no further one. */
  readonly stalled: boolean;
}

type ScheduleChange =
  /** `overdue`: the change discards the due tick, so its run must be queued. `postponedTo`: the next tick by a clock that was ahead. */
  | {
      readonly kind: 'set';
      readonly schedule: JobSchedule;
      readonly overdue: boolean;
      readonly postponedTo?: number | undefined;
    }
  /** `unscheduled`: its file has no schedule; `gone`: there is no such file. */
  | { readonly kind: 'remove'; readonly job: string; readonly because: 'unscheduled' | 'gone' };

/**
 * The changes that make the schedules of the queue equal to those of the files. An equal schedule is not changed,
 * because setting it again would discard an overdue tick. The schedule of an invalid job is not changed either. A
 * next tick after the due one comes from a clock that was ahead: unless it is set again, the job would not run until
 * then.
 */
export function planScheduleChanges(
  { scheduled, unscheduled, broken }: JobSchedules,
  kept: readonly KeptSchedule[],
  now: number,
): readonly ScheduleChange[] {
  const known = new Map(kept.map((schedule) => [schedule.job, schedule]));
  const sets = scheduled.flatMap((schedule): ScheduleChange[] => {
    const present = known.get(schedule.job);
    const isKept = present !== undefined && isSame(schedule, present) && !present.stalled;
    const postponedTo = isKept ? tooLate(schedule, present, now + CLOCKS_DIFFER_MS) : undefined;
    if (isKept && postponedTo === undefined) return [];
    const overdue = present?.next !== undefined && present.next <= now;
    return [{ kind: 'set', schedule, overdue, postponedTo }];
  });
  const staying = new Set([...scheduled, ...broken].map(({ job }) => job));
  const withoutSchedule = new Set(unscheduled);
  const removals = kept
    .filter(({ job }) => !staying.has(job))
    .map(({ job }) => ({
      kind: 'remove' as const,
      job,
      because: withoutSchedule.has(job) ? ('unscheduled' as const) : ('gone' as const),
    }));
  return [...sets, ...removals];
}

/** The next tick, if it is later than the first one after `latestNow`. */
function tooLate(schedule: JobSchedule, { next }: KeptSchedule, latestNow: number) {
  return next !== undefined && next > nextTick(schedule, latestNow) ? next : undefined;
}

function isSame({ cron, timezone }: JobSchedule, kept: KeptSchedule) {
  return cron === kept.cron && timezone === kept.timezone;
}

/** A later tick was missed, while no worker ran or Redis was unavailable. */
const MISSED_AFTER_MS = 60_000;

export interface TickProcessorOptions extends Pick<RunContext, 'newRunId' | 'clock'> {
  readonly queues: Queues;
  readonly runs: Pick<Runs, 'get'>;
  /** Whether the job still has a schedule; an invalid job gets a run that reports its errors. */
  readonly isScheduled: (job: string) => boolean;
  readonly onTick: (tick: TickOutcome) => void;
  readonly log: WorkerLog;
}

/**
 * Turns a tick of a schedule into a run. If the job still runs or waits, the tick is dropped: at most one run of a
 * job is queued, so that a schedule that is faster than its job causes no backlog, and no two runs overlap.
 */
export function tickProcessor({
  queues,
  runs,
  isScheduled,
  newRunId,
  clock,
  onTick,
  log,
}: TickProcessorOptions) {
  return async ({ id: tick, data, timestamp, opts }: Job<TickData, null>) => {
    const { enqueueRun, isTickData, UNREADABLE_JOB } = await import('./queues.ts');
    if (!isTickData(data)) {
      log.error({ queued: tick }, UNREADABLE_JOB);
      return null;
    }
    const { job } = data;
    if (!isScheduled(job)) {
      log.info({ job }, 'tick dropped: the job is no longer scheduled');
      return null;
    }
    const lateMs = clock() - (timestamp + (opts.delay ?? 0));
    const { queued, added } = await enqueueRun(queues, { does: 'run', job }, newRunId(), runs);
    onTick({ job, queued, added, lateMs });
    return null;
  };
}

/** What became of a tick of a schedule. */
export interface TickOutcome {
  readonly job: string;
  /** With Redis the id of the entry that was added or waits already (`run-…`), else that of the tick's own run, also where it was not added. */
  readonly queued: string;
  readonly added: boolean;
  readonly lateMs: number;
}

/** Logs the outcome of a tick. Returns why its run did not start in time; null if it did. */
export function logTick(log: WorkerLog, { added, ...tick }: TickOutcome): string | null {
  const { lateMs, ...named } = tick;
  if (!added) {
    log.info(named, 'tick dropped: the job still runs or waits');
    return 'The run before it had not ended.';
  }
  if (lateMs < MISSED_AFTER_MS) {
    log.info(named, 'tick: run queued');
    return null;
  }
  log.warn(tick, 'missed tick: run queued once');
  return `No worker was running: it starts ${formatDuration(lateMs)} late.`;
}
