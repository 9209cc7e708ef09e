import type { Plan } from '../../../src/model/plan.ts';
import { COMPLETED, type Run, UNFINISHED } from '../../../src/model/run.ts';
import { StoreferryError, UsageError } from '../../../src/model/storeferry-error.ts';
import { readPlan } from '../../../src/plan/plan-file.ts';
import { fingerprintOf } from '../../../src/plan/shard-writer.ts';
import { REJECTS_FILE } from '../../../src/rejects/rejects-file.ts';
import { noteFindings } from '../../../src/run/drift/drift-finding.ts';
import { comparisonMethod, selectKeys } from '../../../src/run/drift/drift-run.ts';
import { findDrift } from '../../../src/run/drift/find-drift.ts';
import { applyStep } from '../../../src/run/import/apply-step.ts';
import {
  continueOrBegin,
  continueSame,
  refuseOutdated,
  supersedeOthers,
  supersedePlans,
  whyNotContinue,
} from '../../../src/run/import/continue-or-begin.ts';
import { settledRun, stageWithoutSource, unchangedTotals } from '../../../src/run/import/stage-step.ts';
import { refuseUnlessRejected } from '../../../src/run/read-corrections.ts';
import { refuseUnlessReleasable } from '../../../src/run/records/plan-release.ts';
import { laterRun } from '../../../src/run/report/read-stored-report.ts';
import { retryGuardOf, saveRetryGuard } from '../../../src/run/retry-guard.ts';
import { PROBES_FOLDER, type RunContext } from '../../../src/run/run-context.ts';
import { refuseUnlessUndoable } from '../../../src/run/undo/plan-undo.ts';
import { isComparable } from '../../../src/run/verify/verify-run.ts';
import { saveSnapshot, snapshotOf } from '../../../src/source/snapshot.ts';
import { IN_DOUBT, type LedgerMark, type Lock, type State } from '../../../src/state/state.ts';
import { sampleRun, TARGET } from '../../state/samples.ts';
import { HandEdits } from './hand-edits.ts';
import { EMPTY_SOURCE, itemsOf, JOBS, type JobName, KEYS, recordsOf, requestOf, TEXTS } from './jobs.ts';
import { observes, PROBE_FILE, probeOf, readingStorefront } from './probed-store.ts';
import { Died, type Faults, FaultyProcess, NO_FAULTS } from './process.ts';
import { type Ended, finishRun, planRun, type Settings } from './run-steps.ts';
import { deliverTo, storefrontOf, waiting, writingRun } from './sending.ts';
import { SimulatedStore, type StoreProfile } from './simulated-store.ts';
import { smallArtifacts } from './small-artifacts.ts';
import { WrittenVersions } from './written-versions.ts';

/** How a state is kept, and what can be done to it from outside. */
export interface Keeping {
  /** The state as a new process sees it. */
  open(process: FaultyProcess, artifacts: RunContext['artifacts']): Promise<State>;
  /** The state as it was before the last so many writes of any process. */
  restore(writes: number): Promise<void>;
  empty(): Promise<void>;
}

const ATTRIBUTES = { fence: { name: 'target', token: 'held' }, lost: new AbortController().signal };
const LOCK: Lock = {
  ...ATTRIBUTES,
  isHeld: () => true,
  release: async () => {},
  leave: async () => {},
  [Symbol.asyncDispose]: async () => {},
};

/** A process at work, and what it works on. */
interface Work {
  readonly context: RunContext;
  readonly process: FaultyProcess;
  readonly settings: Settings;
}

/**
 * Two jobs that import into one store, and perhaps one that updates texts there, with the real planner, the real sending and the real state; only the store, the disk, the life
 * of processes, and the texts of sources and rejects files are simulated.
 */
export class World {
  readonly store: SimulatedStore;
  readonly versions: WrittenVersions;
  readonly edits: HandEdits;
  /** Totals of runs that do not add up, or are not what was recorded. */
  readonly wrongTotals: string[] = [];
  /** Records that a run left otherwise than it said, although it ended as done. */
  readonly staleRuns: string[] = [];
  readonly #keeping: Keeping;
  readonly #note: (fault: string) => void;
  readonly #files = new Map<string, Map<string, Buffer>>();
  readonly #settings = new Map<JobName, Settings>();
  /** When the plan of each run was made. */
  readonly #plannedAt = new Map<string, number>();
  #runs = 0;
  /** Every plan compares the state with its witness first: until then nothing believes a state that has lost something. */
  #lossUnseen = false;
  #hasLost = false;
  /** What was lost since the last request: each keeps a copy of when a dead process's requests are over. */
  readonly #lostSinceRequest = new Set<'state' | 'artifacts'>();

