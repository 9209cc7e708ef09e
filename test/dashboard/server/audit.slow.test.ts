import { hostname, userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { manyOrders, setupExports } from '../../support/exports.ts';
import { setupNightly } from '../../support/nightly.ts';
import { errorAnswer } from '../../support/store/faults.ts';
import { endOf } from './end-of.ts';
import { serveDashboard } from './running-dashboard.ts';

const me = `${userInfo().username}@${hostname()}`;

it('what visitors and commands do is in the audit log, which read-only visitors do not see', async () => {
  await using nightly = await setupNightly(8, { safety: '{ maxRejects: off }' });
  const { store, workspace } = nightly;
  store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-3'] });
  const { run } = (await workspace.storeferry('run', 'nightly', '--json')).json();
  store.behave();
  const dashboard = await serveDashboard(workspace);
  const client = await dashboard.signedIn('full');
  expect((await client.get(`/runs/${run}`)).words).toContain(`${me} started a run`);
  await client.get(`/runs/${run}/rejects.csv`);
  const report = await client.get(`/runs/${run}/report.html?download`);
  expect(report.headers['content-disposition']).toBe(`attachment; filename="nightly-${run}-report.html"`);
  const rows = await client.get(`/runs/${run}/rejects`);
  const shown = await client.submit(rows, `/runs/${run}/rejects`, { go: 'check' });
  const begun = await client.submit(shown, `/runs/${run}/retry`);
  const [retry = ''] = /(?<=Run )\w+/.exec(begun.words) ?? [];
  await endOf(client, `/runs/${retry}`);

  const looking = await dashboard.signedIn('readOnly');
  expect((await looking.get('/audit')).status).toBe(403);
  expect((await looking.get(`/runs/${run}`)).words).not.toContain(me);
  expect((await looking.get('/runs')).words).not.toContain('Audit log');
  expect((await looking.get(`/runs/${run}/rejects.xlsx`)).status).toBe(403);
  expect((await looking.get('/jobs/nightly/export')).status).toBe(403);
  expect((await client.get('/jobs/nightly/export')).status).toBe(404);

  const { audit } = (await workspace.storeferry('runs', '--audit', '--json')).json();
  const full = { who: 'full token from 127.0.0.1', by: 'dashboard', outcome: 'done' };
  expect(audit).toEqual([
    expect.objectContaining({ action: 'sign-in', who: 'read-only token from 127.0.0.1' }),
    expect.objectContaining({ ...full, action: 'retry', job: 'nightly', run: retry, of: run }),
    expect.objectContaining({ ...full, action: 'correct', run }),
    expect.objectContaining({ ...full, action: 'download-report', run }),
    expect.objectContaining({ ...full, action: 'download-rejects', run }),
    expect.objectContaining({ ...full, action: 'sign-in', run: null }),
    expect.objectContaining({ who: me, by: 'command', action: 'new-tokens' }),
    expect.objectContaining({ who: me, by: 'command', action: 'run', run, outcome: 'done' }),
  ]);
  expect((await workspace.storeferry('approve', 'mistyped')).code).toBe(2);
  const page = await client.get('/audit');
  expect(page.words).toMatch(/approve: refused.*mistyped/);
  const links = [...page.document.querySelectorAll('table a')].map((one) => one.getAttribute('href'));
  expect(links).toContain(`/runs/${run}`);
  expect(links).not.toContain('/runs/mistyped');
  expect(page.words).toContain('full token from 127.0.0.1');
  expect(page.words).toContain('sent corrected rejects');
  expect((await client.get('/audit?job=weekly')).words).toContain('No entries');
});

it('the file of an export is downloaded as it is now, by visitors with full access', async () => {
  await using setup = await setupExports({
    orders: 'export: orders\ndestination: { path: "out/all orders.csv" }\n',
  });
  setup.store.shop.orders.push(...manyOrders(30));
  const dashboard = await serveDashboard(setup.workspace);
  const client = await dashboard.signedIn('full');
  const early = await client.get('/jobs/orders/export');
  expect(early.status).toBe(409);
  expect(early.words).toContain('out/all orders.csv does not exist');
  expect((await setup.workspace.storeferry('run', 'orders')).code).toBe(0);
  expect((await client.get('/jobs/orders')).words).toContain('Download the exported file');
  const given = await client.get('/jobs/orders/export');
  expect(given.status).toBe(200);
  expect(given.headers['content-disposition']).toBe('attachment; filename="all_orders.csv"');
  expect(given.body).toBe((await setup.read('out/all orders.csv')).replace(/^\ufeff/, ''));
  const looking = await dashboard.signedIn('readOnly');
  expect((await looking.get('/jobs/orders/export')).status).toBe(403);
  expect((await looking.get('/jobs/orders')).words).not.toContain('Download');
  const { audit } = (await setup.workspace.storeferry('runs', '--audit', '--json')).json();
  const downloads = Array.isArray(audit) ? audit.filter(({ action }) => action === 'download-export') : [];
  expect(downloads).toEqual([expect.objectContaining({ job: 'orders', outcome: 'done', by: 'dashboard' })]);
});
