import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { seededRandom } from '../support/store/random.ts';
import { until } from '../support/until.ts';
import { catalogOf, FILES, lampsOf, nextLamps, openShop, type Redis } from './undo-shop.ts';

function suite(openRedis: () => Promise<Redis | undefined>): void {
  it('returns the store to its start, run by run, where ten random runs are undone in reverse order', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    const random = seededRandom(11);
    let lamps = lampsOf(8);
    await shop.sends(lamps);
    const states = [shop.held()];
    const runs: string[] = [];
    for (let round = 1; round <= 10; round++) {
      lamps = nextLamps(lamps, round, random);
      runs.push(await shop.sends(lamps));
      states.push(shop.held());
    }
    states.pop();
    for (const run of runs.toReversed()) {
      const undone = await shop.undoes(run);
      expect(undone).toMatchObject({ status: 'done', rejected: 0, unsent: 0, skipped: 0 });
      expect(shop.held()).toEqual(states.pop());
    }
    expect(shop.store.violations).toEqual([]);
  });

  it('plans, names what it leaves, and can itself be undone', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    const lamps = new Map(lampsOf(6));
    lamps.set('bare-lamp', { title: 'Bare', text: '', price: 3, qty: 1 });
    await shop.sends(lamps);
    const start = shop.held();
    const id = shop.idOf('lamp-5');
    const next = new Map([...lamps].map(([url, lamp]) => [url, { ...lamp, price: lamp.price + 1 }]));
    next.set('bare-lamp', { title: 'Bare', text: 'Now with a text', price: 4, qty: 1 });
    next.delete('lamp-5');
    next.set('new-lamp', { title: 'New', text: 'New', price: 3, qty: 1 });
    const run = await shop.sends(next);
    const after = shop.held();

    const planned = await shop.workspace.storeferry('undo', run);
    expect(planned.code).toBe(0);
    expect(planned.stdout).toContain(`lamp-5 (was ${id})`);
    expect(planned.stdout).toContain('The run added fields (description in 1 product): they may stay');
    expect(planned.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'pause the schedule: tick Paused on the page Edit',
    );
    expect((await shop.workspace.storeferry('runs', 'catalog')).stdout).toContain('catalog (undo)');
    expect(shop.held()).toEqual(after);
    const part = await shop.undoes(run, '--only', 'lamp-0');
    expect(part).toMatchObject({ status: 'done', applied: 1, deleted: 0 });
    const undone = await shop.undoes(run);
    expect(undone).toMatchObject({ status: 'done', applied: 6, deleted: 1, new: 1, unchanged: 1 });
    // What the run added stays: the API does not empty a field that a request leaves out.
    const bare = start.get('bare-lamp');
    if (bare === undefined) throw new Error('no bare lamp');
    start.set('bare-lamp', { ...bare, description: 'Now with a text' });
    expect(shop.held()).toEqual(start);
    expect(shop.idOf('lamp-5')).not.toBe(id);
    const redone = await shop.undoes(String(undone['run']));
    expect(redone).toMatchObject({ status: 'done', applied: 6, deleted: 1 });
    const listed = await shop.run('runs', String(undone['run']));
    expect(listed).toMatchObject({ kind: 'undo', undoOf: run });

    // Another job changes a product since: it is left, and named.
    await shop.workspace.write('stock.csv', 'SKU,Qty\nlamp-1,77\n');
    const stock = String((await shop.run('run', 'stock'))['run']);
    const left = await shop.workspace.storeferry('undo', run);
    expect(left.stdout).toContain(`run ${stock} of stock changed it since (lamp-1)`);
    expect((await shop.run('undo', run))['left']).toEqual({
      records: 1,
      reasons: [{ reason: `run ${stock} of stock changed it since`, records: 1, keys: ['lamp-1'] }],
    });
    await shop.undoes(stock);
    expect(shop.store.violations).toEqual([]);
    // The catalog owns what the stock job had changed: its mirror deletes it.
    next.delete('lamp-1');
    await shop.workspace.write('catalog.csv', catalogOf(next));
    expect(await shop.run('run', 'catalog')).toMatchObject({ code: 0, deleted: 1 });
  });

  it('finds nothing to take back of a run that has only sent the same again', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    const first = await shop.sends(lampsOf(2));
    const start = shop.held();
    const again = String((await shop.run('run', 'catalog', '--resend'))['run']);
    const undone = await shop.run('undo', again);
    expect(undone).toMatchObject({ code: 0, operations: 0, unchanged: 2, skipped: 0, left: { records: 0 } });
    expect(await shop.undoes(first)).toMatchObject({ status: 'done', deleted: 2 });
    expect(start.size).toBe(2);
    expect(shop.held().size).toBe(0);
  });

  it('gives products back to the job that the run took them from', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    const { workspace, run } = shop;
    const lamps = lampsOf(2);
    await shop.sends(lamps);
    await workspace.write('jobs/other.yaml', FILES['jobs/catalog.yaml'].replace('catalog.csv', 'other.csv'));
    const other = { title: 'Other', text: 'Other', price: 3, qty: 1 };
    await workspace.write('other.csv', catalogOf(new Map([...lamps, ['lamp-1', other]])));
    const wrong = await run('run', 'other');
    expect(wrong).toMatchObject({ code: 0, applied: 1 });
    await workspace.write('stock.csv', 'SKU,Qty\nlamp-1,77\n');
    const stock = await run('run', 'stock');
    expect(await shop.undoes(String(stock['run']))).toMatchObject({ status: 'done' });
    expect(await run('show', 'lamp-1')).toMatchObject({ job: 'other' });
    expect(await shop.undoes(String(wrong['run']))).toMatchObject({ status: 'done', applied: 1 });
    // With its source corrected, the mirror of the other job deletes nothing that was never its own.
    await workspace.write('other.csv', catalogOf(new Map([["tom's lamp", other]])));
    expect(await run('run', 'other')).toMatchObject({ code: 0, new: 1, deleted: 0 });
    expect(await run('show', 'lamp-1')).toMatchObject({ job: 'catalog' });
    expect((await workspace.storeferry('show', "tom's lamp")).stdout).toContain(`history 'tom'\\''s lamp'`);
  });

  it('is stopped by a safety limit, and refuses what cannot be undone', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    await shop.workspace.write(
      'jobs/catalog.yaml',
      FILES['jobs/catalog.yaml'].replace('maxDeletes: off', 'maxDeletes: 5%'),
    );
    const run = await shop.sends(lampsOf(30));
    const stopped = await shop.run('undo', run);
    expect(stopped).toMatchObject({ code: 4, status: 'stopped', removed: 30, requests: 0 });
    expect(stopped['error']).toContain(`undo of run ${run}: maxDeletes: 30 products would be deleted`);
    expect(shop.store.shop.products.size).toBe(30);
    const ofPlan = await shop.workspace.storeferry('undo', String(stopped['run']));
    expect(ofPlan).toMatchObject({ code: 2 });
    expect(ofPlan.stderr).toContain('is a plan');
    const ofOther = await shop.workspace.storeferry('undo', run, '--only', 'nothing');
    expect(ofOther.stderr).toContain(`changed no record "nothing"`);
    expect((await shop.workspace.storeferry('undo', '')).stderr).toContain('There is no run');
    const again = String((await shop.run('undo', run))['run']);
    expect(await shop.run('approve', again)).toMatchObject({ code: 0, deleted: 30 });
    expect(shop.store.shop.products.size).toBe(0);
    // The next run reads the source again, and sends it.
    expect(await shop.run('run', 'catalog')).toMatchObject({ code: 0, applied: 30 });
  });

  it('of a killed run refuses keys that it has neither changed nor may have sent', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis, 60);
    await shop.workspace.write('catalog.csv', catalogOf(lampsOf(30)));
    const killed = shop.workspace.start('run', 'catalog');
    await until(() => shop.store.figures().requests >= 4);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const { runs } = await shop.run('runs');
    const run = String(Array.isArray(runs) ? runs[0]?.run : '');
    const undo = (key: string) => shop.workspace.storeferry('undo', run, '--only', key);
    await until(async () => !(await undo('lamp-0')).stderr.includes('has not ended'), { everyMs: 500 });
    expect((await undo('lamp-0')).code).toBe(0);
    expect((await undo('lamp-29')).code).toBe(0);
    const { code, stderr } = await undo('lamp-00');
    expect([code, stderr]).toEqual([2, expect.stringContaining('changed no record "lamp-00"')]);
  });
}