  /** `note` is called with each fault that has struck. */
  constructor(
    keeping: Keeping,
    { normalises, profile }: { readonly normalises: boolean; readonly profile: StoreProfile },
    note: (fault: string) => void,
  ) {
    this.#keeping = keeping;
    this.#note = note;
    const next = () => this.versions.next();
    this.store = new SimulatedStore(normalises, profile, next);
    this.edits = new HandEdits(this.store, { normalises, next, note });
    this.versions = new WrittenVersions(note, (key, field) => this.store.wasEdited(key, field));
    this.probe();
  }

  /** Keeps what a probe of the store learns. */
  probe(): void {
    const { isProbed } = this.store.profile;
    if (!isProbed) return;
    const kept = Buffer.from(JSON.stringify(probeOf(this.store.profile)));
    this.#files.set(PROBES_FOLDER, new Map([[PROBE_FILE, kept]]));
  }

  get #isProbed(): boolean {
    return this.#files.get(PROBES_FOLDER)?.has(PROBE_FILE) === true;
  }

  /** What the job was last run with. */
  settingsOf(job: JobName): Settings {
    return this.#settings.get(job) ?? { source: EMPTY_SOURCE, hasGuard: false, resend: false };
  }

  /** Runs a job as importRun does. */
  async run(job: JobName, settings: Settings, faults: Faults): Promise<void> {
    this.#settings.set(job, settings);
    await this.#during(faults, async (context, process) => {
      const work = { context, process, settings };
      const digest = JSON.stringify(settings);
      const begun = await this.#create(work, { job, digest });
      const settled = await settledRun(context, requestOf(job, settings, settings.resend), begun);
      if (settled?.digest === digest) {
        this.#note('unchanged sources');
        const plannedAt = this.versions.next();
        const totals = unchangedTotals(settled);
        await context.state.runs.update(begun.id, {
          unchangedSince: settled.id,
          totals,
          status: 'done',
          finishedAt: 0,
        });
        const records = recordsOf(job, settings.source);
        for (const { key } of records) this.versions.found(begun, key, plannedAt);
        await this.#noteStale(begun, records, new Set(), settings);
        return;
      }
      const killed = await this.#killedRuns(context, begun);
      const run = await continueOrBegin(context, begun);
      if (run.id !== begun.id) this.#note('continued runs');
      else if (await this.#wereOvertaken(context, killed)) this.#note('overtaken runs');
      await this.#planAndApply(work, run);
    });
  }

  /** The unfinished runs of the job with the same source, which may be continued. */
  async #killedRuns({ state }: RunContext, { id, job, digest }: Run): Promise<readonly Run[]> {
    const runs = await state.runs.list({ job, kinds: ['run'], statuses: UNFINISHED });
    return runs.filter((run) => run.id !== id && run.digest === digest);
  }

  /** Whether another job has begun a run after one of these. */
  async #wereOvertaken({ state }: RunContext, killed: readonly Run[]): Promise<boolean> {
    if (killed.length === 0) return false;
    const runs = await state.runs.list({ kinds: ['run', 'retry', 'release', 'undo'] });
    return killed.some(({ job, sequence }) =>
      runs.some((other) => other.job !== job && other.sequence > sequence),
    );
  }

  /** Plans only; to be approved later. */
  async plan(job: JobName, settings: Settings, faults: Faults): Promise<void> {
    await this.#during(faults, async (context, process) => {
      const work = { context, process, settings };
      const run = await this.#create(work, { job, kind: 'plan', digest: JSON.stringify(settings) });
      await this.#planned(work, run);
      await supersedePlans(context, run);
      await context.state.runs.update(run.id, { status: 'planned', finishedAt: 0 });
    });
  }

  /** Compares the store with the ledger as driftRun does; `restore` plans to send what differs, to be approved. */
  async compare(job: JobName, how: 'compare' | 'accept' | 'restore', faults: Faults): Promise<void> {
    await this.#during(faults, async (context, process) => {
      const settings = this.settingsOf(job);
      const work = { context, process, settings };
      const accept = how === 'accept';
      // A loss that is noticed now puts all in doubt.
      await this.#reconcile(context);
      const marks = await context.state.ledger(TARGET).marks(KEYS);
      if (!marks.some((mark) => mark?.job === job && isComparable(mark, 'products'))) return;
      const run = await this.#compare(work, job, accept);
      this.#note(`comparisons: ${how}`);
      if (accept && faults === NO_FAULTS) await this.#compare(work, job, accept, run.id);
      if (how !== 'restore') return;
      const restore = { of: run.id };
      const begun = await this.#create(work, { job, kind: 'plan', digest: null, restore, resend: true });
      const planned = await stageWithoutSource(context, begun);
      await this.#planned(work, planned);
      await supersedePlans(context, planned);
      await context.state.runs.update(planned.id, { status: 'planned', finishedAt: 0 });
    });
  }

  /** `after`: a comparison that has accepted everything just before. */
  async #compare(work: Work, job: JobName, accept: boolean, after?: string): Promise<Run> {
    const { context, process } = work;
    const { store, job: config } = requestOf(job, work.settings);
    await comparisonMethod(context, store, config);
    const run = await this.#create(work, { job, kind: 'drift', digest: null });
    const storefront = storefrontOf(this.store, {
      process,
      run: writingRun(run),
      versions: this.versions,
      edits: this.edits,
      onRequest: () => this.#lostSinceRequest.clear(),
    });
    const looking = {
      ...context,
      openStorefront: async () => readingStorefront(this.store, process, storefront),
    };
    const request = { job: config, store, sample: null, random: () => 0 };
    const selected = await selectKeys(looking, run, request);
    const { drift } = await findDrift(looking, { ...request, run, lock: LOCK }, selected);
    const { edited, recreated } = drift;
    if (after !== undefined && edited + recreated > 0)
      this.wrongTotals.push(
        `${run.id}: ${edited} edited, ${recreated} made again after ${after} accepted all`,
      );
    await noteFindings(context, { run, store, lock: LOCK, accept });
    for (const key of KEYS) this.edits.compared(key, await context.state.ledger(TARGET).views([key]));
    const endPosition = await context.state.ledger(TARGET).position();
    return await context.state.runs.update(run.id, { endPosition, status: 'done', finishedAt: 0 });
  }

  /** Applies the newest plan of the job as approveRun does. */
  async approve(job: JobName, faults: Faults): Promise<void> {
    await this.#during(faults, async (context, process) => {
      const { runs } = context.state;
      const [planned] = await runs.list({ job, statuses: ['planned'], limit: 1 });
      if (planned === undefined || (await laterRun(context, planned)) !== undefined) return;
      await this.#reconcile(context);
      if ((await whyNotContinue(context, planned, 0)) !== undefined) return;
      const run = await runs.update(planned.id, {
        kind: approvedKind(planned),
        status: 'running',
        approved: true,
        finishedAt: null,
        totals: null,
      });
      const hasSource = run.undo === undefined && run.restore === undefined;
      const settings: Settings = hasSource ? JSON.parse(run.digest ?? '') : this.settingsOf(job);
      if (hasSource) this.#settings.set(job, settings);
      await supersedeOthers(context, run);
      await this.#planAndApply({ context, process, settings }, run);
    });
  }

  /** Sends corrected rows of an earlier run of the job, counted from the newest. */
  async retry(job: JobName, which: number, settings: Settings, faults: Faults): Promise<void> {
    await this.#during(faults, async (context, process) => {
      const { state, artifacts } = context;
      const runs = await state.runs.list({ job, kinds: ['run', 'retry', 'undo', 'release'] });
      const withRejects: Run[] = [];
      for (const run of runs) if (await artifacts.run(run.id).exists(REJECTS_FILE)) withRejects.push(run);
      const rejected = withRejects[which % Math.max(1, withRejects.length)];
      if (rejected === undefined) return;
      await refuseUnlessRejected(context, rejected);
      const positions = await readText(artifacts.run(rejected.id), REJECTS_FILE);
      const digest = JSON.stringify([settings, rejected.id]);
      const work = { context, process, settings };
      const begun = await this.#create(work, { job, kind: 'retry', digest, retryOf: rejected.id });
      const corrected = { ...JSON.parse(positions), refused: [] };
      await saveRetryGuard(artifacts.run(begun.id), retryGuardOf(rejected, corrected, 'products'));
      await this.#planAndApply(work, await continueSame(context, begun));
    });
  }

  /** Sends what an earlier run of the job holds. */
  async release(job: JobName, which: number, faults: Faults, conflicts?: 'source' | 'store'): Promise<void> {
    await this.#during(faults, async (context, process) => {
      const { state } = context;
      const runs = await state.runs.list({ job, kinds: ['run', 'retry'], statuses: COMPLETED });
      const holding = runs.filter(({ totals }) => (totals?.held ?? 0) > 0);
      const of = holding[which % Math.max(1, holding.length)]?.id;
      if (of === undefined) return;
      const release = conflicts === undefined ? { of } : { of, conflicts };
      const settings = this.settingsOf(job);
      await refuseUnlessReleasable(context, sampleRun({ job }), release);
      const work = { context, process, settings };
      const begun = await this.#create(work, { job, kind: 'release', digest: null, release, approved: true });
      await this.#planAndApply(work, await stageWithoutSource(context, begun));
    });
  }

  /** Decides about what the newest run of the job holds: products that may have a new url, under an id that is not proven. */
  async releaseHeld(job: JobName): Promise<void> {
    let isHolding = false;
    await this.#during(NO_FAULTS, async ({ state }) => {
      const [newest] = await state.runs.list({ job, kinds: ['run'], limit: 1 });
      isHolding = (newest?.totals?.held ?? 0) > 0;
    });
    if (isHolding) await this.release(job, 0, NO_FAULTS);
  }

  /** Plans the inverse of an earlier run of the job; to be approved. */
  async undo(job: JobName, which: number, faults: Faults): Promise<void> {
    await this.#during(faults, async (context, process) => {
      const runs = await context.state.runs.list({ job, kinds: ['run', 'retry', 'release', 'undo'] });
      const of = runs[which % Math.max(1, runs.length)]?.id;
      if (of === undefined) return;
      const undo = { of };
      const settings = this.settingsOf(job);
      // Its process is not at work any more: there is one at a time.
      await refuseUnlessUndoable(context, sampleRun({ job }), undo);
      const work = { context, process, settings };
      const begun = await this.#create(work, { job, kind: 'plan', digest: null, undo });
      const run = await stageWithoutSource(context, begun);
      await this.#planned(work, run);
      await supersedePlans(context, run);
      await context.state.runs.update(run.id, { status: 'planned', finishedAt: 0 });
    });
  }

  /** An older copy of the state is put back. */
  async restore(writes: number): Promise<void> {
    this.#note('older states');
    this.#lose('state');
    await this.#keeping.restore(writes);
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
    this.versions.lose();
    this.edits.lose();
    this.#lostSinceRequest.add(what);
    // A user who loses both has to wait, as docs/operation.md says: nothing is left that could know of requests at work.
    if (this.#lostSinceRequest.size === 2) this.store.landAll();
  }

  /** What a run said is done, and is not in the store: of what it sent, or left out as unchanged. */
  async #noteStale(
    { id, kind, job }: Run,
    said: readonly { readonly key: string; readonly body: unknown }[],
    refused: ReadonlySet<string>,
    { keepsTexts }: Settings,
  ): Promise<void> {
    for (const { key, body } of said) {
      if (refused.has(key)) continue;
      const isSent = typeof body === 'string';
      const differing = isSent
        ? this.store.differences(key, body)
        : this.#unlike(key, job, JSON.stringify(body), keepsTexts);
      if (differing.length === 0) continue;
      this.staleRuns.push(`${kind} ${id} of ${job}, ${key}: ${differing.join(', ')}`);
    }
  }

  /** The fields in which the store differs from a record of a source, of which a text job sends the text alone, and others keep it. */
  #unlike(key: string, job: string, body: string, keepsTexts = false): readonly string[] {
    const differing = this.store.differences(key, body, keepsTexts && job !== TEXTS ? ['description'] : []);
    return job === TEXTS ? differing.filter((field) => field === 'description') : differing;
  }

  /** Keys for which the ledger says that the store holds a body which it does not hold. */
  async falseBeliefs(): Promise<string[]> {
    const found: string[] = [];
    if (this.#lossUnseen) return found;
    await this.#during(NO_FAULTS, async ({ state }) => {
      const ledger = state.ledger(TARGET);
      const [marks, bodies, views] = [
        await ledger.marks(KEYS),
        await ledger.bodies(KEYS),
        await ledger.views(KEYS),
      ];
      for (const [position, key] of KEYS.entries()) {
        const [mark, body, doubted = null] = [marks[position], bodies[position], views[position]?.doubted];
        if (mark === undefined) continue;
        const isInDoubt = mark.fingerprint === IN_DOUBT;
        if (isInDoubt && mark.memo !== undefined) found.push(`${key} is in doubt and has a memo`);
        if (isInDoubt && doubted === null) continue;
        if (body === undefined || (!isInDoubt && fingerprintOf(body) !== mark.fingerprint)) {
          found.push(`${key}: the body of the mark is ${body}`);
          continue;
        }
        const differing = this.store.differences(key, body, doubted ?? []);
        if (differing.length > 0) found.push(`${key}: ${differing.join(', ')}`);
      }
      for await (const page of ledger.edited()) {
        for (const { key, observation } of page) {
          for (const [field, { value }] of Object.entries(observation.edited)) {
            if (!this.store.wasEdited(key, field, JSON.stringify(value)))
              found.push(`${key}: nobody edited ${field} to ${JSON.stringify(value)}`);
          }
        }
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
      const wantedBy = (job: JobName) =>
        recordsOf(job, this.settingsOf(job).source).flatMap((record) =>
          record.key === key ? [{ job, body: JSON.stringify(record.body) }] : [],
        );
      const whole = JOBS.flatMap(wantedBy);
      const wanted = whole.map(({ body }) => body);
      const texts = whole
        .flatMap(() => wantedBy(TEXTS))
        .flatMap(({ job, body }) => this.#unlike(key, job, body));
      if (texts.length > 0) return [`${key}: not the text of its source`];
      const differing =
        whole.length === 0
          ? [this.store.differences(key, null)]
          : whole.map(({ job, body }) => this.#unlike(key, job, body, this.settingsOf(job).keepsTexts));
      const isRight = differing.some((fields) => fields.length === 0);
      const mayBeLeft = this.#hasLost || changed.has(key) || this.store.hasUnansweredId(key);
      // Another product has the new url: the rename is rejected in every run, until somebody decides.
      if (this.store.refusedMoves.has(key)) return [];
      if (isRight || (wanted.length === 0 && mayBeLeft)) return [];
      return [`${key}: ${differing.join(' or ')} instead of ${wanted.join(' or ') || 'nothing'}`];
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
    const { store, versions, edits } = this;
    const isObserving = () => this.#isProbed && observes(store.profile);
    const state = waiting(await this.#keeping.open(process, artifacts), {
      store,
      versions,
      edits,
      process,
      isObserving,
    });
    const context: RunContext = {
      state,
      artifacts,
      version: '1',
      redact: (text) => text,
      workspaceDir: '/',
      signal: process.signal,
      clock: () => 0,
      newRunId: () => `run-${++this.#runs}`,
      openStorefront: async () => readingStorefront(this.store, process),
      onEvent: () => {},
    };
    try {
      await work(context, process);
    } catch (error) {
      const isRefusal = error instanceof UsageError;
      if (!isRefusal && (faults === NO_FAULTS || !isExpected(error))) throw error;
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

  /** Creates a run as createReconciledRun does. */
  async #create({ context, settings }: Work, beginning: Partial<Run>): Promise<Run> {
    const { state, artifacts } = context;
    const stateLoss = await this.#reconcile(context);
    const id = context.newRunId();
    const { resend } = settings;
    const run = sampleRun({ id, resend, ...beginning, ...(stateLoss === null ? {} : { stateLoss }) });
    await state.runs.create(run);
    await saveSnapshot(artifacts.run(id), snapshotOf([]));
    return (await state.runs.get(id)) ?? run;
  }

  async #planned(work: Work, run: Run): Promise<Plan> {
    const known = await readPlan(work.context.artifacts.run(run.id));
    if (known !== undefined) return known;
    const at = this.versions.next();
    this.#plannedAt.set(run.id, at);
    this.edits.plan(run.id, {
      at,
      isProbed: this.#isProbed,
      resend: run.resend,
      conflicts: conflictsOf(run, work.settings),
      isUndo: run.undo !== undefined,
    });
    const plan = await planRun(work.context, work.settings, run, this.#note);
    if (run.restore !== undefined && plan.shards.length > 0) this.#note('restored records');
    if (run.release?.conflicts === 'store') this.#note('kept against the source');
    if (plan.edited !== undefined) this.#note('plans with edited records');
    if ((plan.renamed?.records ?? 0) > 0)
      this.#note(plan.renamed?.byId === true ? 'renamed by id' : 'renamed anew');
    return plan;
  }

  /** From the lock of the target to the end of the run. */
  async #planAndApply(work: Work, begun: Run): Promise<void> {
    const { context, process } = work;
    const { state, artifacts } = context;
    let run = begun;
    let plan: Plan | null = null;
    let failure: unknown = null;
    this.versions.begin(writingRun(run));
    try {
      const known = await readPlan(artifacts.run(run.id));
      if (known !== undefined) await refuseOutdated(context, run, known);
      plan = await this.#planned(work, run);
      const isPart = run.kind === 'retry' || run.kind === 'release';
      if (isPart && plan.shards.length > 0) await supersedeOthers(context, run);
      if (plan.shards.length > 0 && run.beginPosition === undefined)
        run = await state.runs.update(run.id, { beginPosition: await state.ledger(TARGET).position() });
      const { job, store } = requestOf(run.job, work.settings);
      const deliver = deliverTo(this.store, {
        process,
        run: writingRun(run),
        versions: this.versions,
        edits: this.edits,
        onRequest: () => this.#lostSinceRequest.clear(),
      });
      await applyStep(context, { run, plan, job, store, lock: LOCK }, deliver);
      if (plan.confirmed !== undefined) await state.ledger(TARGET).confirm(plan.confirmed);
    } catch (error) {
      if (!isExpected(error) || error instanceof Died) throw error;
      failure = error;
    } finally {
      run = await this.#noteEnd(context, process, run);
    }
    await this.#finish(work, run, plan, failure);
  }

  /** As storeEndPositionAtEnd of importRun. */
  async #noteEnd({ state }: RunContext, process: FaultyProcess, run: Run): Promise<Run> {
    if (process.isDead) return run;
    const endPosition = await state.ledger(TARGET).position();
    this.versions.end(run.id);
    return await state.runs.update(run.id, { endPosition });
  }

  /** Every row is counted once, and what counts as done is what was recorded. */
  #checkTotals({ id, kind, ...run }: Run, { source }: Settings, { totals, plan }: Ended): void {
    if (plan === null) return;
    const { rows, records, applied, unchanged, rejected, skipped, unsent, held, deleted } = totals;
    const parts = { applied, unchanged, rejected, skipped, unsent, held };
    const sum = Object.values(parts).reduce((one, other) => one + other, 0);
    const wrong = (what: string) =>
      this.wrongTotals.push(`${kind} ${id}: ${what}: ${JSON.stringify(totals)}`);
    if (sum !== records) wrong(`${records} records, ${sum} accounted for`);
    if (Object.values(totals.inRows).reduce((one, other) => one + other, 0) !== rows)
      wrong(`${rows} rows, others accounted for`);
    const hasSource = run.undo === undefined && run.release === undefined && run.restore === undefined;
    const items = itemsOf(run.job, source).length;
    if (hasSource && rows !== items) wrong(`${items} rows in the source`);
    if (!this.versions.hasApplied(id, { applied, deleted })) wrong('others were recorded');
  }

  async #finish({ context, settings }: Work, run: Run, plan: Plan | null, failure: unknown): Promise<void> {
    const ended = await finishRun(context, run, plan, failure);
    this.#checkTotals(run, settings, ended);
    if (!ended.isComplete) return;
    const { sent, left, keyless } = ended;
    const plannedAt = this.#plannedAt.get(run.id) ?? 0;
    const isWhole = run.kind === 'run';
    const decided = new Set([...left, ...sent.map(({ key }) => key)]);
    const items = (isWhole ? recordsOf(run.job, settings.source) : []).filter(({ spans: [row] }) =>
      keyless.every(({ line }) => line !== row?.from),
    );
    for (const { key } of items) if (!decided.has(key)) this.versions.found(run, key, plannedAt);
    await this.#noteStale(run, isWhole ? items : sent, left, settings);
  }
}

function approvedKind({ undo, restore }: Run): Run['kind'] {
  if (restore !== undefined) return 'release';
  return undo === undefined ? 'run' : 'undo';
}

/** What decides of a field that was changed on both sides (docs/using.md, What people edit in the store). */
function conflictsOf(
  { kind, undo, release }: Run,
  { conflicts = 'hold' }: Settings,
): 'hold' | 'source' | 'store' {
  if (undo !== undefined) return 'store';
  return kind === 'release' ? (release?.conflicts ?? 'source') : conflicts;
}

/** What ends a process, or a run, without being a bug. */
function isExpected(error: unknown): boolean {
  return error instanceof Died || error instanceof StoreferryError;
}

function isUnsure(mark: LedgerMark | undefined): boolean {
  return mark !== undefined && (mark.idProof !== undefined || mark.fingerprint === IN_DOUBT);
}

async function readText(folder: ReturnType<RunContext['artifacts']['run']>, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await folder.read(name)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}
