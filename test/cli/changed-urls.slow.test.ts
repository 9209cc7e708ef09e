import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const PRODUCTS = 10;
const CATALOG = Array.from({ length: PRODUCTS }, (_, index) => `a${index},Bowl ${index},9.50,S${index}`);

const mapping = (url: string): string =>
  `import: products
columns: { handle: handle, title: title, price: price, sku: sku }
required: [handle, price]
product: { url: ${url}, title: title }
variants: { sku: sku, pricing: { price: price } }
`;

it.each(['', 'renames: false\n', 'mode: mirror\n'])(
  'a changed mapping of url stops until it is approved, however often it is tried: %j',
  async (more) => {
    await using store = await startStore({ seed: 1 });
    await using workspace = await makeWorkspace(
      {
        'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
        'jobs/shop.yaml': `import: products\nstore: main\nsource: { path: shop.csv }\nmapping: shop\n${more}`,
        'shop.csv': `handle,title,price,sku\n${CATALOG.join('\n')}\n`,
        'mappings/shop.yaml': mapping('handle'),
      },
      { STORE_API_KEY: store.apiKey },
    );
    const run = (...args: readonly string[]) => workspace.storeferry(...args, '--json');
    expect((await run('run', 'shop')).json()).toMatchObject({ status: 'done', applied: PRODUCTS });
    const sent = store.requests.length;
    await writeFile(join(workspace.dir, 'mappings/shop.yaml'), mapping('title'));
    for (const command of ['plan', 'run', 'run']) {
      const stopped = await run(command, 'shop');
      expect([stopped.code, stopped.json()]).toEqual([4, expect.objectContaining({ requests: 0 })]);
      expect(stopped.stderr).toContain('the url is made differently');
    }
    // Nor once its records are rejected: they prove no key.
    await writeFile(
      join(workspace.dir, 'shop.csv'),
      `handle,title,price,sku\n${CATALOG.join('\n').replaceAll('9.50', 'tbc')}\n`,
    );
    expect((await run('run', 'shop')).code).toBe(4);
    expect(store.requests).toHaveLength(sent);
  },
);
