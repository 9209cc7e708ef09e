import { randomInt } from 'node:crypto';
import type { ExportJob } from '../config/job/export-job.ts';
import { openWorkspace, type Workspace } from '../config/workspace.ts';
import { UsageError } from '../model/errors.ts';
import type { Run } from '../model/run.ts';
import type { RunContext } from '../run/context.ts';
import type { RunEvent } from '../run/events.ts';
import type { ExportRequest } from '../run/export/export-request.ts';
import type { ImportRequest } from '../run/import/import-request.ts';
import { openMapping } from '../run/mapping/open-mapping.ts';
import type { RunRequest } from '../run/run-request.ts';
import { type StoreClients, type StoreListener, storeClients } from '../run/store-clients.ts';
import { openArtifacts } from '../state/open-artifacts.ts';
import { openState, type StateOptions } from '../state/open-state.ts';
import { packageVersion } from './version.ts';

/** Letters of a run id: none that could be taken for another when it is typed. */
const ID_LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const ID_LENGTH = 8;

/** An id that begins with a letter: the queue takes no id of digits only. */
export function newRunId(): string {
  const letters = Array.from({ length: ID_LENGTH }, (_, index) =>
    ID_LETTERS.charAt(randomInt(index === 0 ? 23 : ID_LETTERS.length)),
  );
  return letters.join('');
}

/** A workspace with its state and artifacts open. */
export interface OpenContext extends AsyncDisposable {
  readonly workspace: Workspace;
  readonly context: RunContext;
  /** Where state lives, if it is shared. */
  readonly redisUrl: string | undefined;
  /** How long the locks of a silent process last, where a test is in a hurry. */
  readonly leaseMs: number | undefined;
  /** How the clients of stores fare that were opened so far. */
  readonly storeStats: StoreClients['stats'];
}

interface ContextOptions extends Pick<StateOptions, 'patienceMs'> {
  /** Is told what happens between this process and its stores. */
  readonly listener?: StoreListener;
}

/** For tests: shortens the leases of locks and queued jobs. */
function leaseFromEnvironment(): number | undefined {
  const text = process.env['STOREFERRY_LEASE_MS'];
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}

/** Opens the workspace in a folder for runs, with clients of stores made as they are needed. */
export async function openContext(
  directory: string,
  onEvent: (event: RunEvent) => void,
  signal: AbortSignal,
  { listener, ...options }: ContextOptions = {},
): Promise<OpenContext> {
  const workspace = openWorkspace(directory, process.env);
  const { redisUrl, artifacts: place } = workspace.settings();
  const artifacts = openArtifacts(place);
  const leaseMs = leaseFromEnvironment();
  const state = await openState({ redisUrl, dir: workspace.path('.storeferry'), leaseMs, ...options });
  const version = packageVersion();
  const stores = storeClients(version, state.sharedStore, listener);
  return {
    workspace,
    redisUrl,
    leaseMs,
    storeStats: stores.stats,
    context: {
      workspaceDir: workspace.dir,
      state,
      artifacts,
      version,
      clock: Date.now,
      newRunId,
      openStorefront: stores.open,
      onEvent,
      signal,
    },
    async [Symbol.asyncDispose]() {
      await stores[Symbol.asyncDispose]();
      await state[Symbol.asyncDispose]();
    },
  };
}

/** What an import job needs, read from the workspace; UsageError for an unknown job, or one that is no import. */
export async function importRequest(
  workspace: Workspace,
  name: string,
  resend: boolean,
): Promise<ImportRequest> {
  const job = workspace.job(name);
  if (job.kind !== 'import') {
    throw new UsageError(
      `The job ${name} is an export: it reads the store, and sends nothing to plan or retry.`,
      {
        hint: `Run it with: storeferry run ${name}`,
      },
    );
  }
  const store = workspace.store(job.store);
  const mapping = await openMapping(workspace.mapping(job.mapping), job, workspace.dir);
  return { job, store, mapping, resend };
}

/** What an export job needs, read from the workspace. */
function exportRequest(workspace: Workspace, job: ExportJob): ExportRequest {
  return { job, store: workspace.store(job.store) };
}

/** What a job of either kind needs, read from the workspace; UsageError for an unknown job, or an export to resend. */
export async function runRequest(workspace: Workspace, name: string, resend: boolean): Promise<RunRequest> {
  const job = workspace.job(name);
  if (job.kind === 'import') return await importRequest(workspace, name, resend);
  if (!resend) return exportRequest(workspace, job);
  throw new UsageError(`--resend sends records anew, and the job ${name} is an export.`, {
    hint: `Leave it out: storeferry run ${name}`,
  });
}

/** The run of an id; UsageError when there is none. */
export async function knownRun({ state }: RunContext, id: string): Promise<Run> {
  const run = await state.runs.get(id);
  if (run === undefined) {
    throw new UsageError(`There is no run ${id}.`, { hint: '`storeferry runs` lists the latest.' });
  }
  return run;
}
