import type { StoreConfig } from '../config/store-config.ts';
import { storeIdentity } from '../model/store-identity.ts';
import type { SharedStore } from '../state/state.ts';
import type { Attempt, Storefront, StorefrontEvent } from '../storefront/storefront.ts';

/** The clients of a process, one per store, so that all its work on a store shares one limiter. */
export interface StoreClients extends AsyncDisposable {
  /**
   * The client of a store as it is configured now: a worker outlives changes of stores.yaml. What sends requests is
   * loaded with the first one, since it takes a tenth of a second and a plan needs none of it.
   */
  open(store: StoreConfig): Promise<Storefront>;
  /** The figures of each client, in the order in which they were opened; a store has several when it was changed. */
  stats(): readonly StoreStats[];
}

/** The figures of the client of a store. */
export interface StoreStats {
  readonly store: string;
  readonly stats: ReturnType<Storefront['stats']>;
}

/** Listens to what happens between this process and a store. */
export interface StoreListener {
  readonly onEvent: (store: string, event: StorefrontEvent) => void;
  /** Left out, single requests are not measured. */
  readonly onAttempt?: ((store: string, attempt: Attempt) => void) | undefined;
}

/** What processes agree on about the store of an identity; undefined when there is only this one. */
type SharedStoreOf = (storeId: string) => SharedStore | undefined;

/** Makes clients as they are asked for, and closes them together. */
export function storeClients(
  version: string,
  sharedStore: SharedStoreOf,
  listener?: StoreListener,
): StoreClients {
  const clients = new Map<string, { readonly store: string; readonly client: Storefront }>();
  const listening = (store: string) => {
    const onAttempt = listener?.onAttempt;
    return {
      onEvent: (event: StorefrontEvent) => listener?.onEvent(store, event),
      onAttempt: onAttempt === undefined ? undefined : (attempt: Attempt) => onAttempt(store, attempt),
    };
  };
  return {
    async open(store) {
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
    stats: () => [...clients.values()].map(({ store, client }) => ({ store, stats: client.stats() })),
    async [Symbol.asyncDispose]() {
      await Promise.all([...clients.values()].map(({ client }) => client.close()));
    },
  };
}
