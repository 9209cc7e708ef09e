import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WritingStorefront } from '../../../src/apply/apply-operations.ts';
import type { Operation, Outcome } from '../../../src/model/operation.ts';
import type { Run } from '../../../src/model/run.ts';
import { readShard } from '../../../src/plan/plan-file.ts';
import { joinPairs } from '../../../src/run/import/apply-step.ts';
import type { DeliverShards } from '../../../src/run/run-context.ts';
import { sendOperations } from '../../../src/run/send-operations.ts';
import type { State } from '../../../src/state/state.ts';
import type { HandEdits } from './hand-edits.ts';
import { DiedAfterWrite, type FaultyProcess, RefusedWrite } from './process.ts';
import type { SimulatedStore } from './simulated-store.ts';
import type { WritingRun, WrittenVersions } from './written-versions.ts';

/** Who sends to the store, and who is to know. */
interface SendingOptions {
  readonly process: FaultyProcess;
  readonly run: WritingRun;
  readonly versions: WrittenVersions;
  readonly edits: HandEdits;
  readonly onRequest: () => void;
  /** Of a comparison with the store. */
  readonly changesNothing?: boolean;
}

/** The run as `WrittenVersions` knows it. */
export function writingRun({ id, job, kind, retryOf, release, undo }: Run): WritingRun {
  if (kind === 'retry') return { id, job, part: { kind, of: retryOf ?? '' } };
  if (release !== undefined) return { id, job, part: { kind: 'release', of: release.of } };
  return { id, job, part: undo === undefined ? null : { kind: 'undo', of: undo.of } };
}

/** What the operations of a run say beyond their requests. */
interface Known {
  /** The keys of deletes, and of ids that the store has answered. */
  readonly keys: Map<number, string>;
  readonly operations: Map<string, Operation>;
}

/** Sends shards from a faulty process. */
export function deliverTo(store: SimulatedStore, options: SendingOptions): DeliverShards {
  const known = nothingKnown();
  const storefront = simulatedStorefront(store, options, known);
  return async (context, { run, plan, lock, store: config }, shards) => {
    const { runs } = context.state;
    const operations = async function* () {
      for (const shard of shards) {
        const outcomes = await runs.outcomes(run.id, shard.number);
        const operations = await readShard(context.artifacts.run(run.id), shard);
        for (const operation of operations) {
          if (operation.kind === 'delete-product') known.keys.set(operation.id, operation.key);
          known.operations.set(operation.key, operation);
        }
        const open = operations.filter(({ index }) => (outcomes.get(index) ?? 'unsent') === 'unsent');
        yield joinPairs(open.map((operation) => ({ ...operation, shard: shard.number })));
      }
    };
    const firstShard = plan.shards[0]?.number ?? 0;
    await sendOperations(context, {
      run,
      store: config,
      lock,
      storefront,
      operations: operations(),
      firstShard,
    });
  };
}

function nothingKnown(): Known {
  return { keys: new Map(), operations: new Map() };
}

/** The store as a comparison reaches it, whose requests change no field but titles. */
export function storefrontOf(store: SimulatedStore, options: SendingOptions): WritingStorefront {
  return simulatedStorefront(store, { ...options, changesNothing: true }, nothingKnown());
}

interface SentRequest {
  readonly key: string;
  /** Null for a delete; of a part, the whole body. */
  readonly body: string | null;
  readonly isLookUp?: boolean;
  /** The key that the product had before. */
  readonly renames?: string | undefined;
  /** Called when it leaves. */
  readonly note?: () => void;
}

