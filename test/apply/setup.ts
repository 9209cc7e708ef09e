import { onTestFinished } from 'vitest';
import { type ApplyOptions, type ApplyResult, applyOperations } from '../../src/apply/apply-operations.ts';
import type { DeleteProduct, Operation, UpdateContact, UpsertProduct } from '../../src/model/operation.ts';
import { createStorefront, type StorefrontOptions } from '../../src/storefront/storefront.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import { type StoreOptions, startStore } from '../support/store.ts';

interface Setup {
  readonly store?: StoreOptions;
  readonly storefront?: Partial<StorefrontOptions>;
  readonly concurrency?: number;
}

/** A real store and storefront (its delays pass 200 times faster), and a record that remembers. */
export async function setup({
  store: storeOptions,
  storefront: storefrontOptions,
  concurrency = 8,
}: Setup = {}) {
  const store = await startStore({ seed: 9, ...storeOptions });
  const clock = hurriedClock(200);
  const storefront = createStorefront({
    baseUrl: store.baseUrl,
    apiKey: store.apiKey,
    userAgent: 'storeferry/1.2.3',
    limits: { concurrency },
    attemptMs: 40_000,
    clock,
    ...storefrontOptions,
  });
  onTestFinished(async () => {
    await storefront.close();
    await store.close();
  });
  const results: ApplyResult<Operation>[] = [];
  const controller = new AbortController();
  let requests = 0;
  const apply = <Op extends Operation>(
    operations: ApplyOptions<Op>['operations'],
    more: Partial<ApplyOptions<Op>> = {},
  ) =>
    applyOperations<Op>({
      operations,
      storefront,
      concurrency,
      signal: controller.signal,
      record: async (group, sent) => {
        results.push(...group);
        requests += sent;
      },
      ...more,
    });
  const kinds = () => Object.groupBy(results, ({ outcome }) => outcome.kind);
  return { store, storefront, results, controller, apply, kinds, requests: () => requests };
}

export function product(index: number, more: Partial<UpsertProduct> = {}): UpsertProduct {
  const key = more.key ?? `mug-${index}`;
  const spans = [{ file: 0, from: index + 2, to: index + 3 }];
  const body = JSON.stringify({ url: key, title: `Mug ${index}` });
  return {
    kind: 'upsert-product',
    index,
    key,
    rows: 2,
    spans,
    body,
    fingerprint: key,
    knownId: null,
    ...more,
  };
}
export const products = (count: number) => Array.from({ length: count }, (_, index) => product(index));

export function contact(id: number): UpdateContact {
  const body = JSON.stringify({ name: `Ann ${id}` });
  return { kind: 'update-contact', index: id, key: String(id), rows: 1, spans: [], body, fingerprint: body };
}

export const deletion = (id: number): DeleteProduct => ({
  kind: 'delete-product',
  index: id,
  key: `id-${id}`,
  rows: 0,
  spans: [],
  id,
});
