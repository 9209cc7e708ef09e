import type { ExportJob, ImportJob } from '../config/job/job.ts';
import type { StoreConfig } from '../config/store-config.ts';
import type { WorkspaceCheck } from '../config/workspace.ts';
import type { Resource, SentFields } from '../model/mapped-record.ts';
import type { Outcome } from '../model/operation.ts';
import type { Plan, PlannedShard } from '../model/plan.ts';
import { storeIdentity } from '../model/remote-address.ts';
import type { Drift, Run, RunProgress, Sample, StateLoss } from '../model/run.ts';
import type { JudgedWave } from '../model/safety-limits.ts';
import {
  explainError,
  explainFailure,
  firstError,
  messageOf,
  StoreferryError,
} from '../model/storeferry-error.ts';
import type { Finding } from '../report/document-text.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { Artifacts } from '../state/artifacts.ts';
import type { FileAccess } from '../state/file-access.ts';
import type { Lock, LockHolder, OutcomeTally, SharedStore, State } from '../state/state.ts';
import type { Attempt, Storefront, StorefrontEvent } from '../storefront/storefront.ts';
import { maskPeople, maskPersonalData } from '../text/mask-personal-data.ts';
import type { MappingSource } from './inputs/open-mapping.ts';

/** What the steps of a run need from their process; created once at the edge (cli/, queue/). */
export interface RunContext extends FileAccess {
  readonly state: State;
  readonly artifacts: Artifacts;
  /** Whether the workspace has a job now, which may be renamed or deleted at any time. Default: it has each. */
  readonly hasJob?: (job: string) => boolean;
  /** The version of Storeferry: part of a run's digest, because another version may plan differently. */
  readonly version: string;
  /** The beginning of commands for this workspace, for reports; default: `storeferry`. */
  readonly program?: string;
  /** Removes secrets, by their values, from every text about a run that is stored or printed. */
  readonly redact: Redact;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** How long this process and earlier ones have worked on the current run, in milliseconds; absent outside of runs. */
  readonly workedMs?: () => number;
  /** Requests to end unfinished runs of the job, by run, as they were when this run got its lock: they are no requests to end it. */
  readonly metRequests?: ReadonlyMap<string, number>;
  /** A new run id: short, random, and valid in file names. */
  readonly newRunId: () => string;
  /** The id that its run was queued with: the name of a file that arrived begins with it. Absent where a person runs a job directly. */
  readonly announcedId?: string | undefined;
  /** The names of who asks for its runs: empty for a token that people share, absent for a schedule, a file or an event. */
  readonly actors?: readonly string[] | undefined;
  /** One client per store and process, so that all work on a store shares its limiter. */
  readonly openStorefront: (store: StoreConfig) => Storefront | Promise<Storefront>;
  readonly onEvent: (event: RunEvent) => void;
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
}

/** Events of a run, for terminal, log and dashboard. */
export type RunEvent =
  /**
   * Another run uses what this one needs: the resource of the store, the destination file, or the planning of its
   * job.
   */
  | {
      readonly type: 'waiting';
      readonly heldBy: LockHolder | null;
      readonly needs: 'store' | 'destination' | 'plan';
    }
  /** The results of earlier requests are unknown: this many operations for the same records wait this long. */
  | { readonly type: 'waiting-for-requests'; readonly operations: number; readonly ms: number }
  /** The state has lost data, and the affected records are in doubt. */
  | { readonly type: 'state-loss'; readonly loss: StateLoss }
  | { readonly type: 'begun'; readonly run: Run; readonly continued: boolean }
  /** A verification is about to send this many of the job's known records again. */
  | { readonly type: 'sampled'; readonly run: Run; readonly records: number; readonly known: number }
  /** A comparison is about to ask for this many records by writes that change nothing. */
  | { readonly type: 'touching'; readonly run: Run; readonly records: number }
  /** A wave was sent and judged; `number` counts from 1. */
  | {
      readonly type: 'wave';
      readonly number: number;
      readonly of: number;
      readonly wave: JudgedWave;
      readonly resource: Resource;
    }
  /** A plan is approved, and this has changed since it was made, in words. */
  | { readonly type: 'changed-since-plan'; readonly text: string }
  /** The notification of the end could not be delivered. `host` is the only part of its address that may be shown. */
  | { readonly type: 'not-notified'; readonly host: string; readonly problem: string }
  /** The report of the run could not be written. */
  | { readonly type: 'report-not-written'; readonly problem: string }
  | ProgressEvent;

/** The progress of a step. */
export interface ProgressEvent extends Omit<RunProgress, 'at' | 'applied' | 'rejected'> {
  readonly type: 'progress';
  /** Only while applying. */
  readonly records?: Pick<RunProgress, 'applied' | 'rejected'>;
}

