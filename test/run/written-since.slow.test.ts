import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { catalogOf, FILES, lampsOf, openShop, type Redis } from './undo-shop.ts';

const PRICES = `import: products
columns: { sku: SKU, price: Price }
variants: { sku: sku, pricing: { price: price } }
`;
const LAMPS = lampsOf(8);
const OTHER_JOB = FILES['jobs/catalog.yaml']
  .replace('catalog.csv', 'other.csv')
  .replace('mode: mirror', 'mode: upsert');

/** The lamps with other prices; null: without this lamp. */
function lampsWith(prices: Readonly<Record<string, number | null>>) {
  return new Map(
    [...LAMPS].flatMap(([url, lamp]) => {
      const price = prices[url] === undefined ? lamp.price : prices[url];
      return price === null ? [] : [[url, { ...lamp, price }] as const];
    }),
  );
}

async function openTwoJobs(redis: Redis | undefined, delayMs = 0) {
  const shop = await openShop(redis, delayMs);
  await shop.workspace.write('jobs/other.yaml', OTHER_JOB);
  await shop.sends(LAMPS);
  return {
    ...shop,
    priceOf: (url: string) =>
      [...shop.store.shop.products.values()].find((product) => product.url === url)?.variants?.[0]?.price,
    async otherSends(prices: Readonly<Record<string, number>>) {
      const lamps = [...lampsWith(prices)].filter(([url]) => prices[url] !== undefined);
      await shop.workspace.write('other.csv', catalogOf(new Map(lamps)));
      return await shop.run('run', 'other');
    },
    /** Runs the catalog with these prices, of which -1 cannot be read. */
    async catalogSends(prices: Readonly<Record<string, number | null>>) {
      await shop.workspace.write('catalog.csv', catalogOf(lampsWith(prices)).replaceAll(',-1,', ',tbc,'));
      return await shop.run('run', 'catalog');
    },
  };
}

