import { BlockList, isIP } from 'node:net';
import type { FastifyPluginCallback } from 'fastify';
import type { Workspace } from '../config/workspace.ts';
import type { JobAction } from '../model/action.ts';
import { errorCode, UsageError } from '../model/storeferry-error.ts';
import type { knownStore } from '../onboarding/new-workspace.ts';
import type { JobFacts, ScheduleStatus } from '../report/run-facts.ts';
import type { RunContext } from '../run/run-context.ts';

// Tokens of programs and accounts of people, which commands make too.
export { MAX_TOKEN_DAYS, MIN_PASSWORD, openAccounts, TOKEN_DAYS } from './access/accounts.ts';
export { sameText } from './access/tokens.ts';

/** What the pages of the dashboard are made from. Created at the edge (cli/). */
export interface DashboardContext {
  /** State, artifacts, clock and version. Its `signal` aborts when the dashboard stops. */
  readonly context: RunContext;
  /**
   * The current workspace: people edit its files while the dashboard runs, so every page opens it again. Errors in a
   * file are thrown when the file is used (ConfigurationError); `inspection` returns them without throwing.
   */
  readonly readWorkspace: () => Workspace;
  /** The name of the workspace in titles: the name of its folder. */
  readonly workspaceName: string;
  /** The store of a workspace that has none yet. */
  readonly newStore: {
    /** What the environment or `.env` names already. */
    readonly known: () => ReturnType<typeof knownStore>;
    /** The sandbox with its default address and key. */
    readonly sandbox: { readonly url: string; readonly apiKey: string };
  };
  /** The location of shared state; undefined if it is embedded: then there is no page of queues. */
  readonly redisUrl: string | undefined;
  /** The beginning of commands for this workspace: `storeferry -C shop`. */
  readonly program: string;
  /** All jobs, or one named job, and what keeps their schedules. */
  readonly listJobs: (
    only?: string,
  ) => Promise<{ readonly jobs: readonly JobFacts[]; readonly schedules: ScheduleStatus }>;
  readonly actions: DashboardActions;
  readonly log: DashboardLog;
  /** Actions that programs asked for wait there for a worker. */
  readonly queue: ActionQueue;
  /**
   * Prepares an error or the output of a command for a page: removes the workspace's secrets, and adapts its commands
   * to this workspace.
   */
  readonly redact: (text: string) => string;
  /** Why the worker in the process of the dashboard is not healthy, null when it is; undefined where there is none. */
  readonly workerHealth?: (() => Promise<string | null>) | undefined;
}

/** The queue of the workers: its methods reject with StateError when the state does not answer. */
interface ActionQueue {
  /** Stores an action under this id, unless one of the id is known, or a run of the whole job is not over: gives the id of that. */
  readonly enqueue: (action: JobAction, id: string) => Promise<{ readonly id: string }>;
  readonly find: (id: string) => Promise<
    | {
        readonly action: JobAction;
        readonly run: string | null;
        readonly ended: boolean;
        readonly error: string | null;
        readonly remove: () => Promise<boolean>;
      }
    | undefined
  >;
  /** What no worker has begun. */
  readonly waiting: () => Promise<readonly { readonly job: string }[]>;
  readonly workers: () => Promise<number>;
}

/** The state of an action, as soon as there is something to show. */
export type ActionResult =
  /** It has become this run, which may have ended already. */
  | { readonly kind: 'begun'; readonly run: string }
  /** It is active but has no final run id yet: it may continue an earlier run. */
  | { readonly kind: 'starting' }
  /** It waits for a worker; `workers`: whether any worker is running. `run` is its id, unless it continues an earlier run. */
  | { readonly kind: 'enqueued'; readonly workers: boolean; readonly run: string }
  /** The job is already active; its run, if it has one yet. */
  | { readonly kind: 'busy'; readonly run: string | null }
  /** It ended without a run; `message` is the output of the command. */
  | { readonly kind: 'refused'; readonly message: string };

/** Work on a job by this dashboard, by a worker, or still in the queue; its run is null before it begins. */
export interface AtWork {
  readonly by: 'dashboard' | 'worker' | 'queue';
  readonly run: string | null;
}

/** What belongs to an action besides its command. */
interface ActionSteps {
  readonly before?: (() => Promise<void>) | undefined;
  /** Called once for each confirmation, when its run is known, or why there is none. */
  readonly onSettled?: ((result: ActionResult) => Promise<void>) | undefined;
}

/** Executes actions. Created at the edge, because only the edge starts processes. */
export interface DashboardActions {
  /**
   * Begins an action and returns its run as soon as there is one, or its state after a short wait. `confirmation`
   * is the id of a confirmation: repeating it begins nothing and returns its result. A job has at most one action at a time.
   * `before` is executed when the job has no other action; if it fails, nothing is begun.
   */
  readonly begin: (action: JobAction, confirmation: string, steps?: ActionSteps) => Promise<ActionResult>;
  /** Whether runs are currently queued for workers instead of running beside the dashboard. */
  readonly hasWorkers: () => Promise<boolean>;
  /** Unfinished runs that were started here or queued for the workers, by job. */
  readonly atWork: () => Promise<ReadonlyMap<string, AtWork>>;
  /** The state of the action of a confirmation; undefined if it is no longer remembered. */
  readonly find: (
    confirmation: string,
  ) => Promise<{ readonly action: JobAction; readonly result: ActionResult } | undefined>;
}

