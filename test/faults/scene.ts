import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { catalogWorkspace } from '../support/catalog.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { patience } from '../support/pace.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { redisContent } from '../support/redis-content.ts';
import { seededRandom } from '../support/store/random.ts';
import { type Store, type StoreOptions, startStore } from '../support/store.ts';
import {
  type CommandResult,
  makeWorkspace,
  type RunningCommand,
  type Workspace,
} from '../support/workspace.ts';

/** An API key that occurs nowhere by chance: wherever it is found, it has leaked. */
const MARKED_KEY = 'marked-key-5e1b0c77f2a94d36';

/** Short enough for a silent worker's work to be taken over within a test, long enough for a busy machine. */
export const LEASE_MS = patience(1_500);

export interface SceneOptions {
  readonly seed: number;
  /** The catalog of the job `nightly`. */
  readonly catalog: string;
  /** Further lines of the job. */
  readonly job?: Readonly<Record<string, string>>;
  readonly store?: StoreOptions;
  /** Whether state is shared in a Redis of the scene; with leases of `LEASE_MS` where silence is to be noticed soon. */
  readonly redis?: boolean | 'short-leases';
  readonly env?: Readonly<Record<string, string>>;
}

/** A store, the line to it, and a workspace with a catalog: what faults are injected into, with all chance from one seed. */
export interface Scene extends AsyncDisposable {
  readonly store: Store;
  readonly line: FaultProxy;
  readonly workspace: Workspace;
  readonly random: () => number;
  /** The Redis of the scene; throws when it has none. */
  readonly redis: RedisServer;
  /** As the workspace's own two, with the output remembered. */
  start(...args: readonly string[]): RunningCommand;
  storeferry(...args: readonly string[]): Promise<CommandResult>;
  worker(): Promise<RunningCommand>;
  /** Notes a fault that the test itself has injected, such as a signal. */
  count(fault: string): void;
  /** Every fault that has struck: the store's, the line's and the test's own. */
  fired(): Record<string, number>;
  /** Outputs, files of the workspace (and of `also`) and keys of Redis in which the API key stands. */
  leaks(also?: readonly string[]): Promise<string[]>;
}

export async function openScene(options: SceneOptions): Promise<Scene> {
  const { seed, catalog, job } = options;
  const random = seededRandom(seed);
  const store = await startStore({ seed, apiKey: MARKED_KEY, ...options.store });
  const line = await startFaultProxy(Number(new URL(store.baseUrl).port), random);
  const redis = options.redis ? await startRedis() : undefined;
  const workspace = await makeWorkspace(catalogWorkspace(`http://127.0.0.1:${line.port}`, catalog, job), {
    STORE_API_KEY: MARKED_KEY,
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    ...(options.redis === 'short-leases' ? { STOREFERRY_LEASE_MS: String(LEASE_MS) } : {}),
    ...options.env,
  });
  const own: Record<string, number> = {};
  const outputs: string[] = [];

  const start = (...args: readonly string[]): RunningCommand => {
    const running = workspace.start(...args);
    void running.ended.then(({ stdout, stderr }) => outputs.push(stdout, stderr)).catch(() => {});
    return running;
  };
  return {
    store,
    line,
    workspace,
    random,
    get redis() {
      if (redis === undefined) throw new Error('The scene has no Redis');
      return redis;
    },
    start,
    async storeferry(...args) {
      const ended = await workspace.storeferry(...args);
      outputs.push(ended.stdout, ended.stderr);
      return ended;
    },
    async worker() {
      const running = start('worker');
      await running.printed('"ready"');
      return running;
    },
    count(fault) {
      own[fault] = (own[fault] ?? 0) + 1;
    },
    fired: () => ({ ...own, ...line.fired(), ...prefixed('store: ', store.fired()) }),
    async leaks(also = []) {
      const places = outputs.filter((text) => text.includes(MARKED_KEY));
      if (redis !== undefined && (await redisContent(redis.url)).includes(MARKED_KEY)) places.push('redis');
      for (const dir of [workspace.dir, ...also]) {
        const files = await readdir(dir, { recursive: true, withFileTypes: true });
        for (const file of files.filter((entry) => entry.isFile())) {
          const path = join(file.parentPath, file.name);
          if ((await readFile(path)).includes(MARKED_KEY)) places.push(path);
        }
      }
      return places;
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await line[Symbol.asyncDispose]();
      await store.close();
      await redis?.stop();
    },
  };
}

function prefixed(prefix: string, counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [prefix + name, count]));
}

/** Sends a signal and waits until the process is gone. True when it was the signal that ended it. */
export async function kill({ process, ended }: RunningCommand): Promise<boolean> {
  process.kill('SIGKILL');
  await ended;
  return process.signalCode === 'SIGKILL';
}