/** The input of a job of either kind. */
export type RunRequest = ImportRequest | ExportRequest;

/** Whether it is an export. */
export function isExportRequest(request: RunRequest): request is ExportRequest {
  return request.job.kind === 'export';
}

/** The input of an import, read and validated at the edge. */
export interface ImportRequest {
  readonly job: ImportJob;
  readonly store: StoreConfig;
  readonly mapping: MappingSource;
  /** Reads the export of the store whose products the job adopts. */
  readonly baseline?: MappingSource | undefined;
  /** What the product imports of the workspace send to this store, this job included; left out: unknown. */
  readonly senders?: readonly SentFields[];
  /** Of these headers the ones that some mapping for contacts names; left out: none. */
  readonly knownContactHeaders?: (headers: readonly string[]) => ReadonlySet<string>;
  /** Ignore fingerprints: send every record, even if it is unchanged. */
  readonly resend: boolean;
  /** Plan only this part of the source. */
  readonly sample?: Sample | undefined;
}

/** The input of an export, read and validated at the edge. */
export interface ExportRequest {
  readonly job: ExportJob;
  readonly store: StoreConfig;
  /** A trial of `mode: new`: the most orders of its file; the next run writes them again. */
  readonly limit?: number | undefined;
  /** Read all orders, also where `mode: new` may read only recent ones. */
  readonly full?: boolean;
  /** Write lost files of `mode: new` again instead, from those of this run or time on. */
  readonly since?: string | undefined;
}

/** The input of a verification. */
export interface VerifyRequest {
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The most records to send again. */
  readonly sample: number;
  /** In [0, 1), like Math.random. */
  readonly random: () => number;
}

/** The input of a comparison of the store with what it last answered. */
export interface DriftRequest extends Omit<VerifyRequest, 'sample'> {
  /** The most records to compare; null: all. */
  readonly sample: number | null;
  /** Compare only these parts of the records; left out: all. */
  readonly slice?: Drift['slice'];
  /** Take what is found into the ledger. */
  readonly accept?: boolean;
}

/** A planned run while it is applied. */
export interface Delivery {
  readonly run: Run;
  readonly plan: Plan;
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The lock that allows writing: nothing is sent or recorded after it is lost. */
  readonly lock: Lock;
}

/**
 * Sends shards until every operation in them has an outcome. `onTally` takes what was recorded of the run so far, and throws where the
 * store has refused too many records. `deliverInProcess` does not call it: `deliverWithTraffic` reports and judges each outcome itself.
 */
export type DeliverShards = (
  context: RunContext,
  delivery: Delivery,
  shards: readonly PlannedShard[],
  onTally: (tally: OutcomeTally) => void,
) => Promise<void>;

/** A bug of Storeferry that ended a run. The run is recorded as failed; this is its report. */
export class RunBug extends Error {
  readonly report: RunFacts;

  constructor(report: RunFacts, cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = 'RunBug';
    this.report = report;
  }
}

/** Removes secrets from a text. */
type Redact = (text: string) => string;

/**
 * The state, with secrets removed from every stored message of a run: why it ended, and what the store answered about
 * its records. `planStep` redacts what it plans.
 */
export function redactedState(state: State, redact: Redact): State {
  const { runs } = state;
  const withoutSecrets = <Changes extends { readonly error?: string | null }>(changes: Changes) =>
    typeof changes.error === 'string' ? { ...changes, error: redact(changes.error) } : changes;
  return {
    ...state,
    runs: {
      ...runs,
      create: (run) => runs.create(withoutSecrets(run)),
      update: (id, changes) => runs.update(id, withoutSecrets(changes)),
      record: (run, shard, results, ...more) =>
        runs.record(
          run,
          shard,
          results.map((result) => ({ ...result, outcome: redactedOutcome(result.outcome, redact) })),
          ...more,
        ),
    },
    [Symbol.asyncDispose]: () => state[Symbol.asyncDispose](),
  };
}

function redactedOutcome(outcome: Outcome, redact: Redact): Outcome {
  switch (outcome.kind) {
    case 'applied':
    case 'left':
      return outcome;
    case 'rejected':
    case 'unsent':
      return { ...outcome, reason: { ...outcome.reason, message: redact(outcome.reason.message) } };
    default:
      return outcome satisfies never;
  }
}

/**
 * The error that ended a run, for storage: without secrets, and for contacts and orders without personal data. A mask
 * does not know every name, so the words of the store are left out, and quotes in messages of bugs are hidden.
 */
