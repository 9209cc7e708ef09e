import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWithRedis } from '../support/redis.ts';
import { unauthorized } from '../support/store/faults.ts';
import { openShop } from './workers-setup.ts';

const PRODUCTS = 1_200;

describeWithRedis('shards that were damaged before workers take them again', () => {
  it('are not sent: the job is planned again, and everything arrives as the source has it', async () => {
    await using shop = await openShop({ products: PRODUCTS });
    const { store, workspace } = shop;
    store.misbehave({ does: unauthorized, from: 100 });
    await Promise.all([shop.worker(), shop.worker()]);
    const failed = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(failed.json()).toMatchObject({ status: 'failed' });
    const run = String(failed.json()['run']);
    const folder = join(workspace.dir, '.storeferry', 'artifacts', run);
    const shard = join(folder, 'shard-00003.jsonl');
    await writeFile(shard, (await readFile(shard, 'utf8')).replaceAll('About Product', 'About nothing'));
    await rm(join(folder, 'shard-00002.jsonl'));
    const sent = store.shop.products.size;
    store.behave();

    const next = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(next.json()).toMatchObject({
      status: 'done',
      unchanged: sent,
      applied: PRODUCTS - sent,
      unsent: 0,
    });
    expect(next.json()['run']).not.toBe(run);
    expect(store.figures()).toMatchObject({ duplicates: 0 });
    expect(store.shop.products.size).toBe(PRODUCTS);
    expect(JSON.stringify([...store.shop.products.values()])).not.toContain('About nothing');
    expect((await workspace.storeferry('runs', run)).stdout).toContain(
      `Run ${next.json()['run']} took its place`,
    );
  });
});
