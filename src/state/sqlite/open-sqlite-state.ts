import { join } from 'node:path';
import { storedAuditEntries } from '../../model/action.ts';
import type { Run } from '../../model/run.ts';
import { lockLostError, StateError } from '../../model/storeferry-error.ts';
import type { Artifacts } from '../artifacts.ts';
import { makeFolders } from '../file-access.ts';
import { folderArtifacts } from '../folder-artifacts.ts';
import { editedKey } from '../ledger-rules.ts';
import { openSending, type SendingStore } from '../open-sending.ts';
import {
  type Fence,
  type History,
  type HistoryRun,
  importTarget,
  type Ledger,
  type LedgerTarget,
  MAX_AUDIT_ENTRIES,
  type OwnedKey,
  type Runs,
  type State,
  type StateOptions,
} from '../state.ts';
import { restoreVersions, UNKNOWN_RUN } from '../stored-version.ts';
import {
  parseReason,
  parseRefusal,
  parseRun,
  storedHistoryRun,
  UnreadableRecord,
} from '../unreadable-record.ts';
import { type WitnessFile, witnessFiles } from '../witness-files.ts';
import {
  type DatabaseThread,
  openDatabaseHere,
  type RemoteCalls,
  remoteCalls,
  startDatabaseThread,
} from './database-thread.ts';
import { damagedDatabase } from './sqlite-error.ts';
import { createSqliteLocks, type SqliteLocks } from './sqlite-locks.ts';

const MAX_TRUNCATIONS = 5;
const TRUNCATION_WAIT_MS = 1_000;

/**
 * Opens the embedded state in the given folder (`.storeferry`), creating it for this user alone. Several processes
 * may use it at the same time. StateError if it cannot be used; close it by `await using`.
 */
export async function openSqliteState(
  folder: string,
  {
    artifacts = folderArtifacts(join(folder, 'artifacts')),
    meanwhile,
    withoutThread,
  }: Pick<StateOptions, 'artifacts' | 'meanwhile' | 'withoutThread'> = {},
): Promise<State> {
  try {
    await makeFolders(join(folder, 'locks'), 0o700);
  } catch (error) {
    throw new StateError(`The folder ${folder} cannot be created: ${String(error)}.`, {
      hint: 'Storeferry keeps its state there: give this user write access.',
      cause: error,
    });
  }
  const path = join(folder, 'state.db');
  const open = withoutThread === true ? openDatabaseHere : startDatabaseThread;
  const [thread] = await Promise.all([open(path), meanwhile?.()]);
  return sqliteState({ thread, path, locks: createSqliteLocks(folder, thread.calls), artifacts });
}

/** The parts of the embedded state. */
interface SqliteParts {
  readonly thread: DatabaseThread;
  /** Path of the database, for messages. */
  readonly path: string;
  readonly locks: SqliteLocks;
  readonly artifacts: Artifacts;
}

/** The embedded state on an open database. Closing it closes the database and frees the locks. */
export function sqliteState({ thread, path, locks, artifacts }: SqliteParts): State {
  const { calls } = thread;
  const witnesses = witnessFiles(artifacts);
  let senders = 0;
  const refuseWithout = (fence: Fence | undefined) => {
    if (fence !== undefined && !locks.holds(fence)) throw lockLostError(fence.name);
  };
  return {
    ledger: (target) => ledger(calls, target, witnesses.of(target)),
    history: (target) => history(callsAbout(target, calls)),
    runs: runs(calls, refuseWithout, path),
    locks,
    sending(options) {
      const target = importTarget(options.run);
      const store = sendingStore(callsAbout(target, calls), () => refuseWithout(options.fence));
      senders += 1;
      return openSending(options, store, witnesses.of(target), `${witnesses.process}-${senders}`);
    },
    checkedAddresses: {
      find: calls.findAddresses,
      remember: calls.rememberAddresses,
    },
    audit: {
      append: calls.appendAudit,
      newest: async (offset, count) => storedAuditEntries(await calls.auditEntries(offset, count)),
      stored: async () => (await calls.auditEntries(0, MAX_AUDIT_ENTRIES)).toReversed(),
    },
    renameJob: calls.renameJob,
    sharedStore: () => undefined,
    queue: calls,
    async [Symbol.asyncDispose]() {
      await thread.close();
      locks.releaseAll();
    },
  };
}

/** The calls about a target, without their first argument. */
type TargetCalls = {
  readonly [Method in keyof RemoteCalls]: RemoteCalls[Method] extends (
    target: LedgerTarget,
    ...args: infer Args
  ) => infer Answer
    ? (...args: Args) => Answer
    : never;
};

function callsAbout(target: LedgerTarget, calls: RemoteCalls): TargetCalls {
  return remoteCalls((method, args) => Reflect.apply(Reflect.get(calls, method), calls, [target, ...args]));
}

