import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manyOrders, setupExports } from '../support/exports.ts';
import { delay } from '../support/store/faults.ts';
import { until } from '../support/until.ts';

const JOBS = {
  lines: 'export: orders\ndestination: { path: out/orders.jsonl, format: jsonl }\n',
  table: 'export: orders\ndestination: { path: out/orders.csv }\n',
  named:
    'export: orders\ndestination: { path: out/named.csv }\ncolumns: [id, customer.email, items.0.sku, items.sku, absent]\n',
  added: 'export: orders\ndestination: { path: out/added.csv, mode: append }\n',
};

describe('exporting orders', () => {
  it('gives every stable order once while others are added and one is deleted between pages', async () => {
    await using setup = await setupExports(JOBS, { latencyMs: 20 });
    const { store, workspace } = setup;
    store.shop.orders.push(...manyOrders(2_340).reverse());
    let seen = 0;
    let added = 0;
    const changing = setInterval(() => {
      if (store.requests.length === seen) return;
      seen = store.requests.length;
      added++;
      store.shop.orders.unshift({ id: 100_000 + added, number: `NEW-${added}` });
      if (added === 4) store.shop.orders.splice(1_200, 1);
    }, 5);
    const run = await workspace.storeferry('run', 'lines', '--json');
    clearInterval(changing);
    expect(run.code).toBe(0);
    expect(added).toBeGreaterThan(3);
    const ids = (await setup.read('out/orders.jsonl'))
      .trimEnd()
      .split('\n')
      .map((line) => Number(JSON.parse(line).id));
    expect(new Set(ids).size).toBe(ids.length);
    const known = new Set(ids);
    const stable = store.shop.orders.map(({ id }) => Number(id)).filter((id) => id < 100_000);
    expect(stable).toHaveLength(2_339);
    expect(stable.filter((id) => !known.has(id))).toEqual([]);
    expect(run.json()).toMatchObject({ status: 'done', rows: ids.length, records: ids.length });
    expect(store.violations).toEqual([]);
  });

  it('says that nobody can open a file whose name says another format', async () => {
    await using setup = await setupExports({
      book: 'export: orders\ndestination: { path: out/orders.xlsx }\n',
    });
    setup.store.shop.orders.push(...manyOrders(1));
    const { code, stdout } = await setup.workspace.storeferry('run', 'book');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Notes\n {2}The name ends in \.xlsx, but the format is csv/);
  });

  it('finds the columns in the orders, and keeps them whole in JSON Lines', async () => {
    await using setup = await setupExports(JOBS);
    const orders = [
      { id: 1, customer: { email: 'a@mail.example' }, items: [{ sku: 'A' }, { sku: 'B' }], tags: ['x', 'y'] },
      { id: 2, customer: { email: 'b@mail.example', phone: null }, shipping: { zip: '02134' }, total: 1.5 },
    ];
    setup.store.shop.orders.push(...orders);
    for (const job of ['lines', 'table', 'named']) {
      expect((await setup.workspace.storeferry('run', job)).code).toBe(0);
    }
    expect(await setup.read('out/orders.jsonl')).toBe(
      orders.map((order) => `${JSON.stringify(order)}\n`).join(''),
    );
    expect((await setup.read('out/orders.csv')).split('\n')).toEqual([
      'id,customer.email,customer.phone,shipping.zip,total,items,tags',
      '1,a@mail.example,,,,"[{""sku"":""A""},{""sku"":""B""}]","x; y"',
      '2,b@mail.example,,02134,1.5,,',
      '',
    ]);
    expect((await setup.read('out/named.csv')).split('\n')).toEqual([
      'id,customer.email,items.0.sku,items.sku,absent',
      '1,a@mail.example,A,"A; B",',
      '2,b@mail.example,,,',
      '',
    ]);
  });

  it('adds the orders that the file does not have, or not like that', async () => {
    await using setup = await setupExports(JOBS);
    const { orders } = setup.store.shop;
    orders.push({ id: 1, status: 'new' }, { id: 2, status: 'new' });
    orders.push({ id: 4, status: 'new' });
    await setup.workspace.storeferry('run', 'added');
    const paid = { id: 4, status: 'new', coupon: 'Y' };
    orders.splice(0, 3, { id: 3, status: 'new', coupon: 'X' }, { id: 2, status: 'shipped' }, paid);
    const run = await setup.workspace.storeferry('run', 'added', '--json');
    expect(run.json()).toMatchObject({ status: 'done', rows: 3, records: 3 });
    const lines = '1,new,\n2,new,\n4,new,\n3,new,X\n2,shipped,\n4,new,Y\n';
    expect(await setup.read('out/added.csv')).toBe(`id,status,coupon\n${lines}`);
  });

  it('writes a header where the store has no orders', async () => {
    await using setup = await setupExports(JOBS);
    expect((await setup.workspace.storeferry('run', 'table')).code).toBe(0);
    expect(await setup.read('out/orders.csv')).toBe('id\n');
  });

  it('leaves the old file whole when it is killed, and nothing of it behind when it runs again', async () => {
    await using setup = await setupExports(JOBS);
    const { store, workspace } = setup;
    store.shop.orders.push(...manyOrders(500));
    await workspace.write('out/orders.csv', 'the old file, whole\n');
    store.misbehave({ does: delay(60_000), from: 4 });
    const running = workspace.start('run', 'table');
    await until(() => store.requests.length >= 4);
    running.process.kill('SIGKILL');
    await running.ended;
    expect(await setup.read('out/orders.csv')).toBe('the old file, whole\n');
    store.behave();
    expect((await workspace.storeferry('run', 'table')).code).toBe(0);
    expect((await setup.read('out/orders.csv')).trimEnd().split('\n')).toHaveLength(501);
    expect(await readdir(join(workspace.dir, 'out'))).toEqual(['orders.csv']);
    const runs = await workspace.storeferry('runs');
    expect(runs.stdout).toContain('superseded');
    const artifacts = join(workspace.dir, '.storeferry', 'artifacts');
    const kept = await Promise.all((await readdir(artifacts)).map((id) => readdir(join(artifacts, id))));
    expect(kept.flat().map((name) => name.replace(/-[0-9a-f]+\./, '-ID.'))).toEqual([
      'exported.json',
      'report.html',
      'traffic-ID.json',
    ]);
  });

  it('ends with 130 when interrupted between pages, the old file whole', async () => {
    await using setup = await setupExports(JOBS);
    const { store, workspace } = setup;
    store.shop.orders.push(...manyOrders(500));
    await workspace.write('out/orders.csv', 'old\n');
    store.misbehave({ does: delay(60_000), from: 4 });
    const running = workspace.start('run', 'table', '--json');
    await until(() => store.requests.length >= 4);
    running.process.kill('SIGINT');
    const ended = await running.ended;
    expect([ended.code, ended.json()['status']]).toEqual([130, 'interrupted']);
    expect(await setup.read('out/orders.csv')).toBe('old\n');
  });

  it('does not append orders that it cannot distinguish from existing ones', async () => {
    await using setup = await setupExports(JOBS);
    setup.store.shop.orders.push({ number: 'A' }, { number: 'B' }, { number: 'A' });
    await setup.workspace.storeferry('run', 'lines');
    expect((await setup.read('out/orders.jsonl')).split('\n')).toHaveLength(3);
    await setup.workspace.write('out/added.csv', 'id,number\n1,Z\n');
    const added = await setup.workspace.storeferry('run', 'added', '--json');
    expect([added.code, String(added.json()['error'])]).toEqual([1, expect.stringContaining('has no id')]);
    expect(await setup.read('out/added.csv')).toBe('id,number\n1,Z\n');
  });

  it('says where the file is, and nothing of the key', async () => {
    await using setup = await setupExports(JOBS);
    setup.store.shop.orders.push(...manyOrders(60));
    const run = await setup.workspace.storeferry('run', 'lines');
    const file = await readFile(join(setup.workspace.dir, 'out', 'orders.jsonl'), 'utf8');
    expect(`${run.stdout}${run.stderr}${file}`).not.toContain(setup.store.apiKey);
    expect(run.stdout).toContain('out/orders.jsonl');
  });
});
