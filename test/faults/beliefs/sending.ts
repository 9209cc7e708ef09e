import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WritingStorefront } from '../../../src/apply/apply-operations.ts';
import type { Operation } from '../../../src/model/operation.ts';
import type { Run } from '../../../src/model/run.ts';
import { readShard } from '../../../src/plan/plan-file.ts';
import type { DeliverShards } from '../../../src/run/import/apply-step.ts';
import { sendOperations } from '../../../src/run/send-operations.ts';
import type { State } from '../../../src/state/state.ts';
import { type FaultyProcess, RefusedWrite } from './process.ts';
import type { SimulatedStore } from './simulated-store.ts';
import type { WritingRun, WrittenVersions } from './written-versions.ts';

/** Who sends to the store, and who is to know. */
interface SendingOptions {
  readonly process: FaultyProcess;
  readonly run: WritingRun;
  readonly versions: WrittenVersions;
  readonly onRequest: () => void;
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
  /** The jobs that an undo gives records back to. */
  readonly owners: Map<string, string>;
}

/** Sends shards from a faulty process. */
export function deliverTo(store: SimulatedStore, options: SendingOptions): DeliverShards {
  const known: Known = { keys: new Map(), owners: new Map() };
  const storefront = simulatedStorefront(store, options, known);
  return async (context, { run, plan, lock, store: config }, shards) => {
    const { runs } = context.state;
    const operations = async function* () {
      for (const shard of shards) {
        const outcomes = await runs.outcomes(run.id, shard.number);
        const operations = await readShard(context.artifacts.run(run.id), shard);
        for (const operation of operations) {
          if (operation.kind === 'delete-product') known.keys.set(operation.id, operation.key);
          if (operation.kind === 'upsert-product' && operation.owner !== undefined)
            known.owners.set(operation.key, operation.owner);
        }
        yield operations
          .filter(({ index }) => (outcomes.get(index) ?? 'unsent') === 'unsent')
          .map((operation) => ({ ...operation, shard: shard.number }));
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

/** The store as a process reaches it: it may die before a request, while one is under way, or before its answer. */
function simulatedStorefront(
  store: SimulatedStore,
  { process, run, versions, onRequest }: SendingOptions,
  { keys, owners }: Known,
): Parameters<typeof sendOperations>[1]['storefront'] & WritingStorefront {
  const send = async <Answer>(
    { key, body }: { readonly key: string; readonly body: string | null },
    options: Parameters<WritingStorefront['upsertProduct']>[1],
    takeEffect: () => void,
    answer: (fate: ReturnType<FaultyProcess['nextFate']>) => Answer,
  ): Promise<Answer> => {
    options.stopping?.throwIfAborted();
    await options.onRequest?.();
    process.strike();
    onRequest();
    versions.request(run, key, body);
    const fate = process.nextFate();
    await nextTurn();
    try {
      process.strike();
    } catch (error) {
      store.leaveLate(key, process.lateLands, takeEffect);
      throw error;
    }
    const answered = answer(fate);
    process.strike();
    return answered;
  };
  return {
    async upsertProduct({ url: key, body }, options) {
      const by = { job: owners.get(key) ?? run.job, key };
      const outcome = await send(
        { key, body },
        options,
        () => store.takeEffectOfUpsert(by, body),
        (fate) => store.upsert(by, body, fate),
      );
      if (outcome.kind === 'applied' && outcome.id !== null) keys.set(outcome.id, key);
      return outcome;
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
    updateProduct: () => Promise.reject(new Error('no part is sent yet')),
    updateContact: () => Promise.reject(new Error('the model has products only')),
    upsertContact: () => Promise.reject(new Error('the model has products only')),
    subscriberLists: () => Promise.reject(new Error('the model has no lists')),
  };
}

/**
 * The state of a process that waits as long as it has to, which takes no time here: whatever was at work has ended then. `versions`
 * learns which outcomes are in the state.
 */
export function waiting(state: State, store: SimulatedStore, versions: WrittenVersions): State {
  const { runs } = state;
  const sending: State['sending'] = async (options) => {
    const open = await state.sending(options);
    const note = (operations: readonly Operation[]) => {
      for (const { key } of operations) versions.beginKey(options.run.id, key);
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
      [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
    };
  };
  return {
    ...state,
    sending,
    runs: {
      ...runs,
      async record(run, shard, results, ...more) {
        await runs.record(run, shard, results, ...more);
        for (const result of results) versions.recorded(writingRun(run), result);
      },
    },
    [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
  };
}
