import { expect, it } from 'vitest';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const mapping = (options: string) => `import: products
columns: { url: Url, title: Title, price: Price, size: Size, color: Color }
group: { by: url, rows: adjacent, head: { title: present } }
product: { url: url, title: title }
options: { columns: { ${options} } }
variants: { pricing: { price: price } }
`;

it('sends what a mapping makes of the same rows once the order of its options is another', async () => {
  const store = await startStore({ seed: 1 });
  await using workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`,
      'jobs/nightly.yaml': 'import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: own\n',
      'mappings/own.yaml': mapping('Size: size, Color: color'),
      'catalog.csv': 'Url,Title,Price,Size,Color\nshirt,Shirt,10,S,Red\nshirt,,11,M,Blue\n',
    },
    { STORE_API_KEY: store.apiKey },
  );
  try {
    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({ applied: 1 });
    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({ unchanged: 1 });
    await workspace.write('mappings/own.yaml', mapping('Color: color, Size: size'));
    const edited = await workspace.storeferry('run', 'nightly', '--json');
    expect(edited.json()).toMatchObject({ status: 'done', changed: 1, applied: 1 });
    expect(JSON.parse(store.lastBody('shirt') ?? '{}')).toMatchObject({
      options: [{ name: 'Color' }, { name: 'Size' }],
    });
  } finally {
    await store.close();
  }
});
