import { chmod, mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aList, setupExports } from '../support/exports.ts';
import { startMailServer } from '../support/mail-server.ts';
import { errorAnswer, hang, unauthorized } from '../support/store/faults.ts';

const LISTS = 'export: subscriber-lists\n';
const HEADER = 'id,name,created,created_date,subscribers,opens,clicks,read_at';
const HISTORY = {
  stats: `${LISTS}destination: { path: exports/lists.csv, mode: append }\n`,
};

describe('the list statistics', () => {
  it('keep a line per list and run, the lists of one run under one moment', async () => {
    await using setup = await setupExports(HISTORY);
    const { store, workspace } = setup;
    store.shop.lists.push(aList(1, 'News'), aList(2, 'Wholesale, "trade"'));
    const first = await workspace.storeferry('run', 'stats', '--json');
    expect(first.json()).toMatchObject({ status: 'done', rows: 2, records: 2, requests: 1, error: null });
    expect(first.code).toBe(0);
    await workspace.storeferry('run', 'stats');
    const [header, ...lines] = (await setup.read('exports/lists.csv')).trimEnd().split('\n');
    expect(header).toBe(HEADER);
    expect(lines.map((line) => line.replace(/,[^,]*$/, ''))).toEqual([
      '1,News,1700000000,2023-11-14,100,0.4,0.1',
      '2,"Wholesale, ""trade""",1700000000,2023-11-14,100,0.4,0.1',
      '1,News,1700000000,2023-11-14,100,0.4,0.1',
      '2,"Wholesale, ""trade""",1700000000,2023-11-14,100,0.4,0.1',
    ]);
    const moments = lines.map((line) => line.split(',').at(-1) ?? '');
    expect(new Set(moments).size).toBe(2);
    expect(moments[0]).toBe(moments[1]);
    expect(moments[0]).toBe(new Date(moments[0] ?? '').toISOString());
    expect(store.violations).toEqual([]);
    expect(await readdir(join(workspace.dir, 'exports'))).toEqual(['lists.csv']);
  });

  it('are summed up once per week, by mail', async () => {
    await using mail = await startMailServer();
    const recipient = `{ email: ops@shop.example, server: "\${SMTP_URL}", from: sf@shop.example, on: [weekly], when: change }`;
    const jobs = {
      stats: `${HISTORY.stats}notify: ${recipient}\n`,
      orders: `export: orders\ndestination: { path: orders.csv }\nnotify: ${recipient}\n`,
    };
    await using setup = await setupExports(jobs, {}, { SMTP_URL: mail.url });
    const { store, workspace } = setup;
    store.shop.lists.push(aList(1, 'News'), aList(2, 'Trade'));
    // The first reading has nothing to be compared with.
    await workspace.storeferry('run', 'stats');
    expect(mail.mails).toEqual([]);
    const readings = [8, 7].map((days) => {
      const at = new Date(Date.now() - days * 86_400_000 + 60_000).toISOString();
      return [at.slice(0, 10), `1,News,1700000000,2023-11-14,${80 + days},0.4,0.1,${at}`];
    });
    await workspace.write('exports/lists.csv', [HEADER, ...readings.map(([, line]) => line), ''].join('\n'));
    for (let runs = 0; runs < 2; runs++) expect((await workspace.storeferry('run', 'stats')).code).toBe(0);
    expect(mail.mails).toHaveLength(1);
    // Quoted-printable.
    const content = mail.mails[0]?.content.replaceAll(/=\r?\n/g, '') ?? '';
    expect(content).toContain(`compared with ${readings[1]?.[0]}`);
    expect(content).toContain('News: subscribers 100, +13 (+14.9%); open rate');
    expect(content).toContain('Trade: subscribers 100; open rate 40.0%; click rate 10.0%');
    expect(content).toContain('filename=report.html');
    const refused = await workspace.storeferry('run', 'orders');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('`on: weekly` is for')]);
  });

  it('are shown under the names that the job gives its columns', async () => {
    const renamed = ['id, as: List', 'name, as: opens', 'subscribers, as: Readers', 'read_at, as: Read'];
    const columns = `columns: [${renamed.map((one) => `{ path: ${one} }`).join(', ')}]\n`;
    await using setup = await setupExports({ stats: `${HISTORY.stats}${columns}` });
    setup.store.shop.lists.push(aList(1, 'News'));
    await setup.workspace.storeferry('run', 'stats');
    expect(await setup.read('exports/lists.csv')).toMatch(/^List,opens,Readers,Read\n1,News,100,/);
    const { stdout } = await setup.workspace.storeferry('stats', 'stats');
    expect(stdout).toContain('stats: 1 list, 1 reading');
    expect(stdout).toMatch(/News \(id 1\)[\s\S]*subscribers +100/);
    expect(stdout).toMatch(/open rate +(unknown|–|-)/);
  });

  it('are reported as a new file where there was nothing to add to', async () => {
    await using setup = await setupExports({
      ...HISTORY,
      json: `${LISTS}destination: { path: lists.jsonl, mode: append, format: jsonl }\n`,
    });
    setup.store.shop.lists.push(aList(1, 'News'));
    for (const [job, file] of [
      ['stats', 'exports/lists.csv'],
      ['json', 'lists.jsonl'],
    ] as const) {
      const run = () => setup.workspace.storeferry('run', job);
      expect((await run()).stdout).toContain('1 line, in a new file: none existed, or an empty one');
      expect((await run()).stdout).toContain('1 line, added to the file');
      await rm(join(setup.workspace.dir, file));
      expect((await run()).stdout).toContain('in a new file');
    }
  });

  it('are inert in the flavour for spreadsheets, and replaced where the job says so', async () => {
    await using setup = await setupExports({
      sheet: `${LISTS}destination: { path: sheet.csv, mode: append, format: excel-csv }\n`,
      replaced: `${LISTS}destination: { path: replaced.jsonl, format: jsonl }\n`,
    });
    setup.store.shop.lists.push(aList(1, '=cmd()', { opens: -5 }), aList(2, '＠SUM(A1)'));
    for (const job of ['sheet', 'sheet', 'replaced', 'replaced'])
      await setup.workspace.storeferry('run', job);
    const sheet = await setup.read('sheet.csv');
    expect(sheet.startsWith(`\ufeff${HEADER}\r\n1,'=cmd(),`)).toBe(true);
    expect(sheet).toContain("\r\n2,'＠SUM(A1),");
    expect(sheet).toContain(',-5,');
    expect(sheet.split('\r\n')).toHaveLength(6);
    const replaced = (await setup.read('replaced.jsonl')).trimEnd().split('\n');
    expect(replaced).toHaveLength(2);
    expect(JSON.parse(replaced[0] ?? '')).toMatchObject({
      id: 1,
      name: '=cmd()',
      created_date: '2023-11-14',
    });
  });

  it('go on in a file whose columns are others, in another order, with another delimiter', async () => {
    await using setup = await setupExports(HISTORY);
    setup.store.shop.lists.push(aList(1, 'News'));
    const old = 'read_at;id;note;subscribers\r\n2024-01-01T00:00:00.000Z;1;mine;7\r\n';
    await setup.workspace.write('exports/lists.csv', old);
    const run = await setup.workspace.storeferry('run', 'stats');
    expect(run.stdout).toContain('The file had no column name, created, created_date, opens, clicks');
    const text = await setup.read('exports/lists.csv');
    expect(text.replace(/\r\n20[^;]*;1;;/, '\r\nNOW;1;;')).toBe(
      'read_at;id;note;subscribers;name;created;created_date;opens;clicks\r\n' +
        '2024-01-01T00:00:00.000Z;1;mine;7;;;;;\r\n' +
        'NOW;1;;100;News;1700000000;2023-11-14;0.4;0.1\r\n',
    );
  });

  it('of a file without a byte are no readings yet, and the next run begins it', async () => {
    await using setup = await setupExports(HISTORY);
    setup.store.shop.lists.push(aList(1, 'News'));
    await setup.workspace.write('exports/lists.csv', '');
    const drawn = await setup.workspace.storeferry('stats', 'stats');
    expect(drawn.stdout).toContain('no readings in exports/lists.csv yet');
    expect(drawn.stdout).toContain(' run stats\n');
    expect(drawn.code).toBe(0);
    expect((await setup.workspace.storeferry('run', 'stats')).code).toBe(0);
    expect((await setup.read('exports/lists.csv')).split('\n')).toHaveLength(3);
  });

  it('end a whole last line that lost its line end', async () => {
    await using setup = await setupExports(HISTORY);
    setup.store.shop.lists.push(aList(1, 'News'));
    await setup.workspace.write(
      'exports/lists.csv',
      `${HEADER}\n1,News,1700000000,2023-11-14,9,0.4,0.1,2024-01-01T00:00:00.000Z`,
    );
    expect((await setup.workspace.storeferry('run', 'stats')).code).toBe(0);
    expect((await setup.read('exports/lists.csv')).split('\n')).toHaveLength(4);
  });

  it.each([
    [
      'half a line',
      `${HEADER}\n1,News,1700000000,2023-11-14,9,0.4,0.1,2024-01-01T00:0`,
      ':2: The last line has no line end',
    ],
    ['fewer cells', `${HEADER}\n1,News,17000`, ':2: The last line has no line end'],
    ['an open quote', `${HEADER}\n1,"News,1700000000\n`, ':2'],
    ['other columns', 'email,name\na@mail.example,Ada\n', ':1: The file has no column id and no read_at'],
    ['a column twice', `${HEADER},id\n`, ":1: The file has the column 'id' twice"],
    ['other bytes', Buffer.from([0x69, 0x64, 0x0a, 0xe9, 0x0a]), 'lists.csv'],
  ])('add nothing to a file with %s, and say where', async (_what, content, said) => {
    await using setup = await setupExports(HISTORY);
    setup.store.shop.lists.push(aList(1, 'News'));
    const path = join(setup.workspace.dir, 'exports', 'lists.csv');
    await mkdir(join(setup.workspace.dir, 'exports'));
    await writeFile(path, content);
    const run = await setup.workspace.storeferry('run', 'stats', '--json');
    expect(run.code).toBe(1);
    expect(run.json()).toMatchObject({ status: 'failed', rows: 0, requests: 1 });
    expect(String(run.json()['error'])).toContain(said);
    expect(await readFile(path)).toEqual(Buffer.from(content));
  });

  it('keep a reading that could not be written, and add it once when it can be', async () => {
    await using setup = await setupExports(HISTORY);
    setup.store.shop.lists.push(aList(1, 'News'), aList(2, 'Trade'));
    await setup.workspace.write('exports/lists.csv', `${HEADER}\n1,Ne`);
    const failed = await setup.workspace.storeferry('run', 'stats', '--json');
    expect(failed.code).toBe(1);
    await setup.workspace.write('exports/lists.csv', `${HEADER}\n`);
    const again = await setup.workspace.storeferry('run', 'stats', '--json');
    expect(again.json()).toMatchObject({ run: failed.json()['run'], status: 'done', rows: 2 });
    expect(setup.store.figures().requests).toBe(1);
    expect((await setup.read('exports/lists.csv')).trimEnd().split('\n')).toHaveLength(3);
  });

  it('say what is wrong with a folder, a key, a store, and a missing permission', async () => {
    await using setup = await setupExports({
      folder: `${LISTS}destination: { path: exports }\n`,
      below: `${LISTS}destination: { path: stores.yaml/lists.csv }\n`,
      key: `${LISTS}destination: { path: a.csv }\n`,
    });
    const { store, workspace } = setup;
    await mkdir(join(workspace.dir, 'exports'));
    const folder = await workspace.storeferry('run', 'folder', '--json');
    expect([folder.code, String(folder.json()['error'])]).toEqual([
      1,
      expect.stringContaining('is a folder'),
    ]);
    const below = await workspace.storeferry('run', 'below', '--json');
    expect([below.code, String(below.json()['error'])]).toEqual([
      1,
      expect.stringContaining('a part of its path is a file, not a folder'),
    ]);
    await workspace.write('a.csv', 'as it was\n');
    store.misbehave({ does: unauthorized, times: 2 });
    const key = await workspace.storeferry('run', 'key', '--json');
    expect(key.code).toBe(1);
    expect(key.json()).toMatchObject({ status: 'failed', requests: 2, rows: 0 });
    store.misbehave({ does: errorAnswer(404, 'No such thing'), times: 1 });
    expect((await workspace.storeferry('run', 'key')).code).toBe(1);
    expect(await setup.read('a.csv')).toBe('as it was\n');
    if (process.getuid?.() === 0) return;
    await chmod(workspace.dir, 0o500);
    const denied = await workspace.storeferry('run', 'key', '--json');
    await chmod(workspace.dir, 0o700);
    expect(String(denied.json()['error'])).toContain('permission is denied');
  });

  it('end with 130 when interrupted, the old file whole', async () => {
    await using setup = await setupExports({ key: `${LISTS}destination: { path: a.csv }\n` });
    await setup.workspace.write('a.csv', 'as it was\n');
    setup.store.misbehave({ does: hang });
    const running = setup.workspace.start('run', 'key', '--json');
    await running.printed('Run ');
    running.process.kill('SIGINT');
    const ended = await running.ended;
    expect([ended.code, ended.json()['status']]).toEqual([130, 'interrupted']);
    expect(await setup.read('a.csv')).toBe('as it was\n');
    setup.store.behave();
    expect((await setup.workspace.storeferry('run', 'key')).code).toBe(0);
  });

  it('have no plan: the message says what to type', async () => {
    await using setup = await setupExports(HISTORY);
    const plan = await setup.workspace.storeferry('plan', 'stats');
    expect(plan.code).toBe(2);
    expect(plan.stderr).toContain('run stats');
    const resend = await setup.workspace.storeferry('run', 'stats', '--resend');
    expect(resend.code).toBe(2);
    expect(setup.store.figures().requests).toBe(0);
  });

  it('are all there where the store cuts its lists silently at a page', async () => {
    await using setup = await setupExports(HISTORY);
    setup.store.shop.lists.push(...Array.from({ length: 75 }, (_, index) => aList(index, `List ${index}`)));
    setup.store.shop.listPage = 30;
    const run = await setup.workspace.storeferry('run', 'stats', '--json');
    expect(run.json()).toMatchObject({ status: 'done', records: 75, rows: 75 });
    expect((await setup.read('exports/lists.csv')).trimEnd().split('\n')).toHaveLength(76);
  });

  it('say that there may be more where a page is all that the store gives, also when written by a later run', async () => {
    await using setup = await setupExports(HISTORY);
    const { store, workspace } = setup;
    store.shop.lists.push(...Array.from({ length: 30 }, (_, index) => aList(index, `List ${index}`)));
    await mkdir(join(workspace.dir, 'exports', 'lists.csv'), { recursive: true });
    expect((await workspace.storeferry('run', 'stats')).code).toBe(1);
    await rmdir(join(workspace.dir, 'exports', 'lists.csv'));
    store.forget();
    const run = await workspace.storeferry('run', 'stats');
    expect(run.code, run.stderr).toBe(0);
    expect(run.stdout.replaceAll(/\s+/g, ' ')).toMatch(/exactly 30 subscriber lists.* there may be more\./);
    expect(store.requests).toEqual([]);
  });

  it('write by two jobs to one file, one after the other', async () => {
    await using setup = await setupExports({
      one: HISTORY.stats,
      two: HISTORY.stats,
    });
    setup.store.shop.lists.push(...Array.from({ length: 30 }, (_, index) => aList(index, `List ${index}`)));
    const ended = await Promise.all(
      ['one', 'two', 'one'].map((job) => setup.workspace.storeferry('run', job, '--json')),
    );
    const done = ended.filter(({ code }) => code === 0);
    // Readings of the same millisecond are one: the second run then writes none of its lines.
    const written = done.reduce((sum, run) => sum + Number(run.json()['rows']), 0);
    const lines = (await setup.read('exports/lists.csv')).trimEnd().split('\n');
    expect(done.length).toBeGreaterThanOrEqual(2);
    expect([30, 60, 90]).toContain(written);
    expect(lines).toHaveLength(1 + written);
    expect(lines.every((line) => line.split(',').length === 8)).toBe(true);
  });
});

