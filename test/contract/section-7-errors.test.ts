import { afterAll, describe, it } from 'vitest';
import { expectRefusal } from './expect-refusal.ts';
import { openTarget } from './target.ts';

const target = await openTarget();
afterAll(() => target[Symbol.asyncDispose]());

describe.skipIf(!target.mayWrite)('7 Errors', () => {
  it.each([
    ['broken JSON', '{"title": '],
    ['JSON that is no object', '[1, 2]'],
    ['a text where numbers belong', { ...target.newProduct(), variants: [{ options: [], price: 'ten' }] }],
  ])('7.1 answers 4xx and the error body to an invalid request: %s', async (_name, body) => {
    expectRefusal(await target.createProduct(body));
  });

  it('7.1 answers 4xx and the error body for a product that was never there, or counts it as deleted', async () => {
    const answer = await target.send('DELETE', '/api/site/products/999999999');
    if (answer.status >= 300) expectRefusal(answer);
  });
});

describe.skipIf(target.live)('7 Errors of the sandbox', () => {
  it('7.1 answers an address that leads nowhere with the error body', async () => {
    expectRefusal(await target.send('GET', '/api/site/no-such-resource'));
  });
});
