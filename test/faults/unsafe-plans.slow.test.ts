import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { SCALE } from './scale.ts';
import { openScene } from './scene.ts';

const PRODUCTS = 100;
const GOOD = shopifyCatalog(manyProducts(PRODUCTS));

/** Another column for the price, whose cells are none. A column of blank cells skips every row instead, and sends nothing. */
const WRONG_MAPPING = `
import: products
columns: { handle: Handle, title: Title, sku: Variant SKU }
product: { url: handle, title: title }
variants: { pricing: { price: sku } }
`;
/** The same products under other addresses: the catalog would be created a second time. */
const OTHER_URL = `
import: products
columns: { handle: Handle, title: Title, price: Variant Price }
product: { url: { join: [handle, handle], with: '-' }, title: title }
variants: { pricing: { price: price } }
`;
const RIGHT_MAPPING = `
import: products
columns: { handle: Handle, title: Title, price: Variant Price }
product: { url: handle, title: title }
variants: { pricing: { price: price } }
`;

const FAULTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'an empty file': { 'catalog.csv': '' },
  'a file without rows': { 'catalog.csv': GOOD.slice(0, GOOD.indexOf('\n') + 1) },
  'half a file': { 'catalog.csv': shopifyCatalog(manyProducts(PRODUCTS / 2)) },
  'a file of other products': { 'catalog.csv': shopifyCatalog(manyProducts(PRODUCTS, 9_001)) },
  'prices in cents': { 'catalog.csv': GOOD.replaceAll(/(?<=,)(\d+)\.00(?=,)/g, '$100.00') },
  'prices of 0.01': { 'catalog.csv': GOOD.replaceAll(/(?<=,)\d+\.00(?=,)/g, '0.01') },
  'a wrong mapping': { 'mappings/own.yaml': WRONG_MAPPING },
  'another url expression': { 'mappings/own.yaml': OTHER_URL },
};

it.concurrent('a plan over its safety limit sends nothing, whatever is wrong with the source', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  await using scene = await openScene({ seed: 1, catalog: GOOD });
  const { store, workspace } = scene;
  await workspace.write('mappings/own.yaml', RIGHT_MAPPING);
  await workspace.write(
    'jobs/nightly.yaml',
    'import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: own\nmode: mirror\n',
  );
  const first = await scene.storeferry('run', 'nightly', '--json');
  expect(first.code, first.stderr).toBe(0);
  store.forget();

  const fired: Record<string, number> = {};
  let notStopped = 0;
  for (const [fault, files] of Object.entries(FAULTS)) {
    await workspace.write('catalog.csv', GOOD);
    await workspace.write('mappings/own.yaml', RIGHT_MAPPING);
    for (const [name, content] of Object.entries(files)) await workspace.write(name, content);
    const { code } = await scene.storeferry('run', 'nightly');
    // Without a single byte it is no CSV file, and fails before there is a plan.
    if (code !== (fault === 'an empty file' ? 1 : 4)) notStopped++;
    fired[fault] = 1;
  }
  figure(context, {
    invariant: 27,
    seed: null,
    fired,
    measured: [none('requests', store.figures().requests), none('runs not stopped', notStopped)],
  });
});
