import { performance } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { setupNightly } from '../../support/nightly.ts';
import { pagesOf } from './setup.ts';

const RECORDS = 100_000;
const MAX_BYTES = 500_000;

it('the page of a run with 100,000 records is small, and its server time is printed', async () => {
  await using nightly = await setupNightly(0, { safety: '{ maxRejects: off }' });
  const { workspace, store } = nightly;
  const products = manyProducts(RECORDS).map((product, index) =>
    index % 20 === 0 ? { ...product, price: `tbc ${index}` } : product,
  );
  await workspace.write('catalog.csv', shopifyCatalog(products));
  const { run, records, rejected } = (await workspace.storeferry('plan', 'nightly', '--json')).json();
  expect([records, rejected]).toEqual([RECORDS, RECORDS / 20]);
  const env = { STORE_API_KEY: store.apiKey };
  await using pages = await pagesOf({ ...workspace, [Symbol.asyncDispose]: async () => {} }, { env });
  const times: number[] = [];
  let bytes = 0;
  for (let request = 0; request < 5; request++) {
    const started = performance.now();
    const { body } = await pages.app.inject(`/runs/${String(run)}`);
    times.push(performance.now() - started);
    bytes = Buffer.byteLength(body);
    expect(body).toContain('100,000');
  }
  for (const [outcome, words] of [
    ['', 'among the first 5,000 of this run'],
    ['planned', 'among the first 5,000 of this run'],
    ['deleted', 'No record of this run has this outcome'],
  ] as const) {
    const { body } = await pages.app.inject(`/runs/${String(run)}/outcomes?outcome=${outcome}`);
    expect(body, outcome).toContain(words);
  }
  const [first = 0, ...later] = times;
  console.log(
    `${bytes} bytes; ${first.toFixed(0)} ms the first time, then ${Math.min(...later).toFixed(0)} ms`,
  );
  expect(bytes).toBeLessThan(MAX_BYTES);
});
