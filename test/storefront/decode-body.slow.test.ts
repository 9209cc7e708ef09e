import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeBody } from '../../src/storefront/exchange.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import { connect, product, serve, signal } from './setup.ts';

const ANSWER = '{"id":1,"url":"mug","title":"mug"}';
const text = Buffer.from(ANSWER);

const ENCODED: readonly (readonly [encoding: string, bytes: Buffer])[] = [
  ['gzip', gzipSync(text)],
  ['x-gzip', gzipSync(text)],
  ['GZIP', gzipSync(text)],
  ['deflate', deflateSync(text)],
  ['deflate', deflateRawSync(text)],
  ['br', brotliCompressSync(text)],
  ['zstd', zstdCompressSync(text)],
  ['identity', text],
  ['', text],
  ['gzip, identity, br', brotliCompressSync(gzipSync(text))],
];

describe('an encoded answer', () => {
  it.each(ENCODED)('is decoded though it was not asked for: %s', async (encoding, bytes) => {
    const { storefront, requests } = await answeredWith(encoding, bytes);
    expect(await storefront.upsertProduct(product('mug'), { signal })).toEqual({ kind: 'applied', id: 1 });
    expect(requests()).toBe(1);
  });

  it.each([
    ['a cut one', 'gzip', gzipSync(text).subarray(0, -9)],
    ['a damaged one', 'gzip', Buffer.from('not packed')],
    ['one with something after it', 'gzip', Buffer.concat([gzipSync(text), text])],
    ['an unknown one', 'compress', text],
    ['one that is encoded time and again', 'gzip, gzip, gzip, gzip', text],
  ])('is no proof when it cannot be decoded: %s', async (_, encoding, bytes) => {
    const { storefront } = await answeredWith(encoding, bytes);
    expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({
      kind: 'unsent',
      inDoubt: true,
      reason: { code: 'answer-unreadable', message: expect.stringContaining('that cannot be decoded') },
    });
    const { storefront: another } = await answeredWith(encoding, bytes);
    expect(await another.deleteProduct(7, { signal })).toMatchObject({ kind: 'unsent', inDoubt: true });
  });

  it('that would take all memory is given up', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
    const { storefront } = await answeredWith('gzip', bomb, hurriedClock(50));
    expect(await storefront.upsertProduct(product('mug'), { signal })).toMatchObject({
      kind: 'unsent',
      inDoubt: true,
      reason: { code: 'answer-too-large' },
    });
    expect(await decodeBody(bomb, 'gzip', 1_000)).toEqual({ kind: 'too-large' });
  });

  it('may be an empty one that names an encoding', async () => {
    const { storefront } = await answeredWith('gzip', Buffer.alloc(0));
    expect(await storefront.deleteProduct(7, { signal })).toEqual({ kind: 'applied', id: null });
  });
});

/** Unpacking takes real time: a slower clock leaves time for it before the store counts as unavailable. */
async function answeredWith(encoding: string, bytes: Buffer, clock = hurriedClock(200)) {
  let requests = 0;
  const baseUrl = await serve((_, response) => {
    requests++;
    response.writeHead(200, { 'content-encoding': encoding, 'content-length': bytes.length }).end(bytes);
  });
  return { storefront: connect(baseUrl, { clock }), requests: () => requests };
}