describe('undo on SQLite', () => {
  suite(async () => undefined);

  it('names the records whose history is damaged, and undoes the others', async () => {
    await using shop = await openShop(undefined);
    const lamps = lampsOf(3);
    await shop.sends(lamps);
    const dearer = new Map([...lamps].map(([url, lamp]) => [url, { ...lamp, price: 90 }]));
    const run = await shop.sends(dearer);
    const history = async (url: string) => (await shop.workspace.storeferry('history', url)).stdout;
    expect(await history('lamp-1')).toContain('created');
    const damage = (statement: string) => {
      using database = new DatabaseSync(join(shop.workspace.dir, '.storeferry', 'state.db'));
      database.exec(statement);
    };
    const key = "(SELECT number FROM version_keys WHERE key = 'lamp-1')";
    damage(`UPDATE versions SET content = x'00' WHERE number = 2 AND key = ${key}`);
    expect(await history('lamp-1')).toContain('what it changed cannot be read');
    expect(await history('lamp-0')).toContain('variants.price: 10 → 90');
    const planned = await shop.workspace.storeferry('undo', run);
    expect(planned.stdout).toContain('the history of the record cannot be read (lamp-1)');
    expect(await shop.undoes(run)).toMatchObject({ status: 'done', applied: 2, skipped: 1 });
    expect((await shop.workspace.storeferry('runs', run, '--records')).code).toBe(0);
    expect((await shop.workspace.storeferry('catalog', '--as-of', '2001-01-01')).code).toBe(0);
    damage("UPDATE version_runs SET document = '{'");
    const without = await shop.workspace.storeferry('undo', run);
    expect(without.stdout).toContain('the history no longer has the version that the run sent (lamp-0');
  });
});
describeWithRedis('undo on Redis', () => suite(() => startRedis()));