/** The store as a process reaches it: it may die before a request, while one is under way, or before its answer. */
function simulatedStorefront(
  store: SimulatedStore,
  { process, run, versions, edits, onRequest, changesNothing = false }: SendingOptions,
  { keys, operations }: Known,
): Parameters<typeof sendOperations>[1]['storefront'] & WritingStorefront {
  const send = async <Answer>(
    { key, body, isLookUp, renames, note }: SentRequest,
    options: Parameters<WritingStorefront['upsertProduct']>[1],
    takeEffect: () => void,
    answer: (fate: ReturnType<FaultyProcess['nextFate']>) => Answer,
  ): Promise<Answer> => {
    options.stopping?.throwIfAborted();
    await options.onRequest?.();
    process.strike();
    onRequest();
    if (!changesNothing) versions.request(run, key, body, isLookUp);
    if (renames !== undefined) versions.request(run, renames, null);
    note?.();
    const fate = process.nextFate();
    await nextTurn();
    try {
      process.strike();
    } catch (error) {
      const keys = renames === undefined ? [key] : [key, renames];
      store.leaveLate(keys, process.lateLands, takeEffect);
      throw error;
    }
    const answered = answer(fate);
    process.strike();
    return answered;
  };
  const writing = (key: string, body: string, id: number | null) => {
    const operation = operations.get(key);
    const isUpsert = operation?.kind === 'upsert-product';
    const by = {
      job: (isUpsert ? operation.owner : undefined) ?? run.job,
      key,
      isLookUp: !isUpsert,
      isTouch: changesNothing,
    };
    const note = () => {
      if (isUpsert) edits.request({ run: run.id, process: process.name, operation, body, id });
    };
    return { by, note, whole: { key, body: isUpsert ? operation.body : body, isLookUp: !isUpsert } };
  };
  const noteAnswer = (
    key: string,
    outcome: Outcome,
    { onAnswer }: Parameters<WritingStorefront['upsertProduct']>[1],
  ): Outcome => {
    if (outcome.kind !== 'applied') return outcome;
    if (outcome.id !== null) keys.set(outcome.id, key);
    onAnswer?.(store.answer(key));
    return outcome;
  };
  return {
    async upsertProduct({ url: key, body, id }, options) {
      const { by, note, whole } = writing(key, body, id ?? null);
      if (id !== undefined) {
        const operation = operations.get(key);
        const renames = operation?.kind === 'upsert-product' ? operation.renames : undefined;
        const from = renames ?? key;
        const outcome = await send(
          { ...whole, renames, note },
          options,
          () => store.takeEffectOfMove(by, from, id, body),
          (fate) => store.move(by, from, id, body, fate),
        );
        return noteAnswer(key, outcome, options);
      }
      const outcome = await send(
        { ...whole, note },
        options,
        () => store.takeEffectOfUpsert(by, body),
        (fate) => store.upsert(by, body, fate),
      );
      return noteAnswer(key, outcome, options);
    },
    async updateProduct(id, { url: key, body }, options) {
      const { by, note, whole } = writing(key, body, id);
      const outcome = await send(
        { ...whole, note },
        options,
        () => store.takeEffectOfUpdate(by, id, body),
        (fate) => store.update(by, id, body, fate),
      );
      return noteAnswer(key, outcome, options);
    },
    deleteProduct(id, options) {
      const by = { job: run.job, key: keys.get(id) ?? '' };
      return send(
        { key: by.key, body: null },
        options,
        () => store.takeEffectOfDelete(by, id),
        (fate) => store.delete(by, id, fate),
      );
    },
    updateContact: () => Promise.reject(new Error('the model has products only')),
    upsertContact: () => Promise.reject(new Error('the model has products only')),
    subscriberLists: () => Promise.reject(new Error('the model has no lists')),
  };
}

interface WaitingOptions extends Pick<SendingOptions, 'process' | 'versions' | 'edits'> {
  readonly store: SimulatedStore;
  /** Whether answers are compared with what was sent. */
  readonly isObserving: () => boolean;
}

/**
 * The state of a process that waits as long as it has to, which takes no time here: whatever was at work has ended then. `versions`
 * learns which outcomes are in the state.
 */
export function waiting(
  state: State,
  { store, versions, edits, process, isObserving }: WaitingOptions,
): State {
  const { runs } = state;
  const sending: State['sending'] = async (options) => {
    const open = await state.sending(options);
    const note = (operations: readonly Operation[]) => {
      for (const { key } of operations) versions.beginKey(options.run.id, key);
      edits.begin(process.name, operations);
    };
    return {
      ...open,
      async begin(operations) {
        const { waitMs, overtaken } = await open.begin(operations).catch((error: unknown) => {
          // The state has nothing of a write that was refused; of any other, it may.
          if (!(error instanceof RefusedWrite) || error.write !== 'begin') note(operations);
          throw error;
        });
        note(operations);
        store.waitFor(operations.flatMap(({ key }, at) => ((waitMs[at] ?? 0) > 0 ? [key] : [])));
        return { waitMs: waitMs.map(() => 0), overtaken };
      },
      async withdraw(operations) {
        await open.withdraw(operations);
        edits.withdraw(process.name, operations);
      },
      [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
    };
  };
  return {
    ...state,
    ledger(target) {
      const ledger = state.ledger(target);
      return {
        ...ledger,
        async proveIdsAgain() {
          edits.learnNewIds();
          await ledger.proveIdsAgain();
        },
      };
    },
    sending,
    runs: {
      ...runs,
      async record(run, shard, results, ...more) {
        const note = () => {
          for (const result of results) {
            versions.recorded(writingRun(run), result);
            edits.recorded(process.name, result, isObserving());
          }
        };
        await runs.record(run, shard, results, ...more).catch((error: unknown) => {
          if (error instanceof DiedAfterWrite) note();
          throw error;
        });
        note();
      },
    },
    [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
  };
}
