import { createServer as createSocketServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UnauthorizedError } from '../../src/model/storeferry-error.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import { patience } from '../support/pace.ts';
import {
  empty,
  errorAnswer,
  halfAnswer,
  hang,
  html,
  redirect,
  resetAfter,
  resetBefore,
  successFalse,
  trailing,
  unauthorized,
} from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { connect, KEY, product, serve, setup, signal } from './setup.ts';

describe('the storefront, before a store that misbehaves', () => {
  it.each([
    ['resets before it applies', resetBefore],
    ['resets after it applied', resetAfter],
    ['sends half an answer', halfAnswer],
    ['sends a page', html],
    ['sends nothing', empty],
    ['says success: false', successFalse],
    ['sends a word too many', trailing],
    ['answers 500', errorAnswer(500)],
    ['answers 503', errorAnswer(503)],
    ['answers 429', errorAnswer(429)],
    ['answers 408', errorAnswer(408)],
    ['redirects', redirect(307, '/api/site/products')],
  ])('sends again when it %s', async (_, does) => {
    const { store, storefront } = await setup({ faults: [{ does, times: 3 }] });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({ kind: 'applied' });
    expect(store.figures()).toMatchObject({ requests: 4, duplicates: 0, maxOverlap: 1 });
    expect(storefront.stats()).toMatchObject({ requests: 4, retries: 3 });
  });

  it('gives up after eight retries, and says why', async () => {
    const { store, storefront } = await setup({ faults: [{ does: html }] });
    const message = expect.stringMatching(/without complete JSON; the answer begins: <!doctype html>/);
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({
      kind: 'unsent',
      reason: { code: 'answer-unreadable', message },
      inDoubt: true,
    });
    expect(store.figures().requests).toBe(9);
  });

  it.each([400, 404, 409, 422])('does not send again what the store refused with %i', async (status) => {
    const { store, storefront } = await setup({ faults: [{ does: errorAnswer(status, 'Too\u0007 dear') }] });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({
      kind: 'rejected',
      reason: { code: `store-${status}`, message: 'Too dear' },
    });
    expect(store.figures().requests).toBe(1);
  });

  it.each([301, 302, 303, 307, 308])(
    'never follows a redirect (%i), and the key goes nowhere else',
    async (status) => {
      const other = await startStore({ seed: 5 });
      onTestFinished(() => other.close());
      const location = `${other.baseUrl}/api/site/products`;
      const { store, storefront } = await setup({ faults: [{ does: redirect(status, location) }] });
      await expect(storefront.upsertProduct(product('mug'), { signal })).rejects.toThrow(
        `The store answers every request with a redirect (${status}) to ${other.baseUrl}, which is not followed`,
      );
      // A redirect may be about one record; so many in succession are not.
      expect(store.figures().requests).toBe(8);
      expect(other.requests).toEqual([]);
    },
  );

  it('sends again when redirects come between other answers', async () => {
    const location = 'http://127.0.0.1:9/api/site/products';
    const faults = ['a', 'b'].map((key) => ({ does: redirect(302, location), keys: [key], times: 7 }));
    const { storefront } = await setup({ faults });
    for (const url of ['a', 'b'])
      expect(await storefront.upsertProduct(product(url), { signal })).toMatchObject({ kind: 'applied' });
  });

  it('ends with one error when the key is revoked', async () => {
    const { store, storefront } = await setup({ faults: [{ does: unauthorized, from: 2 }] });
    await storefront.upsertProduct(product('a'), { signal });
    await expect(storefront.upsertProduct(product('b'), { signal })).rejects.toThrow(UnauthorizedError);
    expect(store.figures().requests).toBe(3);
  });

  it.each([
    ['another object', '{"status":"maintenance"}'],
    ['success: "false"', '{"success":"false","message":"no"}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['a cached answer of another product', '{"id":1001,"url":"mug","title":"Another"}'],
    ['an id that cannot be kept', '{"id":90071992547409931,"url":"mug","title":"mug"}'],
  ])('leaves a product in doubt that is always answered with %s, and shows the answer', async (_, body) => {
    const { store, storefront } = await setup({
      faults: [{ does: { kind: 'answer', status: 200, body, applied: false } }],
    });
    const outcome = await storefront.upsertProduct(product('mug'), { signal });
    expect(outcome).toMatchObject({ kind: 'unsent', inDoubt: true });
    expect(outcome).not.toHaveProperty('atWork');
    expect(JSON.stringify(outcome)).toMatch(/the answer begins: |"message":"no"/);
    expect(store.figures().requests).toBe(9);
  });

  it('shows no personal data of a contact that was answered for another', async () => {
    const body = '{"id":8,"name":"Ann Lee","email":"ann@example.com","note":"cut he';
    const { storefront } = await setup({
      contacts: [7],
      faults: [
        { does: { kind: 'answer', status: 200, body: `${body}re"}`, applied: false }, times: 8 },
        { does: { kind: 'answer', status: 200, body, applied: false } },
      ],
    });
    const outcome = await storefront.updateContact('7', '{"name":"Bob"}', { signal });
    expect(outcome).toMatchObject({ kind: 'unsent', inDoubt: true, reason: { code: 'answer-unreadable' } });
    expect(JSON.stringify(outcome)).toContain('\\"name\\":\\"…\\"');
    expect(JSON.stringify(outcome)).not.toMatch(/Ann|cut he/);
  });

  it('rejects a product that it may not write, and goes on with the others', async () => {
    const { storefront } = await setup({ faults: [{ does: errorAnswer(403, 'Not yours'), keys: ['b'] }] });
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map((url) => storefront.upsertProduct(product(url), { signal })),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(['applied', 'rejected', 'applied']);
    expect(outcomes[1]).toEqual({
      kind: 'rejected',
      reason: { code: 'store-403', message: 'Not yours' },
    });
    await expect(
      connect(await serve((_, response) => response.writeHead(403).end())).subscriberLists({ signal }),
    ).rejects.toThrow(UnauthorizedError);
  });

  it.each([
    ['applies and resets the connection', resetAfter, { inDoubt: true, atWork: true }],
    ['answers a bare 503', errorAnswer(503), { inDoubt: true }],
    ['answers 502', errorAnswer(502), { inDoubt: true, atWork: true }],
    ['answers 503 with Retry-After', errorAnswer(503, 'Later', { 'retry-after': '1' }), {}],
    ['answers 429', errorAnswer(429), {}],
    ['answers 408', errorAnswer(408), { inDoubt: true }],
    ['redirects', redirect(303, '/elsewhere'), { inDoubt: true }],
  ])('says what a refusal leaves in doubt, and perhaps at work, when it %s before', async (_, does, left) => {
    const { storefront } = await setup({
      faults: [{ does, times: 1 }, { does: errorAnswer(422, 'Too dear') }],
    });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({
      kind: 'rejected',
      reason: { code: 'store-422', message: 'Too dear' },
      ...left,
    });
  });

  it.each([
    ['502', errorAnswer(502), true],
    ['a lost connection', resetAfter, true],
    ['500', errorAnswer(500), false],
  ])('says whether it may still be at work after %s', async (_, does, atWork) => {
    const { storefront } = await setup({ faults: [{ does }] }, { clock: hurriedClock(100) });
    const outcome = await storefront.upsertProduct(product('mug'), { signal });
    expect(outcome).toMatchObject({ kind: 'unsent', inDoubt: true });
    expect('atWork' in outcome).toBe(atWork);
  });

  it('never shows the key, though the store echoes it', async () => {
    const { storefront } = await setup({
      faults: [
        { does: errorAnswer(422, `Bearer ${KEY} may not`), keys: ['a'] },
        { does: errorAnswer(401, `no such key: ${KEY}`), keys: ['b'] },
      ],
    });
    const outcome = await storefront.upsertProduct(product('a'), { signal });
    const error = await storefront.upsertProduct(product('b'), { signal }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(UnauthorizedError);
    const texts = [JSON.stringify(outcome), String(error), error instanceof Error ? (error.stack ?? '') : ''];
    for (const text of texts) expect(text).not.toContain(KEY);
    expect(texts[0]).toContain('Bearer [API key] may not');
  });

  it('does not wait for ever for an answer', async () => {
    const { storefront } = await setup(
      { faults: [{ does: hang, times: 1 }] },
      { attemptMs: patience(1_000) },
    );
    expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({ kind: 'applied' });
    expect(storefront.stats().retries).toBe(1);
  });

  it('does not wait for ever for an answer that trickles in', async () => {
    let requests = 0;
    const baseUrl = await serve((_, response) => {
      requests++;
      if (requests > 1) {
        response.end('{"id":1,"url":"mug"}');
        return;
      }
      const drip = setInterval(() => response.write(' '), 10);
      response.once('close', () => clearInterval(drip));
    });
    const storefront = connect(baseUrl, { attemptMs: patience(1_000) });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({ kind: 'applied', id: 1 });
    expect(requests).toBe(2);
  });

  it('reads no answer that is too large', async () => {
    const baseUrl = await serve((_, response) => response.end(`["${'x'.repeat(17 * 1024 * 1024)}"]`));
    const storefront = connect(baseUrl, { clock: hurriedClock(50) });
    expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({
      kind: 'unsent',
      reason: { code: 'answer-too-large' },
    });
  });

  it('takes no second answer for that of the next request', async () => {
    const baseUrl = await new Promise<string>((resolve) => {
      const answer = (body: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const server = createSocketServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', (request: Buffer) => {
          const url = /"url":"([^"]+)"/.exec(request.toString())?.[1];
          socket.write(answer(`{"id":1,"url":"${url}"}`) + answer(`{"id":666,"url":"${url}"}`));
        });
      });
      onTestFinished(() => void server.close());
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
      });
    });
    const storefront = connect(baseUrl, { limits: { concurrency: 1 } });
    for (const url of ['a', 'b', 'c']) {
      expect(await storefront.upsertProduct(product(url), { signal })).toEqual({ kind: 'applied', id: 1 });
    }
  });

  it.each([
    ['nothing listens', 'http://127.0.0.1:9', 'connection-refused'],
    ['there is no such host', 'http://store.invalid', 'host-not-found'],
  ])('says it when %s', async (_, baseUrl, code) => {
    expect(await connect(baseUrl).upsertProduct(product('mug'), { signal })).toMatchObject({
      kind: 'unsent',
      reason: { code },
    });
  });
});
