import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CatalogProduct, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { setupNightly } from '../support/nightly.ts';
import { unauthorized } from '../support/store/faults.ts';

const PRODUCTS = 60;
const REJECTED = 'product-60';

type Damage = (folder: string) => Promise<void>;

function edited(name: string, edit: (text: string) => string): Damage {
  return async (folder) => {
    const file = join(folder, name);
    const text = await readFile(file, 'latin1');
    const changed = edit(text);
    if (changed === text) throw new Error(`nothing was changed in ${name}`);
    await writeFile(file, changed, 'latin1');
  };
}

const gone =
  (name: string): Damage =>
  (folder) =>
    rm(join(folder, name));
const cut = (name: string) => edited(name, (text) => text.slice(0, text.length / 2));

const DAMAGES: readonly (readonly [string, Damage])[] = [
  ['folder is cleared away', (folder) => rm(folder, { recursive: true })],
  ['snapshot is damaged', edited('snapshot.json', () => '{')],
  ['copy of the source was edited', edited('source-0001', (text) => text.replaceAll(',7,', ',8,'))],
  ['copy of the source is gone', gone('source-0001')],
  ['shard is cut', cut('shard-00001.jsonl')],
  [
    'shard has lost its last lines',
    edited('shard-00001.jsonl', (text) => `${text.split('\n').slice(0, 50).join('\n')}\n`),
  ],
  ['shard is gone', gone('shard-00001.jsonl')],
  [
    'shard has a byte changed',
    edited('shard-00001.jsonl', (text) => text.replace('About Product 55', 'About Product 75')),
  ],
  ['plan is cut', cut('plan.json')],
  [
    'plan counts otherwise',
    edited('plan.json', (text) => text.replace('"operations": 59', '"operations": 39')),
  ],
  ['rejections are cut', cut('rejections.jsonl')],
  ['rejections are gone', gone('rejections.jsonl')],
];

describe('an unfinished run whose', () => {
  it.for(DAMAGES)(
    '%s gives way to a new one, which sends only what is missing',
    async ([how, damage], context) => {
      const products = manyProducts(PRODUCTS);
      await using setup = await setupNightly(PRODUCTS);
      const { store, workspace } = setup;
      const catalog = shopifyCatalog(
        products.map((product) => (product.handle === REJECTED ? { ...product, price: 'soon' } : product)),
      );
      await workspace.write('catalog.csv', catalog);
      // One at a time: what a failed run leaves at work at the store would have to be waited for.
      await workspace.write(
        'stores.yaml',
        `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 1 } }\n`,
      );
      store.misbehave({ does: unauthorized, from: 30 });
      const failed = await workspace.storeferry('run', 'nightly', '--json');
      expect(failed.json()).toMatchObject({ status: 'failed' });
      store.behave();
      const sent = store.shop.products.size;
      store.forget();
      const artifacts = join(workspace.dir, '.storeferry', 'artifacts');
      await damage(join(artifacts, String(failed.json()['run'])));

      const next = await workspace.storeferry('run', 'nightly', '--json');
      expect(next.json()).toMatchObject({
        ...{ status: 'done-with-rejects', records: PRODUCTS, rejected: 1, unsent: 0 },
        ...{ unchanged: sent, applied: PRODUCTS - 1 - sent },
      });
      expect(next.json()['run']).not.toBe(failed.json()['run']);
      expect(store.figures()).toMatchObject({ requests: PRODUCTS - 1 - sent, duplicates: 0 });
      const bodies = [...store.shop.products.values()].map((product) => JSON.stringify(product));
      const isRight = ({ handle, title }: CatalogProduct) =>
        bodies.some((body) => body.includes(`"${handle}"`) && body.includes(`About ${title}<`));
      const wrong = products.filter((product) => product.handle !== REJECTED && !isRight(product));
      figure(context, {
        invariant: 29,
        seed: store.seed,
        fired: { [how]: 1 },
        measured: [
          none('products other than the source says, after a file of a run was damaged', wrong.length),
        ],
      });
      const rejects = await readFile(join(artifacts, String(next.json()['run']), 'rejects.csv'), 'utf8');
      expect(rejects).toContain(REJECTED);
      const shown = await workspace.storeferry('runs', String(failed.json()['run']));
      expect(shown.stdout + shown.stderr).toMatch(/superseded|plan\.json is not a plan/);
    },
  );
});

describe('a run with rejects whose files were deleted', () => {
  it('is no circle of advice between retry and runs', async () => {
    await using setup = await setupNightly(3);
    const { workspace } = setup;
    const products = manyProducts(3).map((product) => ({ ...product, price: 'soon' }));
    await workspace.write('catalog.csv', shopifyCatalog([...products, ...manyProducts(60).slice(3)]));
    const ended = await workspace.storeferry('run', 'nightly', '--json');
    expect(ended.json()).toMatchObject({ status: 'done-with-rejects', rejected: 3 });
    const run = String(ended.json()['run']);
    await rm(join(workspace.dir, '.storeferry', 'artifacts', run), { recursive: true });
    const again = `Correct the source, then: storeferry -C ${workspace.dir} run nightly`;
    const retried = await workspace.storeferry('retry', run);
    expect(retried.code).toBe(2);
    expect(retried.stderr).toContain(`The rejects file of the run ${run} is gone`);
    expect(retried.stderr).toContain(again);
    const shown = await workspace.storeferry('runs', run);
    expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain(again);
    expect(shown.stdout).not.toContain(` retry ${run}`);
  });
});

describe('a plan that waits for approval', () => {
  it.each([
    ['shard-00001.jsonl', (text: string) => text.replace('Product 3', 'Product 5')],
    ['source-0001', (text: string) => text.replace('Product 3', 'Product 5')],
    ['plan.json', (text: string) => text.replace('"operations": 5', '"operations": 7')],
  ])('is refused when its %s was changed, and nothing is sent', async (name, edit) => {
    await using setup = await setupNightly(5);
    const { store, workspace } = setup;
    const planned = await workspace.storeferry('plan', 'nightly', '--json');
    const run = String(planned.json()['run']);
    await edited(name, edit)(join(workspace.dir, '.storeferry', 'artifacts', run));
    const approved = await workspace.storeferry('approve', run);
    expect(approved.code).toBe(1);
    expect(approved.stderr).toContain(name);
    expect(approved.stderr).toContain('plan nightly');
    expect(store.figures().requests).toBe(0);
    const again = await workspace.storeferry('run', 'nightly', '--json');
    expect(again.json()).toMatchObject({ status: 'done', applied: 5 });
    expect(await readdir(join(workspace.dir, '.storeferry', 'artifacts', run)).catch(() => [])).not.toContain(
      'shard-00001.jsonl',
    );
  });
});
