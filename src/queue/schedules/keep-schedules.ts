import type { Queue } from 'bullmq';
import type { JobSchedule, JobSchedules } from '../../config/job/read-schedules.ts';
import type { Locks } from '../../state/state.ts';
import { enqueueRun, type Queues, type TickData } from '../queues.ts';
import type { WorkerLog } from '../worker-log.ts';
import { type KeptSchedule, planScheduleChanges, type ScheduleChange } from './plan-schedule-changes.ts';

/** A tick that is due so long ago should be on its way, if workers run. */
const DUE_LONG_AGO_MS = 10_000;

/** All schedules in the queue, also those that other programs set. */
async function keptSchedules(ticks: Queue<TickData, null>, now: number): Promise<readonly KeptSchedule[]> {
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

const LOOK_EVERY_MS = 2_000;
/** How often changes that other programs made to the queue are corrected. */
const COMPARE_EVERY_MS = 30_000;
const LOCK_NAME = 'schedules';

export interface ScheduleKeeperOptions {
  readonly queues: Queues;
  readonly locks: Locks;
  /** Reads the files as they are at the moment. */
  readonly readSchedules: () => JobSchedules;
  /** Changes when they do. */
  readonly version: () => Promise<string>;
  /** Called when the files have been read again. */
  readonly onRead: () => void;
  readonly newRunId: () => string;
  readonly clock: () => number;
  readonly log: WorkerLog;
}

/** Keeps the queue's schedules in step with the job files for as long as the worker runs. */
export interface ScheduleKeeper {
  close(): Promise<void>;
}

/**
 * Brings the schedules in step, once before it resolves, then whenever a file changes. Any number of workers may do
 * so: one at a time compares and changes. Trouble is logged and tried again; schedules stay as they are meanwhile.
 */
export async function keepSchedules(options: ScheduleKeeperOptions): Promise<ScheduleKeeper> {
  const { queues, locks, version, newRunId, clock, log } = options;
  let seen: string | null = null;
  let comparedAt = Number.NEGATIVE_INFINITY;
  let missing: ReadonlySet<string> = new Set();
  let lastTrouble: string | null = null;
  const sayBroken = brokenJobLogger(log);

  const apply = async (change: ScheduleChange): Promise<void> => {
    if (change.kind === 'remove') {
      await queues.ticks().removeJobScheduler(change.job);
      log.info({ job: change.job, because: change.because }, 'schedule removed');
      return;
    }
    const { schedule, overdue } = change;
    const { job, cron, timezone } = schedule;
    if (overdue) {
      await enqueueRun(queues, { job, resend: false }, newRunId);
      log.warn({ job }, 'a missed tick is made up for, once');
    }
    await setSchedule(queues, schedule);
    log.info({ job, cron, timezone }, 'schedule set');
  };

  /** Gives false when it is to be done again at the next look. */
  const compare = async (): Promise<boolean> => {
    const lock = await locks.tryAcquire(LOCK_NAME, { job: LOCK_NAME, run: newRunId() });
    if ('heldBy' in lock) return false;
    try {
      const schedules = options.readSchedules();
      sayBroken(schedules);
      const changes = planScheduleChanges(schedules, await keptSchedules(queues.ticks(), clock()), clock());
      // An editor may have moved a file away for a moment: it must be gone twice.
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

  const look = async (): Promise<void> => {
    try {
      const present = await version();
      const sinceMs = clock() - comparedAt;
      // Below 0 when the clock was put back: what the queue keeps is to be looked at then, too.
      if (present === seen && sinceMs >= 0 && sinceMs < COMPARE_EVERY_MS) return;
      if (!(await compare())) return;
      seen = present;
      comparedAt = clock();
      lastTrouble = null;
      options.onRead();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason === lastTrouble) return;
      lastTrouble = reason;
      log.error({ reason }, 'the schedules could not be compared with the job files; they stay as they are');
    }
  };

  await look();
  let looking: Promise<void> | null = null;
  const timer = setInterval(() => {
    // Without Redis a look may take minutes.
    looking ??= look().finally(() => {
      looking = null;
    });
  }, LOOK_EVERY_MS);
  return {
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}

async function setSchedule({ ticks }: Queues, { job, cron, timezone }: JobSchedule): Promise<void> {
  await ticks().upsertJobScheduler(
    job,
    { pattern: cron, tz: timezone },
    {
      name: job,
      data: { job },
      // A tick that cannot be handed over is tried again; once it is, nothing of it is worth keeping.
      opts: {
        attempts: 10,
        backoff: { type: 'exponential', delay: 1_000 },
        removeOnComplete: true,
        removeOnFail: { count: 100 },
      },
    },
  );
}

/** Says what is wrong with a job once, and when it is well again. */
function brokenJobLogger(log: WorkerLog): (schedules: JobSchedules) => void {
  let said = new Map<string, string>();
  return ({ broken }) => {
    for (const { job, problem } of broken) {
      if (said.get(job) !== problem)
        log.error({ job, problem }, 'the job cannot be used; its schedule stays as it is');
    }
    const now = new Map(broken.map(({ job, problem }) => [job, problem]));
    for (const job of said.keys()) if (!now.has(job)) log.info({ job }, 'the job can be used again');
    said = now;
  };
}
