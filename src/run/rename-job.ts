import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { moveNew } from '../config/edit-file.ts';
import { RESOURCES } from '../model/mapped-record.ts';
import { jobFile } from '../model/run.ts';
import { LockedError, UsageError } from '../model/storeferry-error.ts';
import { findJson, type RunFolder } from '../state/artifacts.ts';
import { importTarget, type LedgerTarget, targetTag } from '../state/state.ts';
import { adoptedFile } from './import/open-adoption.ts';
import { lockJob } from './lock-job.ts';
import type { RunContext } from './run-context.ts';

/** The folder of the renames that have begun: a file for each new name. */
const FOLDER = 'renames';
const MARKER = /^(.+)\.json$/;

/** The folders of a job beside those of its runs. */
const OF_JOBS = ['drift', 'export', 'notices'] as const;

/** What a job writes to: a ledger, by the name of its store. */
interface NamedTarget extends LedgerTarget {
  readonly store: string;
}

/** What is known of a job by its name, beside its file. */
const knownSchema = z.object({
  targets: z.array(z.object({ storeId: z.string(), resource: z.enum(RESOURCES) })),
  /** The names of its stores: with each it may have a table of adopted products. */
  stores: z.array(z.string()),
});
type KnownOfJob = Readonly<z.infer<typeof knownSchema>>;

/** A rename that has begun. */
const begunSchema = knownSchema.extend({ from: z.string() });
type Begun = Readonly<z.infer<typeof begunSchema>>;

/**
 * Gives a job another name, with its runs, the records that it has sent, its decisions about products of the store, its schedule and
 * the position of an export. `moveFile` does the same with its file, at last; where that fails, all has its old name again. If the
 * process is killed, `settleRenames` ends it. UsageError if something else is known under the new name, LockedError while a run of the job is at work.
 */
export async function renameJob(
  context: RunContext,
  {
    from,
    to,
    targets,
  }: { readonly from: string; readonly to: string; readonly targets: readonly NamedTarget[] },
  moveFile: () => void,
): Promise<void> {
  const { state, artifacts } = context;
  await settleRenames(context, from);
  await using _locks = await lockBoth(context, from, to);
  const runs = await state.runs.list({ job: from });
  const sent = runs.filter(({ resource }) => resource === 'products' || resource === 'contacts');
  const all = [...sent.map((run) => ({ ...importTarget(run), store: run.store })), ...targets];
  const known: KnownOfJob = {
    targets: [...new Map(all.map(({ store: _, ...target }) => [targetTag(target), target])).values()],
    stores: [...new Set(all.map(({ store }) => store))],
  };
  const folder = artifacts.run(FOLDER);
  const marker = `${to}.json`;
  await refuseKnown(context, to, known);
  await folder.write(marker, [JSON.stringify({ from, ...known } satisfies Begun)]);
  try {
    await moveKnown(context, known, from, to);
    moveFile();
  } catch (error) {
    // The file has its old name: a schedule would run it without its history. What fails here too, `settleRenames` does.
    await moveKnown(context, known, to, from)
      .then(() => folder.remove([marker]))
      .catch(() => {});
    throw error;
  }
  await folder.remove([marker]);
}

/** Moves the file of a job away. LockedError while a run of the job is at work: it would send for a job that no longer exists. */
export async function removeJob(context: RunContext, job: string, moveFile: () => void): Promise<void> {
  await using _lock = await lockJob(context, { job, id: context.newRunId() });
  moveFile();
}

/**
 * Ends the renames of a process that was killed, so that no run of such a job begins without its history: where the file has its new
 * name too, the job gets it, and otherwise keeps its old one. Those of a process that is at work stay as they are. `job`: only those
 * of this old or new name.
 */
export async function settleRenames(context: RunContext, job?: string): Promise<void> {
  const folder = context.artifacts.run(FOLDER);
  for (const marker of await folder.list()) {
    const [, to] = MARKER.exec(marker) ?? [];
    const begun = await findJson(folder, marker, begunSchema);
    if (to === undefined || begun === undefined) continue;
    if (job !== undefined && job !== to && job !== begun.from) continue;
    try {
      await using _locks = await lockBoth(context, begun.from, to);
      // Another process may have ended it before the locks were free.
      if (await folder.exists(marker)) await settleRename(context, begun, to);
      await folder.remove([marker]);
    } catch (error) {
      if (!(error instanceof LockedError)) throw error;
    }
  }
}

async function settleRename(context: RunContext, { from, ...known }: Begun, to: string) {
  const [old, renamed] = [from, to].map((job) => readIfThere(join(context.workspaceDir, jobFile(job))));
  if (renamed === undefined || (old !== undefined && !old.equals(renamed)))
    return await moveKnown(context, known, to, from);
  await moveKnown(context, known, from, to);
  rmSync(join(context.workspaceDir, jobFile(from)), { force: true });
}

function readIfThere(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined;
}

/** Both names of a job. LockedError while a run of either is at work. */
async function lockBoth(context: RunContext, from: string, to: string): Promise<AsyncDisposable> {
  const id = context.newRunId();
  await using locks = new AsyncDisposableStack();
  for (const job of [from, to]) locks.use(await lockJob(context, { job, id }));
  return locks.move();
}

/** After a kill, the same call again finishes it. */
async function moveKnown(
  { state, artifacts, workspaceDir }: RunContext,
  { targets, stores }: KnownOfJob,
  from: string,
  to: string,
) {
  for (const name of stores) {
    const tableOf = (job: string) => join(workspaceDir, adoptedFile({ job: { name: job }, store: { name } }));
    if (existsSync(tableOf(from))) moveNew(tableOf(from), tableOf(to));
  }
  await state.renameJob(from, to, targets);
  for (const kind of OF_JOBS)
    await moveFiles(artifacts.run(`${kind}-${from}`), artifacts.run(`${kind}-${to}`));
}

async function refuseKnown(
  { state, workspaceDir }: RunContext,
  job: string,
  { targets, stores }: KnownOfJob,
) {
  for (const name of stores) {
    const table = adoptedFile({ job: { name: job }, store: { name } });
    if (existsSync(join(workspaceDir, table)))
      throw new UsageError(`Another job had the name ${job}: its decisions are in ${table}.`, {
        hint: 'Choose another name, or move that table away.',
      });
  }
  const counts = await Promise.all(targets.map((target) => state.ledger(target).count(job)));
  const hasRuns = (await state.runs.list({ job, limit: 1 })).length > 0;
  if (!hasRuns && counts.every((count) => count === 0)) return;
  throw new UsageError(`Another job had the name ${job}: its runs and its records are known.`, {
    hint: 'Choose a name that no job has had: two histories cannot be told apart.',
  });
}

async function moveFiles(from: RunFolder, to: RunFolder) {
  const names = await from.list();
  for (const name of names) await to.write(name, await from.read(name));
  await from.remove(names);
}
