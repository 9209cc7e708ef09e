import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

it('a job that waits for files is in order without one, and says who runs it', async () => {
  const store = await startStore({ seed: 1 });
  const catalog = shopifyCatalog(manyProducts(3));
  await using workspace = await makeWorkspace(
    {
      ...catalogWorkspace(store.baseUrl, catalog),
      'jobs/nightly.yaml':
        'import: products\nstore: main\nsource: { watch: inbox/*.csv }\nmapping: shopify-products\n',
    },
    { STORE_API_KEY: store.apiKey },
  );
  const check = async () => {
    const { code, stdout } = await workspace.storeferry('check', '--online');
    return [code, stdout.replaceAll(/\s+/g, ' ')] as const;
  };
  try {
    expect(await check()).toEqual([
      0,
      expect.stringContaining('ok job nightly: no file waits in inbox: a worker runs it for each *.csv'),
    ]);
    const run = await workspace.storeferry('run', 'nightly');
    expect(run.code).toBe(1);
    expect(run.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'No file of `inbox/*.csv` is being processed. A worker runs the job for each file that arrives; start it with: storeferry',
    );
    expect((await workspace.storeferry('check')).stdout).toMatch(/^Next: storeferry .*worker$/m);
    await workspace.write('inbox/failed/claimed0-the goods.csv', catalog);
    // Of an inbox of another job.
    await workspace.write('inbox/failed/claimed1-prices.xlsx', catalog);
    expect((await workspace.storeferry('run', 'nightly')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      "inbox/failed has 1 file whose run failed or was stopped. If it was not approved since, correct the cause, then move it back, in the folder of the workspace: mv -i 'inbox/failed/claimed0-the goods.csv' 'inbox/the goods.csv'.",
    );
    await workspace.write('inbox/processing/claimed1-b.csv', catalog);
    await workspace.write('inbox/processing/claimed2-c.csv', shopifyCatalog(manyProducts(5)));
    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({ applied: 3 });
    await workspace.write('inbox/a.csv', catalog);
    expect(await check()).toEqual([0, expect.stringContaining('its source inbox/a.csv exists')]);
    await workspace.write('inbox/a.csv', 'Name\nMug\n');
    expect(await check()).toEqual([1, expect.stringContaining('inbox/a.csv does not fit')]);
  } finally {
    await store.close();
  }
});
