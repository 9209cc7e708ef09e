import { countUnder, isJsonObject, type JsonObject, withoutUndefined } from '../../model/json-object.ts';
import type { Mapped } from '../../model/mapped-record.ts';
import type { Plan, UndoFacts } from '../../model/plan.ts';
import { type Run, type RunPart, UNFINISHED } from '../../model/run.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { readPlan, readReplaced } from '../../plan/plan-file.ts';
import { type Predecessors, readKnownPredecessors, type UndoSource } from '../../plan/plan-import.ts';
import {
  chunksOf,
  FORGOTTEN_BODY,
  IN_DOUBT,
  importTarget,
  type LedgerMark,
  type OwnedKey,
  unconfirmedKeys,
  type Version,
} from '../../state/state.ts';
import { productUpdates } from '../import/product-updates.ts';
import { changesUrls } from '../kept-probe.ts';
import { ownDoubts } from '../own-doubts.ts';
import { versionsOfRun } from '../records/catalog-as-of.ts';
import {
  adaptJobToBodies,
  endedRunOf,
  leftRecord,
  planRecords,
  recordOf,
  refuseOtherTarget,
  refuseWithoutVersions,
} from '../records/plan-records.ts';
import { openOperations } from '../records/plan-release.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';

/**
 * UsageError if the run cannot be undone: it is a plan or an export, it is still running, the job now writes elsewhere, or the
 * history has nothing of it.
 */
export async function refuseUnlessUndoable(
  context: RunContext,
  undoing: Run,
  { of, only = [] }: RunPart,
): Promise<void> {
  const { state } = context;
  const run = await endedRunOf(context, of, {
    ofPlan: 'nothing of it was sent, so there is nothing to undo',
    ofExport: ', so there is nothing to undo',
    stop: `Stop it first: storeferry cancel ${of}`,
  });
  if (run !== undefined) refuseOtherTarget(run, undoing);
  const history = state.history(importTarget(undoing));
  const versions = await history.versions(only);
  const strange = new Set(
    only.filter((_, index) => versions[index]?.every((version) => version.run.id !== of)),
  );
  // Of what it had in flight when it was killed, the history has nothing.
  const unfinished = run !== undefined && UNFINISHED.includes(run.status) ? run : undefined;
  if (unfinished !== undefined && strange.size > 0) {
    for await (const open of openOperations(context, unfinished))
      for (const { key } of open) strange.delete(key);
  }
  const [missing] = strange;
  if (missing !== undefined) {
    throw new UsageError(`The run ${of} changed no record ${JSON.stringify(missing)}.`, {
      hint: `\`storeferry runs ${of} --records\` lists what it changed.`,
    });
  }
  if (unfinished === undefined) await refuseWithoutVersions(history, of, 'nothing can be undone');
}

/** Plans the inverse of a run: its changed and deleted records get their earlier bodies, products that it created and still owns are deleted. */
export async function planUndo(
  context: RunContext,
  request: ImportRequest,
  run: Run,
  undo: RunPart,
): Promise<Plan> {
  const { job, store } = request;
  const ledger = context.state.ledger(importTarget(run));
  const undone = await context.state.runs.get(undo.of);
  const hasNoJob =
    undone?.copy !== undefined && request.senders?.some((one) => one.job === job.name) !== true;
  const { source, records, renamed, keepsIds } = undoneRecords(context, run, undo, {
    schedule: job.schedule?.cron ?? null,
    ...(hasNoJob && { hasNoJob }),
  });
  const method = (await changesUrls(context.artifacts, store)) ? 'put' : 'create';
  return await planRecords(context, run, {
    // A mirror, since it may delete.
    job: adaptJobToBodies(job, 'mirror'),
    origin: source,
    openMapped: records,
    predecessorsIn: async () => {
      const found = await readKnownPredecessors(ledger, job.name, method, renamed());
      if (method === 'put') keepsIds(found);
      return found;
    },
    updates: await productUpdates(context, request, run),
  });
}

/** Deletes in one batch. */
const KEYS_AT_ONCE = 200;
const KEYS_NAMED = 100;
const UNSURE = [
  'changed-since',
  'a later run was interrupted while it sent it: the store may have another version',
] as const;
const FORGOTTEN = ['forgotten', 'its earlier values were forgotten on request'] as const;

