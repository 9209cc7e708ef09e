import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { StoreConfig } from '../config/store-config.ts';
import { readWorkspace, type Workspace } from '../config/workspace.ts';
import { CLONE_JOB, jobFile, jobFileName, type Run } from '../model/run.ts';
import { explainError, type StateError, UsageError } from '../model/storeferry-error.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import {
  type RunContext,
  type RunEvent,
  redactedState,
  type StoreClients,
  type StoreListener,
  storeClients,
} from '../run/run-context.ts';
import { openArtifacts, openState } from '../state/open-state.ts';
import type { StateOptions } from '../state/state.ts';
import { type SecretRedactor, secretRedactor } from '../text/mask-personal-data.ts';
import { counted, listed, PROGRAM } from '../text/printable.ts';
import type { Invocation } from './define-command.ts';
import { packageVersion } from './package-version.ts';
import { parentProcess } from './parent-process.ts';
import { userAndHost } from './record-command.ts';

/** Characters of a run id, without similar-looking ones. */
const ID_LETTERS = 'abcdefghjkmnpqrstuvwxyz';
const ID_CHARACTERS = `${ID_LETTERS}23456789`;
const ID_LENGTH = 8;

/** How many reported problems are remembered. */
const MAX_REMEMBERED = 1_000;

/** An id begins with a letter, because the queue does not accept ids of digits only. */
export function newRunId(): string {
  const characters = Array.from({ length: ID_LENGTH }, (_, index) =>
    ID_CHARACTERS.charAt(randomInt((index === 0 ? ID_LETTERS : ID_CHARACTERS).length)),
  );
  return characters.join('');
}

/** A workspace with its state and artifacts open. */
export interface OpenContext extends AsyncDisposable {
  readonly workspace: Workspace;
  readonly context: RunContext;
  /** The location of shared state; undefined if it is embedded. */
  readonly redisUrl: string | undefined;
  /** How long the locks of a dead process last; set only by tests. */
  readonly leaseMs: number | undefined;
  /** Statistics of the store clients opened so far. */
  readonly storeStats: StoreClients['stats'];
}

interface ContextOptions extends Pick<RunContext, 'program'>, Pick<StateOptions, 'commandTimeoutMs'> {
  /** As in `StateOptions`, or what decides it. */
  readonly withoutThread?: boolean | ((workspace: Workspace) => boolean);
  /** Called while the state opens. */
  readonly meanwhile?: (workspace: Workspace) => Promise<unknown>;
  /** Called once for each unreadable part of the state, which is ignored. Default: prints it. */
  readonly onUnreadable?: (problem: string) => void;
  /** Knows additional secrets. Default: a redactor of this context alone. */
  readonly secrets?: SecretRedactor;
  /** Called with the traffic between this process and its stores. */
  readonly listener?: StoreListener;
}

/** For tests: shortens the leases of locks and queued jobs. */
function leaseFromEnvironment() {
  const text = process.env['STOREFERRY_LEASE_MS'];
  return text === undefined || !/^\d+$/.test(text) ? undefined : Number(text);
}

