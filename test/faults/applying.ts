import { type ApplyResult, applyOperations } from '../../src/apply/apply-operations.ts';
import type { DeleteProduct, Operation, UpsertProduct } from '../../src/model/operation.ts';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import type { Store } from '../support/store.ts';

/** Waits between retries pass so many times faster. */
const HURRY = 200;

/** What came of an apply. */
export interface Applied {
  readonly results: readonly ApplyResult<Operation>[];
  /** The code of the error that ended it early; null when every operation has an outcome. */
  readonly endedBy: unknown;
  count(kind: ApplyResult<Operation>['outcome']['kind']): number;
}

/** Sends operations to the store through the real client, over real connections, with waits that do not take a test's minutes. */
export async function applyTo(
  store: Store,
  operations: Iterable<Operation>,
  concurrency: number,
  random: () => number,
): Promise<Applied> {
  await using storefront = createStorefront({
    baseUrl: store.baseUrl,
    apiKey: store.apiKey,
    userAgent: 'storeferry/1.2.3',
    limits: { concurrency },
    attemptMs: 40_000,
    clock: hurriedClock(HURRY),
    random,
  });
  const results: ApplyResult<Operation>[] = [];
  const record = async (group: readonly ApplyResult<Operation>[]): Promise<void> => {
    results.push(...group);
  };
  const { signal } = new AbortController();
  const endedBy = await applyOperations({ operations, storefront, concurrency, record, signal }).then(
    () => null,
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
  );
  return {
    results,
    endedBy,
    count: (kind) => results.filter(({ outcome }) => outcome.kind === kind).length,
  };
}

export function upserts(count: number): UpsertProduct[] {
  return Array.from({ length: count }, (_, index) => {
    const key = `mug-${index}`;
    const body = JSON.stringify({ url: key, title: `Mug ${index}` });
    return { kind: 'upsert-product', index, key, rows: 1, spans: [], body, fingerprint: body, knownId: null };
  });
}

/** Deletes all that the store holds. */
export function deletions(store: Store): DeleteProduct[] {
  return [...store.shop.products].map(([id, { url = '' }], index) => ({
    kind: 'delete-product',
    index,
    key: url,
    rows: 0,
    spans: [],
    id,
  }));
}
