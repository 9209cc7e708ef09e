import { describe, expect, it } from 'vitest';
import { startFileServer } from '../support/file-server.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const MAPPING = `import: products
columns: { code: Code, price: Price }
lookups:
  stock:
    url: { address: "\${FEED}/stock.csv", allowPrivateAddresses: true }
    match: Article
    join: { on: code, columns: { qty: { sum: Quantity } } }
product: { url: code, title: code }
variants:
  sku: code
  pricing: { price: price, rule: [{ convert: { rates: rates.csv, from: USD, to: EUR } }] }
  quantity: stock.qty
`;

const CODES = Array.from({ length: 20 }, (_, index) => `a-${index + 1}`);
/** Of the first 18 codes and of two others. */
const STOCK = `Article,Quantity\n${[...CODES.slice(0, 18), 'x-1', 'x-2'].map((code) => `${code},5\n`).join('')}`;

/** A job whose stock is on the web, and whose rates are beside the mapping. */
async function setup() {
  const store = await startStore({ seed: 1, apiKey: 'key-of-the-store' });
  const server = await startFileServer({ '/stock.csv': STOCK });
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
      'jobs/goods.yaml':
        'import: products\nstore: main\nmapping: goods\nsource: { path: goods.csv }\nsafety: { maxChanges: 50% }\n',
      'mappings/goods.yaml': MAPPING,
      'goods.csv': `Code,Price\n${CODES.map((code) => `${code},10\n`).join('')}`,
      'rates.csv': 'from,to,rate\nUSD,EUR,0.92\n',
    },
    { STORE_API_KEY: 'key-of-the-store', FEED: server.url },
  );
  const run = async (...args: readonly string[]) => await workspace.storeferry(...args);
  return {
    ...{ store, server, workspace, run },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

describe('a job with a joined table and rates', () => {
  it('says what matched, and sends what a change of the second tables changes', async () => {
    await using scene = await setup();
    const { server, run, store, workspace } = scene;
    const plan = await run('plan', 'goods');
    expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain('stock: 18 of 20 products matched in ');
    expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain(
      '(not found: a-19, a-20); 2 of its 20 keys were not used',
    );
    expect((await run('run', 'goods', '--json')).json()).toMatchObject({ status: 'done', applied: 20 });
    expect([...store.shop.products.values()][0]).toMatchObject({ variants: [{ price: 9.2, quantity: 5 }] });

    server.files.set('/stock.csv', Buffer.from(`${STOCK}a-3,4\n`));
    expect((await run('run', 'goods', '--json')).json()).toMatchObject({
      ...{ status: 'done', applied: 1, unchanged: 19 },
      fieldsChanged: { 'variants.quantity': 1 },
    });

    await workspace.write('rates.csv', 'from,to,rate\nUSD,EUR,0.95\n');
    const stopped = await run('run', 'goods', '--json');
    expect(stopped.json()).toMatchObject({ status: 'stopped', changed: 20 });
    expect(stopped.code).toBe(4);
  });

  it('does not begin without a rate, and warns where nothing matches', async () => {
    await using scene = await setup();
    const { server, run, workspace } = scene;
    server.files.set('/stock.csv', Buffer.from('Article,Quantity\n00001,5\n'));
    expect((await run('plan', 'goods')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'none of 20 has a key that the file has',
    );
    await workspace.write('rates.csv', 'from,to,rate\nCAD,EUR,0.68\n');
    const failed = await run('plan', 'goods', '--json');
    expect(failed.code).toBe(1);
    expect(failed.json()['error']).toContain('rates.csv has no rate from USD to EUR');
  });
});