describe('stats', () => {
  it('draws what was collected, since last time and since the first', async () => {
    await using setup = await setupExports(HISTORY);
    const { store, workspace } = setup;
    const before = await workspace.storeferry('stats', 'stats');
    expect([before.code, before.stderr]).toEqual([2, expect.stringContaining('run stats')]);
    store.shop.lists.push(aList(1, 'News'), aList(2, 'Trade'));
    await workspace.storeferry('run', 'stats');
    const one = await workspace.storeferry('stats', 'stats');
    expect(one.stdout).toContain('One reading shows no change yet');
    store.shop.lists.splice(0, 2, aList(1, 'Letters', { subscribers: 112, opens: 0.413 }));
    await workspace.storeferry('run', 'stats');
    const two = await workspace.storeferry('stats', 'stats');
    expect(two.code).toBe(0);
    expect(two.stdout).toContain('Letters (id 1)');
    expect(two.stdout).toContain('formerly News');
    expect(two.stdout).toContain('+12 (+12.0%)');
    expect(two.stdout).toContain('+1.3 points');
    expect(two.stdout).toMatch(/Trade \(id 2\)\n {2}gone since /);
    expect(two.stdout).not.toContain('\u001b');
  });

  it('says which jobs have statistics', async () => {
    await using setup = await setupExports({
      replaced: `${LISTS}destination: { path: a.csv }\n`,
      orders: 'export: orders\ndestination: { path: o.csv }\n',
    });
    const replaced = await setup.workspace.storeferry('stats', 'replaced');
    expect([replaced.code, replaced.stderr]).toEqual([2, expect.stringContaining('mode: append')]);
    const orders = await setup.workspace.storeferry('stats', 'orders');
    expect([orders.code, orders.stderr]).toEqual([2, expect.stringContaining('subscriber lists')]);
  });
});
