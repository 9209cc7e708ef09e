import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';
import { errorAnswer, resetAfter, unauthorized } from '../support/store/faults.ts';
import { until } from '../support/until.ts';

const MIRROR = { mode: 'mirror' };

describe('a nightly catalog', () => {
  it('sends 500 products once, nothing when nothing changed, and then only what did', async () => {
    await using setup = await setupNightly(500, MIRROR);
    const { store, workspace } = setup;

    const first = await workspace.storeferry('run', 'nightly', '--json');
    expect(first.json()).toMatchObject({
      status: 'done',
      rows: 500,
      records: 500,
      new: 500,
      changed: 0,
      unchanged: 0,
      operations: 500,
      applied: 500,
      rejected: 0,
      unsent: 0,
      requests: 500,
      rejectsFile: null,
      error: null,
    });
    expect(first.code).toBe(0);
    expect(store.figures()).toMatchObject({ requests: 500, duplicates: 0, maxOverlap: 1 });
    expect(store.violations).toEqual([]);
    const body = JSON.parse(store.lastBody('product-17') ?? '');
    expect(body).toMatchObject({
      title: 'Product 17',
      url: 'product-17',
      hidden: false,
      type: 'physical',
      options: [],
      variants: [
        {
          options: [],
          price: 27,
          onSale: false,
          regularPrice: 27,
          quantity: 7,
          sku: 'SKU-product-17-1',
          weight: 0.25,
        },
      ],
    });

    const second = await workspace.storeferry('run', 'nightly', '--json');
    expect(second.json()).toMatchObject({ status: 'done', unchanged: 500, operations: 0, requests: 0 });
    expect(store.figures().requests).toBe(500);

    const kept = manyProducts(497, 4).map((product) =>
      product.handle === 'product-10' || product.handle === 'product-11'
        ? { ...product, price: '99.99' }
        : product,
    );
    await workspace.write('catalog.csv', shopifyCatalog([...kept, ...manyProducts(10, 501)]));
    const third = await workspace.storeferry('run', 'nightly', '--json');
    expect(third.json()).toMatchObject({
      status: 'done',
      new: 10,
      changed: 2,
      removed: 3,
      operations: 15,
      applied: 12,
      deleted: 3,
      requests: 15,
      fieldsChanged: { 'variants.price': 2, 'variants.regularPrice': 2 },
    });
    expect(store.figures().requests).toBe(515);
    expect(store.shop.products.size).toBe(507);
  });

  it('stops on half a file before anything is sent, and applies exactly that plan once approved', async () => {
    await using setup = await setupNightly(100, MIRROR);
    const { store, workspace } = setup;
    await workspace.storeferry('run', 'nightly');
    store.forget();

    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(50)));
    const stopped = await workspace.storeferry('run', 'nightly', '--json');
    expect(stopped.code).toBe(4);
    expect(stopped.json()).toMatchObject({ status: 'stopped', removed: 50, requests: 0 });
    expect(store.figures().requests).toBe(0);

    const approved = await workspace.storeferry('approve', String(stopped.json()['run']), '--json');
    expect(approved.code).toBe(0);
    expect(approved.json()).toMatchObject({ status: 'done', deleted: 50, requests: 50 });
    expect(store.shop.products.size).toBe(50);
  });

  it('refuses to approve a plan once another run of the job has begun', async () => {
    await using setup = await setupNightly(100, MIRROR);
    const { workspace } = setup;
    await workspace.storeferry('run', 'nightly');
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(50)));
    const stopped = await workspace.storeferry('run', 'nightly', '--json');
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(100)));
    await workspace.storeferry('run', 'nightly');

    const late = await workspace.storeferry('approve', String(stopped.json()['run']));
    expect(late.code).toBe(2);
    expect(late.stderr).toContain('has begun');
  });

  it('plans without a single request, and leaves nothing that a run would continue', async () => {
    await using setup = await setupNightly(20);
    const { store, workspace } = setup;
    const plan = await workspace.storeferry('plan', 'nightly', '--json');
    expect(plan.code).toBe(0);
    expect(plan.json()).toMatchObject({ status: 'planned', new: 20, operations: 20, requests: 0 });
    expect(store.figures().requests).toBe(0);

    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.json()['run']).not.toBe(plan.json()['run']);
    expect(store.figures().requests).toBe(20);
  });

  it('applies all others when some answers are 503, resets after applying, or 422', async () => {
    await using setup = await setupNightly(300);
    const { store, workspace } = setup;
    store.misbehave({ does: errorAnswer(503, 'Busy'), probability: 0.05 });
    store.misbehave({ does: resetAfter, probability: 0.05 });
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-5', 'product-6'] });

    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.code).toBe(3);
    expect(run.json()).toMatchObject({ status: 'done-with-rejects', applied: 298, rejected: 2, unsent: 0 });
    expect(store.shop.products.size).toBe(298);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });

    store.behave();
    const { rejectsFile } = run.json();
    expect((await workspace.storeferry('runs', '--json')).json()).toMatchObject({ runs: [{ rejectsFile }] });
    const rejects = join(workspace.dir, String(rejectsFile));
    const text = await readFile(rejects, 'utf8');
    expect(text.charCodeAt(0)).toBe(0xfeff);
    expect(text).toContain('Too dear');
    await writeFile(rejects, text.replaceAll(/15\.00/g, '14.00'));
    const retry = await workspace.storeferry('retry', String(run.json()['run']), '--json');
    expect(retry.code).toBe(0);
    expect(retry.json()).toMatchObject({ status: 'done', records: 2, applied: 2 });
    expect(JSON.parse(store.lastBody('product-5') ?? '').variants[0].price).toBe(14);
    expect(store.shop.products.size).toBe(300);
  });

  it('is continued after SIGKILL without sending again what was acknowledged', async () => {
    await using setup = await setupNightly(400);
    const { store, workspace } = setup;
    store.misbehave({ does: { kind: 'delay', ms: 20 } });
    const killed = workspace.start('run', 'nightly', '--json');
    await until(() => store.figures().requests >= 100);
    killed.process.kill('SIGKILL');
    await killed.ended;
    store.behave();

    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.json()).toMatchObject({ status: 'done', records: 400, applied: 400, unsent: 0 });
    expect(store.shop.products.size).toBe(400);
    expect(store.figures().duplicates).toBe(0);
    expect(store.figures().requests).toBeLessThanOrEqual(400 + 16);
  });

  it('ends cleanly on SIGINT, says how to go on, and goes on', async () => {
    await using setup = await setupNightly(400);
    const { store, workspace } = setup;
    store.misbehave({ does: { kind: 'delay', ms: 20 } });
    const running = workspace.start('run', 'nightly');
    await until(() => store.figures().requests >= 50);
    running.process.kill('SIGINT');
    const interrupted = await running.ended;
    expect(interrupted.code).toBe(130);
    expect(interrupted.stdout).toContain(`storeferry -C ${workspace.dir} run nightly`);
    store.behave();

    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.json()).toMatchObject({ status: 'done', applied: 400 });
    expect(store.figures().requests).toBe(400);
  });

  it('ends at once when the key is wrong, and rejects no row', async () => {
    await using setup = await setupNightly(200);
    const { store, workspace } = setup;
    store.misbehave({ does: unauthorized, from: 60 });
    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.code).toBe(1);
    expect(run.json()).toMatchObject({ status: 'failed', rejected: 0, rejectsFile: null });
    expect(store.figures().requests).toBeLessThanOrEqual(60 + 16);
    expect(run.stdout + run.stderr).not.toContain(store.apiKey);
  });

  it('refuses a second run of a job that is running', async () => {
    await using setup = await setupNightly(200);
    const { store, workspace } = setup;
    store.misbehave({ does: { kind: 'delay', ms: 60_000 } });
    const running = workspace.start('run', 'nightly');
    await until(() => store.figures().requests > 0);
    const second = await workspace.storeferry('run', 'nightly');
    expect(second.code).toBe(1);
    expect(second.stderr).toContain('already running');
    store.behave();
    expect((await running.ended).code).toBe(0);
  });

  it('sends everything again with --resend', async () => {
    await using setup = await setupNightly(30);
    const { store, workspace } = setup;
    await workspace.storeferry('run', 'nightly');
    const again = await workspace.storeferry('run', 'nightly', '--resend', '--json');
    expect(again.json()).toMatchObject({ status: 'done', applied: 30, requests: 30 });
    expect(store.figures().requests).toBe(60);
  });
});

describe('wrong usage', () => {
  it('ends with 2 and names the nearest job', async () => {
    await using setup = await setupNightly(1);
    const result = await setup.workspace.storeferry('run', 'nightli');
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('nightly');
  });

  it('ends with 2 for an unknown option', async () => {
    await using setup = await setupNightly(1);
    expect((await setup.workspace.storeferry('run', 'nightly', '--jsno')).code).toBe(2);
  });
});
