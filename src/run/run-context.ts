import type { ExportJob, ImportJob } from '../config/job/job.ts';
import type { StoreConfig } from '../config/store-config.ts';
import { masked, withoutPeople } from '../model/masked.ts';
import type { Outcome } from '../model/operation.ts';
import type { Run, RunProgress, StateLoss } from '../model/run.ts';
import { explainError, explainFailure, firstError, StoreferryError } from '../model/storeferry-error.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { Artifacts } from '../state/artifacts.ts';
import type { FileAccess } from '../state/file-access.ts';
import type { LockHolder, State } from '../state/state.ts';
import type { Storefront } from '../storefront/storefront.ts';
import type { MappingSource } from './inputs/open-mapping.ts';

/** What the steps of a run need from the process they run in; made once at the edge (cli/, queue/). */
export interface RunContext extends FileAccess {
  readonly state: State;
  readonly artifacts: Artifacts;
  /** The version of Storeferry: part of a run's digest, since another version may plan otherwise. */
  readonly version: string;
  /** How a command for this workspace begins when it is typed, for reports; `storeferry` when left out. */
  readonly program?: string;
  /** Takes secrets out of a text by their values, for all that is stored or printed of a run. Left out: there are none. */
  readonly redact?: Redact;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** How long this process and earlier ones have worked on the run under way, in milliseconds; absent outside of runs. */
  readonly workedMs?: () => number;
  /** A new run id: short, random, fit for file names. */
  readonly newRunId: () => string;
  /** One client a store and process, so that all work on a store shares its limiter. */
  readonly openStorefront: (store: StoreConfig) => Storefront | Promise<Storefront>;
  readonly onEvent: (event: RunEvent) => void;
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
}

/** What happens in a run, for terminal, log and dashboard. */
export type RunEvent =
  /** Another run is at work on what this one needs: the store's resource, the file it writes, the planning of its job. */
  | {
      readonly type: 'waiting';
      readonly heldBy: LockHolder | null;
      readonly needs: 'store' | 'destination' | 'plan';
    }
  /** The result of earlier requests is unknown: this many operations for the same records wait, for this long. */
  | { readonly type: 'waiting-for-requests'; readonly operations: number; readonly ms: number }
  /** The state does not hold all that was sent, and what may differ is in doubt. */
  | { readonly type: 'state-loss'; readonly loss: StateLoss }
  | { readonly type: 'begun'; readonly run: Run; readonly continued: boolean }
  /** A verification is about to send this many of the job's known records again. */
  | { readonly type: 'sampled'; readonly run: Run; readonly records: number; readonly known: number }
  /** The notification of the end could not be delivered; `host` is all of its address that may be shown. */
  | { readonly type: 'not-notified'; readonly host: string; readonly problem: string }
  /** The page that shows how the run ended could not be written. */
  | { readonly type: 'report-not-written'; readonly problem: string }
  | ProgressEvent;

/** The progress of a step. */
export interface ProgressEvent extends Omit<RunProgress, 'at' | 'applied' | 'rejected'> {
  readonly type: 'progress';
  /** While applying. */
  readonly records?: Pick<RunProgress, 'applied' | 'rejected'>;
}

/** What a job of either kind needs to be run. */
export type RunRequest = ImportRequest | ExportRequest;

/** Whether it is an export's. */
export function isExportRequest(request: RunRequest): request is ExportRequest {
  return request.job.kind === 'export';
}

/** What an import needs to know of the workspace: read and validated at the edge. */
export interface ImportRequest {
  readonly job: ImportJob;
  readonly store: StoreConfig;
  readonly mapping: MappingSource;
  /** Ignore fingerprints: send every record, whatever the ledger says. */
  readonly resend: boolean;
}

/** What an export needs to know of the workspace: read and validated at the edge. */
export interface ExportRequest {
  readonly job: ExportJob;
  readonly store: StoreConfig;
}

/** What a verification needs to know. */
export interface VerifyRequest {
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The most records to send again. */
  readonly sample: number;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
}

/** A bug of our own that ended a run. The run is recorded as failed, and this is its report. */
export class RunBug extends Error {
  readonly report: RunFacts;

  constructor(report: RunFacts, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'RunBug';
    this.report = report;
  }
}

/** Takes secrets out of a text. */
type Redact = (text: string) => string;

/**
 * The state, with the secrets taken out of every message that is stored of a run: why it ended, and what the store said of
 * its records. What is read of it afterwards, for whichever report, has none.
 */
export function redactedState(state: State, redact: Redact): State {
  const { runs } = state;
  const withoutSecrets = <Changes extends { readonly error?: string | null }>(changes: Changes): Changes =>
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
 * What ended a run, as it is stored: without secrets, and of contacts and orders without personal data. A mask does not know
 * every name, so the words of the store are left out, and what a bug quotes is hidden.
 */
export function runErrorOf(
  failure: unknown,
  { resource }: Pick<Run, 'resource'>,
  { redact = (text) => text }: Pick<RunContext, 'redact'>,
): string {
  const error = firstError(failure);
  if (resource === 'products') return redact(explainFailure(error));
  if (!(error instanceof StoreferryError)) return redact(withoutPeople(explainFailure(error), []));
  const { place, hint, unquoted: message } = error;
  return redact(masked(explainError({ place, hint, message })));
}

/** A signal that aborts when the other does, with a reason of its own. */
export function abortingWith(signal: AbortSignal, reason: () => Error): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(reason());
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}
