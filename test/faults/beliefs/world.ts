import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WritingStorefront } from '../../../src/apply/apply-operations.ts';
import type { ImportJob } from '../../../src/config/job/job.ts';
import { storeSchema } from '../../../src/config/store-config.ts';
import { DEFAULT_LIMITS } from '../../../src/model/input-limits.ts';
import type { MappedRecord } from '../../../src/model/mapped-record.ts';
import type { Run } from '../../../src/model/run.ts';
import { readPlan, readShard } from '../../../src/plan/plan-file.ts';
import { planImport } from '../../../src/plan/plan-import.ts';
import { fingerprintOf } from '../../../src/plan/shard-writer.ts';
import { applyStep, type DeliverShards } from '../../../src/run/import/apply-step.ts';
import {
  continueOrBegin,
  planPosition,
  supersedeOthers,
  whyNotContinue,
} from '../../../src/run/import/continue-or-begin.ts';
import type { RunContext } from '../../../src/run/run-context.ts';
import { sendOperations } from '../../../src/run/send-operations.ts';
import { saveSnapshot, snapshotOf } from '../../../src/source/snapshot.ts';
import { IN_DOUBT, type LedgerMark, type Lock, type State } from '../../../src/state/state.ts';
import { NO_LIMITS, product } from '../../plan/plan-of.ts';
import { sampleRun, TARGET } from '../../state/samples.ts';
import { type Faults, FaultyProcess, NO_FAULTS } from './process.ts';
import { SimulatedStore } from './simulated-store.ts';
import { smallArtifacts } from './small-artifacts.ts';

export const KEYS = ['Shirt', 'hat', 'coat'] as const;
export const JOBS = ['nightly', 'weekly'] as const;
export type JobName = (typeof JOBS)[number];
/** The version of each key in a source; null: it has none. */
export type Source = Readonly<Record<(typeof KEYS)[number], number | null>>;

/** How a state is kept, and what can be done to it from outside. */
export interface Keeping {
  /** The state as a new process sees it. */
  open(process: FaultyProcess, artifacts: RunContext['artifacts']): Promise<State>;
  /** Undoes the last so many writes of any process. */
  undo(writes: number): Promise<void>;
  empty(): Promise<void>;
}

const STORE = {
  name: 'main',
  ...storeSchema.parse({ baseUrl: 'https://shop.example', apiKey: 'k', limits: { concurrency: 2 } }),
};

function jobOf(name: string): ImportJob {
  return {
    ...{ kind: 'import', name, import: 'products', store: 'main', mode: 'mirror', duplicates: 'reject' },
    source: { path: 'source.csv', quotes: 'standard' },
    ...{ mapping: 'shopify-products', params: {}, safety: NO_LIMITS, html: 'keep', limits: DEFAULT_LIMITS },
  };
}

const ATTRIBUTES = { fence: { name: 'target', token: 'held' }, lost: new AbortController().signal };
const LOCK: Lock = {
  ...ATTRIBUTES,
  isHeld: () => true,
  release: async () => {},
  leave: async () => {},
  [Symbol.asyncDispose]: async () => {},
};

function recordsOf(source: Source): MappedRecord[] {
  return KEYS.flatMap((key, at) => {
    const version = source[key];
    if (version === null) return [];
    const body = product(key, { title: `${key} ${version}` });
    const spans = [{ file: 0, from: at + 2, to: at + 2 }];
    return [{ kind: 'record' as const, key, body, rows: 1, spans, memo: `${key} ${version}` }];
  });
}

/**
 * Two jobs that import into one store, with the real planner, the real sending and the real state; only the store, the disk and the life
 * of processes are simulated.
 */
export class World {
  readonly store: SimulatedStore;
  /** Records that a run left otherwise than its source has them, although it ended as done. */
  readonly staleRuns: string[] = [];
  readonly #keeping: Keeping;
  readonly #note: (fault: string) => void;
  readonly #files = new Map<string, Map<string, Buffer>>();
  readonly #sources = new Map<JobName, Source>();
  #runs = 0;
  /** Every plan compares the state with its witness first: until then nothing believes a state that has lost something. */
  #lossUnseen = false;
  #hasLost = false;
  /** What was lost since the last request: each keeps a copy of when a dead process's requests are over. */
  readonly #lostSinceRequest = new Set<'state' | 'artifacts'>();

