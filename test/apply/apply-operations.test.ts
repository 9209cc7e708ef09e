import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/model/operation.ts';
import { until } from '../support/until.ts';
import { contact, deletion, product, products, setup } from './setup.ts';

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
      absent: true,
      reason: { code: 'store-404', message: expect.stringMatching(/^Resource not found: .* crosswalk/) },
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

  it('sends the earlier of two that share a storefront first, and the later one in its gaps', async () => {
    const { apply } = await setup({ concurrency: 4 });
    const order: string[] = [];
    const record = async (group: readonly { readonly operation: Operation }[]) => {
      order.push(...group.map(({ operation }) => operation.key));
    };
    const of = (name: string) => products(60).map((each) => ({ ...each, key: `${name}-${each.index}` }));
    await Promise.all([
      apply(of('later'), { priority: 2, record }),
      apply(of('earlier'), { priority: 1, record }),
    ]);
    const end = order.findLastIndex((key) => key.startsWith('earlier'));
    expect(order).toHaveLength(120);
    expect(order.slice(0, end).filter((key) => key.startsWith('later')).length).toBeLessThan(30);
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
        const effects = () => store.requests.filter(({ applied }) => applied).length;
        // So slow that the store goes on meanwhile, as far as it is let.
        await until(() => effects() - results.length > 1 || effects() === 60);
        most = Math.max(most, effects() - results.length);
        results.push(...group);
      },
    });
    expect(most).toBeLessThanOrEqual(5);
    expect(most).toBeGreaterThan(1);
  });

  it('records in groups, one at a time', async () => {
    const { store, apply } = await setup({ concurrency: 16 });
    const answered = () => store.requests.filter(({ endedAt }) => endedAt !== null).length;
    let open = 0;
    let recorded = 0;
    const sizes: number[] = [];
    await apply(products(150), {
      record: async (group) => {
        expect(++open).toBe(1);
        sizes.push(group.length);
        // Others are answered while this group is written, unless the limiter lets only one be on its way.
        const others = until(() => answered() >= Math.min(150, recorded + group.length + 2), {
          withinMs: 1_000,
        });
        await others.catch(() => {});
        recorded += group.length;
        open--;
      },
    });
    expect(recorded).toBe(150);
    expect(Math.max(...sizes)).toBeGreaterThan(1);
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