/** What a run changed, as the records that undo it. */
function undoneRecords(
  context: RunContext,
  run: Run,
  { of, only }: RunPart,
  again: Pick<UndoFacts, 'schedule' | 'hasNoJob'>,
) {
  const { state, signal, artifacts } = context;
  const target = importTarget(run);
  const ledger = state.ledger(target);
  const wanted = only && new Set(only);
  const isWanted = (key: string) => wanted?.has(key) !== false;
  /** The undos that are still known, with the runs that they undid. */
  let undos: ReadonlyMap<string, string>;
  let deletes: OwnedKey[];
  let recreated: { readonly key: string; readonly id: number | null }[];
  let renamed: Map<string, string>;
  let sameIds: ReadonlySet<string> = new Set();
  let kept: Map<string, number>;
  let left: Map<string, { code: string; message: string; records: number; keys: string[] }>;

  const leave = (key: string, code: string, message: string): readonly Mapped[] => {
    const name = `${code}\n${message}`;
    const known = left.get(name) ?? { code, message, records: 0, keys: [] };
    left.set(name, known);
    known.records++;
    if (known.keys.length < KEYS_NAMED) known.keys.push(key);
    return [leftRecord(key, code, message)];
  };
  const inverse = (
    key: string,
    replaced: JsonObject | undefined,
    versions: readonly Version[],
    mark: LedgerMark | undefined,
  ): readonly Mapped[] => {
    const newest = versions.findIndex((version) => version.run.id === of);
    const [now, own] = [versions[0], versions[newest]];
    if (now === undefined || own === undefined) {
      return leave(key, 'history-gone', 'the history no longer has the version that the run sent');
    }
    let oldest = newest;
    while (versions[oldest + 1]?.run.id === of) oldest++;
    const { before, adopted, renamed: newKey } = versions[oldest] ?? {};
    if (before === undefined || own.body === undefined || now.body === undefined) {
      return leave(key, 'history-damaged', 'the history of the record cannot be read');
    }
    if (before === FORGOTTEN_BODY) return leave(key, ...FORGOTTEN);
    if (own.kind === 'absent') {
      return leave(key, 'absent', 'the store no longer had it when the run sent it');
    }
    const change = changeSince(versions, of, undos);
    if (change !== undefined) {
      const { id, job } = change.run;
      return leave(key, 'changed-since', `run ${id} of ${job} changed it since`);
    }
    if (before !== null) {
      const whole = replaced === undefined ? before : JSON.stringify({ ...JSON.parse(before), ...replaced });
      for (const field of fieldsAdded(whole, now.body)) countUnder(kept, field);
      const earlier = versions[oldest + 1];
      if (mark === undefined) recreated.push({ key, id: earlier?.id ?? null });
      // What the run took over returns to the job that had it, so that no later mirror of this job deletes it.
      return [{ ...recordOf(key, whole), owner: earlier?.owner ?? (earlier?.run.job || undefined) }];
    }
    if (now.body === null) return [];
    if (run.resource !== 'products' || adopted === true) {
      return leave(key, 'unknown-before', 'what the store had before the first import is not known');
    }
    if (mark === undefined || mark.job !== run.job) {
      return leave(key, 'other-job', `it now belongs to the job ${mark?.job ?? ''}`);
    }
    const { id, idProof } = mark;
    deletes.push(withoutUndefined<OwnedKey>({ key, id, idProof }));
    if (newKey !== undefined) renamed.set(newKey, key);
    return [];
  };
  /** Keys of which the newest version may not be the last that was sent: the end of a later request is not known. */
  const unsureAmong = async (
    written: readonly (readonly [key: string, versions: readonly Version[]])[],
    marks: readonly (LedgerMark | undefined)[],
  ): Promise<ReadonlySet<string>> => {
    const unsure = written.flatMap(([key], index) => (marks[index]?.fingerprint === IN_DOUBT ? [key] : []));
    const absent = written.flatMap(([key, [newest]], index) =>
      marks[index] === undefined ? [{ key, by: newest?.run.id ?? '' }] : [],
    );
    for (const [id, deleted] of Map.groupBy(absent, ({ by }) => by)) {
      const ended = await state.runs.get(id);
      if (ended?.endPosition === undefined) continue;
      const ofRun = deleted.map(({ key }) => key);
      const isLost = await ledger.lostSince(ended);
      unsure.push(...(isLost ? ofRun : await ledger.writtenSince(ended.endPosition, ofRun)));
    }
    const { attempted } = await ownDoubts(context, run, unsure, ({ undo }) => undo?.of === of);
    return new Set(unsure.filter((key) => !attempted.has(key)));
  };
  /** Records of a run that was killed while it sent them: the store may have them as the run sent them. */
  async function* inFlight(seen: Set<string>): AsyncGenerator<readonly Mapped[]> {
    const undone = await state.runs.get(of);
    if (undone === undefined || !UNFINISHED.includes(undone.status)) return;
    const unconfirmed = await unconfirmedKeys(ledger, undone.job);
    const { plannedPosition = '' } = (await readPlan(artifacts.run(of))) ?? {};
    for await (const open of openOperations(context, undone)) {
      const keys = open.map(({ key }) => key).filter((key) => !seen.has(key) && isWanted(key));
      const [marks, bodies, own, begun] = await Promise.all([
        ledger.marks(keys),
        ledger.bodies(keys),
        ledger.doubtedOnlyBy(undone.job, keys),
        // What is in doubt since before its plan, an earlier run has sent.
        ledger.writtenSince(plannedPosition, keys),
      ]);
      yield keys.flatMap((key, index) => {
        const [mark, body] = [marks[index], bodies[index]];
        if (!begun.has(key)) return [];
        if (mark === undefined ? !unconfirmed.has(key) : mark.fingerprint !== IN_DOUBT) return [];
        seen.add(key);
        if (!own.has(key)) return leave(key, ...UNSURE);
        if (body === FORGOTTEN_BODY) return leave(key, ...FORGOTTEN);
        if (body !== undefined) return [recordOf(key, body)];
        const message = 'the run was killed while it created it: the store may have it, under an unknown id';
        return leave(key, 'unconfirmed', message);
      });
    }
  }
  const source: UndoSource = {
    kind: 'undo',
    async *deletes() {
      yield* chunksOf(deletes, KEYS_AT_ONCE);
    },
    facts() {
      const created = recreated.filter(({ key }) => !sameIds.has(key));
      return {
        of,
        ...again,
        recreated: { records: created.length, examples: created.slice(0, KEYS_NAMED) },
        kept: [...kept].map(([field, records]) => ({ field, records })),
        left: [...left.values()].sort((one, other) => other.records - one.records),
      };
    },
  };
  return {
    source,
    /** The records to send, and those to leave as they are. */
    async *records(): AsyncGenerator<readonly Mapped[]> {
      deletes = [];
      recreated = [];
      renamed = new Map();
      kept = new Map();
      left = new Map();
      const runs = await state.runs.list({ kinds: ['undo'] });
      undos = new Map(runs.flatMap(({ id, undo }) => (undo === undefined ? [] : [[id, undo.of]])));
      const seen = new Set<string>();
      const replaced = await readReplaced(artifacts.run(of));
      for await (const page of versionsOfRun(state.history(target), of, isWanted)) {
        signal.throwIfAborted();
        const keys = page.map(([key]) => key);
        for (const key of keys) seen.add(key);
        const marks = await ledger.marks(keys);
        const unsure = await unsureAmong(page, marks);
        yield page.flatMap(([key, versions], index) =>
          unsure.has(key) ? leave(key, ...UNSURE) : inverse(key, replaced.get(key), versions, marks[index]),
        );
      }
      yield* inFlight(seen);
    },
    /** Products that the run gave new urls: the keys that come back, with those of the run. */
    renamed(): ReadonlyMap<string, string> {
      const back = new Set(recreated.map(({ key }) => key));
      return new Map([...renamed].filter(([key]) => back.has(key)));
    },
    /** These are not created again, but get their old urls. */
    keepsIds(predecessors: Predecessors | null): void {
      sameIds = new Set(predecessors?.certain.keys());
    },
  };
}

