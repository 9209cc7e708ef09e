import { createHash, createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { manifestSchema } from '../../src/export/export-position.ts';
import { type Exports, manyOrders, setupExports } from '../support/exports.ts';
import { patience } from '../support/pace.ts';
import { until } from '../support/until.ts';
import { readStaged } from '../tables/read-staged.ts';

const JOBS = {
  fresh:
    'export: orders\ndestination: { path: "out/orders-{date}-{number}.csv", mode: new }\ncolumns: [id, total, storeferry_change]\n',
  lines: 'export: orders\ndestination: { path: "lines/{number}-{run}.jsonl", mode: new, format: jsonl }\n',
  items:
    'export: orders\ndestination: { path: items.csv }\nrows: items\nfilter: { status: [paid, sent] }\nmask: { customer.email: hash, phone: { keepLast: 3 }, note: redact }\n',
  added: 'export: orders\ndestination: { path: added.csv, mode: append }\ncolumns: [id, total]\n',
  workbook: 'export: orders\ndestination: { path: "sheets/{number}.xlsx", mode: new, format: xlsx }\n',
  parquet: 'export: orders\ndestination: { path: orders.parquet, format: parquet }\n',
  european: 'export: orders\ndestination: { path: eu.csv, format: excel-csv, decimal: "," }\n',
};

/** The lines of all files of a job, without headers, and their manifests in the order of their numbers. */
async function filesOf(workspaceDir: string, folder: string) {
  const dir = join(workspaceDir, folder);
  const names = (await readdir(dir)).filter((name) => name.endsWith('.manifest.json'));
  const manifests = await Promise.all(
    names.map(async (name) => manifestSchema.parse(JSON.parse(await readFile(join(dir, name), 'utf8')))),
  );
  manifests.sort((one, other) => one.number - other.number);
  const files = await Promise.all(
    manifests.map(async (manifest) => ({
      manifest,
      path: join(workspaceDir, manifest.file),
      text: await readFile(join(workspaceDir, manifest.file), 'utf8'),
    })),
  );
  for (const { manifest, text } of files)
    expect(createHash('sha256').update(text).digest('hex')).toBe(manifest.sha256);
  expect(await readdir(dir)).toHaveLength(2 * names.length);
  return files;
}

function linesOf(files: readonly { readonly text: string }[]): string[] {
  return files.flatMap(({ text }) => text.trimEnd().split('\n').slice(1));
}

function datedOrders(count: number) {
  return manyOrders(count).map((order, index) => ({ ...order, created: 1_700_000_000 + 60 * index }));
}

/** 300 orders more, and 40 with another total and the date that they had, half of them of the oldest. */
function change({ store }: Exports): void {
  const { orders } = store.shop;
  const added = datedOrders(orders.length + 300).slice(orders.length);
  for (const [index, order] of [...orders.slice(0, 20), ...orders.slice(-20)].entries())
    order['total'] = 1_000 + index;
  orders.push(...added);
}

/** What the second run renames, in this order; it is killed after each. */
const RENAMES = [
  'reading.jsonl',
  'reading-checksum.json',
  'file-2.gz',
  '-2.csv',
  '-2.csv.manifest.json',
  'prints-2',
  'position.json',
  'exported.json',
  'report.html',
];

/** Kills the commands that are started with `env` as soon as they have renamed a file to a name that ends like this. */
function killAfterRename() {
  const dir = mkdtempSync(join(tmpdir(), 'storeferry-killer-'));
  const [preload, ending] = [join(dir, 'preload.mjs'), join(dir, 'ending')];
  const at = (name: string) => writeFileSync(ending, name);
  at('nothing');
  writeFileSync(
    preload,
    `import { readFileSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
const ending = readFileSync(${JSON.stringify(ending)}, 'utf8');
const { rename } = files;
files.rename = async (from, to) => {
  await rename(from, to);
  if (to.endsWith(ending)) process.kill(process.pid, 'SIGKILL');
};
syncBuiltinESMExports();
`,
  );
  return {
    env: { NODE_OPTIONS: `--import=${preload}` },
    at,
    [Symbol.dispose]: () => rmSync(dir, { recursive: true }),
  };
}

describe('exporting new orders', () => {
  it('writes each new or changed version of 10 000 orders once, through kills at twenty points', {
    timeout: patience(240_000),
  }, async () => {
    using killer = killAfterRename();
    await using setup = await setupExports(JOBS, {}, killer.env);
    const { store, workspace } = setup;
    store.shop.orders.push(...datedOrders(10_000));
    expect((await workspace.storeferry('run', 'fresh', '--json')).json()).toMatchObject({
      status: 'done',
      rows: 10_000,
    });
    change(setup);
    for (let point = 1; point <= 20 - RENAMES.length; point++) {
      const before = store.requests.length;
      const command = workspace.start('run', 'fresh');
      await until(() => store.requests.length > before + point * 15);
      command.process.kill('SIGKILL');
      expect((await command.ended).code).toBeNull();
    }
    for (const renamed of RENAMES) {
      killer.at(renamed);
      expect((await workspace.start('run', 'fresh').ended).code, renamed).toBeNull();
    }
    killer.at('nothing');
    const last = await workspace.storeferry('run', 'fresh', '--json');
    expect(last.code).toBe(0);
    const files = await filesOf(workspace.dir, 'out');
    expect(files.map(({ manifest }) => manifest.number)).toEqual(files.map((_, index) => index + 1));
    const versions = linesOf(files.slice(1));
    expect(versions).toHaveLength(340);
    expect(new Set(versions).size).toBe(340);
    expect(versions.filter((line) => line.endsWith(',changed'))).toHaveLength(40);
    expect(versions.filter((line) => line.endsWith(',new'))).toHaveLength(300);
    const reconcile = async () =>
      (await workspace.storeferry('export', 'reconcile', 'fresh', '--json')).json();
    const whole = { files: files.length, records: 10_340, missing: 0, damaged: 0 };
    expect(await reconcile()).toEqual(whole);
    const second = files[1];
    if (second === undefined) throw new Error('a second file was expected');
    await rm(second.path);
    expect(await reconcile()).toEqual({ ...whole, missing: 1 });
    await workspace.storeferry('run', 'fresh', '--since', second.manifest.run);
    expect(await readFile(second.path, 'utf8')).toBe(second.text);
    expect((await workspace.storeferry('run', 'fresh')).stdout).toContain('Nothing is new or changed');
  });

  it('writes lost files again byte for byte, and never over others', async () => {
    await using setup = await setupExports(JOBS);
    const { store, workspace } = setup;
    store.shop.orders.push(...manyOrders(200));
    await workspace.storeferry('run', 'lines');
    change(setup);
    await workspace.storeferry('run', 'lines');
    const [first, second] = await filesOf(workspace.dir, 'lines');
    if (first === undefined || second === undefined) throw new Error('two files were expected');
    expect(second.manifest).toMatchObject({ number: 2, count: 340, new: 300, changed: 40, totalCount: 500 });
    await rm(second.path);
    const found = await workspace.storeferry('export', 'reconcile', 'lines');
    expect(found.code).toBe(3);
    expect(found.stdout).toContain(`Missing: file 2, ${second.manifest.file}`);
    store.shop.orders.length = 0;
    const again = await workspace.storeferry('run', 'lines', '--since', second.manifest.run);
    expect(again.code).toBe(0);
    expect(await readFile(second.path, 'utf8')).toBe(second.text);
    await writeFile(first.path, 'mine');
    const refused = await workspace.storeferry('run', 'lines', '--since', '2000-01-01');
    expect(refused.code).toBe(1);
    expect(refused.stderr + refused.stdout).toContain('with other content');
    expect(refused.stdout).toMatch(/run lines --since 2000-01-01\n/);
    expect(await readFile(first.path, 'utf8')).toBe('mine');
  });

  it('asks the store again after a run that could not write, and writes what both have read', async () => {
    await using setup = await setupExports({
      // Without {number} or {run} the number is at the end.
      fresh: 'export: orders\ndestination: { path: "out/o.csv", mode: new }\ncolumns: [id]\n',
      daily: 'export: orders\ndestination: { path: "{date}.csv" }\ncolumns: [id]\n',
    });
    const { store, workspace } = setup;
    store.shop.orders.push(...manyOrders(2));
    await writeFile(join(workspace.dir, 'out'), 'a file where the folder should be');
    expect((await workspace.storeferry('run', 'fresh')).code).not.toBe(0);
    await rm(join(workspace.dir, 'out'));
    store.shop.orders.push({ ...manyOrders(1)[0], id: 3 });
    expect((await workspace.storeferry('run', 'fresh')).code).toBe(0);
    expect(await setup.read('out/o-1.csv')).toBe('id,storeferry_change\n1,new\n2,new\n');
    expect(await setup.read('out/o-2.csv')).toBe('id,storeferry_change\n3,new\n');

    await workspace.storeferry('run', 'daily');
    const [daily = ''] = (await readdir(workspace.dir)).filter((name) => /^\d{4}-\d\d-\d\d\.csv$/.test(name));
    expect(await setup.read(daily)).toBe('id\n1\n2\n3\n');
  });

  it('leaves the position where it is after a trial', async () => {
    await using setup = await setupExports(JOBS);
    const { store, workspace } = setup;
    store.shop.orders.push(...manyOrders(120));
    expect((await workspace.storeferry('run', 'fresh', '--limit', '5', '--json')).json()).toMatchObject({
      rows: 5,
    });
    const [trial] = await readdir(join(workspace.dir, 'out'));
    expect(trial).toMatch(/^orders-.*-1\.csv\.trial$/);
    await rm(join(workspace.dir, 'out'), { recursive: true });
    expect((await workspace.storeferry('run', 'fresh', '--json')).json()).toMatchObject({ rows: 120 });
    expect(existsSync(join(workspace.dir, 'out'))).toBe(true);
    await filesOf(workspace.dir, 'out');
  });

  it('writes a line per item of the orders that a filter names, and masks personal data', async () => {
    await using setup = await setupExports(JOBS);
    setup.store.shop.orders.push(
      {
        id: 1,
        created: 1_700_000_000,
        status: 'paid',
        total: 19.9,
        customer: { email: 'a@mail.example' },
        phone: '+44 123 456',
        note: 'ring twice',
        items: [
          { sku: 'A', quantity: 2 },
          { sku: 'B', quantity: 1 },
        ],
      },
      { id: 2, created: 1_700_000_001, status: 'paid', total: 0.1, items: [] },
      { id: 3, created: 1_700_000_002, status: 'open', total: 5, items: [{ sku: 'C', quantity: 1 }] },
    );
    const run = async (key: string) => {
      await setup.workspace.write('.env', `MASK_KEY=${key}\n`);
      return await setup.workspace.storeferry('run', 'items');
    };
    const [without, short] = [await run(''), await run('0123456789abcde')];
    expect([without.code, short.code]).toEqual([2, 2]);
    expect(without.stderr).toContain('the variable MASK_KEY is not set');
    expect(short.stderr).toContain('MASK_KEY is shorter than 16 characters');
    const key = '0123456789abcdef';
    expect((await run(key)).code).toBe(0);
    const hashed = createHmac('sha256', key).update('a@mail.example').digest('hex');
    expect((await setup.read('items.csv')).trimEnd().split('\n')).toEqual([
      'id,created,created_iso,status,total,customer.email,phone,note,items.sku,items.quantity',
      `1,1700000000,2023-11-14T22:13:20Z,paid,19.9,${hashed},***456,***,A,2`,
      `1,1700000000,2023-11-14T22:13:20Z,paid,19.9,${hashed},***456,***,B,1`,
      '2,1700000001,2023-11-14T22:13:21Z,paid,0.1,,,,,',
    ]);
  });

  it('says what the orders have where no value of a filter occurs, but no data of persons', async () => {
    await using setup = await setupExports({
      cased: 'export: orders\ndestination: { path: c.csv }\nfilter: { status: [Paid], total: "12.50" }\n',
      other: 'export: orders\ndestination: { path: o.csv }\nfilter: { status: gone, customer.email: b }\n',
    });
    for (const [index, order] of manyOrders(4).entries())
      setup.store.shop.orders.push({ ...order, status: index === 0 ? 'sent' : 'paid' });
    const notes = async (job: string) =>
      (await setup.workspace.storeferry('run', job)).stdout.replaceAll(/\s+/g, ' ');
    const cased = await notes('cased');
    expect(cased).toContain('4 orders read, 0 lines in the file.');
    expect(cased).toContain(
      'No order that was read has status Paid, as `filter` of the job writes it; they have paid.',
    );
    expect(cased).toContain('has total 12.50, as `filter` of the job writes it; they have 12.5.');
    const other = await notes('other');
    expect(other).toContain('has status gone, as `filter` of the job writes it; they have paid and sent.');
    expect(other).toContain('has customer.email b, as `filter` of the job writes it.');
  });

  it('names the file of an earlier run that it finishes, and none that is never written', async () => {
    await using setup = await setupExports({
      late: 'export: orders\ndestination: { path: "late/new.csv", mode: new }\n',
    });
    setup.store.shop.orders.push(...manyOrders(4));
    await setup.workspace.write('late', 'a file where a folder should be');
    const failed = (await setup.workspace.storeferry('run', 'late', '--json')).json();
    expect(failed['status']).toBe('failed');
    await rm(join(setup.workspace.dir, 'late'));
    const { stdout } = await setup.workspace.storeferry('run', 'late');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      `Run ${failed['run']} had read the store and not written its file; it is written now: late/new-1.csv, 4 lines.`,
    );
    expect(stdout).not.toContain('late/new.csv');
  });

  it('writes no field that a mask spells otherwise, and says which names no order has', async () => {
    await using setup = await setupExports({
      cased:
        'export: orders\ndestination: { path: cased.csv }\nmask: { customer.Email: redact, items.SKU: redact }\n',
      unknown:
        'export: orders\ndestination: { path: unknown.csv }\nmask: { mail: redact }\nfilter: { statuss: [paid] }\ncolumns: [id, mail, created_iso, items.sku]\nrows: items\n',
      fresh:
        'export: orders\ndestination: { path: "out/{number}.csv", mode: new }\nmask: { Customer.email: redact }\n',
      within:
        'export: orders\ndestination: { path: within.csv }\nmask: { customer.Email: redact }\ncolumns: [id, customer]\n',
      right:
        'export: orders\ndestination: { path: right.csv }\nmask: { customer: redact, items.0.sku: redact, Created: redact }\ncolumns: [id, customer.email, items.sku]\n',
    });
    const { orders } = setup.store.shop;
    const run = async (job: string) => await setup.workspace.storeferry('run', job);
    expect((await run('unknown')).stdout, 'a store without orders').not.toContain('No order has');
    orders.push({ ...manyOrders(1)[0], created: 1_700_000_000, items: [{ sku: 'A' }] });
    for (const job of ['cased', 'fresh', 'within']) {
      const refused = await run(job);
      expect(refused.code, job).toBe(1);
      expect(refused.stdout + refused.stderr).toContain(
        'The orders have a field customer.email, which `mask`',
      );
    }
    expect(existsSync(join(setup.workspace.dir, 'cased.csv'))).toBe(false);
    expect(existsSync(join(setup.workspace.dir, 'out'))).toBe(false);
    const unknown = await run('unknown');
    expect(unknown.code).toBe(0);
    for (const [key, name] of Object.entries({ mask: 'mail', filter: 'statuss', columns: 'mail' }))
      expect(unknown.stdout).toContain(`No order has ${name}, as \`${key}\` of the job names it.`);
    const right = await run('right');
    expect(right.stdout, 'a field in other case that is not written').not.toContain('The orders have');
    expect(await setup.read('right.csv')).toBe('id,customer.email,items.sku\n1,***,***\n');
  });

  it('writes typed cells: a workbook, Parquet, and CSV with decimal commas', async () => {
    await using setup = await setupExports(JOBS);
    const { store, workspace } = setup;
    const created = 1_700_000_000;
    store.shop.orders.push(
      { id: 1, created, total: 19.9, paid: true, note: '=1+1', code: '007' },
      { id: 2, created, total: '0.10', paid: false, note: '', code: '08' },
    );
    for (const job of ['workbook', 'parquet', 'european'])
      expect((await workspace.storeferry('run', job)).code).toBe(0);
    const { header, cells } = await readStaged(
      '1.xlsx',
      await readFile(join(workspace.dir, 'sheets/1.xlsx')),
    );
    expect(header.join()).toBe('id,created,total,paid,note,code,storeferry_change');
    expect(cells).toEqual([
      ['1', '2023-11-14T22:13:20', '19.9', 'TRUE', '=1+1', '007', 'new'],
      ['2', '2023-11-14T22:13:20', '0.1', 'FALSE', '', '08', 'new'],
    ]);
    const bytes = new Uint8Array(await readFile(join(workspace.dir, 'orders.parquet')));
    const read = await parquetReadObjects({ file: bytes.buffer });
    expect(read).toMatchObject([
      { id: 1n, created: new Date(created * 1_000), total: 19.9, paid: true, code: '007' },
      { id: 2n, total: 0.1, paid: false },
    ]);
    expect((await setup.read('eu.csv')).split('\r\n')[1]).toBe(
      '1;2023-11-14 22:13:20;"19,9";true;\'=1+1;007',
    );
    const reconciled = await workspace.storeferry('export', 'reconcile', 'workbook', '--json');
    expect(reconciled.json()).toEqual({ files: 1, records: 2, missing: 0, damaged: 0 });
  });

  it('adds an order again to a file that grows when it has changed, once', async () => {
    await using setup = await setupExports(JOBS);
    const { orders } = setup.store.shop;
    orders.push(...manyOrders(3));
    await setup.workspace.storeferry('run', 'added');
    const [first] = orders;
    if (first !== undefined) first['total'] = 99;
    await setup.workspace.storeferry('run', 'added');
    await setup.workspace.storeferry('run', 'added');
    expect(await setup.read('added.csv')).toBe('id,total\n1,12.5\n2,12.5\n3,12.5\n1,99\n');
  });

  it.each([
    [
      'export: orders\ndestination: { path: "{date}.csv", mode: append }\n',
      'the name of a file has no {date}: choose mode: new',
    ],
    [
      'export: subscriber-lists\ndestination: { path: "{number}.csv", mode: new }\n',
      'is for exports of orders',
    ],
    ['export: orders\nrows: items\ndestination: { path: o.csv, mode: append }\n', 'compares whole orders'],
    ['export: orders\ndestination: { path: o.xlsx, mode: append, format: xlsx }\n', 'choose mode: replace'],
    ['export: orders\ndestination: { path: o.jsonl, format: jsonl, decimal: "," }\n', 'csv and excel-csv'],
  ])('refuses %s', async (job, message) => {
    await using setup = await setupExports({ wrong: job });
    const run = await setup.workspace.storeferry('run', 'wrong');
    expect(run.code).toBe(2);
    expect(run.stderr).toContain(message);
  });
});
