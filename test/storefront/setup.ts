import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { createStorefront, type StorefrontOptions } from '../../src/storefront/storefront.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import { type StoreOptions, startStore } from '../support/store.ts';

/** The one good key. */
export const KEY = 'k3y-of-the-store';
/** Never aborts. */
export const { signal } = new AbortController();

/** A storefront whose delays pass two hundred times faster. */
export function connect(baseUrl: string, options: Partial<StorefrontOptions> = {}) {
  const storefront = createStorefront({
    baseUrl,
    apiKey: KEY,
    userAgent: 'storeferry/1.2.3',
    limits: { concurrency: 8 },
    clock: hurriedClock(200),
    attemptMs: 40_000,
    ...options,
  });
  onTestFinished(() => storefront.close());
  return storefront;
}

/** A store, and a storefront that leads to it. */
export async function setup(storeOptions: StoreOptions = {}, options: Partial<StorefrontOptions> = {}) {
  const store = await startStore({ seed: 5, apiKey: KEY, ...storeOptions });
  onTestFinished(() => store.close());
  return { store, storefront: connect(store.baseUrl, options) };
}

/** The address of a server that answers by hand. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}`;
}

/** A product as it is sent. */
export const product = (url: string) => ({ url, body: JSON.stringify({ url, title: url }) });