export function runErrorOf(
  failure: unknown,
  { resource }: Pick<Run, 'resource'>,
  { redact }: RunContext,
): string {
  const error = firstError(failure);
  if (resource === 'products') return redact(explainFailure(error));
  if (!(error instanceof StoreferryError)) return redact(maskPeople(explainFailure(error), []));
  const { place, hint, unquoted: message } = error;
  return redact(maskPersonalData(explainError({ place, hint, message })));
}

/** A signal that aborts when the other does, with its own reason. */
export function abortingWith(signal: AbortSignal, reason: () => Error): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(reason());
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}

/** The clients of a process, one per store, so that all work on a store shares one limiter. */
export type StoreClients = ReturnType<typeof storeClients>;

/** The statistics of the client of a store. */
export interface StoreStats {
  readonly store: string;
  readonly stats: ReturnType<Storefront['stats']>;
}

/** Observes the traffic between this process and a store. */
export interface StoreListener {
  readonly onEvent: (store: string, event: StorefrontEvent) => void;
  /** If omitted, single requests are not measured. */
  readonly onAttempt?: ((store: string, attempt: Attempt) => void) | undefined;
}

/** What processes share about the store of an identity; undefined if there is only one process. */
type SharedStoreOf = (storeId: string) => SharedStore | undefined;

/** Creates clients on demand, and closes them together. */
export function storeClients(version: string, sharedStore: SharedStoreOf, listener?: StoreListener) {
  const clients = new Map<string, { readonly store: string; readonly client: Storefront }>();
  const listening = (store: string) => {
    const onAttempt = listener?.onAttempt;
    return {
      onEvent: (event: StorefrontEvent) => listener?.onEvent(store, event),
      onAttempt: onAttempt === undefined ? undefined : (attempt: Attempt) => onAttempt(store, attempt),
    };
  };
  return {
    /**
     * The client of a store with its current configuration: a worker outlives changes of stores.yaml. The code that
     * sends requests is loaded with the first client, because it takes a tenth of a second and plans do not need it.
     */
    async open(store: StoreConfig): Promise<Storefront> {
      const { createStorefront } = await import('../storefront/storefront.ts');
      const settings = JSON.stringify(store);
      const known = clients.get(settings);
      if (known !== undefined) return known.client;
      const { name, baseUrl, apiKey, limits } = store;
      const userAgent = `storeferry/${version}`;
      const shared = sharedStore(storeIdentity(store));
      const client = createStorefront({
        baseUrl,
        apiKey,
        userAgent,
        limits,
        sharedPause: shared,
        sharedRate: shared,
        attemptMs: limits.timeoutSeconds * 1_000,
        ...listening(name),
      });
      clients.set(settings, { store: name, client });
      return client;
    },
    /** The statistics of each client in the order of opening; a store whose configuration changed has several. */
    stats: (): readonly StoreStats[] =>
      [...clients.values()].map(({ store, client }) => ({ store, stats: client.stats() })),
    async [Symbol.asyncDispose]() {
      await Promise.all([...clients.values()].map(({ client }) => client.close()));
    },
  };
}

/** Where probes of stores are kept: a folder of the artifacts that belongs to no run. */
export const PROBES_FOLDER = 'probes';

/** A finding without its subject. */
export type Facts = Omit<Finding, 'subject'>;

/** What is as it should be. */
export function okFinding(message: string): Facts {
  return { verdict: 'ok', message };
}

/** What may become a problem. */
export function warningFinding(message: string, hint?: string): Facts {
  return { verdict: 'warning', message, hint };
}

/** What a run would fail of. */
export function errorFinding(message: string, hint?: string): Facts {
  return { verdict: 'error', message, hint };
}

/** Looks whether one thing that a run needs is there. */
export interface Look {
  readonly subject: string;
  /** Returns findings; a rejection is an error as well. */
  look(signal: AbortSignal): Promise<readonly Facts[]>;
}

/** The facts about the workspace for checks. */
export interface CheckedWorkspace extends Pick<WorkspaceCheck, 'stores' | 'jobs' | 'mappings' | 'settings'> {
  readonly dir: string;
  /** The variables without value that a store needs. */
  readonly unsetOf: (store: string) => readonly string[];
  readonly version: string;
  readonly newRunId: () => string;
}

/** A check of `check --online`: returns what it looks at in this workspace. */
export type OnlineCheck = (workspace: CheckedWorkspace) => readonly Look[];

/** The folders and settings that decide which files jobs may use. */
export function accessOf({ dir, settings }: Pick<CheckedWorkspace, 'dir' | 'settings'>): FileAccess {
  return { workspaceDir: dir, allowedFolders: settings?.allowedFolders };
}
