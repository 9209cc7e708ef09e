import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, matchesGlob } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nextTick } from '../config/job/job.ts';
import { repeatEvery } from '../model/clock.ts';
import { isOwnerFile } from '../model/remote-address.ts';
import { CLAIMED, COMPLETED, lastedMs, UNFINISHED } from '../model/run.ts';
import { errorCode, InterruptedError, messageOf, UsageError } from '../model/storeferry-error.ts';
import { hasDied } from '../run/report/read-stored-report.ts';
import type { RunContext } from '../run/run-context.ts';
import {
  isOver,
  type Locks,
  type QueueEntry,
  type StateQueue,
  type StoredSchedule,
  WORKER_LOCK,
} from '../state/state.ts';
import { keepSchedules, type ScheduleStore, type TickProcessorOptions } from './keep-schedules.ts';
import { countOutcomes, metricsReader, type QueueCounts } from './metrics.ts';
import {
  noticeSender,
  type ProcessedRun,
  type ProcessRun,
  RUN_RETRY_DELAY_MS,
  runProcessor,
} from './run-processor.ts';
import { openRunQueue, type RunQueue } from './run-queue.ts';
import type {
  RunningWorker,
  StartedWorker,
  WorkerFiles,
  WorkerLog,
  WorkerSettings,
} from './worker-settings.ts';

export { logRunEvents, type RunningWorker, type WorkerFiles } from './worker-settings.ts';

/** Runs of different stores; those of one store wait for each other. */
const RUNS_AT_ONCE = 4;
/** How often the worker polls for ticks that are due, and for runs that other processes queued. */
const POLL_EVERY_MS = 500;
/** A worker that cannot read its queue for this long is not healthy: longer than a read waits for the write of another process. */
const SILENT_AFTER_MS = 60_000;
/**
 * Starts the schedules and the execution of runs, and with Redis of their shards. Everything that it opens is in `ending` at
 * once, so that the caller can also close it if the start fails or hangs. After closing, nothing new is taken, and
 * unfinished work is recorded and returned. StateError when the artifacts are not those of the other workers; UsageError
 * when the embedded state already has a worker.
 */
export async function startWorker(
  settings: WorkerSettings,
  ending: AsyncDisposableStack,
): Promise<RunningWorker> {
  const { redisUrl, context, files, log } = settings;
  const worker =
    redisUrl === undefined
      ? await startEmbeddedWorker(settings, ending)
      : // BullMQ is loaded only where there is a Redis.
        await (await import('./start-redis-worker.ts')).startRedisWorker({ ...settings, redisUrl }, ending);
  let queue: Promise<RunQueue> | undefined;
  ending.defer(async () => (await queue)?.[Symbol.asyncDispose]());
  const openQueue = () => {
    queue ??= openRunQueue({ redisUrl, context });
    queue.catch(() => {
      queue = undefined;
    });
    return queue;
  };
  ending.defer(fileDrop({ context, files, openQueue, log }).close);
  const events = queueRunsForEvents(openQueue, context, log);
  ending.defer(events.close);
  return { ...worker, runForEvent: events.add };
}

/** A burst of events becomes one run. */
const QUEUE_EVENTS_EVERY_MS = 2_000;
/** After a run of a job, its events wait for so many times as it took: a steady stream of them reads the store for a quarter of the time. */
const PAUSE_PER_RUN = 3;
/** After a failed run: each keeps what it has read on disk, so that few may follow. */
const PAUSE_AFTER_FAILURE_MS = 15 * 60_000;

/**
 * Queues a run of a job after events of its store. An event that comes while a run is at work is kept until its end, because that run may
 * have read before. Events are lost with the process: the schedule of the job finds what they said.
 */
function queueRunsForEvents(
  openQueue: () => Promise<Pick<RunQueue, 'enqueue'>>,
  context: RunContext,
  log: WorkerLog,
) {
  const { runs } = context.state;
  const waiting = new Set<string>();
  let failure: string | null = null;
  const pauses = async (job: string) => {
    const now = context.clock();
    const [last] = await runs.list({ job, limit: 1 });
    if (last === undefined) return false;
    // An event does not continue at once what somebody has just stopped.
    if (last.finishedAt === null) return isOver(last) && !(await hasDied(context, last));
    const ageMs = now - last.finishedAt;
    const pauseMs = COMPLETED.includes(last.status)
      ? PAUSE_PER_RUN * lastedMs(last, now)
      : PAUSE_AFTER_FAILURE_MS;
    return ageMs >= 0 && ageMs < pauseMs;
  };
  const queueWaiting = async () => {
    for (const job of [...waiting]) {
      try {
        if (await pauses(job)) continue;
        // Before the call: an event that comes during it is kept.
        waiting.delete(job);
        const { added, id } = await (await openQueue()).enqueue({ does: 'run', job });
        if (added) log.info({ job, run: id }, 'run queued for events of the store');
        else waiting.add(job);
        failure = null;
      } catch (error) {
        waiting.add(job);
        const reason = messageOf(error);
        if (reason !== failure) log.warn({ job, reason }, 'the run for events of the store waits');
        failure = reason;
      }
    }
  };
  const queueing = repeatEvery(QUEUE_EVENTS_EVERY_MS, queueWaiting);
  return { add: (job: string) => void waiting.add(job), close: queueing.stop };
}

