import { join } from 'node:path';
import { lockLost, StateError } from '../model/errors.ts';
import type { Run } from '../model/run.ts';
import type { Artifacts } from './artifacts.ts';
import { folderArtifacts } from './artifacts-folder.ts';
import { importTarget } from './import-target.ts';
import { makeFolders } from './make-folders.ts';
import { openSending, type SendingStore } from './sending.ts';
import { keysJson } from './sqlite/columns.ts';
import { type DatabaseThread, startDatabaseThread } from './sqlite/database-thread.ts';
import type { Expected, KeyPage } from './sqlite/ledger.ts';
import { proofOf, SAME } from './sqlite/ledger.ts';
import { createSqliteLocks, type SqliteLocks } from './sqlite/locks.ts';
import { type OutcomeColumns, outcomeColumns } from './sqlite/outcome-columns.ts';
import type { UncheckedRun } from './sqlite/runs.ts';
import { damagedDatabase } from './sqlite/sqlite-error.ts';
import type { Fence, Ledger, LedgerMark, LedgerTarget, Runs, State } from './state.ts';
import { checkStoredRefusal, checkStoredRun, parseStoredReason, UnreadableRecord } from './stored-records.ts';
import { type WitnessFile, witnessFiles } from './witness.ts';

export interface SqliteStateOptions {
  /** Where the witness is kept; beside the state when left out. */
  readonly artifacts?: Artifacts | undefined;
  /** Done while the thread of the database starts. */
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
}

/**
 * Opens the embedded state in the given folder (`.storeferry`), creating it for this user alone. Several processes
 * may work with it at the same time. StateError when it cannot be used; close it by `await using`.
 */
export async function openSqliteState(
  folder: string,
  { artifacts = folderArtifacts(join(folder, 'artifacts')), meanwhile }: SqliteStateOptions = {},
): Promise<State> {
  const locksFolder = join(folder, 'locks');
  try {
    await makeFolders(locksFolder, 0o700);
  } catch (error) {
    throw new StateError(`The folder ${folder} cannot be created: ${String(error)}.`, {
      hint: 'Storeferry keeps its state there: give this user write access.',
      cause: error,
    });
  }
  const path = join(folder, 'state.db');
  const [thread] = await Promise.all([startDatabaseThread(path), meanwhile?.()]);
  const locks = createSqliteLocks(folder, {
    lockRow: (...args) => thread.call('lockRow', ...args),
    takeLock: (...args) => thread.call('takeLock', ...args),
    moveLock: (...args) => thread.call('moveLock', ...args),
    freeLock: (...args) => thread.call('freeLock', ...args),
  });
  return sqliteState({ thread, path, locks, artifacts });
}

/** What the embedded state is made of. */
export interface SqliteParts {
  readonly thread: DatabaseThread;
  /** Of the database, for messages. */
  readonly path: string;
  readonly locks: SqliteLocks;
  readonly artifacts: Artifacts;
}

/** The embedded state on an open database; closing it closes that, and frees the locks. */
export function sqliteState({ thread, path, locks, artifacts }: SqliteParts): State {
  const witnesses = witnessFiles(artifacts);
  let senders = 0;
  return {
    ledger: (target) => ledger(thread, target, witnesses.of(target)),
    runs: runs(thread, locks, path),
    locks,
    sending(options) {
      const target = importTarget(options.run);
      const store = sendingStore(thread, target, () => {
        if (options.fence !== undefined) refuseWithout(options.fence, locks);
      });
      senders += 1;
      return openSending(options, store, witnesses.of(target), `${witnesses.process}-${senders}`);
    },
    sharedStore: () => undefined,
    async [Symbol.asyncDispose]() {
      await thread.close();
      locks.releaseAll();
    },
  };
}

