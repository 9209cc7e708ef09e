import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { InterruptedError, LockedError, SafetyLimitError } from '../../src/model/storeferry-error.ts';
import { fakeClock } from '../support/fake-clock.ts';
import { errorAnswer, hang } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import { products, setup } from './setup.ts';

describe('applying operations, when stopped', () => {
  it('lets requests under way end, records them, and takes no more', async () => {
    const { store, apply, controller, results } = await setup({ store: { latencyMs: 40 } });
    const applying = apply(products(5_000));
    await until(() => results.length > 8);
    controller.abort();
    const underWay = store.requests.length;
    await expect(applying).rejects.toThrow(InterruptedError);
    expect(store.requests.length).toBeLessThanOrEqual(underWay + 8);
    expect(store.requests.filter(({ applied }) => !applied)).toEqual([]);
    expect(results).toHaveLength(store.requests.length);
    await sleep(100);
    expect(results).toHaveLength(store.requests.length);
  });

  it('does not wait for an answer beyond the grace', async () => {
    const { store, apply, controller, results, requests } = await setup({
      store: { faults: [{ does: hang, from: 5 }] },
    });
    const clock = fakeClock();
    let ended = false;
    const applying = apply(products(50), { graceMs: 5_000, clock })
      .catch((error: unknown) => error)
      .finally(() => {
        ended = true;
      });
    await until(() => results.length === 4 && store.requests.length > 4);
    controller.abort();
    await clock.advance(4_999);
    await sleep(50);
    expect(ended).toBe(false);
    await clock.advance(1);
    expect(await applying).toBeInstanceOf(InterruptedError);
    expect(results).toHaveLength(4);
    expect(requests()).toBe(store.figures().requests);
  });

  it('does not wait for retries', async () => {
    const clock = fakeClock();
    const { store, apply, controller } = await setup({
      store: { faults: [{ does: errorAnswer(503) }] },
      storefront: { clock },
    });
    const applying = apply(products(50));
    await until(() => store.requests.some(({ endedAt }) => endedAt !== null));
    controller.abort();
    await expect(applying).rejects.toThrow(InterruptedError);
    expect(clock.monotonic()).toBe(0);
  });

  it('sends nothing when it was stopped before', async () => {
    const { store, apply, controller } = await setup();
    controller.abort();
    await expect(apply(products(5))).rejects.toThrow(InterruptedError);
    expect(store.figures().requests).toBe(0);
  });

  it('records nothing and sends nothing once the lock is lost', async () => {
    const { store, apply, controller, results } = await setup({ store: { latencyMs: 20 } });
    const lost = new LockedError('another process took over');
    let recordedAfter = 0;
    let begun = 0;
    let begunAfter = 0;
    const applying = apply(products(5_000), {
      permit: () => {
        begun++;
        if (controller.signal.aborted) begunAfter++;
      },
      record: async (group) => {
        if (controller.signal.aborted) recordedAfter++;
        results.push(...group);
      },
    });
    await Promise.all([
      expect(applying).rejects.toBe(lost),
      until(() => results.length > 8).then(() => controller.abort(lost)),
    ]);
    await sleep(60);
    expect({ recordedAfter, begunAfter }).toEqual({ recordedAfter: 0, begunAfter: 0 });
    expect(store.figures().requests).toBeLessThanOrEqual(begun);
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
      return undefined;
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
