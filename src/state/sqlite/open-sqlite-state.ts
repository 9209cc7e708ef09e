import { join } from 'node:path';
import { storedAuditEntries } from '../../model/audit-entry.ts';
import { observationText, parseObservation } from '../../model/observation.ts';
import type { Run } from '../../model/run.ts';
import { lockLost, StateError } from '../../model/storeferry-error.ts';
import type { Artifacts } from '../artifacts.ts';
import { makeFolders } from '../file-access.ts';
import { folderArtifacts } from '../folder-artifacts.ts';
import { editedKey } from '../ledger-rules.ts';
import { openSending, type SendingStore } from '../open-sending.ts';
import { storedHandle } from '../product-handle.ts';
import { serialSince } from '../serial.ts';
import {
  type Fence,
  type History,
  importTarget,
  type Ledger,
  type LedgerMark,
  type LedgerTarget,
  type OwnedKey,
  type Runs,
  type State,
  type StateQueue,
  type Version,
} from '../state.ts';
import {
  storedHistoryRun,
  storedReason,
  storedRefusal,
  storedRun,
  UnreadableRecord,
} from '../stored-record.ts';
import { restoreVersions, type StoredVersion, UNKNOWN_RUN } from '../stored-version.ts';
import { type WitnessFile, witnessFiles } from '../witness-files.ts';
import {
  type DatabaseThread,
  openDatabaseHere,
  type RemoteCalls,
  startDatabaseThread,
} from './database-thread.ts';
import { keysJson, type OutcomeColumns, outcomeColumns, proofOf, SAME } from './outcome-columns.ts';
import { damagedDatabase } from './sqlite-error.ts';
import type { VersionColumns } from './sqlite-history.ts';
import type { Expected } from './sqlite-ledger.ts';
import { createSqliteLocks, type SqliteLocks } from './sqlite-locks.ts';
import type { UncheckedRefusal, UncheckedRun } from './sqlite-runs.ts';

const MAX_TRUNCATIONS = 5;
const TRUNCATION_WAIT_MS = 1_000;

/** How to open the embedded state. */
export interface SqliteStateOptions {
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
export interface SqliteParts {
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
    if (fence !== undefined && !locks.holds(fence)) throw lockLost(fence.name);
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
      find: (addresses) => calls.findAddresses(keysJson(addresses), addresses.length),
      remember: (checks, at) => calls.rememberAddresses(checks, at),
    },
    audit: {
      append: (entry) => calls.appendAudit(JSON.stringify(entry), entry.at),
      newest: async (offset, count) => storedAuditEntries(await calls.auditEntries(offset, count)),
    },
    sharedStore: () => undefined,
    queue: stateQueue(calls),
    async [Symbol.asyncDispose]() {
      await thread.close();
      locks.releaseAll();
    },
  };
}

/** Not the calls themselves: they answer to every name, also to the `then` of a promise. */
function stateQueue(calls: RemoteCalls): StateQueue {
  return {
    schedules: () => calls.schedules(),
    setSchedule: (schedule, overdue) => calls.setSchedule(schedule, overdue),
    removeSchedule: (job) => calls.removeSchedule(job),
    tick: (due, next, id) => calls.tick(due, next, id),
    addEntry: (entry) => calls.addEntry(entry),
    entry: (id) => calls.entry(id),
    openEntries: () => calls.openEntries(),
    takeEntry: (id) => calls.takeEntry(id),
    beginEntry: (id, run) => calls.beginEntry(id, run),
    releaseEntry: (id) => calls.releaseEntry(id),
    endEntry: (id, end) => calls.endEntry(id, end),
    removeEntry: (id) => calls.removeEntry(id),
  };
}

function ledger(calls: RemoteCalls, target: LedgerTarget, witness: WitnessFile): Ledger {
  const compare = async (keys: readonly string[], expected?: Expected) => {
    const columns = await calls.marks(target, keysJson(keys), keys.length, expected);
    const { fingerprints, ids, idProofs, jobs, memos } = columns;
    return fingerprints.map((fingerprint, position) => {
      if (fingerprint === null) return undefined;
      if (fingerprint === SAME) return 'same' as const;
      const memo = memos[position] ?? null;
      const mark: LedgerMark = {
        fingerprint,
        id: ids[position] ?? null,
        job: jobs[position] ?? '',
        ...proofOf(idProofs[position] ?? 0),
      };
      return memo === null ? mark : { ...mark, memo };
    });
  };
  return {
    marks: async (keys) => (await compare(keys)).map((mark) => (mark === 'same' ? undefined : mark)),
    compare: ({ keys, memos, job }) => compare(keys, { memos, job }),
    remember: (facts) => calls.remember(target, facts),
    async bodies(keys) {
      const bodies = await calls.bodies(target, keysJson(keys), keys.length);
      return bodies.map((body) => body ?? undefined);
    },
    async views(keys) {
      const [contents, doubted] = await Promise.all([
        calls.observations(target, keysJson(keys), keys.length),
        calls.doubtedFields(target, keys),
      ]);
      return keys.map((_, position) => {
        const content = contents[position] ?? null;
        return {
          observation: content === null ? undefined : parseObservation(content),
          doubted: doubted[position] ?? null,
        };
      });
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
      const handles = keysJson(values.map((value) => storedHandle(handle, value)));
      return await calls.keysBy(target, handles, values.length);
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
      const found = await calls.versions(target, keysJson(keys), keys.length);
      return versionsIn(found, keys.length);
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

function versionsIn(found: VersionColumns, count: number): Version[][] {
  const runs = new Map([...found.documents].map(([number, json]) => [number, storedHistoryRun(json)]));
  const rows = Array.from({ length: count }, (): StoredVersion[] => []);
  for (const [index, position] of found.keys.entries()) {
    const run = runs.get(found.runs[index] ?? 0) ?? UNKNOWN_RUN;
    const content = found.contents[index] ?? new Uint8Array();
    rows[position]?.push({ run, at: found.ats[index] ?? 0, content });
  }
  return rows.map((ofKey, position) => restoreVersions(ofKey, found.bodies[position] ?? null));
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
  const record = recordInGroups(calls);
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
      await record(outcomeColumns(run, shard, results, requests, versionAt));
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

/** Outcomes that arrive during a commit share the next one. */
function recordInGroups(calls: Pick<RemoteCalls, 'record'>): (batch: OutcomeColumns) => Promise<void> {
  let next: { readonly batches: OutcomeColumns[]; readonly written: Promise<void> } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return (batch) => {
    if (next === undefined) {
      const batches: OutcomeColumns[] = [];
      const written = last.then(async () => {
        next = undefined;
        await calls.record(batches);
      });
      last = written.catch(() => {});
      next = { batches, written };
    }
    next.batches.push(batch);
    return next.written;
  };
}
