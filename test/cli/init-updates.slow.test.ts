import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { placeholder } from '../../src/config/yaml-text.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

it('init makes a job of a stock file that changes known products, and says which it knows', async () => {
  await using store = await startStore();
  const stores = `main: { baseUrl: "${store.baseUrl}", apiKey: "${placeholder('STORE_API_KEY')}" }\n`;
  await using shop = await makeWorkspace({ 'stores.yaml': stores }, { STORE_API_KEY: store.apiKey });
  const init = async (job: string, text: string) => {
    await shop.write(`${job}.csv`, text);
    return await shop.storeferry('init', '--source', join(shop.dir, `${job}.csv`), '--job', job, '--yes');
  };
  const early = await init('early', 'SKU,Qty\nA1,7\n');
  expect(early.stderr).toContain('No job has sent products with these SKUs to this store');
  const catalog = await init('catalog', 'SKU,Name,Price\nA1,Mug,4.00\nA2,Jug,5.00\n');
  expect(catalog.code, catalog.stderr).toBe(0);
  expect((await shop.storeferry('run', 'catalog')).code).toBe(0);

  const stock = await init('stock', 'SKU,Qty\nA1,7\nA2,0\nA3,1\n');
  expect(stock.stderr).toContain('2 of 3 SKUs belong to products that jobs have sent to this store');
  expect(await readFile(join(shop.dir, 'jobs/stock.yaml'), 'utf8')).toMatch(/^mode: update\nmatch: sku /m);
  expect((await shop.storeferry('run', 'stock')).code).toBe(3);
  expect([...store.shop.products.values()]).toMatchObject([
    { url: 'a1', title: 'Mug', variants: [{ price: 4, quantity: 7 }] },
    { url: 'a2', title: 'Jug', variants: [{ price: 5, quantity: 0 }] },
  ]);
});
