import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Attempt } from '../../src/storefront/sender.ts';
import { errorAnswer, resetBefore } from '../support/store/faults.ts';
import { KEY, product, setup, signal } from './setup.ts';

describe('the listener for attempts', () => {
  it('gets each of them, with the id of their request and what it is about', async () => {
    const { attempts, onAttempt } = collectAttempts();
    const { store, storefront } = await setup({}, { onAttempt });
    store.misbehave({ does: errorAnswer(503, 'Busy'), keys: ['mug'], times: 2 });
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['vase'] });
    await storefront.upsertProduct(product('mug'), { signal, about: 'run k3v9' });
    await storefront.upsertProduct(product('vase'), { signal });

    const [first, second, third, refused] = attempts;
    expect(attempts).toHaveLength(4);
    expect(first).toMatchObject({
      about: 'run k3v9',
      method: 'POST',
      attempt: 1,
      status: 503,
      failure: 'Busy',
    });
    expect(second).toMatchObject({ attempt: 2, status: 503, requestId: first?.requestId });
    expect(third).toMatchObject({ attempt: 3, status: 200, failure: null, requestId: first?.requestId });
    expect(refused).toMatchObject({ attempt: 1, status: 422, failure: null, about: undefined });
    expect(refused?.requestId).not.toBe(first?.requestId);
    expect(JSON.stringify(attempts)).not.toContain(KEY);
  });

  it('gets one without an answer', async () => {
    const { attempts, onAttempt } = collectAttempts();
    const { store, storefront } = await setup({}, { onAttempt });
    store.misbehave({ does: resetBefore, times: 1 });
    await storefront.upsertProduct(product('mug'), { signal });
    expect(attempts).toMatchObject([
      { attempt: 1, status: null, failure: expect.stringContaining('connection') },
      { attempt: 2, failure: null },
    ]);
  });
});

it('does not speak of the connection where the system gives up waiting for an answer', async () => {
  const { attempts, onAttempt } = collectAttempts();
  const { storefront } = await setup({}, { onAttempt });
  giveUpAfterSending();
  await storefront.upsertProduct(product('mug'), { signal });
  expect(attempts).toMatchObject([
    { attempt: 1, status: null, failure: 'no answer in time' },
    { attempt: 2, failure: null },
  ]);
});

const SENT = 'undici:client:sendHeaders';

/** As when the other side does not acknowledge what was sent: of the next request. */
function giveUpAfterSending(): void {
  const listener = (message: unknown) => {
    unsubscribe(SENT, listener);
    const socket: unknown = Reflect.get(Object(message), 'socket');
    if (!(socket instanceof Socket)) throw new TypeError('no socket');
    setImmediate(() => socket.destroy(Object.assign(new Error('read ETIMEDOUT'), { code: 'ETIMEDOUT' })));
  };
  subscribe(SENT, listener);
  onTestFinished(() => void unsubscribe(SENT, listener));
}

function collectAttempts() {
  const attempts: Attempt[] = [];
  return { attempts, onAttempt: (attempt: Attempt) => void attempts.push(attempt) };
}
