import type { StoreConfig } from '../config/store-config.ts';
import { storeIdentity } from '../model/store-identity.ts';
import type { SharedStore } from '../state/state.ts';
import type { Attempt, Storefront, StorefrontEvent } from '../storefront/storefront.ts';

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
        ...{ baseUrl, apiKey, userAgent, limits, sharedPause: shared, sharedRate: shared },
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
