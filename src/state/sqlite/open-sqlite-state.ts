import { join } from 'node:path';
import { storedAuditEntries } from '../../model/audit-entry.ts';
import { observationText } from '../../model/observation.ts';
import type { Run } from '../../model/run.ts';
import { lockLostError, StateError } from '../../model/storeferry-error.ts';
import type { Artifacts } from '../artifacts.ts';
import { makeFolders } from '../file-access.ts';
import { folderArtifacts } from '../folder-artifacts.ts';
import { editedKey } from '../ledger-rules.ts';
import { openSending, type SendingStore } from '../open-sending.ts';
import { storedHandle } from '../product-handle.ts';
import { serialSince } from '../serial.ts';
import {
  type CompareQuery,
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
} from '../state.ts';
import {
  storedHistoryRun,
  storedReason,
  storedRefusal,
  storedRun,
  UnreadableRecord,
} from '../stored-record.ts';
import { restoreVersions, UNKNOWN_RUN } from '../stored-version.ts';
import { type WitnessFile, witnessFiles } from '../witness-files.ts';
import {
  type DatabaseThread,
  openDatabaseHere,
  type RemoteCalls,
  startDatabaseThread,
} from './database-thread.ts';
import { damagedDatabase } from './sqlite-error.ts';
import { createSqliteLocks, type SqliteLocks } from './sqlite-locks.ts';
import type { UncheckedRefusal, UncheckedRun } from './sqlite-runs.ts';

const MAX_TRUNCATIONS = 5;
const TRUNCATION_WAIT_MS = 1_000;

/** How to open the embedded state. */
interface SqliteStateOptions {
  /** The location of the witness; default: beside the state. */
  readonly artifacts?: Artifacts | undefined;
  /** Called while the thread of the database starts. */
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
  /** As in `StateOptions`. */
  readonly withoutThread?: boolean | undefined;
}

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
  }: SqliteStateOptions = {},
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
  const refuseWithout = (fence: Fence | undefined): void => {
    if (fence !== undefined && !locks.holds(fence)) throw lockLostError(fence.name);
  };
  return {
    ledger: (target) => ledger(calls, target, witnesses.of(target)),
    history: (target) => history(calls, target),
    runs: runs(calls, refuseWithout, path),
    locks,
    sending(options) {
      const target = importTarget(options.run);
      const store = sendingStore(calls, target, () => refuseWithout(options.fence));
      senders += 1;
      return openSending(options, store, witnesses.of(target), `${witnesses.process}-${senders}`);
    },
    checkedAddresses: {
      find: (addresses) => calls.findAddresses(addresses),
      remember: (checks, at) => calls.rememberAddresses(checks, at),
    },
    audit: {
      append: (entry) => calls.appendAudit(entry),
      newest: async (offset, count) => storedAuditEntries(await calls.auditEntries(offset, count)),
      stored: async () => (await calls.auditEntries(0, MAX_AUDIT_ENTRIES)).toReversed(),
    },
    renameJob: (from, to) => calls.renameJob(from, to),
    sharedStore: () => undefined,
    queue: calls,
    async [Symbol.asyncDispose]() {
      await thread.close();
      locks.releaseAll();
    },
  };
}