/** Logs actions of people and errors; secrets are removed. */
export type DashboardLog = Readonly<
  Record<'info' | 'warn' | 'error', (details: object, message: string) => void>
>;

/** The path of the queues. */
export const QUEUES_PATH = '/queues';

/** bull-board, created after the queues are known. It is read-only. */
export interface QueueBoard {
  readonly plugin: FastifyPluginCallback;
  /** Adds the queues of these stores. */
  show(stores: readonly string[]): void;
}

/** Where a server listens. */
export type Listen = ReturnType<typeof parseListen>;

/** Parses `[HOST:]PORT` of an option; the default host is loopback. UsageError for anything else. */
export function parseListen(text: string, option = '--listen') {
  const found = /^(?:(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^:[\]\s]+)):)?(?<port>\d{1,5})$/i.exec(text);
  const port = Number(found?.groups?.['port']);
  if (found === null || port > 65_535)
    throw new UsageError(`${option}: expected a port, or an address and a port, found '${text}'.`, {
      hint: 'Examples: 9464 (this machine only), 0.0.0.0:9464 (every network), [::1]:9464.',
    });
  return {
    host: found.groups?.['v6'] ?? found.groups?.['name'] ?? '127.0.0.1',
    /** 0: any that is free. */
    port,
  };
}

/** Parses the addresses of `--proxy`: `127.0.0.1,10.0.0.0/8`; none if it is undefined. UsageError for anything else. */
export function parseProxies(text: string | undefined): BlockList {
  const proxies = new BlockList();
  for (const part of text?.split(',').map((one) => one.trim()) ?? []) {
    const [address = '', prefix] = part.split('/');
    const kind = isIP(address);
    const bits = prefix === undefined || /^\d{1,3}$/.test(prefix) ? Number(prefix ?? 0) : Number.NaN;
    if (kind === 0 || part.split('/').length > 2 || !(bits <= (kind === 6 ? 128 : 32)))
      throw new UsageError(`--proxy: expected addresses or networks, found '${part}'.`, {
        hint: 'Examples: 127.0.0.1 (a proxy on this machine), 172.18.0.0/16 (a network of containers), 127.0.0.1,::1',
      });
    const family = kind === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, bits, family);
  }
  return proxies;
}

/** Whether an address is in a list. */
export function isListed(addresses: BlockList, address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  return isIP(bare) !== 0 && addresses.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
}

/** Whether only this machine can reach it. */
export function isLocal({ host }: Listen): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** A host as addresses write it. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** That a server cannot listen, and why. */
export function cannotListen(error: unknown, who: string, { host, port }: Listen): UsageError {
  const code = errorCode(error);
  const why = code === 'EADDRINUSE' ? 'the port is in use' : code;
  return new UsageError(`${who} cannot listen on ${host}:${port}: ${why}.`, {
    cause: error,
    hint: 'Name another port, such as 8701.',
  });
}

/** The addresses of the dashboard. */
export type OwnAddresses = ReturnType<typeof ownAddresses>;

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The addresses are those of this machine, the configured host, and that of `publicUrl` if there is a proxy. Any
 * other name in `Host` may belong to another site that resolves to this address (DNS rebinding). Numeric addresses
 * cannot be redirected this way; they are accepted if other machines may connect.
 */
export function ownAddresses(listen: Listen, publicUrl: URL | undefined) {
  const named = hostnameOf(urlHost(listen.host));
  const isPublic = (host: string) => publicUrl !== undefined && host.toLowerCase() === publicUrl.host;
  return {
    /** Whether a `Host` header names the dashboard. */
    knows(host: string | undefined): host is string {
      const hostname = hostnameOf(host);
      if (host === undefined || hostname === undefined) return false;
      if (isPublic(host) || LOOPBACK_NAMES.has(hostname) || hostname === named) return true;
      return !isLocal(listen) && (hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname));
    },
    /** The origin of the pages under a known `Host`: browsers send it with forms of these pages. */
    originOf: (host: string): string =>
      publicUrl !== undefined && isPublic(host) ? publicUrl.origin : new URL(`http://${host}`).origin,
    /** Whether browsers reach this `Host` by https; then cookies must never be sent over http. */
    isSecure: (host: string): boolean => isPublic(host) && publicUrl?.protocol === 'https:',
  };
}

/** Without the port, in the normal form of browsers; undefined for an invalid host. */
function hostnameOf(host: string | undefined) {
  const address = `http://${host}`;
  if (host === undefined || !/^[\w.:[\]-]+$/.test(host) || !URL.canParse(address)) return undefined;
  return new URL(address).hostname;
}