  /** `note` is called with each fault that has struck. */
  constructor(keeping: Keeping, normalises: boolean, note: (fault: string) => void) {
    this.#keeping = keeping;
    this.#note = note;
    this.store = new SimulatedStore(normalises);
  }

  sourceOf(job: JobName): Source {
    return this.#sources.get(job) ?? { Shirt: null, hat: null, coat: null };
  }

  /** Runs a job as importRun does. */
  async run(job: JobName, source: Source, faults: Faults, resend = false): Promise<void> {
    this.#sources.set(job, source);
    await this.#during(faults, async (context, process) => {
      const stateLoss = await this.#reconcile(context);
      const begun = await this.#create(context, job, 'run', source, {
        resend,
        ...(stateLoss === null ? {} : { stateLoss }),
      });
      const run = await continueOrBegin(context, begun);
      await this.#planAndApply(context, process, run, source);
    });
  }

  /** Plans only; to be approved later. */
  async plan(job: JobName, source: Source, faults: Faults): Promise<void> {
    await this.#during(faults, async (context) => {
      await this.#reconcile(context);
      const run = await this.#create(context, job, 'plan', source, {});
      await this.#planned(context, run, source);
      await context.state.runs.update(run.id, { status: 'planned' });
    });
  }

  /** Applies the newest plan of the job as approveRun does. */
  async approve(job: JobName, faults: Faults): Promise<void> {
    await this.#during(faults, async (context, process) => {
      const { runs } = context.state;
      const [newest] = await runs.list({ job, limit: 1 });
      if (newest?.status !== 'planned' || newest.digest === null) return;
      if ((await this.#reconcile(context)) !== null) return;
      if ((await whyNotContinue(context, newest, 0)) !== undefined) return;
      const source: Source = JSON.parse(newest.digest);
      this.#sources.set(job, source);
      const run = await runs.update(newest.id, { kind: 'run', status: 'running', approved: true });
      await supersedeOthers(context, run);
      await this.#planAndApply(context, process, run, source);
    });
  }

  async undo(writes: number): Promise<void> {
    this.#note('older states');
    this.#lose('state');
    await this.#keeping.undo(writes);
  }

  async empty(): Promise<void> {
    this.#note('emptied states');
    this.#lose('state');
    await this.#keeping.empty();
  }

  removeArtifacts(): void {
    this.#note('removed artifacts');
    this.#lose('artifacts');
    this.#files.clear();
  }

  #lose(what: 'state' | 'artifacts'): void {
    this.#lossUnseen = true;
    this.#hasLost = true;
    this.#lostSinceRequest.add(what);
    // A user who loses both has to wait, as docs/operation.md says: nothing is left that could know of requests at work.
    if (this.#lostSinceRequest.size === 2) this.store.landAll();
  }

  /** What a run said is done, and is not in the store: of what the job sent, or of what it left out as unchanged. */
  async #noteStale({ state }: RunContext, { id, job }: Run, source: Source): Promise<void> {
    const refused = new Set<string>();
    for await (const page of state.runs.refusals(id)) for (const { key } of page) refused.add(key);
    for (const { key, body } of recordsOf(source)) {
      if (refused.has(key)) continue;
      const truth = this.store.truth(key);
      if (truth === undefined || truth === fingerprintOf(JSON.stringify(body))) continue;
      this.staleRuns.push(`${id} of ${job}, ${key}: ${truth ?? 'nothing'}`);
    }
  }

  /** Keys for which the ledger says that the store holds a body which it does not hold. */
  async falseBeliefs(): Promise<string[]> {
    const found: string[] = [];
    if (this.#lossUnseen) return found;
    await this.#during(NO_FAULTS, async ({ state }) => {
      const marks = await state.ledger(TARGET).marks(KEYS);
      for (const [position, key] of KEYS.entries()) {
        const mark = marks[position];
        if (mark === undefined) continue;
        if (mark.fingerprint === IN_DOUBT) {
          if (mark.memo !== undefined) found.push(`${key} is in doubt and has a memo`);
          continue;
        }
        const truth = this.store.truth(key);
        if (truth !== undefined && truth !== mark.fingerprint) found.push(`${key}: ${truth ?? 'nothing'}`);
      }
    });
    return found;
  }

  /**
   * Keys for which the store does not hold what the sources say; where both jobs have a key, either may be right. What nobody wants any
   * more may be left where nobody can know it, or delete it safely: the state has lost something, the store has answered another id, or
   * both jobs may have sent it.
   */
  async notAsInSources(): Promise<string[]> {
    let changed: ReadonlySet<string> = new Set();
    await this.#during(NO_FAULTS, async ({ state }) => {
      const marks = await state.ledger(TARGET).marks(KEYS);
      const unsure = KEYS.filter((_, position) => isUnsure(marks[position]));
      // Whose they are cannot be said: mirrors report them, and delete none.
      const unconfirmed: string[] = [];
      for (const job of JOBS) {
        for await (const page of state.ledger(TARGET).unconfirmed(job)) unconfirmed.push(...page);
      }
      changed = new Set([...unsure, ...unconfirmed]);
    });
    return KEYS.flatMap((key) => {
      const truth = this.store.truth(key);
      if (truth === undefined) return [];
      const wanted = JOBS.flatMap((job) => recordsOf(this.sourceOf(job)))
        .filter((record) => record.key === key)
        .map(({ body }) => fingerprintOf(JSON.stringify(body)));
      const isRight = wanted.length === 0 ? truth === null : truth !== null && wanted.includes(truth);
      const mayBeLeft = this.#hasLost || changed.has(key) || this.store.wasRenumbered(key);
      if (isRight || (wanted.length === 0 && mayBeLeft)) return [];
      return [`${key}: ${truth ?? 'nothing'} instead of ${wanted.join(' or ') || 'nothing'}`];
    });
  }

  async #during(
    faults: Faults,
    work: (context: RunContext, process: FaultyProcess) => Promise<void>,
  ): Promise<void> {
    const process = new FaultyProcess(faults, this.#note);
    const artifacts = smallArtifacts(this.#files, (what) => {
      process.strike();
      if (what === 'write sent') process.refuse('witness');
    });
    const state = waiting(await this.#keeping.open(process, artifacts), this.store);
    const context: RunContext = {
      ...{ state, artifacts, version: '1', workspaceDir: '/', signal: process.signal },
      clock: () => 0,
      newRunId: () => `run-${++this.#runs}`,
      openStorefront: () => Promise.reject(new Error('the model has its own')),
      onEvent: () => {},
    };
    try {
      await work(context, process);
    } catch (error) {
      if (faults === NO_FAULTS) throw error;
    } finally {
      process.kill();
      await state[Symbol.asyncDispose]();
    }
  }

  async #reconcile({ state }: RunContext) {
    const loss = await state.ledger(TARGET).reconcile();
    this.#lossUnseen = false;
    return loss;
  }

  async #create(
    context: RunContext,
    job: JobName,
    kind: 'run' | 'plan',
    source: Source,
    changes: Partial<Run>,
  ): Promise<Run> {
    const id = context.newRunId();
    const run = sampleRun({ id, job, kind, digest: JSON.stringify(source), ...changes });
    await context.state.runs.create(run);
    await saveSnapshot(context.artifacts.run(id), snapshotOf([]));
    return (await context.state.runs.get(id)) ?? run;
  }

  async #planned(context: RunContext, run: Run, source: Source) {
    const { state, artifacts, signal } = context;
    const folder = artifacts.run(run.id);
    const known = await readPlan(folder);
    if (known !== undefined) return known;
    return await planImport({
      ...{ run: run.id, folder, signal, resend: run.resend, retry: false },
      plannedAt: await planPosition(context, run),
      job: jobOf(run.job),
      async *openMapped() {
        yield recordsOf(source);
      },
      describeSource: () => ({ files: [], columnsNotUsed: [], dates: null }),
      ledger: state.ledger(TARGET),
      keyDigest: null,
      previous: { rows: null, keyDigest: null },
      onProgress: () => {},
    });
  }

  async #planAndApply(context: RunContext, process: FaultyProcess, run: Run, source: Source): Promise<void> {
    const job = jobOf(run.job);
    const plan = await this.#planned(context, run, source);
    const keys = new Map<number, string>();
    const storefront = this.#storefront(process, run.job, keys);
    const deliver: DeliverShards = async (surroundings, delivery, shards) => {
      const { runs } = surroundings.state;
      const operations = async function* () {
        for (const shard of shards) {
          const outcomes = await runs.outcomes(run.id, shard.number);
          const operations = await readShard(surroundings.artifacts.run(run.id), shard);
          for (const operation of operations) {
            if (operation.kind === 'delete-product' && operation.id !== null)
              keys.set(operation.id, operation.key);
          }
          yield operations
            .filter(({ index }) => (outcomes.get(index) ?? 'unsent') === 'unsent')
            .map((operation) => ({ ...operation, shard: shard.number }));
        }
      };
      await sendOperations(surroundings, {
        ...{ run, store: STORE, lock: LOCK, storefront, operations: operations() },
        firstShard: delivery.plan.shards[0]?.number ?? 0,
      });
    };
    await applyStep(context, { run, plan, job, store: STORE, lock: LOCK }, deliver);
    const unsent = await context.state.runs.unsentReasons(run.id);
    const status = unsent.length > 0 ? 'failed' : 'done';
    await context.state.runs.update(run.id, { status, finishedAt: 0 });
    if (status !== 'done') return;
    await context.artifacts.remove(run.id);
    await this.#noteStale(context, run, source);
  }

  /** The store as a process reaches it: it may die before a request, while one is under way, or before its answer. */
  #storefront(
    process: FaultyProcess,
    job: string,
    keys: Map<number, string>,
  ): Parameters<typeof sendOperations>[1]['storefront'] & WritingStorefront {
    const { store } = this;
    const send = async <Answer>(
      key: string,
      options: Parameters<WritingStorefront['upsertProduct']>[1],
      takeEffect: () => void,
      answer: (fate: ReturnType<FaultyProcess['nextFate']>) => Answer,
    ): Promise<Answer> => {
      options.stopping?.throwIfAborted();
      await options.onRequest?.();
      process.strike();
      this.#lostSinceRequest.clear();
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
        const takeEffect = () => store.takeEffectOfUpsert({ job, key }, body);
        const outcome = await send(key, options, takeEffect, (fate) =>
          store.upsert({ job, key }, body, fate),
        );
        if (outcome.kind === 'applied' && outcome.id !== null) keys.set(outcome.id, key);
        return outcome;
      },
      deleteProduct(id, options) {
        const key = keys.get(id) ?? '';
        return send(
          key,
          options,
          () => store.takeEffectOfDelete({ job, key }, id),
          (fate) => store.delete({ job, key }, id, fate),
        );
      },
      updateContact: () => Promise.reject(new Error('the model has products only')),
      subscriberLists: () => Promise.reject(new Error('the model has no lists')),
    };
  }
}

function isUnsure(mark: LedgerMark | undefined): boolean {
  return mark !== undefined && (mark.idProof !== undefined || mark.fingerprint === IN_DOUBT);
}

/** The state of a process that waits as long as it has to, which takes no time here: whatever was at work has ended then. */
function waiting(state: State, store: SimulatedStore): State {
  const sending: State['sending'] = async (options) => {
    const open = await state.sending(options);
    return {
      ...open,
      async begin(operations) {
        const { waitMs, overtaken } = await open.begin(operations);
        store.waitFor(operations.flatMap(({ key }, at) => ((waitMs[at] ?? 0) > 0 ? [key] : [])));
        return { waitMs: waitMs.map(() => 0), overtaken };
      },
      [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
    };
  };
  return { ...state, sending, [Symbol.asyncDispose]: () => state[Symbol.asyncDispose]() };
}
