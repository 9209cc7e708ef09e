import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { openTarget } from './target.ts';

async function shop() {
  const apiKey = 'key-of-a-live-shop';
  const sandbox = await startSandbox({ port: 0, apiKey });
  const look = async (path: string) => {
    const response = await fetch(sandbox.url + path, { headers: { authorization: `Bearer ${apiKey}` } });
    return JSON.parse(await response.text());
  };
  const env = { STORE_URL: `${sandbox.url}/`, STORE_API_KEY: apiKey };
  return { env, look, [Symbol.asyncDispose]: () => sandbox.close() };
}

describe('the store the contract suite is pointed at', () => {
  it('is only read by default', async () => {
    await using live = await shop();
    await using target = await openTarget(live.env);
    expect(target).toMatchObject({ live: true, mayWrite: false, contactId: undefined });
    expect((await target.send('GET', '/api/site/subscriber-lists')).status).toBe(200);
    await expect(target.createProduct(target.newProduct())).rejects.toThrow(/only read/);
    expect((await live.look('/_sandbox/requests')).routes).toEqual({ 'GET /api/site/subscriber-lists': 1 });
  });

  it('is left as it was found when writing is allowed', async () => {
    await using live = await shop();
    {
      await using target = await openTarget({ ...live.env, STORE_CONTRACT_WRITES: 'yes' });
      expect(target.contactId).toBeUndefined();
      await target.createProduct(target.newProduct());
      const [product] = await live.look('/_sandbox/products');
      expect(product).toMatchObject({
        hidden: true,
        title: expect.stringMatching(/^Storeferry contract test .*deleted$/),
      });
    }
    expect(await live.look('/_sandbox/products')).toEqual([]);
  });

  it('must be named with its key', async () => {
    await expect(openTarget({ STORE_URL: 'http://127.0.0.1:9' })).rejects.toThrow(/go together/);
    await expect(openTarget({ STORE_API_KEY: 'k' })).rejects.toThrow(/go together/);
  });

  it('is a sandbox when the variables are empty', async () => {
    await using target = await openTarget({ STORE_URL: '', STORE_API_KEY: '' });
    expect(target).toMatchObject({ live: false, mayWrite: true, contactId: '1001' });
  });
});