function ledger(thread: DatabaseThread, target: LedgerTarget, witness: WitnessFile): Ledger {
  const compare = async (keys: readonly string[], expected?: Expected) => {
    const { fingerprints, ids, idProofs, jobs, memos } = await thread.call(
      'marks',
      target,
      keysJson(keys),
      keys.length,
      expected,
    );
    return fingerprints.map((fingerprint, position) => {
      if (fingerprint === null) return undefined;
      if (fingerprint === SAME) return 'same' as const;
      const memo = memos[position] ?? null;
      const mark: LedgerMark = {
        ...{ fingerprint, id: ids[position] ?? null, job: jobs[position] ?? '' },
        ...proofOf(idProofs[position] ?? 0),
      };
      return memo === null ? mark : { ...mark, memo };
    });
  };
  return {
    async marks(keys) {
      return (await compare(keys)).map((mark) => (mark === 'same' ? undefined : mark));
    },
    compare: ({ keys, memos, job }) => compare(keys, { memos, job }),
    remember: (facts) => thread.call('remember', target, facts),
    async bodies(keys) {
      const bodies = await thread.call('bodies', target, keysJson(keys), keys.length);
      return bodies.map((body) => body ?? undefined);
    },
    count: (job) => thread.call('count', target, job),
    async *keysOf(job) {
      let last: string | null = null;
      for (;;) {
        const page: KeyPage = await thread.call('keysAfter', target, job, last);
        const end = page.at(-1);
        if (end === undefined) return;
        yield page;
        last = end.key;
      }
    },
    sharedIds: (ids) => thread.call('sharedIds', target, [...ids]),
    proveIdsAgain: () => thread.call('proveIdsAgain', target),
    async *unconfirmed(job) {
      for (let last = ''; ; ) {
        const page = await thread.call('unconfirmedAfter', target, job, last);
        const end = page.at(-1);
        if (end === undefined) return;
        yield page;
        last = end;
      }
    },
    hasDoubts: () => thread.call('hasDoubts', target),
    lostSince: ({ id }) => thread.call('lostSince', target, id),
    async reconcile(mode) {
      const witnesses = await witness.all();
      if (mode === 'witnessed-only' && witnesses.length === 0) return null;
      const found = await thread.call('reconcile', target, witnesses);
      if (found === null) return null;
      const { serial, ...loss } = found;
      await witness.replaceOthers(serial, witnesses);
      return loss;
    },
  };
}

function sendingStore(thread: DatabaseThread, target: LedgerTarget, refuse: () => void): SendingStore {
  return {
    async begin(group) {
      refuse();
      return await thread.call('begin', { target, ...group });
    },
    connections: () => 0,
    async heartbeat(sender, attemptMs) {
      refuse();
      await thread.call('heartbeat', target, sender, attemptMs);
    },
    async withdraw(sender, keys) {
      refuse();
      await thread.call('withdraw', target, sender, keysJson(keys));
    },
    end: (sender) => thread.call('endSender', target, sender),
  };
}

function runs(thread: DatabaseThread, locks: SqliteLocks, path: string): Runs {
  const record = recordInGroups(thread);
  const checked = <Value>(check: () => Value): Value => {
    try {
      return check();
    } catch (error) {
      throw error instanceof UnreadableRecord ? damagedDatabase(path, error) : error;
    }
  };
  const run = (found: UncheckedRun): Run => checked(() => checkStoredRun(found, found.id));
  return {
    create: (run) => thread.call('create', run),
    update: async (id, changes) => run(await thread.call('update', id, changes)),
    async get(id) {
      const found = await thread.call('get', id);
      return found === undefined ? undefined : run(found);
    },
    list: async (filter) => (await thread.call('list', filter)).map(run),
    remove: (id) => thread.call('remove', id),
    async record(owner, shard, results, requests, fence) {
      if (fence !== undefined) refuseWithout(fence, locks);
      await record(outcomeColumns(owner, shard, results, requests));
    },
    outcomes: (id, shard) => thread.call('outcomes', id, shard),
    tally: (id) => thread.call('tally', id),
    async *refusals(id) {
      let shard = -1;
      let operation = -1;
      for (;;) {
        const page = await thread.call('refusalsAfter', id, shard, operation);
        const end = page.at(-1);
        if (end === undefined) return;
        yield page.map((found) => checked(() => checkStoredRefusal(found, `of run ${id}`)));
        shard = end.shard;
        operation = end.index;
      }
    },
    async unsentReasons(id) {
      const counted = await thread.call('unsentReasons', id);
      return counted.map(({ reason, count }) => ({
        reason: checked(() => parseStoredReason(reason, `of run ${id}`)),
        count,
      }));
    },
    changedIds: (id, limit) => thread.call('changedIds', id, limit),
    changedIdCount: (id) => thread.call('changedIdCount', id),
  };
}

function refuseWithout(fence: Fence, locks: SqliteLocks): void {
  if (!locks.holds(fence)) throw lockLost(fence.name);
}

/** What is to be recorded while a commit is under way shares the next one. */
function recordInGroups(thread: DatabaseThread): (batch: OutcomeColumns) => Promise<void> {
  let next: { readonly batches: OutcomeColumns[]; readonly written: Promise<void> } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return (batch) => {
    if (next === undefined) {
      const batches: OutcomeColumns[] = [];
      const written = last.then(async () => {
        next = undefined;
        await thread.call('record', batches);
      });
      last = written.catch(() => {});
      next = { batches, written };
    }
    next.batches.push(batch);
    return next.written;
  };
}
