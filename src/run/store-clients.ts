import type { StoreConfig } from '../config/stores.ts';
import { createStorefront, type Storefront } from '../storefront/storefront.ts';

/** The clients of a process, one a store, so that all its work on a store shares one limiter. */
export interface StoreClients extends AsyncDisposable {
  /** The client of a store as it is configured now: a worker outlives changes of stores.yaml. */
  open(store: StoreConfig): Storefront;
}

/** Makes clients as they are asked for, and closes them together. */
export function storeClients(version: string): StoreClients {
  const clients = new Map<string, Storefront>();
  return {
    open(store) {
      const settings = JSON.stringify(store);
      const known = clients.get(settings);
      if (known !== undefined) return known;
      const { baseUrl, apiKey, limits } = store;
      const client = createStorefront({ baseUrl, apiKey, userAgent: `storeferry/${version}`, limits });
      clients.set(settings, client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}
