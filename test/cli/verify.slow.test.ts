import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupCrm } from '../support/contacts.ts';
import { setupNightly } from '../support/nightly.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { delay, errorAnswer } from '../support/store/faults.ts';
import { type Store, startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

/** Takes products away, as a restore from a backup does, and gives their urls. */
function forget({ shop }: Store, count: number): string[] {
  const lost = [...shop.products.values()].slice(0, count);
  for (const { id } of lost) shop.remove(id);
  return lost.map(({ url = '' }) => url);
}

describe('verify', () => {
  it('finds nothing wrong with a store that holds everything, and says what so many answers prove', async () => {
    await using setup = await setupNightly(80);
    await setup.workspace.storeferry('run', 'nightly');
    const held = structuredClone([...setup.store.shop.products]);
    setup.store.forget();
    const { code, stdout, stderr } = await setup.workspace.storeferry('verify', 'nightly');
    expect(stderr).toContain('Sends 50 of 80 known products to the store main again, as last acknowledged');
    expect(stderr).toContain('products that were deleted there are created again');
    const text = stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain('Of 50 products sent again, none was missing from the store.');
    expect(text).toContain('With 95% confidence at most 2 (2.5%) of all 80 known products are missing.');
    expect(text).toContain('it cannot show whether the store had older values');
    expect(stdout).not.toContain('run nightly --resend');
    expect(code).toBe(0);
    expect(setup.store.figures()).toMatchObject({ requests: 50, duplicates: 0, maxOverlap: 1 });
    expect([...setup.store.shop.products]).toEqual(held);
  });

  it('estimates how much is forgotten, offers to send everything again, and keeps the new ids', async () => {
    await using setup = await setupNightly(80, { mode: 'mirror' });
    await setup.workspace.storeferry('run', 'nightly');
    forget(setup.store, 20);
    const sampled = await setup.workspace.storeferry('verify', 'nightly', '--sample', '79', '--json');
    expect(sampled.code).toBe(3);
    const found = sampled.json();
    expect(found).toMatchObject({
      job: 'nightly',
      store: 'main',
      sampled: 79,
      known: 80,
      altered: 0,
      error: null,
    });
    expect([19, 20]).toContain(found['recreated']);
    expect(Object.keys(found)).toEqual([
      ...['job', 'store', 'sampled', 'known', 'asKnown', 'recreated', 'altered', 'rejected', 'unsent'],
      ...['forgottenShare', 'error'],
    ]);
    forget(setup.store, 80);
    const all = await setup.workspace.storeferry('verify', 'nightly', '--sample', '500');
    expect(all.code).toBe(3);
    expect(all.stdout).toMatch(/recreated +80 /);
    expect(all.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'Of 80 products sent again, 80 were missing from the store, or had another id there. These were all 80 known products: the figure is exact.',
    );
    expect(all.stdout).toMatch(/about 80 requests:\n +storeferry -C \S+ run nightly --resend\n/);

    // The ids of the ledger are those of the store now: each product can still be deleted.
    const again = await setup.workspace.storeferry('verify', 'nightly', '--sample', '80', '--json');
    expect(again.json()).toMatchObject({ sampled: 80, asKnown: 80, recreated: 0 });
    expect(again.json()['forgottenShare']).toEqual({ estimate: 0, low: 0, high: 0 });
    expect(setup.store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
  });

  it('is repeated by every run until everything is sent again', async () => {
    await using setup = await setupNightly(40);
    const { workspace, store } = setup;
    await workspace.storeferry('run', 'nightly');
    forget(store, 40);
    const verified = await workspace.storeferry('verify', 'nightly', '--sample', '5');
    const id = /\(run ([a-z0-9]+)\)/.exec(verified.stdout)?.[1];
    const finding = `The verification ${id} found that the store had lost 5 of 5 sampled records`;
    for (const command of ['plan', 'run', 'run']) {
      const { stdout } = await workspace.storeferry(command, 'nightly');
      expect(stdout.replaceAll(/\s+/g, ' '), command).toContain(finding);
      if (command === 'run') expect(stdout).toMatch(/storeferry -C \S+ run nightly --resend\n/);
    }
    for (const options of [['--resend'], []]) {
      const { stdout, code } = await workspace.storeferry('run', 'nightly', ...options);
      expect(code).toBe(0);
      expect(stdout).not.toContain('that the store had lost');
      expect(stdout).not.toContain('--resend\n');
    }
    expect(store.shop.products.size).toBe(40);
  });

  it('distinguishes what the store changes from what it has forgotten', async () => {
    await using setup = await setupNightly(6);
    await setup.workspace.storeferry('run', 'nightly');
    const [mug] = setup.store.shop.products.values();
    if (mug === undefined) throw new Error('the store is empty');
    const body = JSON.stringify({ ...mug, variants: [{ ...mug.variants?.[0], price: 1 }] });
    const does = { kind: 'answer', status: 200, body, applied: false } as const;
    setup.store.misbehave({ does, keys: [mug.url ?? ''] });
    const { code, stdout } = await setup.workspace.storeferry('verify', 'nightly');
    expect(code).toBe(3);
    expect(stdout).toMatch(/altered +1 /);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      '1 answer has other values than were sent: variants.price (1).',
    );
    expect(stdout).toContain('Of 6 products sent again, none was missing');
    expect(stdout).not.toContain('run nightly --resend');
  });

  it('counts a refusal without taking the record for forgotten', async () => {
    await using setup = await setupNightly(6);
    await setup.workspace.storeferry('run', 'nightly');
    const [mug] = setup.store.shop.products.values();
    setup.store.misbehave({ does: errorAnswer(422, 'Not on Sundays'), keys: [mug?.url ?? ''] });
    const { code, stdout } = await setup.workspace.storeferry('verify', 'nightly', '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ sampled: 6, asKnown: 5, rejected: 1, unsent: 0 });
    const shown = await setup.workspace.storeferry('verify', 'nightly');
    expect(shown.stdout).toContain('Not on Sundays');
    expect(shown.stdout).toContain('Of 5 products sent again, none was missing');
  });

  it('finds contacts that are gone, and repeats no values of persons', async () => {
    const rows = Array.from({ length: 12 }, (_, index) => ({
      number: index + 1,
      city: 'Leeds',
      tags: 'b;a',
      optedOut: 'true',
    }));
    await using crm = await setupCrm({ rows });
    await crm.workspace.storeferry('run', 'crm');
    // She has subscribed again.
    const contact = crm.store.shop.contacts.get(1005);
    expect(contact).toMatchObject({ subscribed: false });
    crm.store.shop.contacts.set(1005, Object.assign({}, contact, { subscribed: true }));
    for (const id of [1003, 1007]) crm.store.shop.contacts.delete(id);
    const { code, stdout, stderr } = await crm.workspace.storeferry('verify', 'crm');
    expect(code).toBe(3);
    expect(stderr).toContain('Sends 12 of 12 known contacts');
    expect(stderr).not.toContain('created again');
    expect(stdout).toMatch(/as known +10 /);
    expect(stdout).toMatch(/rejected +2/);
    expect(crm.store.shop.contacts.get(1005)).toMatchObject({ subscribed: true });
    expect(stdout).toContain('Of 12 contacts sent again, 2 were missing from the store.');
    expect(stdout).toContain('2 contacts not found');
    expect(stdout).toContain('2 records: Resource not found');
    expect(stdout + stderr).not.toMatch(/Leeds|contact-\d+@/);

    // They are not acknowledged any more: the next run does not take them for unchanged.
    const next = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(next.json()).toMatchObject({ applied: 0, unchanged: 10, rejected: 2 });
    expect(next.json()['rejectsFile']).toEqual(expect.stringContaining('rejects.csv'));
  });

  it('takes no 404 of something before the store for proof that a contact is gone', async () => {
    await using crm = await setupCrm({ rows: [{ number: 1 }, { number: 2 }] });
    await crm.workspace.storeferry('run', 'crm');
    const body = '<html><h1>404 Not Found</h1></html>';
    crm.store.misbehave({ does: { kind: 'answer', status: 404, body, applied: false }, keys: ['1001'] });
    const { code, stdout } = await crm.workspace.storeferry('verify', 'crm', '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ asKnown: 1, rejected: 1, forgottenShare: { estimate: 0 } });
  });

  it('ends as interrupted by SIGINT, with the figures of what was answered', async () => {
    await using setup = await setupNightly(60);
    await setup.workspace.storeferry('run', 'nightly');
    setup.store.misbehave({ does: delay(250) });
    setup.store.forget();
    const verifying = setup.workspace.start('verify', 'nightly', '--json');
    await verifying.printed('Sends 50 of 60 known products');
    while (setup.store.requests.length < 3) await new Promise(setImmediate);
    verifying.process.kill('SIGINT');
    const { code, json } = await verifying.ended;
    expect(code).toBe(130);
    const found = json();
    expect(found).toMatchObject({ sampled: 50, recreated: 0, altered: 0, rejected: 0 });
    expect(Number(found['unsent'])).toBe(50 - Number(found['asKnown']));
    expect(Number(found['unsent'])).toBeGreaterThan(0);
    expect(found['error']).toContain('Interrupted');
  });

  it('leads to a run where the ledger is lost, not to itself, with the workspace in each command', async () => {
    await using setup = await setupNightly(2);
    const { workspace } = setup;
    const failed = await workspace.storeferry('verify', 'nightly');
    expect(failed.code).toBe(1);
    const run = `storeferry -C ${workspace.dir} run nightly`;
    expect(failed.stdout.replaceAll(/\s+/g, ' ').split(run)).toHaveLength(3);
    expect(failed.stdout).toContain(`    ${run}\n`);
    expect(failed.stdout).not.toContain('verify nightly');
  });

  it('is refused while the job runs, for exports, for unknown jobs, and where nothing is known', async () => {
    await using setup = await setupNightly(20);
    await setup.workspace.write(
      'jobs/lists.yaml',
      'export: subscriber-lists\nstore: main\ndestination: { path: lists.csv }\n',
    );
    const unknown = await setup.workspace.storeferry('verify', 'nightly', '--json');
    expect(unknown.code).toBe(1);
    expect(unknown.json()).toMatchObject({ sampled: 0, known: 0, forgottenShare: { estimate: null } });
    expect(unknown.json()['error']).toContain('has no acknowledged record');

    setup.store.misbehave({ does: delay(60_000) });
    const running = setup.workspace.start('run', 'nightly');
    await running.printed('Run ');
    const refused = await setup.workspace.storeferry('verify', 'nightly', '--json');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('already running');
    expect(refused.json()).toEqual({
      ...{ job: 'nightly', store: null, sampled: 0, known: 0, asKnown: 0, recreated: 0, altered: 0 },
      ...{ rejected: 0, unsent: 0, forgottenShare: { estimate: null, low: 0, high: 1 } },
      error: expect.stringContaining('already running'),
    });
    running.process.kill('SIGKILL');
    await running.ended;

    expect((await setup.workspace.storeferry('verify', 'lists')).code).toBe(2);
    expect((await setup.workspace.storeferry('verify', 'nigthly')).code).toBe(2);
    expect((await setup.workspace.storeferry('verify', 'nightly', '--sample', '0')).code).toBe(2);
  });

  it('leaves what was on its way in doubt when it is killed, and the next run waits for it', async () => {
    let latencyMs = 0;
    await using setup = await setupNightly(40, {}, { latencyMs: () => latencyMs });
    const { store, workspace } = setup;
    const stores = `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n  limits: { concurrency: 8, timeoutSeconds: 3 }\n`;
    await workspace.write('stores.yaml', stores);
    expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
    store.forget();
    latencyMs = 1_500;
    const verifying = workspace.start('verify', 'nightly', '--sample', '40');
    await until(() => store.requests.length !== 0);
    verifying.process.kill('SIGKILL');
    await verifying.ended;
    // The store is still at work on what was on its way, which the next run must not overlap.
    latencyMs = 0;
    const next = await workspace.storeferry('run', 'nightly', '--json');
    expect(next.json()).toMatchObject({ status: 'done', records: 40 });
    // What was on its way, and no more than the groups begun beside it.
    expect(Number(next.json()['applied'])).toBeGreaterThan(0);
    expect(Number(next.json()['unchanged'])).toBeGreaterThan(0);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
  });

  it('finds that the state is older than what was sent before it sends anything', async () => {
    await using setup = await setupNightly(30);
    const { workspace } = setup;
    await workspace.storeferry('run', 'nightly');
    const database = new DatabaseSync(join(workspace.dir, '.storeferry', 'state.db'));
    database.exec(`VACUUM INTO '${join(workspace.dir, 'older.db')}'`);
    database.close();
    const dear = manyProducts(30).map((product) => ({ ...product, price: '30.50' }));
    await workspace.write('catalog.csv', shopifyCatalog(dear));
    await workspace.storeferry('run', 'nightly');
    for (const name of ['state.db', 'state.db-wal', 'state.db-shm'])
      await rm(join(workspace.dir, '.storeferry', name), { force: true });
    await rename(join(workspace.dir, 'older.db'), join(workspace.dir, '.storeferry', 'state.db'));

    setup.store.forget();
    const { code, stdout, stderr } = await workspace.storeferry('verify', 'nightly', '--json');
    expect(code).toBe(1);
    expect(stderr).toContain('The state is older than the last requests to this store');
    expect(JSON.parse(stdout)).toMatchObject({ sampled: 0, error: expect.stringContaining('is in doubt') });
    expect(setup.store.requests).toHaveLength(0);

    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(30)));
    const next = await workspace.storeferry('run', 'nightly', '--json');
    expect(next.json()).toMatchObject({ status: 'done', applied: 30, unchanged: 0 });
  });

  it('is listed among the runs, and is neither continued nor taken for the last run of the job', async () => {
    await using setup = await setupNightly(10);
    const ran = await setup.workspace.storeferry('run', 'nightly', '--json');
    forget(setup.store, 4);
    await setup.workspace.storeferry('verify', 'nightly');
    const { stdout } = await setup.workspace.storeferry('runs');
    const id = /^(\w+) +nightly \(verify\) +done /m.exec(stdout)?.[1] ?? '';
    const shown = await setup.workspace.storeferry('runs', id);
    expect(shown.stdout).toMatch(/recreated +4 /);
    expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain('another id than before for 4 products');
    const next = await setup.workspace.storeferry('run', 'nightly', '--json');
    expect(next.json()).toMatchObject({ status: 'done', applied: 0, unchanged: 10 });
    expect(next.json()['run']).not.toBe(ran.json()['run']);
  });
});

describe('a run', () => {
  it('counts the ids that changed, and names the command that estimates how much is forgotten', async () => {
    await using setup = await setupNightly(40);
    await setup.workspace.storeferry('run', 'nightly');
    forget(setup.store, 40);
    const changed = manyProducts(40).map((product) => ({ ...product, title: `${product.title} II` }));
    await setup.workspace.write('catalog.csv', shopifyCatalog(changed));
    const { stdout } = await setup.workspace.storeferry('run', 'nightly');
    const text = stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain('answered with another id than before for 40 products: it lost them');
    expect(stdout).toMatch(/\n +storeferry -C \S+ verify nightly\n/);
    const id = /\(run (\w+)\)/.exec(stdout)?.[1] ?? '';
    const page = await readFile(join(setup.workspace.dir, `.storeferry/artifacts/${id}/report.html`), 'utf8');
    expect(page).toContain('another id than before for 40 products');
    expect(page).toContain('verify nightly');
  });
});

describeWithRedis('verify with Redis', () => {
  it('records as a run does: its figures, the new ids, and how many there are', async () => {
    await using redis = await startRedis();
    await using store = await startStore({ seed: 3 });
    await using workspace = await makeWorkspace(
      catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(30))),
      { STORE_API_KEY: store.apiKey, REDIS_URL: redis.url },
    );
    await workspace.storeferry('run', 'nightly');
    forget(store, 25);
    const { code, stdout } = await workspace.storeferry('verify', 'nightly', '--sample', '30');
    expect(code).toBe(3);
    expect(stdout).toMatch(/recreated +25 /);
    const id = /\(run (\w+)\)/.exec(stdout)?.[1] ?? '';
    const shown = await workspace.storeferry('runs', id);
    expect(shown.stdout).toMatch(/recreated +25 /);
    expect(shown.stdout.replaceAll(/\s+/g, ' ')).toContain('another id than before for 25 products');
    const again = await workspace.storeferry('verify', 'nightly', '--sample', '30', '--json');
    expect(again.json()).toMatchObject({ sampled: 30, asKnown: 30, recreated: 0 });
  });
});