function ledger(all: RemoteCalls, target: LedgerTarget, witness: WitnessFile): Ledger {
  const calls = callsAbout(target, all);
  const updateIndex = async () => {
    while (!(await calls.index()));
  };
  return {
    async marks(keys) {
      const marks = await calls.compare({ job: '', keys, memos: [] });
      return marks.map((mark) => (mark === 'same' ? undefined : mark));
    },
    compare: calls.compare,
    remember: calls.remember,
    bodies: calls.bodies,
    async views(keys) {
      const [observations, doubted] = await Promise.all([
        calls.observations(keys),
        calls.doubtedFields(keys),
      ]);
      return keys.map((_, position) => ({
        observation: observations[position],
        doubted: doubted[position] ?? null,
      }));
    },
    observe: calls.observe,
    async *edited() {
      const found = pages<{ key: string; content: string }>((last) => calls.editedAfter(last?.key ?? ''));
      for await (const page of found) yield page.flatMap(editedKey);
    },
    async keysBy(handle, values) {
      await updateIndex();
      return await calls.keysBy(handle, values);
    },
    async keysNamed(part, limit) {
      await updateIndex();
      return await calls.keysNamed(part, limit);
    },
    allBodies: () => pages<{ key: string; body: string }>((last) => calls.bodiesAfter(last?.key ?? '')),
    async forget(key) {
      await calls.forget(key);
      // Each wait blocks the thread: other calls come between them.
      for (let attempt = 1; attempt <= MAX_TRUNCATIONS; attempt++)
        if (await all.truncateLog(TRUNCATION_WAIT_MS)) return true;
      return false;
    },
    count: calls.count,
    keysOf: (job) => pages<OwnedKey>((last) => calls.keysAfter(job, last?.key ?? null)),
    sharedIds: calls.sharedIds,
    proveIdsAgain: calls.proveIdsAgain,
    unconfirmed: (job) => pages<string>((last) => calls.unconfirmedAfter(job, last ?? '')),
    doubtedOnlyBy: calls.doubtedOnlyBy,
    hasDoubts: calls.hasDoubts,
    writtenSince: calls.writtenSince,
    confirm: calls.confirm,
    position: calls.position,
    lostSince: async ({ id }) => await calls.lostSince(id, await witness.all()),
    reconcile: (mode) => witness.reconcile(mode, calls.reconcile),
  };
}

function history(calls: TargetCalls): History {
  return {
    begin: ({ id, job }, at, files) => calls.beginHistory({ id, job, at, files }),
    async versions(keys) {
      const runOf = new Map<string, HistoryRun>();
      return (await calls.versions(keys)).map(({ body, rows }) => {
        const versions = rows.map(({ run: document, ...version }) => {
          const run = runOf.get(document) ?? storedHistoryRun(document) ?? UNKNOWN_RUN;
          runOf.set(document, run);
          return { run, ...version };
        });
        return restoreVersions(versions, body);
      });
    },
    async *keysOf(run) {
      const found = pages<{ number: number; key: string }>((last) =>
        calls.keysOfRunAfter(run, last?.number ?? 0),
      );
      for await (const page of found) yield page.map(({ key }) => key);
    },
    runs: async () => (await calls.historyRuns()).flatMap((json) => storedHistoryRun(json) ?? []),
    prune: calls.pruneHistory,
    size: calls.historySize,
  };
}

/** Reads page after page, each after the last item of the previous one, until one is empty. */
async function* pages<Item>(
  pageAfter: (last: Item | undefined) => Promise<readonly Item[]>,
): AsyncGenerator<readonly Item[]> {
  for (let last: Item | undefined; ; ) {
    const page: readonly Item[] = await pageAfter(last);
    if (page.length === 0) return;
    yield page;
    last = page.at(-1);
  }
}

function sendingStore(calls: TargetCalls, refuse: () => void): SendingStore {
  return {
    async begin(group) {
      refuse();
      return await calls.begin(group);
    },
    connections: () => 0,
    async heartbeat(sender, attemptMs) {
      refuse();
      await calls.heartbeat(sender, attemptMs);
    },
    async withdraw(sender, keys) {
      refuse();
      await calls.withdraw(sender, keys);
    },
    end: calls.endSender,
  };
}

function runs(calls: RemoteCalls, refuseWithout: (fence: Fence | undefined) => void, path: string): Runs {
  const checked = <Value>(check: () => Value) => {
    try {
      return check();
    } catch (error) {
      throw error instanceof UnreadableRecord ? damagedDatabase(path, error) : error;
    }
  };
  const runIn = ({ id, document }: Readonly<Record<'id' | 'document', string>>): Run =>
    checked(() => parseRun(document, id));
  return {
    create: calls.create,
    update: async (id, changes) => runIn(await calls.update(id, changes)),
    async get(id) {
      const found = await calls.get(id);
      return found && runIn(found);
    },
    list: async (filter) => (await calls.list(filter)).map(runIn),
    remove: calls.remove,
    async record(run, shard, results, requests, fence, versionAt = null) {
      refuseWithout(fence);
      await calls.record({ run, shard, results, requests, versionAt });
    },
    outcomes: calls.outcomes,
    tally: calls.tally,
    forgetRefusals: ({ id }, key) => calls.forgetRefusals(id, key),
    async *refusals(id) {
      const found = pages<Awaited<ReturnType<typeof calls.refusalsAfter>>[number]>((last) =>
        calls.refusalsAfter(id, last?.shard ?? -1, last?.operation ?? -1),
      );
      for await (const page of found) {
        yield page.map(({ detail }) => checked(() => parseRefusal(detail, `of run ${id}`)));
      }
    },
    async unsentReasons(id) {
      const counted = await calls.unsentReasons(id);
      return counted.map(({ detail, count }) => ({
        reason: checked(() => parseReason(detail, `of run ${id}`)),
        count,
      }));
    },
    changedIds: calls.changedIds,
    changedIdCount: calls.changedIdCount,
  };
}
