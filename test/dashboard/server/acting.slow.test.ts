import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { setupNightly } from '../../support/nightly.ts';
import { until } from '../../support/until.ts';
import { endOf } from './end-of.ts';
import { formOf } from './http-client.ts';
import { serveDashboard } from './running-dashboard.ts';

/** So many that a run is surely still under way when pages have been looked at meanwhile. */
const PRODUCTS = 3_000;

describe('what is done from the dashboard', () => {
  it('plans, says in figures what approving will do, and does exactly that', async () => {
    await using nightly = await setupNightly(30);
    const { store, workspace } = nightly;
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');

    const asked = await client.get('/jobs/nightly/plan');
    expect(asked.words).toContain('Nothing is sent.');
    const planned = await client.submit(asked, '/jobs/nightly/plan');
    expect(planned.words).toMatch(/^Run \w+/);
    expect(store.requests).toHaveLength(0);

    const [run = ''] = /(?<=Run )\w+/.exec(planned.words) ?? [];
    await endOf(client, `/runs/${run}`);
    const approval = await client.get(`/runs/${run}/approve`);
    expect(approval.words).toContain(`Sends 30 requests to the store main (${store.baseUrl}): 30 new.`);
    expect(approval.words).toContain('Deletes nothing.');
    expect(store.requests).toHaveLength(0);

    const approved = await client.submit(approval, `/runs/${run}/approve`);
    expect(approved.words).toContain(`Run ${run}`);
    await endOf(client, `/runs/${run}`);
    expect(store.figures()).toMatchObject({ duplicates: 0 });
    expect(store.shop.products.size).toBe(30);
  });

  it('says before an approval, as the command does, what has changed since the plan was made', async () => {
    await using nightly = await setupNightly(4);
    const { store, workspace } = nightly;
    const client = await (await serveDashboard(workspace)).signedIn('full');
    const plan = String((await workspace.storeferry('plan', 'nightly', '--json')).json()['run']);
    const since = 'Changed since this plan was made:';
    expect((await client.get(`/runs/${plan}/approve`)).words).not.toContain(since);
    // Written again with the same content, and settings that change nothing that is sent.
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(4)));
    const job = await readFile(join(workspace.dir, 'jobs/nightly.yaml'), 'utf8');
    await workspace.write('jobs/nightly.yaml', `${job}schedule: { cron: "0 3 * * *", timezone: UTC }\n`);
    expect((await client.get(`/runs/${plan}/approve`)).words).not.toContain(since);
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(5)));
    await workspace.write('jobs/nightly.yaml', `${job}duplicates: last\n`);
    const mapping = await readFile(
      new URL('../../../mappings/shopify-products.yaml', import.meta.url),
      'utf8',
    );
    await workspace.write(
      'mappings/shopify-products.yaml',
      mapping.replace('\n  title: title', '\n  title: body'),
    );
    const words = `${since} the settings of the job, the mapping and the source. What is sent is what the plan shows;`;
    expect((await client.get(`/runs/${plan}/approve`)).words).toContain(words);
    const approved = await workspace.storeferry('approve', plan);
    expect(approved.stderr.replaceAll(/\s+/g, ' ')).toContain(words);
    expect(store.shop.products.size).toBe(4);
  });

  it('discards a plan that waits, once, after a confirmation', async () => {
    await using shop = await setupNightly(3);
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');
    const plan = String((await shop.workspace.storeferry('plan', 'nightly', '--json')).json()['run']);
    expect((await client.get(`/runs/${plan}`)).body).toContain(`/runs/${plan}/discard`);
    const asked = await client.get(`/runs/${plan}/discard`);
    expect(asked.words).toContain('Nothing of it was sent.');
    const discarded = await client.submit(asked, `/runs/${plan}/discard`);
    expect(discarded.words).toContain('a person decided not to send this plan');
    expect((await client.submit(asked, `/runs/${plan}/discard`)).status).toBe(200);
    expect((await client.get(`/runs/${plan}/discard`)).status).toBe(409);
    expect((await client.get('/audit')).words).toContain('discarded a plan');
    expect((await (await dashboard.signedIn('readOnly')).get(`/runs/${plan}/discard`)).status).toBe(403);
  });

  it('asks for no approval that would be refused, since a later run has begun', async () => {
    await using nightly = await setupNightly(30, { safety: '{ minRows: 40 }' });
    const { workspace } = nightly;
    const stopped = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    const later = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');

    expect((await client.get(`/runs/${stopped}`)).words).toContain(`See run ${later}`);
    const refused = await client.get(`/runs/${stopped}/approve`);
    expect(refused.status).toBe(409);
    expect(refused.words).toContain(`${later} of nightly has begun since`);
    const asked = await client.get(`/runs/${later}/approve`);
    expect(asked.words).toContain('Safety limit exceeded: the source has 30 rows; the limit is 40.');
  });

  it('names the prices that would move too far before they are approved', async () => {
    await using nightly = await setupNightly(30);
    const { workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    const dear = manyProducts(30).map((product) => ({
      ...product,
      price: `${product.price.replace('.', '')}.00`,
    }));
    await workspace.write('catalog.csv', shopifyCatalog(dear));
    const stopped = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');

    const page = (await client.get(`/runs/${stopped}`)).words;
    expect(page).toContain(
      'Stopped before the first request: 30 of 30 known products have a price that becomes',
    );
    expect(page).toMatch(/product-\d+: price \d+\.00 → \d,\d00\.00/);
    expect((await client.get('/jobs/nightly')).words).toContain(
      'at most 5% of the known products with a price that becomes at least 3 times as high, at most a third, or 0',
    );
    const { words } = await client.get(`/runs/${stopped}/approve`);
    expect(words).toContain('Safety limit exceeded: 30 of 30 known products have a price that becomes');
    expect(words).toMatch(/the limit is 5%\. ?product-\d+: price \d+\.00 → \d,\d00\.00/);
    expect(words).toContain('and 20 more');
  });

  it('begins one run however often the button is pressed', async () => {
    await using nightly = await setupNightly(30, {}, { latencyMs: 20 });
    const { store, workspace } = nightly;
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    const { action, fields } = formOf(await client.get('/jobs/nightly/run'), '/jobs/nightly/run');
    const answers = await Promise.all([1, 2, 3].map(() => client.post(action, fields)));
    // On a slow machine the run has no id yet; then each answer leads to it.
    const pages = await Promise.all(answers.map((answer) => client.follow(answer)));
    const runs = pages.map(({ words }) => /(?<=^Run )\w+/.exec(words)?.[0]);
    expect(new Set(runs).size).toBe(1);
    expect(runs[0]).toBeDefined();
    await endOf(client, `/runs/${runs[0]}`);
    expect(store.requests).toHaveLength(30);
    await client.follow(await client.post(action, fields));
    expect(store.requests).toHaveLength(30);
    expect((await client.get('/runs')).document.querySelectorAll('tbody tr')).toHaveLength(1);
  });

  it('offers no second start while a command runs the job, and leads an earlier form to that run', async () => {
    await using nightly = await setupNightly(PRODUCTS, {}, { latencyMs: 100 });
    const { store, workspace } = nightly;
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    const earlier = await client.get('/jobs/nightly/run');
    const running = workspace.start('run', 'nightly');
    await until(() => store.requests.length >= 20);
    const [underWay] = [...(await client.get('/')).document.querySelectorAll('.job')];
    const run = /\/runs\/(\w+)/.exec(underWay?.innerHTML ?? '')?.[1] ?? '';
    for (const path of ['/jobs/nightly/run', '/jobs/nightly/plan']) {
      const page = await client.get(path);
      expect(page.words).toMatch(
        new RegExp(`^nightly is running Run ${run} is running, started .* by a command`),
      );
      expect(page.document.querySelector('main form')).toBeNull();
    }
    const { action, fields } = formOf(earlier, '/jobs/nightly/run');
    expect((await client.post(action, fields)).headers.location).toBe(`/runs/${run}`);
    running.process.kill('SIGINT');
    await running.ended;
    expect((await client.get('/jobs/nightly/run')).words).toContain('it continues where run');
    const runs = await client.get('/runs');
    expect(runs.document.querySelectorAll('tbody tr')).toHaveLength(1);
  });

  it('interrupts a run that is under way, and its own runs when it is asked to stop', async () => {
    await using nightly = await setupNightly(PRODUCTS, {}, { latencyMs: 100 });
    const { store, workspace } = nightly;
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    const begun = await client.submit(await client.get('/jobs/nightly/run'), '/jobs/nightly/run');
    const [run = ''] = /(?<=Run )\w+/.exec(begun.words) ?? [];
    await until(() => store.requests.length >= 20);
    const asked = await client.get(`/runs/${run}/interrupt`);
    expect(asked.words).toContain('The next run of the job continues where it stopped');
    await client.submit(asked, `/runs/${run}/interrupt`);
    expect(await endOf(client, `/runs/${run}`)).toContain('nterrupted');

    const again = await client.submit(await client.get('/jobs/nightly/run'), '/jobs/nightly/run');
    expect(again.words).toContain(`Run ${run}`);
    const before = store.requests.length;
    await until(() => store.requests.length >= before + 20);
    dashboard.command.process.kill('SIGTERM');
    expect((await dashboard.command.ended).code).toBe(0);
    const { stdout } = await workspace.storeferry('runs', run);
    expect(stdout).toContain('interrupted');
    expect(store.shop.products.size).toBeLessThan(PRODUCTS);
  });
});
