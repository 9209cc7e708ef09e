import { describe, expect, it } from 'vitest';
import { patience } from '../support/pace.ts';
import { errorAnswer, hang } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import { product, setup, signal } from './setup.ts';

describe('the storefront, when stopped', () => {
  it('ends a request under way at once', async () => {
    const { store, storefront } = await setup({ faults: [{ does: hang }] });
    const controller = new AbortController();
    const sending = storefront.upsertProduct(product('mug'), { signal: controller.signal });
    await until(() => store.requests[0]);
    controller.abort(new Error('enough'));
    await expect(sending).rejects.toThrow('enough');
    expect(storefront.stats().inFlight).toBe(0);
  });

  it('lets a request under way end when it is only stopping, and begins no other', async () => {
    const { store, storefront } = await setup({ latencyMs: patience(200) }, { limits: { concurrency: 1 } });
    const stopping = new AbortController();
    const options = { signal, stopping: stopping.signal };
    const sent = Promise.allSettled(['a', 'b'].map((url) => storefront.upsertProduct(product(url), options)));
    await until(() => store.requests[0]);
    stopping.abort(new Error('stopping'));
    expect((await sent).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(store.figures().requests).toBe(1);
  });

  it('ends the wait for a retry', async () => {
    const { store, storefront } = await setup({
      faults: [{ does: errorAnswer(429, 'later', { 'retry-after': '600' }) }],
    });
    const controller = new AbortController();
    const sending = storefront.upsertProduct(product('mug'), { signal: controller.signal });
    await until(() => store.requests[0]?.endedAt);
    controller.abort(new Error('enough'));
    await expect(sending).rejects.toThrow('enough');
    expect(store.figures().requests).toBe(1);
  });

  it('rejects waiting requests when it is closed', async () => {
    const { storefront } = await setup({ latencyMs: 30 }, { limits: { concurrency: 1 } });
    const sent = Promise.allSettled(
      ['a', 'b'].map((url) => storefront.upsertProduct(product(url), { signal })),
    );
    await storefront.close();
    expect((await sent).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  });
});