/**
 * Starts the worker of an embedded state, which executes runs in this process. All work is in the state before it begins:
 * a killed worker loses nothing, and the next one continues. UsageError when the workspace has a worker.
 */
async function startEmbeddedWorker(
  { context: given, files, storeStats, log }: WorkerSettings,
  ending: AsyncDisposableStack,
): Promise<StartedWorker> {
  const counts = countOutcomes(given.state);
  const stop = new AbortController();
  const signal = AbortSignal.any([given.signal, stop.signal]);
  const context: RunContext = { ...given, state: counts.state, signal };
  const { clock, newRunId, state } = context;
  const { queue, locks } = state;
  if (queue === undefined) throw new TypeError('The state is shared: its workers use Redis');
  const lock = ending.use(await lockWorker(locks, newRunId()));
  await queue.releaseEntry();

  const keeper = await keepSchedules({
    schedules: embeddedScheduleStore(queue, clock, newRunId),
    locks,
    readSchedules: files.schedules,
    version: files.schedulesVersion,
    onRead() {},
    newRunId,
    clock,
    log,
  });
  if (signal.aborted) {
    await keeper.close();
    throw signal.reason;
  }
  const { taskFor, readRecipients, isScheduled } = files;
  const processRun = runProcessor({
    context,
    taskFor,
    readRecipients,
    onEnd: counts.runEnded,
    log,
  });
  const queueRunner = runQueue({ queue, processRun, signal, log });
  const { onTick } = noticeSender({ context, files, log }, ending);
  let polledAt = performance.now();
  let failure: string | null = null;
  const poll = async () => {
    try {
      await enqueueDueTicks({ queue, isScheduled, newRunId, clock, onTick });
      await queueRunner.poll();
      polledAt = performance.now();
      failure = null;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== failure) log.error({ reason }, 'cannot read the queue; retrying');
      failure = reason;
    }
  };
  const polling = repeatEvery(POLL_EVERY_MS, poll);
  ending.defer(async () => {
    stop.abort(new InterruptedError('The worker is stopping.'));
    await Promise.all([keeper.close(), polling.stop()]);
    await queueRunner.ended();
  });
  return {
    async health() {
      if (!lock.isHeld()) return 'the state was deleted or replaced';
      const silent = performance.now() - polledAt > SILENT_AFTER_MS;
      return failure ?? (silent ? 'the state does not answer' : null);
    },
    metrics: metricsReader({
      counts,
      runs: state.runs,
      queued: async () => [countsOf(await queue.openEntries())],
      nextTicks: async () => new Map((await queue.schedules()).map(({ job, next }) => [job, next])),
      jobNames: files.jobNames,
      storeStats,
    }),
    gaveUp: lock.lost,
  };
}

/** The lock of the only worker of this state: a lock of the operating system, which is free when a worker is killed. */
async function lockWorker(locks: Locks, run: string) {
  const lock = await locks.tryAcquire(WORKER_LOCK, { job: WORKER_LOCK, run });
  if (!('heldBy' in lock)) return lock;
  throw new UsageError('This workspace already has a worker.', {
    hint: 'Without Redis a workspace has one worker: `storeferry worker` or `storeferry dashboard --worker`. Stop the other one first.',
  });
}

/** The schedules in the embedded state. */
export function embeddedScheduleStore(
  queue: StateQueue,
  clock: () => number,
  newRunId: () => string,
): ScheduleStore {
  return {
    async list() {
      return (await queue.schedules()).map((schedule) => ({ ...schedule, stalled: false }));
    },
    async set(schedule, overdue) {
      const next = nextTick(schedule, clock());
      await queue.setSchedule({ ...schedule, next }, overdue ? newRunId() : null);
    },
    remove: (job) => queue.removeSchedule(job),
  };
}

/** A schedule with a tick that is due. */
interface DueTick {
  readonly schedule: StoredSchedule;
  /** The first tick after now: all missed ticks together become one run. */
  readonly next: number;
  readonly lateMs: number;
}

/** The schedules that are due at a time, in milliseconds since the epoch; each with a next tick after it, so that none is due twice. */
export function findDueTicks(schedules: readonly StoredSchedule[], now: number): DueTick[] {
  return schedules
    .filter(({ next }) => next <= now)
    .map((schedule) => ({ schedule, next: nextTick(schedule, now), lateMs: now - schedule.next }));
}

