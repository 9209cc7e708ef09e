import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const CONFIG = `
import { writeFileSync } from 'node:fs';
writeFileSync(new URL('executed', import.meta.url), '');
type Row = Readonly<Record<string, unknown>>;
export default {
  transforms: {
    ourSku: (text: string): string | null => {
      if (text === 'BAD') throw new Error('no such article');
      return text === 'NONE' ? null : \`A-\${text.toLowerCase()}\`;
    },
  },
  sources: {
    async *articles(signal: AbortSignal): AsyncGenerator<Row> {
      for (const sku of ['ONE', 'TWO', 'BAD']) yield { url: sku.toLowerCase(), name: sku, sku, price: 12.5, stock: null };
    },
    *uneven() {
      yield { url: 'a' };
      yield { url: 'b', more: 1 };
    },
  },
};
`;
const MAPPING = `import: products
columns: { url: url, name: name, sku: sku, price: price }
product: { url: url, title: name }
variants: { sku: [sku, { custom: ourSku }], pricing: { price: price } }
tests:
  - name: our skus
    rows: "url,name,sku,price\\nx,X,X1,1"
    expect: [{ includes: { variants: [{ sku: A-x1, options: [], price: 1, onSale: false, regularPrice: 1 }] } }]
`;
const JOB =
  'import: products\nstore: main\nsource: { custom: articles }\nmapping: ours\nsafety: { maxRejects: off }\n';

it('transforms and sources of storeferry.config.ts are executed where they are named, and only there', async () => {
  await using store = await startStore({ seed: 1 });
  const files: Record<string, string> = {
    'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`,
    'storeferry.config.ts': CONFIG,
    'mappings/ours.yaml': MAPPING,
    'jobs/articles.yaml': JOB,
  };
  await using workspace = await makeWorkspace(files, { STORE_API_KEY: store.apiKey });
  const executed = () => existsSync(join(workspace.dir, 'executed'));
  expect((await workspace.storeferry('runs')).code).toBe(0);
  expect(executed()).toBe(false);
  const checked = await workspace.storeferry('check');
  expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining('1 mapping test passed')]);
  expect(executed()).toBe(true);

  const ran = await workspace.storeferry('run', 'articles', '--json');
  expect(ran.json(), ran.stderr).toMatchObject({
    status: 'done-with-rejects',
    rows: 3,
    applied: 2,
    rejected: 1,
  });
  const products = JSON.stringify([...store.shop.products.values()]);
  expect(products.match(/"sku":"[^"]*"/g)?.sort()).toEqual(['"sku":"A-one"', '"sku":"A-two"']);
  const records = await workspace.storeferry('runs', String(ran.json()['run']), '--records');
  expect(records.stdout).toContain('ourSku: no such article');
  // The rows are the same, and the function is not.
  await workspace.write('storeferry.config.ts', CONFIG.replace('A-', 'B-'));
  const again = await workspace.storeferry('run', 'articles', '--json');
  expect(again.json(), again.stdout + again.stderr).toMatchObject({
    applied: 2,
    changed: 2,
  });

  const problems: readonly [string, string, string][] = [
    [
      'jobs/articles.yaml',
      JOB.replace('articles }', 'article }'),
      "has no source article; did you mean 'articles'?",
    ],
    ['jobs/articles.yaml', JOB.replace('articles }', 'uneven }'), 'a row has the column more'],
    [
      'mappings/ours.yaml',
      MAPPING.replaceAll('ourSku', 'theirSku'),
      'storeferry.config.ts has no transform theirSku',
    ],
    ['storeferry.config.ts', 'export default { transform: {} };', 'storeferry.config.ts: default'],
    ['storeferry.config.ts', 'export default {', 'storeferry.config.ts'],
  ];
  for (const [name, text, words] of problems) {
    await workspace.write(name, text);
    const { code, stdout, stderr } = await workspace.storeferry('plan', 'articles');
    // Long lines are wrapped.
    const printed = `${stdout}${stderr}`.replaceAll(/\s+/g, ' ');
    expect([words, code === 0, printed]).toEqual([words, false, expect.stringContaining(words)]);
    await workspace.write(name, files[name] ?? '');
  }
});