/**
 * The current version of a record, given all (newest first), if it is neither what the run `of` made nor what was there before it; else
 * undefined. If the current version is that of run R, an undo of R makes the one before R current again. An equal body of another run is
 * another version.
 */
function changeSince(versions: readonly Version[], of: string, undos: ReadonlyMap<string, string>) {
  const before = new Map<string, Version | undefined>();
  const after = new Map<string, Version | undefined>();
  let current: Version | undefined;
  for (const [index, version] of versions.toReversed().entries()) {
    const { id } = version.run;
    if (!before.has(id)) before.set(id, current);
    if (!isRepeated(version, versions[versions.length - index])) {
      const undone = undos.get(id);
      const bringsBack = undone !== undefined && after.has(undone) && after.get(undone) === current;
      current = bringsBack ? before.get(undone) : version;
    }
    after.set(id, current);
  }
  return current === after.get(of) || current === before.get(of) ? undefined : current;
}

/** Whether a version only repeats the one before it: the same body, of the same job. */
function isRepeated(version: Version, earlier: Version | undefined) {
  const ownerOf = ({ owner, run }: Version) => owner ?? run.job;
  return (
    earlier !== undefined &&
    typeof version.body === 'string' &&
    version.body === version.before &&
    ownerOf(version) === ownerOf(earlier)
  );
}

/** Fields of the present body that the earlier one does not have. */
function fieldsAdded(before: string, now: string | null) {
  const [earlier, present]: unknown[] = [JSON.parse(before), JSON.parse(now ?? 'null')];
  if (!isJsonObject(earlier) || !isJsonObject(present)) return [];
  return Object.keys(present).filter((field) => !Object.hasOwn(earlier, field));
}