interface TickOptions extends Omit<TickProcessorOptions, 'queues' | 'runs' | 'log'> {
  readonly queue: StateQueue;
}

/** Queues the runs that are due. A job whose file has no schedule any more is left out: it will be removed. */
export async function enqueueDueTicks({
  queue,
  isScheduled,
  newRunId,
  clock,
  onTick,
}: TickOptions): Promise<void> {
  for (const { schedule, next, lateMs } of findDueTicks(await queue.schedules(), clock())) {
    const { job } = schedule;
    if (!isScheduled(job)) continue;
    const queued = newRunId();
    const became = await queue.tick(schedule, next, queued);
    if (became !== 'changed') onTick({ job, queued, added: became === 'added', lateMs });
  }
}

interface RunQueueOptions {
  readonly queue: StateQueue;
  readonly processRun: ProcessRun;
  readonly signal: AbortSignal;
  readonly log: WorkerLog;
}

/** Takes entries of the queue and processes them, several at once. */
function runQueue({ queue, processRun, signal, log }: RunQueueOptions) {
  const working = new Map<string, Promise<void>>();
  /** When an entry that waits may be taken again, by the monotonic clock. */
  const waitsUntil = new Map<string, number>();

  const process = async ({ id, action, run }: QueueEntry): Promise<ProcessedRun> => {
    try {
      return await processRun({
        action,
        run,
        announcedId: id,
        signal,
        isFirst: !waitsUntil.has(id),
        remember: (begun) => queue.beginEntry(id, begun),
      });
    } catch (error) {
      const message = messageOf(error);
      log.error({ queued: id, reason: message }, 'unexpected error');
      return { kind: 'ended', run, error: message };
    }
  };
  const work = async (entry: QueueEntry): Promise<void> => {
    const { id } = entry;
    const processed = await process(entry);
    switch (processed.kind) {
      case 'ended':
        waitsUntil.delete(id);
        return await untilDone(() => queue.endEntry(id, processed), signal);
      case 'delayed':
      case 'returned':
        waitsUntil.set(
          id,
          performance.now() + (processed.kind === 'delayed' ? processed.ms : RUN_RETRY_DELAY_MS),
        );
        return await untilDone(() => queue.releaseEntry(id), signal);
      default:
        return processed satisfies never;
    }
  };
  return {
    async poll(): Promise<void> {
      const entries = await queue.openEntries();
      const open = new Set(entries.map(({ id }) => id));
      // Those that were removed while they waited.
      for (const id of waitsUntil.keys()) if (!open.has(id)) waitsUntil.delete(id);
      for (const entry of entries) {
        const { id, taken } = entry;
        if (signal.aborted || working.size >= RUNS_AT_ONCE) return;
        if (taken || (waitsUntil.get(id) ?? 0) > performance.now() || !(await queue.takeEntry(id))) continue;
        working.set(
          id,
          work(entry).finally(() => working.delete(id)),
        );
      }
    },
    async ended(): Promise<void> {
      await Promise.all(working.values());
    },
  };
}

/** Tries again while the state cannot be written, as on a full disk; once the worker stops, the next one finds out itself. */
async function untilDone(write: () => Promise<void>, signal: AbortSignal) {
  for (;;) {
    try {
      return await write();
    } catch {
      if (signal.aborted) return;
      await sleep(RUN_RETRY_DELAY_MS, undefined, { signal }).catch(() => {});
    }
  }
}

function countsOf(entries: readonly QueueEntry[]): QueueCounts {
  const active = entries.filter(({ taken }) => taken).length;
  return { queue: 'runs', counts: { active, waiting: entries.length - active } };
}

const INBOX_POLL_EVERY_MS = 2_000;
/** Where a file is while its run waits or works. Its name there is as `CLAIMED`. */
const PROCESSING = 'processing';
/** What file systems take. */
const MAX_NAME_BYTES = 255;
/** Of a name that is too long with the id: its end is kept too, which has the format. */
const LAST_CHARACTERS = 20;
/** Stands beside a file that is complete. */
const DONE = '.done';

interface FileDropOptions {
  readonly context: Pick<RunContext, 'workspaceDir' | 'newRunId'> & {
    readonly state: Pick<RunContext['state'], 'runs' | 'locks'>;
  };
  readonly files: Pick<WorkerFiles, 'watched' | 'schedulesVersion'>;
  /** Opened with the first inbox that there is. */
  readonly openQueue: () => Promise<Pick<RunQueue, 'enqueue' | 'find'>>;
  readonly log: WorkerLog;
}

/** What was seen of a file: if it is the same twice, the file is complete. */
type FileState = string;

/**
 * Starts a run for each file that arrives where a job watches, one after the other. A file is claimed by one rename, to a name that has the id
 * of its run: so it is taken whole and by one worker, and whoever continues after a kill finds which run it has.
 */