function suite(openRedis: () => Promise<Redis | undefined>): void {
  it('is planned anew where a run was killed and another job has written since', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis, 60);
    const prices = Object.fromEntries([...LAMPS.keys()].slice(2).map((url) => [url, 99]));
    await shop.workspace.write('catalog.csv', catalogOf(lampsWith(prices)));
    const before = shop.store.figures().requests;
    const killed = shop.workspace.start('run', 'catalog');
    await until(() => shop.store.figures().requests >= before + 2);
    killed.process.kill('SIGKILL');
    await killed.ended;
    expect(await shop.otherSends({ 'lamp-0': 5, 'lamp-7': 6 })).toMatchObject({ code: 0, applied: 2 });
    expect(await shop.run('run', 'catalog')).toMatchObject({ code: 0, unsent: 0 });
    expect([...LAMPS.keys()].map(shop.priceOf)).toEqual([10, 11, 99, 99, 99, 99, 99, 99]);
    expect(await shop.run('run', 'catalog')).toMatchObject({ code: 0, unchanged: 8, requests: 0 });
  });

  it('is planned anew where a plan waited for approval, unless the other job has sent nothing', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    await shop.otherSends({ 'lamp-7': 17 });
    await shop.workspace.write('catalog.csv', catalogOf(lampsWith({ 'lamp-1': 50 })));
    const plan = async () => String((await shop.run('plan', 'catalog'))['run']);
    const first = await plan();
    expect(await shop.run('run', 'other', '--limit', '1')).toMatchObject({ code: 0, requests: 0 });
    const approved = await shop.run('approve', first);
    expect(approved).toMatchObject({ code: 0, changed: 1, applied: 1 });
    await shop.workspace.write('catalog.csv', catalogOf(lampsWith({ 'lamp-1': 60 })));
    const second = await plan();
    await shop.otherSends({ 'lamp-0': 5 });
    const { code, stderr } = await shop.workspace.storeferry('approve', second);
    expect(code).toBe(2);
    expect(stderr).toContain(`Another job has written to the store since run ${second} was planned.`);
    expect(stderr).toMatch(/Plan it again: storeferry .*plan catalog/);
    expect(await shop.run('approve', await plan())).toMatchObject({ code: 0, applied: 2 });
    expect([shop.priceOf('lamp-0'), shop.priceOf('lamp-1')]).toEqual([10, 60]);
  });

  it('is left out of a retry, whatever its values are now', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    const rejected = { 'lamp-1': -1, 'lamp-2': -1, 'lamp-3': -1, 'lamp-4': -1, 'lamp-5': -1 };
    const { run, rejectsFile } = await shop.catalogSends(rejected);
    // Lamp 1 is changed and changed back, 2 is found unchanged, 3 is deleted, 4 is made anew, 5 stays as it was.
    await shop.catalogSends({ ...rejected, 'lamp-1': 70, 'lamp-2': 12, 'lamp-3': null, 'lamp-4': null });
    await shop.catalogSends({ ...rejected, 'lamp-1': 11, 'lamp-2': 12, 'lamp-3': null, 'lamp-4': 14 });
    const file = join(shop.workspace.dir, String(rejectsFile));
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('tbc', '77'));
    expect(await shop.run('retry', String(run))).toMatchObject({
      code: 0,
      applied: 1,
      skipped: 4,
      requests: 1,
    });
    const prices = ['lamp-1', 'lamp-2', 'lamp-3', 'lamp-4', 'lamp-5'].map(shop.priceOf);
    expect(prices).toEqual([11, 12, undefined, 14, 77]);
  });

  it('is no reason against a retry where it was an update of fields that the job keeps', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    const retried = async () => {
      const { run, rejectsFile } = await shop.catalogSends({ 'lamp-1': -1, 'lamp-2': -1 });
      const file = join(shop.workspace.dir, String(rejectsFile));
      await writeFile(file, (await readFile(file, 'utf8')).replaceAll('tbc', '77'));
      return async () => await shop.run('retry', String(run));
    };
    const over = await retried();
    await shop.workspace.write('stock.csv', 'SKU,Qty\nlamp-1,3\n');
    await shop.run('run', 'stock');
    expect(await over(), 'the catalog sends its own stock').toMatchObject({ applied: 1, skipped: 1 });
    await shop.workspace.write(
      'jobs/catalog.yaml',
      `${FILES['jobs/catalog.yaml']}keep: [variants.quantity]\n`,
    );
    await shop.catalogSends({});
    const kept = await retried();
    await shop.workspace.write('stock.csv', 'SKU,Qty\nlamp-1,2\n');
    expect(await shop.run('run', 'stock')).toMatchObject({ applied: 1 });
    expect(await kept()).toMatchObject({ code: 0, applied: 2, skipped: 0 });
    expect(shop.held().get('lamp-1')?.variants).toMatchObject([{ price: 77, quantity: 2 }]);
    // So is what an update has sent, whatever it sends by now.
    await shop.catalogSends({});
    const narrowed = await retried();
    const stock = FILES['mappings/stock.yaml'];
    await shop.workspace.write(
      'mappings/stock.yaml',
      stock
        .replace('qty: Qty }', 'qty: Qty, price: Price }')
        .replace('quantity:', 'pricing: { price: price }, quantity:'),
    );
    await shop.workspace.write('stock.csv', 'SKU,Qty,Price\nlamp-1,2,3.99\n');
    expect(await shop.run('run', 'stock')).toMatchObject({
      applied: 1,
      fieldsChanged: { 'variants.price': 1 },
    });
    await shop.workspace.write('mappings/stock.yaml', stock);
    expect(await narrowed()).toMatchObject({ skipped: 1, applied: 1 });
    expect([shop.priceOf('lamp-1'), shop.priceOf('lamp-2')]).toEqual([3.99, 77]);
    // A whole product of another job is newer.
    await shop.catalogSends({});
    const other = await retried();
    await shop.otherSends({ 'lamp-1': 50 });
    expect(await other()).toMatchObject({ applied: 1, skipped: 1 });
    expect([shop.priceOf('lamp-1'), shop.priceOf('lamp-2')]).toEqual([50, 77]);
  });

  it('is in doubt for a retry where an update of kept fields got no answer', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis, 60);
    const catalog = `${FILES['jobs/catalog.yaml']}keep: [variants.quantity]\n`;
    await shop.workspace.write('jobs/catalog.yaml', catalog);
    await shop.catalogSends({});
    const { run, rejectsFile } = await shop.catalogSends({ 'lamp-1': -1 });
    const file = join(shop.workspace.dir, String(rejectsFile));
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('tbc', '77'));
    await shop.workspace.write('stock.csv', 'SKU,Qty\nlamp-1,2\n');
    const before = shop.store.figures().requests;
    const dying = shop.workspace.start('run', 'stock');
    await until(() => shop.store.figures().requests > before);
    dying.process.kill('SIGKILL');
    await dying.ended;
    expect(await shop.run('retry', String(run))).toMatchObject({ code: 3, applied: 0, rejected: 1 });
  });

  it('is left out of a retry where the other run was planned before the rejected one', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    await shop.workspace.write('other.csv', catalogOf(new Map([...lampsWith({ 'lamp-1': 50 })].slice(1, 2))));
    const { run: planned } = await shop.run('plan', 'other');
    const { run, rejectsFile } = await shop.catalogSends({ 'lamp-1': -1 });
    expect(await shop.run('approve', String(planned))).toMatchObject({ code: 0, applied: 1 });
    const file = join(shop.workspace.dir, String(rejectsFile));
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('tbc', '77'));
    expect(await shop.run('retry', String(run))).toMatchObject({ applied: 0, skipped: 1 });
    expect(shop.priceOf('lamp-1')).toBe(50);
  });

  it('is not what a killed retry has left in doubt: the next retry sends that, also after a run', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis, 60);
    const catalog = catalogOf(lampsOf(20)).replaceAll(/,(1[89]|2\d),5$/gm, ',tbc,5');
    await shop.workspace.write('catalog.csv', catalog);
    const { run, rejectsFile, rejected } = await shop.run('run', 'catalog');
    expect(rejected).toBe(12);
    const file = join(shop.workspace.dir, String(rejectsFile));
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('tbc', '77'));
    const before = shop.store.figures().requests;
    const killed = shop.workspace.start('retry', String(run));
    await until(() => shop.store.figures().requests >= before + 5);
    killed.process.kill('SIGKILL');
    await killed.ended;
    expect(await shop.run('run', 'catalog')).toMatchObject({ code: 3, rejected: 12, applied: 0 });
    const again = await shop.run('retry', String(run));
    expect(again).toMatchObject({ code: 0, rejected: 0, unsent: 0 });
    // What the killed retry has got acknowledged is not sent again.
    expect(Number(again['applied']) + Number(again['skipped'])).toBe(12);
    expect(again['skipped']).toBeLessThan(5);
    const prices = [...lampsOf(20).keys()].slice(8).map(shop.priceOf);
    expect(prices).toEqual(new Array(12).fill(77));
    expect([shop.store.shop.products.size, shop.store.violations]).toEqual([20, []]);
    expect(await shop.run('retry', String(run))).toMatchObject({ code: 0, skipped: 12, requests: 0 });
  });

  it('is reported where a retry cannot say who has left it in doubt', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis, 60);
    const rejected = Object.fromEntries([...LAMPS.keys()].slice(2).map((url) => [url, -1]));
    const { run, rejectsFile } = await shop.catalogSends(rejected);
    await shop.workspace.write('catalog.csv', catalogOf(lampsWith({ 'lamp-2': 50, 'lamp-3': 51 })));
    const before = shop.store.figures().requests;
    const killed = shop.workspace.start('run', 'catalog');
    await until(() => shop.store.figures().requests > before);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const file = join(shop.workspace.dir, String(rejectsFile));
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll('tbc', '77'));
    const retried = await shop.run('retry', String(run));
    expect(retried).toMatchObject({ code: 3, unsent: 0 });
    expect(Number(retried['rejected'])).toBeGreaterThan(0);
    const { stdout } = await shop.workspace.storeferry('runs', String(retried['run']));
    expect(stdout).toContain(`another run has begun to send this key since run ${run} rejected it`);
    expect([shop.priceOf('lamp-2'), shop.priceOf('lamp-3')]).not.toContain(77);
  });

  it('is left out of an undo, also where another job has set the same value again', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    const wrong = String((await shop.catalogSends({ 'lamp-1': 90, 'lamp-2': 91 }))['run']);
    await shop.undoes(wrong);
    expect([shop.priceOf('lamp-1'), shop.priceOf('lamp-2')]).toEqual([11, 12]);
    const other = String((await shop.otherSends({ 'lamp-1': 90 }))['run']);
    const again = await shop.workspace.storeferry('undo', wrong);
    expect(again.stdout).toContain(`run ${other} of other changed it since (lamp-1)`);
    expect(await shop.undoes(wrong)).toMatchObject({ operations: 0, unchanged: 1, skipped: 1 });
    expect(await shop.run('show', 'lamp-1')).toMatchObject({ job: 'other' });
    expect(shop.priceOf('lamp-1')).toBe(90);
    // What is undone brings back the version before it, so that the earlier run can be undone again.
    await shop.undoes(other);
    expect(await shop.undoes(wrong)).toMatchObject({ operations: 0, unchanged: 2, skipped: 0 });
  });

  it('is not released, and what a newer file no longer names is', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    const guards = 'guards: [{ field: variants.price, changeBy: 50%, action: hold }]\n';
    const job = FILES['jobs/catalog.yaml'].replace('mode: mirror', 'mode: upsert');
    await shop.workspace.write('jobs/catalog.yaml', job + guards);
    const held = { 'lamp-1': 90, 'lamp-2': 91, 'lamp-3': 92, 'lamp-4': 93 };
    const first = await shop.catalogSends(held);
    expect(first).toMatchObject({ code: 3, held: 4 });
    // Lamp 1 is found unchanged, 2 is changed and changed back, 3 is no longer in the file, 4 cannot be read.
    await shop.catalogSends({ ...held, 'lamp-1': 11, 'lamp-2': 13, 'lamp-3': null, 'lamp-4': -1 });
    await shop.catalogSends({ ...held, 'lamp-1': 91, 'lamp-2': 12, 'lamp-3': null, 'lamp-4': -1 });
    expect((await shop.run('show', 'lamp-3'))['held']).toMatchObject([{ run: first['run'] }]);
    const released = await shop.run('release', String(first['run']));
    expect(released).toMatchObject({ code: 3, applied: 1, rejected: 3, requests: 1 });
    expect(['lamp-1', 'lamp-2', 'lamp-3', 'lamp-4'].map(shop.priceOf)).toEqual([11, 12, 92, 14]);
    const { stdout } = await shop.workspace.storeferry('runs', String(released['run']));
    expect(stdout).toContain(
      `another run has sent or found its earlier version since run ${first['run']} held this one`,
    );
    expect(stdout).toContain('is newer and does not hold these values');
  });

  it('is released after an update job has found its own fields unchanged', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    const guards = 'guards: [{ field: variants.price, changeBy: 50%, action: hold }]\n';
    await shop.workspace.write('jobs/catalog.yaml', FILES['jobs/catalog.yaml'] + guards);
    const { run } = await shop.catalogSends({ 'lamp-1': 90, 'lamp-2': 91 });
    await shop.workspace.write('stock.csv', 'SKU,Qty\nlamp-1,5\nlamp-2,4\n');
    expect(await shop.run('run', 'stock')).toMatchObject({ unchanged: 1, applied: 1 });
    expect(await shop.run('release', String(run))).toMatchObject({ code: 3, applied: 1, rejected: 1 });
    expect([shop.priceOf('lamp-1'), shop.priceOf('lamp-2')]).toEqual([90, 12]);
  });

  it('is not released after an update job has found the held field unchanged', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    const guards = 'guards: [{ field: variants.regularPrice, changeBy: 50%, action: hold }]\n';
    await shop.workspace.write('jobs/catalog.yaml', FILES['jobs/catalog.yaml'] + guards);
    const { run } = await shop.catalogSends({ 'lamp-1': 90 });
    await shop.workspace.write('mappings/prices.yaml', PRICES);
    await shop.workspace.write('jobs/prices.yaml', FILES['jobs/stock.yaml'].replaceAll('stock', 'prices'));
    await shop.workspace.write('prices.csv', 'SKU,Price\nlamp-1,11\n');
    expect(await shop.run('run', 'prices')).toMatchObject({ unchanged: 1 });
    expect(await shop.run('release', String(run))).toMatchObject({ code: 3, applied: 0, rejected: 1 });
  });

  it('is not overwritten by the retry of an update that was awaited, where another update has sent it', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis);
    await shop.workspace.write('stock.csv', 'SKU,Qty\nlamp-8,8\n');
    const first = await shop.run('run', 'stock');
    await shop.sends(lampsOf(9));
    await shop.workspace.write('jobs/newer.yaml', FILES['jobs/stock.yaml'].replace('stock.csv', 'newer.csv'));
    await shop.workspace.write('newer.csv', 'SKU,Qty\nlamp-8,99\n');
    expect(await shop.run('run', 'newer')).toMatchObject({ applied: 1 });
    expect(await shop.run('retry', String(first['run']))).toMatchObject({ applied: 0, skipped: 1 });
  });

  it('lets an update be retried for which it was awaited, unless the job has run since', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis, 60);
    const stockOf = (url: string) => shop.held().get(url)?.variants?.[0]?.quantity;
    const before = shop.store.figures().requests;
    await shop.workspace.write('catalog.csv', catalogOf(lampsWith({ 'lamp-1': 51 })));
    const dying = shop.workspace.start('run', 'catalog');
    await until(() => shop.store.figures().requests > before);
    dying.process.kill('SIGKILL');
    await dying.ended;
    await shop.workspace.write('stock.csv', 'SKU,Qty\nlamp-1,7\nlamp-8,8\n');
    const first = await shop.run('run', 'stock');
    expect(first).toMatchObject({ code: 3, rejected: 2 });
    await shop.sends(lampsOf(9));
    await shop.workspace.write('mappings/prices.yaml', PRICES);
    await shop.workspace.write('jobs/prices.yaml', FILES['jobs/stock.yaml'].replaceAll('stock', 'prices'));
    await shop.workspace.write('prices.csv', 'SKU,Price\nlamp-2,13\n');
    expect(await shop.run('run', 'prices')).toMatchObject({ applied: 1 });
    expect(await shop.run('retry', String(first['run']))).toMatchObject({ code: 0, applied: 2 });
    expect([stockOf('lamp-1'), stockOf('lamp-8')]).toEqual([7, 8]);
    await shop.sends(lampsOf(9));
    await shop.run('run', 'stock', '--resend');
    await shop.sends(lampsOf(9));
    expect(await shop.run('retry', String(first['run']))).toMatchObject({ applied: 0, skipped: 2 });
  });

  it('is named by a release for what it is: a delete, or a request without an answer', async () => {
    await using redis = await openRedis();
    await using shop = await openTwoJobs(redis, 60);
    const guards = 'guards: [{ field: variants.price, changeBy: 50%, action: hold }]\n';
    await shop.workspace.write('jobs/catalog.yaml', FILES['jobs/catalog.yaml'] + guards);
    const { run } = await shop.catalogSends({ 'lamp-1': 90, 'lamp-2': 91 });
    expect(await shop.catalogSends({ 'lamp-1': null, 'lamp-2': 91 })).toMatchObject({ deleted: 1, held: 1 });
    await shop.workspace.write('other.csv', catalogOf(new Map([...lampsWith({ 'lamp-2': 13 })].slice(2, 3))));
    const before = shop.store.figures().requests;
    const killed = shop.workspace.start('run', 'other');
    await until(() => shop.store.figures().requests > before);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const released = await shop.run('release', String(run));
    expect(released).toMatchObject({ applied: 0, rejected: 2 });
    const { stdout } = await shop.workspace.storeferry('runs', String(released['run']));
    const since = `since run ${run} held this one`;
    expect(stdout).toContain(`another run has deleted it ${since}`);
    expect(stdout).toContain(`another run has begun to send it ${since}`);
    expect(stdout).not.toContain('another version');
  });
}

describe('what another run has written since', () => {
  suite(async () => undefined);
});

describeWithRedis('what another run has written since, with the state in Redis,', () => {
  suite(startRedis);
});
