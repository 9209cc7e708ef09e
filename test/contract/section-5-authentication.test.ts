import { afterAll, describe, it } from 'vitest';
import { expectRefusal } from './expect-refusal.ts';
import { openTarget } from './target.ts';

const target = await openTarget();
afterAll(() => target[Symbol.asyncDispose]());

describe('5 Authentication', () => {
  it.each([
    ['missing', ''],
    ['another key', 'Bearer storeferry-contract-test-not-a-key'],
    ['another scheme', 'Basic c3RvcmVmZXJyeTpjb250cmFjdA=='],
  ])(
    '5.3 answers 4xx and the error body when the Authorization header is wrong: %s',
    async (_name, authorization) => {
      expectRefusal(await target.send('GET', '/api/site/subscriber-lists', { headers: { authorization } }));
    },
  );

  it.skipIf(!target.mayWrite).each([
    ['POST', '/api/site/products'],
    ['PUT', '/api/site/contacts/999999999'],
    ['DELETE', '/api/site/products/999999999'],
  ])('5.3 refuses %s %s without a key, too', async (method, path) => {
    const body = method === 'DELETE' ? undefined : {};
    expectRefusal(await target.send(method, path, { body, headers: { authorization: '' } }));
  });
});
