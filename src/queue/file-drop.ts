import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, matchesGlob } from 'node:path';
import { repeatEvery } from '../model/clock.ts';
import { UNFINISHED } from '../model/run.ts';
import { errorCode, messageOf } from '../model/storeferry-error.ts';
import { isOwnerFile } from '../model/workspace-path-schema.ts';
import type { RunContext } from '../run/run-context.ts';
import type { RunQueue } from './run-queue.ts';
import type { WorkerFiles, WorkerLog } from './worker-settings.ts';

const POLL_EVERY_MS = 2_000;
/** Where a file is while its run waits or works, and afterwards. Its name there begins with the id of its run. */
const PROCESSING = 'processing';
const CLAIMED = /^([a-z][a-z0-9]{7,})-(.+)$/s;
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

/** What was seen of a file; the same twice, it is complete. */
type Look = string;

/**
 * Starts a run for each file that arrives where a job watches, one after the other. A file is claimed by one rename, to a name that has the id
 * of its run: so it is taken whole and by one worker, and whoever continues after a kill finds which run it has.
 */
export function fileDrop({ context, files, openQueue, log }: FileDropOptions) {
  let version: string | null = null;
  let watched: ReturnType<WorkerFiles['watched']> = [];
  let seen = new Map<string, Look>();
  let failure: string | null = null;

  /** Moves a file whose run has ended; false while it waits or works. */
  const settle = async (job: string, folder: string, id: string, name: string): Promise<boolean> => {
    const queue = await openQueue();
    const queued = await queue.find(id);
    const run = await context.state.runs.get(queued?.run ?? id);
    if (queued === undefined && (run === undefined || UNFINISHED.includes(run.status))) {
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

  const lookAt = async (job: string, pattern: string, looks: Map<string, Look>): Promise<void> => {
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
    const id = context.newRunId();
    await mkdir(folder, { recursive: true });
    // First: the next file of this name must not count as complete by it.
    await rm(join(inbox, `${oldest.name}${DONE}`), { force: true });
    await rename(join(inbox, oldest.name), join(folder, `${id}-${oldest.name}`));
    log.info({ job, run: id, file: oldest.name }, 'file drop: file claimed');
    await (await openQueue()).enqueue({ does: 'run', job }, id);
  };

  const poll = async (): Promise<void> => {
    try {
      const present = await files.schedulesVersion();
      if (present !== version) watched = files.watched();
      version = present;
      const looks = new Map<string, Look>();
      for (const { job, pattern } of watched) {
        // Workers of one inbox take turns, so that none enqueues for a file that another has just moved.
        const lock = await context.state.locks.tryAcquire(`drop:${job}`, { job, run: context.newRunId() });
        if ('heldBy' in lock) continue;
        try {
          await lookAt(job, pattern, looks);
        } finally {
          await lock.release();
        }
      }
      seen = looks;
      failure = null;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== failure) log.error({ reason }, 'file drop: cannot look at the inbox; retrying');
      failure = reason;
    }
  };
  const polling = repeatEvery(POLL_EVERY_MS, poll);
  return { close: polling.stop };
}

/** The names in a folder, sorted; none where it does not exist. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}