/** Opens the workspace in a folder for runs; clients of stores are created on demand. */
export async function openContext(
  directory: string,
  onEvent: (event: RunEvent) => void,
  signal: AbortSignal,
  {
    listener,
    meanwhile,
    program = PROGRAM,
    secrets = secretRedactor(),
    onUnreadable = (problem) => void process.stderr.write(`${problem}\n`),
    withoutThread,
    ...options
  }: ContextOptions = {},
): Promise<OpenContext> {
  const workspace = readWorkspace(directory, process.env);
  const { redisUrl, artifacts: place, allowedFolders } = workspace.settings();
  const artifacts = openArtifacts(place);
  const leaseMs = leaseFromEnvironment();
  const redact = (text: string) => {
    for (const secret of workspace.secrets()) secrets.add(secret);
    return secrets.redact(text);
  };
  const opened = await openState({
    redisUrl,
    dir: workspace.path('.storeferry'),
    artifacts,
    leaseMs,
    ...options,
    withoutThread: typeof withoutThread === 'function' ? withoutThread(workspace) : withoutThread,
    meanwhile: () => Promise.resolve(meanwhile?.(workspace)),
    onUnreadable: onceEach(onUnreadable),
  });
  const state = redactedState(opened, redact);
  const version = packageVersion();
  const stores = storeClients(version, state.sharedStore, listener);
  return {
    workspace,
    redisUrl,
    leaseMs,
    storeStats: stores.stats,
    context: {
      workspaceDir: workspace.dir,
      allowedFolders,
      state,
      artifacts,
      redact,
      hasJob: (job) => jobFileName(job) === CLONE_JOB || existsSync(workspace.path(jobFile(job))),
      version,
      program,
      clock: Date.now,
      newRunId,
      actors: parentProcess()?.actors ?? [userAndHost()],
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

/** Opens the workspace of a command that shows no progress. */
export function openCommandContext(
  { directory, program, interruptSignal }: Invocation,
  options: ContextOptions,
): Promise<OpenContext> {
  return openContext(directory, () => {}, interruptSignal(), { program, ...options });
}

/** The store of this name, or the only one. UsageError, with a hint, if none is named and there is not exactly one. */
export function selectStore(
  workspace: Workspace,
  name: string | undefined,
  hintFor = (names: readonly string[]) => `Name one with --store: ${names.join(', ')}.`,
): StoreConfig {
  const names = workspace.storeNames();
  const [only, ...others] = names;
  const chosen = name ?? (others.length === 0 ? only : undefined);
  if (chosen !== undefined) return workspace.store(chosen);
  throw new UsageError(`The workspace has ${counted(names.length, 'store')}.`, { hint: hintFor(names) });
}

/** Reports each problem once, because a dashboard reads the same records every second. */
function onceEach(say: (problem: string) => void): (problem: StateError) => void {
  const reported = new Set<string>();
  return (problem) => {
    const text = explainError(problem);
    if (reported.has(text)) return;
    if (reported.size < MAX_REMEMBERED) reported.add(text);
    say(text);
  };
}

/** How many matching runs are listed for an ambiguous id. */
const RUNS_NAMED = 5;

/** The run with this id or id prefix; undefined if there is none. UsageError if several match. */
export async function findRun({ state }: Pick<RunContext, 'state'>, id: string): Promise<Run | undefined> {
  const exact = await state.runs.get(id);
  if (exact !== undefined || id === '') return exact;
  const found = (await state.runs.list({})).filter((run) => run.id.startsWith(id));
  if (found.length <= 1) return found[0];
  const named = found.slice(0, RUNS_NAMED).map((run) => `${run.id} (${run.job})`);
  const more = found.length > RUNS_NAMED ? [`${found.length - RUNS_NAMED} more`] : [];
  throw new UsageError(`${found.length} runs begin with ${id}: ${listed([...named, ...more])}.`, {
    hint: 'Type more of the id.',
  });
}

/** The run with this id or id prefix; UsageError if none or several match. */
export async function knownRun(context: Pick<RunContext, 'state'>, id: string): Promise<Run> {
  return (await findRun(context, id)) ?? refuseUnknownRun(id);
}

/** What the queue knows of the run with this id, or of the only one that waits and whose id begins so. UsageError if there is none. */
export async function findQueued(queue: RunQueue, typed: string) {
  const [first, ...others] = (await queue.waiting()).filter(({ run }) => run.startsWith(typed));
  const id = first === undefined || others.length > 0 || typed === '' ? typed : first.run;
  return { id, queued: (await queue.find(id)) ?? refuseUnknownRun(typed) };
}

/** UsageError: no run has this id. */
export function refuseUnknownRun(id: string): never {
  throw new UsageError(`There is no run ${id}.`, { hint: '`storeferry runs` lists the latest.' });
}
