import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ApplyOptions, type ApplyResult, applyOperations } from '../../src/apply/apply-operations.ts';
import { InterruptedError, LockedError, SafetyLimitError } from '../../src/model/errors.ts';
import type { DeleteProduct, Operation, UpdateContact, UpsertProduct } from '../../src/model/operation.ts';
import { createStorefront, type StorefrontOptions } from '../../src/storefront/storefront.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import { errorAnswer, hang, resetAfter, unauthorized } from '../support/store/faults.ts';
import { type StoreOptions, startStore } from '../support/store.ts';

interface Setup {
  readonly store?: StoreOptions;
  readonly storefront?: Partial<StorefrontOptions>;
  readonly concurrency?: number;
}

/** A real store and storefront (its delays pass 200 times faster), and a record that remembers. */
async function setup({ store: storeOptions, storefront: storefrontOptions, concurrency = 8 }: Setup = {}) {
  const store = await startStore({ seed: 9, ...storeOptions });
  const clock = hurriedClock(200);
  const storefront = createStorefront({
    baseUrl: store.baseUrl,
    apiKey: store.apiKey,
    userAgent: 'storeferry/1.2.3',
    limits: { concurrency },
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

function product(index: number, more: Partial<UpsertProduct> = {}): UpsertProduct {
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
const products = (count: number) => Array.from({ length: count }, (_, index) => product(index));

function contact(id: number): UpdateContact {
  const body = JSON.stringify({ name: `Ann ${id}` });
  return { kind: 'update-contact', index: id, key: String(id), rows: 1, spans: [], body, fingerprint: body };
}

const deletion = (id: number): DeleteProduct => ({
  kind: 'delete-product',
  index: id,
  key: `id-${id}`,
  rows: 0,
  spans: [],
  id,
});

describe('applying operations', () => {
  it('sends each once, records each once, and sums them up', async () => {
    const { store, apply, results, requests } = await setup();
    const tally = await apply(products(200));
    expect(tally).toMatchObject({ applied: 200, appliedRows: 400, rejected: 0, unsent: 0, requests: 200 });
    expect(store.figures()).toMatchObject({ requests: 200, duplicates: 0, maxOverlap: 1 });
    expect(new Set(results.map(({ operation }) => operation.key)).size).toBe(200);
    expect(requests()).toBe(200);
    expect(store.violations).toEqual([]);
  });

  it('knows contacts and deletions', async () => {
    const { store, apply, results } = await setup({ store: { contacts: [1, 2] } });
    await apply([product(0)]);
    const [id = 0] = store.shop.products.keys();
    const tally = await apply<Operation>([contact(1), contact(3), deletion(id), deletion(4_711)]);
    expect(tally).toMatchObject({ applied: 1, rejected: 1, rejectedRows: 1, deleted: 2 });
    expect(results.at(0)?.outcome).toEqual({ kind: 'applied', id });
    expect(results.find(({ operation }) => operation.key === '3')?.outcome).toEqual({
      kind: 'rejected',
      reason: { code: 'store-404', message: 'Resource not found' },
    });
    expect(store.shop.products.size).toBe(0);
  });

  it('gives back the very objects it was handed, from an async source as well', async () => {
    const { apply } = await setup();
    const handed = products(5).map((operation) => ({ ...operation, shard: 3 }));
    const shards: number[] = [];
    await apply(
      (async function* () {
        yield* handed;
      })(),
      {
        record: async (group) => {
          for (const { operation } of group) shards.push(operation.shard);
        },
      },
    );
    expect(shards).toEqual([3, 3, 3, 3, 3]);
  });

  it('shows the recorder an id that is not the known one', async () => {
    const { apply, results } = await setup();
    await apply([product(0, { knownId: 17 })]);
    const [result] = results;
    expect(result).toMatchObject({
      operation: { knownId: 17 },
      outcome: { kind: 'applied', id: expect.any(Number) },
    });
  });

  it('resolves at once when there is nothing to do', async () => {
    const { apply, results } = await setup();
    expect(await apply([])).toMatchObject({ applied: 0, requests: 0 });
    expect(results).toEqual([]);
  });

  it('never has more unrecorded effects at the store than its concurrency, however slow recording is', async () => {
    const { store, apply, results } = await setup({ concurrency: 5 });
    let most = 0;
    await apply(products(60), {
      record: async (group) => {
        await sleep(15);
        const effects = store.requests.filter(({ applied }) => applied).length;
        most = Math.max(most, effects - results.length);
        results.push(...group);
      },
    });
    expect(most).toBeLessThanOrEqual(5);
    expect(most).toBeGreaterThan(1);
  });

  it('records in groups, one at a time', async () => {
    const { apply } = await setup({ concurrency: 16 });
    let open = 0;
    let calls = 0;
    await apply(products(150), {
      record: async () => {
        expect(++open).toBe(1);
        calls++;
        await sleep(5);
        open--;
      },
    });
    expect(calls).toBeLessThan(60);
  });

  it('never has two requests for one key under way, and the last one wins', async () => {
    const { store, apply } = await setup({ store: { latencyMs: { min: 0, max: 8 } } });
    const operations = Array.from({ length: 60 }, (_, index) =>
      product(index, {
        key: `mug-${index % 3}`,
        body: JSON.stringify({ url: `mug-${index % 3}`, title: `${index}` }),
      }),
    );
    await apply(operations);
    expect(store.figures()).toMatchObject({ requests: 60, duplicates: 0, maxOverlap: 1 });
    expect([0, 1, 2].map((key) => store.lastBody(`mug-${key}`))).toEqual(
      [57, 58, 59].map((index) => operations[index]?.body),
    );
  });
});

describe('applying operations, before a store that misbehaves', () => {
  it('applies all others, doubles none, and rejects what was refused', async () => {
    const { store, apply, kinds } = await setup({
      store: {
        faults: [
          { does: errorAnswer(422, 'Too dear'), keys: ['mug-3', 'mug-70'] },
          { does: resetAfter, probability: 0.1 },
          { does: errorAnswer(503), probability: 0.1 },
        ],
      },
    });
    const tally = await apply(products(200));
    console.log(`seed ${store.seed}, faults fired: ${JSON.stringify(store.fired())}`);
    expect(tally).toMatchObject({ applied: 198, rejected: 2, rejectedRows: 4, unsent: 0 });
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    expect(tally.requests).toBe(store.figures().requests);
    expect(kinds().rejected?.map(({ outcome }) => outcome)).toContainEqual({
      kind: 'rejected',
      reason: { code: 'store-422', message: 'Too dear' },
    });
  });

  it('is not blocked by one record that always fails, even with one slot', async () => {
    const { store, apply, results, kinds } = await setup({
      store: { faults: [{ does: errorAnswer(503), keys: ['mug-2'] }] },
      concurrency: 1,
    });
    const tally = await apply(products(60));
    expect(tally).toMatchObject({ applied: 59, unsent: 1, unsentRows: 2 });
    expect(store.requestsOf('mug-2')).toBe(9);
    expect(results.at(-1)?.operation.key).toBe('mug-2');
    expect(kinds().unsent?.[0]?.outcome).toMatchObject({ reason: { code: 'store-503' } });
  });

  it('keeps the slot of a record that may have arrived', async () => {
    const { store, apply, results } = await setup({
      store: { faults: [{ does: resetAfter, keys: ['mug-2'], times: 2 }] },
      concurrency: 1,
    });
    await apply(products(5));
    expect(store.requests.map(({ key }) => key)).toEqual([
      'mug-0',
      'mug-1',
      'mug-2',
      'mug-2',
      'mug-2',
      'mug-3',
      'mug-4',
    ]);
    expect(results).toHaveLength(5);
  });

  it('ends at once when the key is revoked, with nothing rejected', async () => {
    const { store, apply, results, requests } = await setup({
      store: { latencyMs: 3, faults: [{ does: unauthorized, from: 40 }] },
    });
    await expect(apply(products(300))).rejects.toMatchObject({ code: 'unauthorized' });
    const late = store.requests.filter(({ status }) => status === 401);
    expect(late.length).toBeLessThanOrEqual(8);
    expect(results.every(({ outcome }) => outcome.kind === 'applied')).toBe(true);
    expect(results).toHaveLength(store.requests.filter(({ applied }) => applied).length);
    expect(requests()).toBe(store.figures().requests);
  });

  it('ends when the store has been away for fifteen minutes, with nothing rejected', async () => {
    const { apply, results } = await setup({
      store: { faults: [{ does: errorAnswer(503), from: 20 }] },
      storefront: { clock: hurriedClock(5_000) },
    });
    await expect(apply(products(200))).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(results.every(({ outcome }) => outcome.kind === 'applied')).toBe(true);
  });
});

describe('applying operations, told to stop', () => {
  it('lets requests under way end, records them, and takes no more', async () => {
    const { store, apply, controller, results } = await setup({ store: { latencyMs: 40 } });
    setTimeout(() => controller.abort(), 250);
    await expect(apply(products(5_000))).rejects.toThrow(InterruptedError);
    const applied = store.requests.filter((request) => request.applied).length;
    expect(applied).toBeGreaterThan(3);
    expect(applied).toBeLessThan(100);
    expect(results).toHaveLength(applied);
    const { requests } = store.figures();
    await sleep(100);
    expect(store.figures().requests).toBe(requests);
  });

  it('does not wait for an answer beyond the grace', async () => {
    const { store, apply, controller, results, requests } = await setup({
      store: { faults: [{ does: hang, from: 5 }] },
    });
    setTimeout(() => controller.abort(), 100);
    const startedAt = performance.now();
    await expect(apply(products(50), { graceMs: 50 })).rejects.toThrow(InterruptedError);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(results).toHaveLength(4);
    expect(requests()).toBe(store.figures().requests);
  });

  it('does not wait for retries', async () => {
    const { apply, controller } = await setup({
      store: { faults: [{ does: errorAnswer(503) }] },
      storefront: { clock: hurriedClock(1) },
    });
    setTimeout(() => controller.abort(), 50);
    const startedAt = performance.now();
    await expect(apply(products(50))).rejects.toThrow(InterruptedError);
    expect(performance.now() - startedAt).toBeLessThan(400);
  });

  it('sends nothing when it was told before', async () => {
    const { store, apply, controller } = await setup();
    controller.abort();
    await expect(apply(products(5))).rejects.toThrow(InterruptedError);
    expect(store.figures().requests).toBe(0);
  });

  it('records nothing and sends nothing once the lock is lost', async () => {
    const { store, apply, controller, results } = await setup({ store: { latencyMs: 20 } });
    const lost = new LockedError('another process took over');
    setTimeout(() => controller.abort(lost), 100);
    let recordedAfter = 0;
    const error = await apply(products(5_000), {
      record: async (group) => {
        if (controller.signal.aborted) recordedAfter++;
        results.push(...group);
      },
    }).catch((caught: unknown) => caught);
    expect(error).toBe(lost);
    expect(recordedAfter).toBe(0);
    const { requests } = store.figures();
    await sleep(60);
    expect(store.figures().requests).toBe(requests);
  });

  it('stops sending when outcomes cannot be recorded', async () => {
    const { store, apply } = await setup({ store: { latencyMs: 2 } });
    const full = new Error('disk full');
    let calls = 0;
    const error = await apply(products(500), {
      record: async () => {
        if (++calls === 3) throw full;
        if (calls > 3) throw new Error('recorded after a failure');
      },
    }).catch((caught: unknown) => caught);
    expect(error).toBe(full);
    expect(store.figures().requests).toBeLessThan(100);
  });

  it('stops when the judge finds too many rejections, and records what was answered', async () => {
    const { store, apply, results } = await setup({ store: { faults: [{ does: errorAnswer(422) }] } });
    const applying = apply(products(500), {
      judge: ({ rejected }) => (rejected > 20 ? new SafetyLimitError(`${rejected} rejections`) : undefined),
    });
    await expect(applying).rejects.toThrow(new SafetyLimitError('21 rejections'));
    expect(store.figures().requests).toBeLessThanOrEqual(21 + 8);
    expect(results).toHaveLength(store.figures().requests);
  });

  it('sends no request that is not permitted, a retry included', async () => {
    const { store, apply, requests } = await setup({
      store: { faults: [{ does: errorAnswer(503), probability: 0.2 }] },
    });
    const lost = new LockedError('lost');
    let asked = 0;
    const permit = () => {
      if (++asked > 40) throw lost;
    };
    await expect(apply(products(500), { permit })).rejects.toBe(lost);
    expect(store.figures().requests).toBe(40);
    expect(requests()).toBe(40);
  });

  it('records what was sent when the operations cannot be read any further', async () => {
    const { store, apply, results } = await setup();
    const reading = apply(
      (async function* () {
        yield* products(10);
        throw new Error('shard unreadable');
      })(),
    );
    await expect(reading).rejects.toThrow('shard unreadable');
    expect(results.length).toBeGreaterThan(0);
    expect(results).toHaveLength(store.figures().requests);
  });

  it('reports progress after each record', async () => {
    const { apply } = await setup();
    const seen: number[] = [];
    await apply(products(50), { onProgress: ({ applied }) => seen.push(applied) });
    expect(seen.at(-1)).toBe(50);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });
});