function fileDrop({ context, files, openQueue, log }: FileDropOptions) {
  let version: string | null = null;
  let watched: ReturnType<WorkerFiles['watched']> = [];
  let seen = new Map<string, FileState>();
  const failures = new Map<string | null, string>();
  /** The id of the next claim: kept while claims fail, so that their messages are equal. */
  let nextId: string | undefined;

  /** Moves a file whose run has ended; false while it waits or works. */
  const settle = async (job: string, folder: string, id: string, name: string) => {
    const queue = await openQueue();
    const queued = await queue.find(id);
    const run = await context.state.runs.get(queued?.run ?? id);
    if (queued === undefined && (run === undefined || UNFINISHED.includes(run.status))) {
      // A worker may have been killed while it claimed the file.
      await removeDone(dirname(folder), name.slice(id.length + 1));
      await queue.enqueue({ does: 'run', job }, id);
      return false;
    }
    if (queued?.ended === false) return false;
    const isDone = run?.status === 'done' || run?.status === 'done-with-rejects';
    const to = join(dirname(folder), isDone ? 'processed' : 'failed');
    await mkdir(to, { recursive: true });
    await rename(join(folder, name), join(to, name));
    log.info({ job, run: run?.id ?? id, file: name, to: basename(to) }, 'file drop: file moved');
    return true;
  };

  const lookAt = async (job: string, pattern: string, looks: Map<string, FileState>) => {
    const inbox = join(context.workspaceDir, dirname(pattern));
    const folder = join(inbox, PROCESSING);
    for (const name of await namesIn(folder)) {
      const [, id] = CLAIMED.exec(name) ?? [];
      // A job has one run at a time, and so one file.
      if (id !== undefined && !(await settle(job, folder, id, name))) return;
    }
    const names = await namesIn(inbox);
    const arrived: { readonly name: string; readonly at: number }[] = [];
    for (const name of names) {
      if (name.endsWith(DONE) || isOwnerFile(name) || !matchesGlob(name, basename(pattern))) continue;
      const path = join(inbox, name);
      const found = await lstat(path).catch(() => undefined);
      if (found?.isFile() !== true) continue;
      const look = `${found.ino} ${found.size} ${found.mtimeMs}`;
      looks.set(path, look);
      if (seen.get(path) === look || names.includes(`${name}${DONE}`))
        arrived.push({ name, at: found.mtimeMs });
    }
    const [oldest] = arrived.sort((one, other) => one.at - other.at || (one.name < other.name ? -1 : 1));
    if (oldest === undefined) return;
    nextId ??= context.newRunId();
    const id = nextId;
    await mkdir(folder, { recursive: true });
    await rename(join(inbox, oldest.name), join(folder, claimedName(id, oldest.name)));
    nextId = undefined;
    log.info({ job, run: id, file: oldest.name }, 'file drop: file claimed');
    await removeDone(inbox, oldest.name);
    await (await openQueue()).enqueue({ does: 'run', job }, id);
  };

  /** Logs a failure once, until it passes. Without a job: of what concerns all of them. */
  const attempt = async (job: string | null, work: () => Promise<void>) => {
    try {
      await work();
      failures.delete(job);
    } catch (error) {
      const reason = messageOf(error);
      if (failures.get(job) !== reason)
        log.error({ ...(job !== null && { job }), reason }, 'file drop: cannot look at the inbox; retrying');
      failures.set(job, reason);
    }
  };

  const poll = async () => {
    await attempt(null, async () => {
      const present = await files.schedulesVersion();
      if (present !== version) watched = files.watched();
      version = present;
    });
    const looks = new Map<string, FileState>();
    for (const { job, pattern } of watched) {
      await attempt(job, async () => {
        // Workers of one inbox take turns, so that none enqueues for a file that another has just moved.
        const lock = await context.state.locks.tryAcquire(`drop:${job}`, { job, run: context.newRunId() });
        if ('heldBy' in lock) return;
        try {
          await lookAt(job, pattern, looks);
        } finally {
          await lock.release();
        }
      });
    }
    seen = looks;
  };
  const polling = repeatEvery(INBOX_POLL_EVERY_MS, poll);
  return { close: polling.stop };
}

/** The next file of this name must not count as complete by it. */
async function removeDone(inbox: string, name: string) {
  await rm(join(inbox, `${name}${DONE}`), { force: true });
}

function claimedName(id: string, name: string) {
  const characters = [...`${id}-${name}`];
  while (Buffer.byteLength(characters.join('')) > MAX_NAME_BYTES) characters.splice(-LAST_CHARACTERS - 1, 1);
  return characters.join('');
}

/** The names in a folder, sorted; none where it does not exist. */
async function namesIn(folder: string) {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}
