import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { manifestSchema } from '../../src/export/export-position.ts';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { makeWorkspace } from '../support/workspace.ts';

const WEEK_MS = 7 * 86_400_000;
const ORDERS = 240;
const PAGES = 5;

it('reads recent orders only, where a probe has seen that it can, and all of them in a full pass', async () => {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await setup({ profiles: ['extended'] }));
  const workspace = stack.use(
    await makeWorkspace(
      {
        'stores.yaml': `main: { baseUrl: "${store.url}", apiKey: "\${STORE_API_KEY}" }\n`,
        'jobs/fresh.yaml':
          'export: orders\nstore: main\ndestination: { path: "out/{number}.csv", mode: new }\ncolumns: [id, status]\n',
      },
      { STORE_API_KEY: API_KEY },
    ),
  );
  const run = async (...options: string[]) =>
    (await workspace.storeferry('run', 'fresh', '--json', ...options)).json();
  const change = (id: number) => store.send('PUT', `/api/site/orders/${id}`, { status: 'ARCHIVED' });
  const newest = async () => {
    const files = (await readdir(join(workspace.dir, 'out'))).filter((name) => name.endsWith('.csv'));
    const name = `${files.length}.csv`;
    const read = (ending: string) => readFile(join(workspace.dir, 'out', name + ending), 'utf8');
    return {
      lines: await read(''),
      manifest: manifestSchema.parse(JSON.parse(await read('.manifest.json'))),
    };
  };

  // Nothing was probed: all orders are read each time.
  expect(await run()).toMatchObject({ status: 'done', rows: ORDERS, requests: PAGES });
  expect(await run()).toMatchObject({ rows: 0, requests: PAGES });
  await workspace.storeferry('probe');

  await change(70_001);
  // The newest order becomes another one, of today.
  const created = Math.floor(Date.now() / 1_000);
  await store.send('PUT', '/api/site/orders/70240', { id: 90_001, created, status: 'PENDING' });
  const recent = await workspace.storeferry('run', 'fresh');
  expect(recent.stdout).toMatch(/Only orders created since \d{4}-\d\d-\d\d were read\..*or with --full\./s);
  const { lines, manifest } = await newest();
  expect(lines).toBe('id,status,storeferry_change\n90001,pending,new\n');
  expect(manifest).toMatchObject({ number: 2, count: 1, totalCount: 1 });
  expect(Date.parse(manifest.createdSince ?? '')).toBeLessThan(Date.now() - WEEK_MS);

  expect(await run('--full')).toMatchObject({ rows: 1, requests: PAGES });
  expect((await newest()).lines).toContain('70001,archived,changed');
  expect((await newest()).manifest).toMatchObject({ totalCount: ORDERS, createdSince: null });

  expect(await run()).toMatchObject({ rows: 0, requests: 1 });
  expect((await workspace.storeferry('export', 'reconcile', 'fresh', '--json')).json()).toMatchObject({
    files: 3,
    records: ORDERS + 2,
  });
});
