import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { patience } from '../support/pace.ts';
import { type RedisServer, type RedisServerOptions, startRedis } from '../support/redis.ts';
import { type Store, type StoreOptions, startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import {
  type CommandResult,
  makeWorkspace,
  type RunningCommand,
  type Workspace,
} from '../support/workspace.ts';

/** Short enough for a test to see a silent worker's work taken over, long enough for a busy machine. */
export const SHORT_LEASE_MS = patience(2_500);

export interface Shop extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly store: Store;
  readonly workspace: Workspace;
  /** Starts a worker and waits until it takes work. */
  worker(): Promise<RunningCommand>;
}

export interface ShopOptions {
  readonly products: number;
  readonly store?: StoreOptions;
  readonly redis?: RedisServerOptions;
  /** Further lines of the job. */
  readonly job?: Readonly<Record<string, string>>;
  /** Whether the work of a silent worker is taken over within seconds. */
  readonly shortLeases?: true;
  /** Further variables of its commands. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A store, a Redis and a workspace with a catalog of so many products. */
export async function openShop({ products, job, ...options }: ShopOptions): Promise<Shop> {
  const [redis, store] = await Promise.all([
    startRedis(options.redis),
    startStore({ seed: 1, ...options.store }),
  ]);
  const workspace = await makeWorkspace(
    catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(products)), job),
    {
      STORE_API_KEY: store.apiKey,
      REDIS_URL: redis.url,
      ...options.env,
      ...(options.shortLeases ? { STOREFERRY_LEASE_MS: String(SHORT_LEASE_MS) } : {}),
    },
  );
  return {
    redis,
    store,
    workspace,
    async worker() {
      const running = workspace.start('worker');
      await running.printed('"ready"');
      return running;
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
      await redis.stop();
    },
  };
}

/** The one of the workers that coordinates the run that begins next. */
export function coordinator(workers: readonly RunningCommand[]): Promise<RunningCommand> {
  return Promise.any(
    workers.map(async (worker) => {
      await worker.printed('"run begun"');
      return worker;
    }),
  );
}

/**
 * Hands the nightly run over, and kills the worker that coordinates it when the store has seen five hundred requests.
 * Gives how the run ended all the same, and the worker that is left.
 */
export async function runDespiteKill(
  workers: readonly RunningCommand[],
  workspace: Workspace,
  store: Store,
): Promise<{ readonly ended: CommandResult; readonly survivor: RunningCommand | undefined }> {
  await Promise.all(workers.map((worker) => worker.printed('"ready"')));
  const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
  const coordinating = await coordinator(workers);
  await until(() => store.requests.length > 500);
  coordinating.process.kill('SIGKILL');
  await coordinating.ended;
  return { ended: await following.ended, survivor: workers.find((worker) => worker !== coordinating) };
}

/** Requests beyond the first for their key. */
export function resent({ requests }: Store): number {
  const keys = new Set(requests.map(({ key }) => key));
  return requests.length - keys.size;
}
