import { UsageError } from '../model/storeferry-error.ts';
import { buildServer } from './build-server.ts';
import { contactRoutes, openContactTable } from './contact-routes.ts';
import { createFaults } from './create-faults.ts';
import { inspectionRoutes } from './inspection-routes.ts';
import { listRoutes } from './list-routes.ts';
import { openDatabase } from './open-database.ts';
import { openApiDocument } from './openapi-document.ts';
import { orderRoutes } from './order-routes.ts';
import { openProductTable, productRoutes } from './product-routes.ts';
import { createRequestCounts } from './request-counts.ts';
import { type SeedSize, seedDatabase } from './seed-database.ts';
import { seededRandom } from './seeded-random.ts';

export interface SandboxOptions {
  /** 0: any free port. */
  readonly port: number;
  /** The address to listen on; default: loopback. */
  readonly host?: string | undefined;
  /** The folder that keeps what the store holds; in memory, gone at close, when absent. */
  readonly dataDir?: string | undefined;
  /** The key every request must carry. */
  readonly apiKey: string;
  /** Share of requests answered with 503, 0 to 1; half of them are applied all the same. Default 0. */
  readonly failRate?: number | undefined;
  /** How long each answer is held back. Default 0. */
  readonly latencyMs?: number | undefined;
  /** More requests in a second are answered with 429 and `Retry-After`. Default: no limit. */
  readonly requestsPerSecond?: number | undefined;
  /** Of the chance that picks the failing requests: the same seed fails the same ones. Default 1. */
  readonly seed?: number | undefined;
  /** Milliseconds since the epoch, for `requestsPerSecond`. Default `Date.now`. */
  readonly clock?: (() => number) | undefined;
  /** What a new store holds besides the subscriber lists. Default: 320 contacts, 240 orders. */
  readonly seedSize?: Partial<SeedSize> | undefined;
}

/** A running sandbox. */
export interface Sandbox {
  /** The base URL: `http://127.0.0.1:4010`. */
  readonly url: string;
  /** Ends connections and closes the database. */
  close(): Promise<void>;
}

/**
 * Starts the storefront service of storefront-api.md, to rehearse against. How it decides what the document leaves
 * open is written in README.md beside this file.
 *
 * @throws UsageError for options that cannot be; LockedError or StateError when the data folder cannot be used.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  refuseBadOptions(options);
  const { host = '127.0.0.1', seedSize, clock = Date.now, seed = 1, failRate = 0, latencyMs = 0 } = options;
  const database = openDatabase(options.dataDir, (empty) =>
    seedDatabase(empty, { contacts: seedSize?.contacts ?? 320, orders: seedSize?.orders ?? 240 }),
  );
  const products = openProductTable(database);
  const contacts = openContactTable(database);
  const counts = createRequestCounts();
  const routes = [
    ...productRoutes(products),
    ...contactRoutes(contacts),
    ...listRoutes(database),
    ...orderRoutes(database),
    ...inspectionRoutes(products, contacts, counts),
  ];
  const { requestsPerSecond } = options;
  const nextFault = createFaults({ failRate, requestsPerSecond, random: seededRandom(seed), now: clock });
  const openApi = openApiDocument(routes);
  const server = buildServer({ routes, openApi, apiKey: options.apiKey, nextFault, latencyMs, counts });
  server.addHook('onClose', async () => database.close());

  try {
    const url = await server.listen({ port: options.port, host });
    return { url, close: () => server.close() };
  } catch (error) {
    await server.close();
    const why = String(error).includes('EADDRINUSE') ? 'the port is in use' : String(error);
    throw new UsageError(`The sandbox cannot listen on ${host}:${options.port}: ${why}.`, {
      cause: error,
      hint: 'Name another port with --port.',
    });
  }
}

function refuseBadOptions({ apiKey, failRate = 0, latencyMs = 0, requestsPerSecond }: SandboxOptions): void {
  if (!/^\S+$/.test(apiKey)) throw new UsageError('The API key must not be empty or contain spaces');
  if (!(failRate >= 0 && failRate <= 1)) throw new UsageError('The fail rate must be between 0 and 1');
  if (!(latencyMs >= 0)) throw new UsageError('The latency must not be below 0 ms');
  if (requestsPerSecond !== undefined && !(requestsPerSecond > 0)) {
    throw new UsageError('The requests per second must be more than 0');
  }
}