function ledger(calls: RemoteCalls, target: LedgerTarget, witness: WitnessFile): Ledger {
  const compare = (question: CompareQuery) => calls.compare(target, question);
  return {
    async marks(keys) {
      const marks = await compare({ job: '', keys, memos: [] });
      return marks.map((mark) => (mark === 'same' ? undefined : mark));
    },
    compare,
    remember: (facts) => calls.remember(target, facts),
    bodies: (keys) => calls.bodies(target, keys),
    async views(keys) {
      const [observations, doubted] = await Promise.all([
        calls.observations(target, keys),
        calls.doubtedFields(target, keys),
      ]);
      return keys.map((_, position) => ({
        observation: observations[position],
        doubted: doubted[position] ?? null,
      }));
    },
    observe: (observed) =>
      calls.observe(
        target,
        observed.map(({ key, fingerprint, observation }) => ({
          key,
          fingerprint,
          content: observationText(observation),
        })),
      ),
    async *edited() {
      const found = pages<{ key: string; content: string }>((last) =>
        calls.editedAfter(target, last?.key ?? ''),
      );
      for await (const page of found) yield page.flatMap(editedKey);
    },
    async keysBy(handle, values) {
      while (!(await calls.index(target)));
      return await calls.keysBy(
        target,
        values.map((value) => storedHandle(handle, value)),
      );
    },
    async keysNamed(part, limit) {
      while (!(await calls.index(target)));
      return await calls.keysNamed(target, part.toLowerCase(), limit);
    },
    allBodies: () =>
      pages<{ key: string; body: string }>((last) => calls.bodiesAfter(target, last?.key ?? '')),
    async forget(key) {
      await calls.forget(target, key);
      // Each wait blocks the thread: other calls come between them.
      for (let attempt = 1; attempt <= MAX_TRUNCATIONS; attempt++)
        if (await calls.truncateLog(TRUNCATION_WAIT_MS)) return true;
      return false;
    },
    count: (job) => calls.count(target, job),
    keysOf: (job) => pages<OwnedKey>((last) => calls.keysAfter(target, job, last?.key ?? null)),
    sharedIds: (ids) => calls.sharedIds(target, [...ids]),
    proveIdsAgain: () => calls.proveIdsAgain(target),
    unconfirmed: (job) => pages<string>((last) => calls.unconfirmedAfter(target, job, last ?? '')),
    doubtedOnlyBy: async (job, keys) => new Set(await calls.doubtedOnlyBy(target, job, keys)),
    hasDoubts: () => calls.hasDoubts(target),
    async writtenSince(position, keys) {
      const value = serialSince(position, await calls.position(target));
      if (value === undefined) return new Set(keys);
      return new Set(await calls.writtenSince(target, value, keys));
    },
    confirm: (keys) => calls.confirm(target, keys),
    position: () => calls.position(target),
    lostSince: async ({ id }) => await calls.lostSince(target, id, await witness.all()),
    async reconcile(mode) {
      const witnessed = await witness.all();
      if (mode === 'witnessed-only' && witnessed.length === 0) return null;
      const found = await calls.reconcile(target, witnessed);
      if (found === null) return null;
      const { serial, ...loss } = found;
      await witness.replaceOthers(serial, witnessed);
      return loss;
    },
  };
}

function history(calls: RemoteCalls, target: LedgerTarget): History {
  return {
    begin: ({ id, job }, at, files) => calls.beginHistory(target, { id, job, at, files }),
    async versions(keys) {
      const runOf = new Map<string, HistoryRun>();
      return (await calls.versions(target, keys)).map(({ body, rows }) => {
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
        calls.keysOfRunAfter(target, run, last?.number ?? 0),
      );
      for await (const page of found) yield page.map(({ key }) => key);
    },
    runs: async () => (await calls.historyRuns(target)).flatMap((json) => storedHistoryRun(json) ?? []),
    prune: (before) => calls.pruneHistory(target, before),
    size: () => calls.historySize(target),
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

function sendingStore(calls: RemoteCalls, target: LedgerTarget, refuse: () => void): SendingStore {
  return {
    async begin(group) {
      refuse();
      return await calls.begin(target, group);
    },
    connections: () => 0,
    async heartbeat(sender, attemptMs) {
      refuse();
      await calls.heartbeat(target, sender, attemptMs);
    },
    async withdraw(sender, keys) {
      refuse();
      await calls.withdraw(target, sender, keys);
    },
    end: (sender) => calls.endSender(target, sender),
  };
}

function runs(calls: RemoteCalls, refuseWithout: (fence: Fence | undefined) => void, path: string): Runs {
  const checked = <Value>(check: () => Value): Value => {
    try {
      return check();
    } catch (error) {
      throw error instanceof UnreadableRecord ? damagedDatabase(path, error) : error;
    }
  };
  const checkedRun = (found: UncheckedRun): Run => checked(() => storedRun.check(found, found.id));
  return {
    create: (run) => calls.create(run),
    update: async (id, changes) => checkedRun(await calls.update(id, changes)),
    async get(id) {
      const found = await calls.get(id);
      return found === undefined ? undefined : checkedRun(found);
    },
    list: async (filter) => (await calls.list(filter)).map(checkedRun),
    remove: (id) => calls.remove(id),
    async record(run, shard, results, requests, fence, versionAt = null) {
      refuseWithout(fence);
      await calls.record({ run, shard, results, requests, versionAt });
    },
    outcomes: (id, shard) => calls.outcomes(id, shard),
    tally: (id) => calls.tally(id),
    forgetRefusals: ({ id }, key) => calls.forgetRefusals(id, key),
    async *refusals(id) {
      const found = pages<UncheckedRefusal>((last) =>
        calls.refusalsAfter(id, last?.shard ?? -1, last?.index ?? -1),
      );
      for await (const page of found) {
        yield page.map((refusal) => checked(() => storedRefusal.check(refusal, `of run ${id}`)));
      }
    },
    async unsentReasons(id) {
      const counted = await calls.unsentReasons(id);
      return counted.map(({ reason, count }) => ({
        reason: checked(() => storedReason.parse(reason, `of run ${id}`)),
        count,
      }));
    },
    changedIds: (id, limit) => calls.changedIds(id, limit),
    changedIdCount: (id) => calls.changedIdCount(id),
  };
}
