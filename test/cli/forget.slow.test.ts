import { existsSync } from 'node:fs';
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { buffer, text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contactsIn, findRecord } from '../../src/cli/find-record.ts';
import { openContext } from '../../src/cli/open-context.ts';
import { s3Objects } from '../../src/remote/s3-client.ts';
import { forgetRecord } from '../../src/run/records/forget-record.ts';
import type { Artifacts } from '../../src/state/artifacts.ts';
import { decodeBodies } from '../../src/state/encode-body.ts';
import { crmExport, crosswalkOf, setupCrm } from '../support/contacts.ts';
import { manyOrders, setupExports } from '../support/exports.ts';
import { readFiles } from '../support/read-files.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { redisContent } from '../support/redis-content.ts';
import { s3Address } from '../support/s3-address.ts';
import { s3Environment } from '../support/s3-environment.ts';
import { startS3 } from '../support/s3-server.ts';
import { errorAnswer, hang } from '../support/store/faults.ts';
import { until } from '../support/until.ts';

const ANNA = { number: 1, first: 'Anna Grunewald', phone: '+44 20 7946 0958', city: 'Tromso' };
const PERSON = /grunewald|contact-1@|7946 0958|tromso|bergen/i;

function rows(anna: { readonly city?: string } | null) {
  const others = Array.from({ length: 19 }, (_, index) => ({ number: index + 2, city: 'Oslo' }));
  return anna === null ? others : [{ ...ANNA, ...anna }, ...others];
}

async function openCrm(env: Readonly<Record<string, string>> = {}) {
  const crm = await setupCrm({ rows: rows({}), job: { safety: '{ maxRejects: off }' }, env });
  const { workspace } = crm;
  return {
    ...crm,
    async json(...args: readonly string[]): Promise<Record<string, unknown>> {
      const { code, stdout, stderr, json } = await workspace.storeferry(...args, '--json');
      if (stdout === '') throw new Error(stderr);
      return { ...json(), code };
    },
    [Symbol.asyncDispose]: () => crm[Symbol.asyncDispose](),
  };
}

type Crm = Awaited<ReturnType<typeof openCrm>>;

/** Every file beside the state. */
const filesOf = (dir: string) => readFiles(join(dir, '.storeferry'));

/** Two versions, a refusal that quotes the person, a rejected row beside that of another, a plan that waits. Gives the ids. */
async function leavesTraces({ store, workspace, json }: Crm): Promise<{ rejected: string; planned: string }> {
  expect(await json('run', 'crm')).toMatchObject({ code: 0, applied: 20 });
  // The last cell of the stranger is the line that Anna has.
  const [header = '', ...lines] = crmExport([...rows({ city: 'Bergen' }), { number: 30 }])
    .trim()
    .split('\n');
  await workspace.write(
    'crm.csv',
    `${[`${header},Score`, ...lines.map((line) => `${line},2`)].join('\n')}\n`,
  );
  store.misbehave({ does: errorAnswer(422, 'Exists: grunewald'), keys: ['1001'] });
  const rejected = await json('run', 'crm');
  expect(rejected).toMatchObject({ code: 3, rejected: 2 });
  store.behave();
  expect(await json('run', 'crm')).toMatchObject({ code: 3, applied: 1, rejected: 1 });
  await workspace.write('crm.csv', crmExport(rows({ city: 'Tromso again' })));
  const planned = await json('plan', 'crm');
  const files = [...(await filesOf(workspace.dir))].filter(([, text]) => PERSON.test(text));
  expect(files.length).toBeGreaterThan(2);
  return { rejected: String(rejected['run']), planned: String(planned['run']) };
}

async function isForgotten(crm: Crm, { rejected, planned }: { rejected: string; planned: string }) {
  const { workspace, json, store } = crm;
  const refused = await workspace.storeferry('forget', '1001');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('add --yes');
  const forgotten = await workspace.storeferry('forget', '1001', '--yes', '--json');
  expect(forgotten.code).toBe(0);
  expect(forgotten.json()).toMatchObject({ key: '1001', store: 'main', versions: 2, superseded: [planned] });

  for (const [path, text] of await filesOf(workspace.dir))
    expect([path, PERSON.test(text)]).toEqual([path, false]);
  const file = await readFile(
    join(workspace.dir, '.storeferry', 'artifacts', rejected, 'rejects.csv'),
    'utf8',
  );
  expect(file).toContain('contact-30@mail.example');
  const unmatched = join(workspace.dir, '.storeferry', 'artifacts', rejected, 'unmatched.csv');
  expect(await readFile(unmatched, 'utf8')).toContain('contact-30@mail.example');
  for (const args of [
    ['history', '1001'],
    ['show', '1001'],
    ['runs', rejected, '--records'],
    ['runs', '--audit'],
  ]) {
    const { stdout, stderr } = await workspace.storeferry(...args);
    expect(stdout + stderr).not.toMatch(PERSON);
  }
  expect((await workspace.storeferry('runs', '--audit')).stdout).toContain('forgot a contact');
  const approved = await workspace.storeferry('approve', planned);
  expect([approved.code, approved.stderr]).toEqual([2, expect.stringContaining('was discarded by `forget`')]);
  expect((await workspace.storeferry('runs', planned)).stdout).toContain(
    'Discarded: its files named a contact that was forgotten',
  );

  // What the store has is known all the same, and a changed contact is sent again.
  await workspace.write('crm.csv', crmExport(rows({ city: 'Bergen' })));
  expect(await json('run', 'crm')).toMatchObject({ code: 0, requests: 0, unchanged: 20 });
  await workspace.write('crm.csv', crmExport(rows({ city: 'Oslo' })));
  const again = await json('run', 'crm');
  expect(again).toMatchObject({ code: 0, requests: 1, changed: 1 });
  expect(store.lastBody('1001')).toContain('Oslo');
  const { json: history } = await workspace.storeferry('history', '1001', '--json');
  expect(history()['versions']).toHaveLength(1);
  const undone = await workspace.storeferry('undo', String(again['run']));
  expect(undone.stdout).toContain('its earlier values were forgotten on request');
}

describe('a contact that is forgotten', () => {
  it('is nowhere in the state, its unused space included, and the other rejects can be corrected', async () => {
    await using crm = await openCrm();
    const traces = await leavesTraces(crm);
    const path = join(crm.workspace.dir, '.storeferry', 'state.db');
    const bodies = () => {
      const database = new DatabaseSync(path, { readOnly: true });
      const stored = database.prepare('SELECT content FROM bodies').all();
      database.close();
      return stored.flatMap(({ content }) => (content instanceof Uint8Array ? [content] : []));
    };
    const packed = bodies().filter((content) => decodeBodies(content).some((body) => PERSON.test(body)));
    expect(packed.length).toBeGreaterThan(0);
    const { workspace } = crm;
    const part = await workspace.storeferry('forget', 'grunewald', '--yes');
    expect(part.code).toBe(2);
    expect(part.stderr).toContain(' forget 1001 --yes');
    await workspace.storeferry('forget', '1001', '--yes');
    expect(
      bodies()
        .flatMap(decodeBodies)
        .filter((body) => PERSON.test(body)),
    ).toEqual([]);
    // Nor in the free pages and the log of the database.
    const files = await filesOf(workspace.dir);
    for (const content of packed) {
      const bytes = Buffer.from(content).toString('latin1').slice(0, 200);
      for (const [name, text] of files) expect([name, text.includes(bytes)]).toEqual([name, false]);
    }
    expect(await crm.json('retry', traces.rejected)).toMatchObject({ code: 3, records: 1, rejected: 1 });
  });

  it('keeps its fingerprint, its words are gone from rejects, audit and plans', async () => {
    await using crm = await openCrm();
    await isForgotten(crm, await leavesTraces(crm));
  });

  it('may be one that no run ever sent', async () => {
    await using crm = await openCrm();
    const joerg = { number: 41, email: 'JÖRG.Keß@bäcker.example', first: 'Jörg' };
    const unknown = [...rows(null), { number: 40, first: 'Nobody Known' }, joerg];
    await crm.workspace.write('crm.csv', crmExport(unknown));
    expect(await crm.json('run', 'crm')).toMatchObject({ code: 3, rejected: 2 });
    const { stdout, code } = await crm.workspace.storeferry('forget', 'contact-40@mail.example', '--yes');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Removed: 0 versions of its history, \d+ rejected rows?,/);
    for (const [, text] of await filesOf(crm.workspace.dir))
      expect(text).not.toMatch(/contact-40@|Nobody Known/);
    const other = await crm.workspace.storeferry('forget', 'jörg.keß@bäcker.example', '--yes');
    expect(other).toMatchObject({ code: 0, stdout: expect.stringMatching(/, \d+ rejected rows?,/) });
    for (const [, text] of await filesOf(crm.workspace.dir))
      expect(Buffer.from(text, 'latin1').toString()).not.toContain('cker.example');
  });

  it('is found in rejects in each form that Unicode has for its address', async () => {
    const [composed, decomposed] = ['ren\u00e9@mail.example', 'Rene\u0301@mail.example'];
    const anna = { number: 1, email: composed };
    await using crm = await setupCrm({ rows: [anna, { number: 2 }], job: { safety: '{ maxRejects: off }' } });
    const { workspace } = crm;
    await workspace.write('ids.csv', `id,email\n1001,${composed}\n1002,contact-2@mail.example\n`);
    expect((await workspace.storeferry('run', 'crm')).code).toBe(0);
    const others = [{ number: 3, first: `Wife of ${decomposed}` }, { number: 4 }];
    await workspace.write('crm.csv', crmExport([anna, ...others]));
    const { run } = (await workspace.storeferry('run', 'crm', '--json')).json();
    expect((await workspace.storeferry('forget', '1001', '--yes')).code).toBe(0);
    const folder = join(workspace.dir, '.storeferry', 'artifacts', String(run));
    const rejects = await readFile(join(folder, 'rejects.csv'), 'utf8');
    expect(rejects).toContain('contact-4@');
    expect(rejects).not.toContain(decomposed);
  });

  it('leaves the rows of others, whose addresses and numbers contain its own', async () => {
    const ann = { number: 1, email: 'ann@mail.example', phone: '+44 20 7946 0958' };
    await using crm = await setupCrm({
      rows: [ann],
      job: { safety: '{ maxRejects: off }' },
      store: { contacts: [1_000_001] },
    });
    const { workspace } = crm;
    await workspace.write('ids.csv', 'id,email\n1000001,ann@mail.example\n');
    expect((await workspace.storeferry('run', 'crm')).code).toBe(0);
    const others = [
      { number: 2, email: 'jo.ann@mail.example' },
      { number: 3, phone: '+44 20 7946 09581' },
      { number: 4, first: 'Order 1000001' },
    ];
    const own = [
      { number: 5, first: 'Wife of -ANN@mail.example' },
      { number: 6, first: '1000001' },
    ];
    await workspace.write('crm.csv', crmExport([ann, ...others, ...own]));
    const { run } = (await workspace.storeferry('run', 'crm', '--json')).json();
    const forgotten = await workspace.storeferry('forget', '1000001', '--yes', '--json');
    expect(forgotten.json()).toMatchObject({ rejectedRows: 2 });
    const folder = join(workspace.dir, '.storeferry', 'artifacts', String(run));
    const rejects = await readFile(join(folder, 'rejects.csv'), 'utf8');
    for (const kept of ['jo.ann@', 'contact-3@', 'contact-4@']) expect(rejects).toContain(kept);
    for (const { number } of own) expect(rejects).not.toContain(`contact-${number}@`);
  });

  it('is refused where nothing has the key, and discards no plan', async () => {
    await using crm = await openCrm();
    const { run } = await crm.json('plan', 'crm');
    const misspelt = await crm.workspace.storeferry('forget', 'contact-400@mail.example', '--yes', '--json');
    expect(misspelt.code).toBe(2);
    expect(misspelt.json()).toEqual({
      error: expect.stringContaining('No contact has the key or address "contact-400@mail.example"'),
    });
    expect(misspelt.stderr).not.toContain('Removed:');
    expect((await crm.workspace.storeferry('runs', '--audit')).stdout).not.toContain('forgot');
    // Nobody has sent it yet: only the plan has it.
    const { code, json } = await crm.workspace.storeferry(
      'forget',
      'contact-3@mail.example',
      '--yes',
      '--json',
    );
    expect(code).toBe(0);
    expect(json()).toMatchObject({ superseded: [run], erased: true });
  });

  it('ends plans that a limit has stopped, which nobody is asked to approve any more', async () => {
    await using crm = await setupCrm({ rows: rows({}), job: { safety: '{ maxChanges: 5% }' } });
    const { workspace } = crm;
    expect((await workspace.storeferry('run', 'crm')).code).toBe(0);
    await workspace.write('crm.csv', crmExport(rows(null).map((row) => ({ ...row, city: 'Rome' }))));
    const stopped = await workspace.storeferry('plan', 'crm', '--json');
    const run = String(stopped.json()['run']);
    expect(stopped.json()['error']).toContain(`approve run ${run}`);
    expect((await workspace.storeferry('forget', '1002', '--yes')).stdout).toContain(run);
    const shown = await workspace.storeferry('runs', run);
    expect(shown.stdout).toContain('maxChanges: 19 known records change');
    expect(shown.stdout).not.toContain('approve');
  });

  it('is the one with exactly the address: not one whose address has it in it', async () => {
    await using crm = await openCrm();
    const { workspace } = crm;
    const joanns = Array.from({ length: 12 }, (_, at) => `jo${at}ann@mail.example`);
    const emails = ['bob@mail.example', ...joanns, 'ann@mail.example'];
    await workspace.write('crm.csv', crmExport(emails.map((email, number) => ({ number, email }))));
    await workspace.write(
      'ids.csv',
      ['id,email', ...emails.map((email, id) => `${1001 + id},${email}`)].join('\n'),
    );
    expect(await crm.json('run', 'crm')).toMatchObject({ code: 0, applied: 14 });
    const forget = (address: string) => workspace.storeferry('forget', address, '--yes');
    const part = await forget('bob@mail');
    expect(part.code).toBe(2);
    expect(part.stderr).toContain(' forget 1001 --yes');
    expect((await forget('ob@mail.example')).stderr).toContain('No contact has the key or address');
    expect((await forget('Ann@mail.example')).stdout).toContain('Forgot the contact 1014.');
  });

  it('is not in the notes of an interrupted scan', async () => {
    await using crm = await openCrm();
    const { workspace, json } = crm;
    expect(await json('run', 'crm')).toMatchObject({ code: 0, applied: 20 });
    const scan = '.storeferry/contacts-scan-main.jsonl';
    await workspace.write(
      scan,
      '[1001,"Contact-1@mail.example"]\n[1002,"contact-2@mail.example"]\n[1003,null]\n[1001,"Contact-1@mail.exam',
    );
    expect(await json('forget', '1001', '--yes')).toMatchObject({ code: 0, noted: true });
    for (const [path, text] of await filesOf(workspace.dir))
      expect([path, PERSON.test(text)]).toEqual([path, false]);
    expect(await readFile(join(workspace.dir, scan), 'utf8')).toBe(
      '[1002,"contact-2@mail.example"]\n[1003,null]\n',
    );
  });

  it('is not claimed to be erased while another process reads the database, and is once that has ended', async () => {
    await using crm = await openCrm();
    await leavesTraces(crm);
    const path = join(crm.workspace.dir, '.storeferry', 'state.db');
    const backup = new DatabaseSync(path, { readOnly: true });
    backup.exec('BEGIN');
    backup.prepare('SELECT count(*) FROM marks').get();
    const early = await crm.workspace.storeferry('forget', '1001', '--yes', '--json');
    expect(early.code).toBe(1);
    expect(early.json()).toMatchObject({ key: '1001', versions: 2, erased: false });
    const { dir } = crm.workspace;
    const again = await crm.workspace.storeferry('-C', dir, 'forget', '1001', '--store', 'main', '--yes');
    expect(again.code).toBe(1);
    expect(again.stdout).toContain('Not yet erased on disk');
    expect(again.stdout).toContain(`storeferry -C ${dir} forget 1001 --store main --yes`);
    expect(again.stdout).not.toContain('Forgot');
    backup.exec('COMMIT');
    backup.close();
    const late = await crm.workspace.storeferry('forget', '1001', '--yes', '--json');
    expect(late.code).toBe(0);
    expect(late.json()).toMatchObject({ erased: true });
    for (const [file, text] of await filesOf(crm.workspace.dir))
      expect([file, PERSON.test(text)]).toEqual([file, false]);
  });

  it('is not sent without values where a later run was killed, and is undone', async () => {
    await using crm = await openCrm();
    const { workspace, store, json } = crm;
    expect(await json('run', 'crm')).toMatchObject({ code: 0, applied: 20 });
    await workspace.storeferry('forget', '1001', '--yes');
    await workspace.write('crm.csv', crmExport(rows({ city: 'Bergen' })));
    store.misbehave({ does: hang, keys: ['1001'] });
    const before = store.figures().requests;
    const killed = workspace.start('run', 'crm', '--json');
    await until(() => store.figures().requests > before);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const runs = z.object({ runs: z.array(z.object({ run: z.string() })) });
    const [{ run } = { run: '' }] = runs.parse(await json('runs')).runs;
    const { stdout } = await workspace.storeferry('undo', run);
    expect(stdout).toContain('its earlier values were forgotten on request (1001)');
    expect(stdout).toContain('Nothing would be sent');
  });
});

describe('a contact whose forgetting was killed', () => {
  /** Artifacts of which the change with this number, and all after it, fail, as if the process had been killed there. */
  function failing(artifacts: Artifacts, at: number): { readonly artifacts: Artifacts; count: () => number } {
    let count = 0;
    const next = () => {
      count++;
      if (count >= at) throw new Error('killed');
    };
    return {
      count: () => count,
      artifacts: {
        ...artifacts,
        run(id) {
          const folder = artifacts.run(id);
          return {
            ...folder,
            async write(...change) {
              next();
              return await folder.write(...change);
            },
            async remove(names) {
              for (const name of names) {
                next();
                await folder.remove([name]);
              }
            },
          };
        },
      },
    };
  }

  it('is nowhere after it was forgotten again, wherever it was killed', async () => {
    await using crm = await openCrm();
    const { workspace, store, json } = crm;
    const stateDir = join(workspace.dir, '.storeferry');
    await workspace.write(
      'ids.csv',
      `${crosswalkOf(rows({}).map(({ number }) => number))}1001,ag@private.example\n`,
    );
    expect(await json('run', 'crm')).toMatchObject({ code: 0, applied: 20 });
    const others = rows(null).map((row) => ({ ...row, city: 'Rom' }));
    // Nothing in the row of her other address shows that it is hers: two rows with one id are rejected.
    const own = { number: 1, email: 'ag@private.example', first: 'Grunewald' };
    await workspace.write('crm.csv', crmExport([...others, { number: 1 }, own, { number: 30 }]));
    const { run } = await json('run', 'crm');
    const folder = join(stateDir, 'artifacts', String(run));
    expect(await readFile(join(folder, 'rejects.csv'), 'utf8')).toMatch(/Grunewald/);
    // As it is of a workbook: packed, so that nothing is found in it.
    await workspace.write(`.storeferry/artifacts/${String(run)}/rejects.xlsx`, 'packed');
    // As a process leaves it that is killed while it writes.
    await workspace.write(`.storeferry/artifacts/${String(run)}/.report.html.1.tmp`, 'Grunewald');
    await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
    const copy = join(workspace.dir, 'copy');
    await cp(stateDir, copy, { recursive: true });
    const left: unknown[] = [];
    for (let at = 1, isOver = false; !isOver; at++) {
      await rm(stateDir, { recursive: true });
      await cp(copy, stateDir, { recursive: true });
      await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
      const record = await findRecord(open, '1001', undefined, contactsIn);
      const faulty = failing(open.context.artifacts, at);
      isOver = await forgetRecord({ ...open.context, artifacts: faulty.artifacts }, record).then(
        () => true,
        () => false,
      );
      if (!isOver) await forgetRecord(open.context, record).catch(() => {});
      for (const [path, text] of await filesOf(workspace.dir))
        if (/Grunewald|ag@private/.test(text)) left.push([at, path]);
      if (!isOver && existsSync(join(folder, 'rejects.xlsx'))) left.push([at, 'workbook']);
    }
    expect(left).toEqual([]);
  }, 120_000);
});

const EXPORTS = {
  fresh: 'export: orders\ndestination: { path: "out/{number}.csv", mode: new }\n',
  sheet: 'export: orders\ndestination: { path: "sheets/{number}.xlsx", mode: new, format: xlsx }\n',
  stuck: 'export: orders\ndestination: { path: "file/{number}.csv", mode: new }\n',
};

/** Somebody who only ordered is in what is kept of exports: copies, and readings that could not be written. */
async function isInNoExport(
  env: Readonly<Record<string, string>>,
  readFrom: (dir: string, name: string) => Promise<Buffer>,
) {
  await using shop = await setupExports(EXPORTS, {}, env);
  const { workspace, store } = shop;
  const read = async (name: string) => {
    const bytes = await readFrom(workspace.dir, name);
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  };
  store.shop.orders.push(...manyOrders(12));
  await workspace.write('file', 'a file where a folder should be');
  const { run: fresh } = (await workspace.storeferry('run', 'fresh', '--json')).json();
  store.shop.orders.push(...manyOrders(14).slice(12));
  expect((await workspace.storeferry('run', 'fresh')).code).toBe(0);
  expect((await workspace.storeferry('run', 'sheet')).code).toBe(0);
  const stuck = (await workspace.storeferry('run', 'stuck', '--json')).json();
  expect(stuck).toMatchObject({ status: 'failed' });
  expect(await read(`${stuck['run']}/reading.jsonl`)).toContain('"a2@mail.example"');
  const [copy, other] = ['export-fresh/file-1.gz', 'export-fresh/file-2.gz'];
  expect(await read(copy)).toMatch(/^a2@mail.example,|,a2@mail.example,/m);
  const forgotten = await workspace.storeferry('forget', 'a2@mail.example', '--yes', '--json');
  expect([forgotten.code, forgotten.stderr]).toEqual([0, '']);
  expect(forgotten.json()).toMatchObject({
    files: expect.arrayContaining([copy, `${stuck['run']}/reading.jsonl`]),
    superseded: [stuck['run']],
    remains: expect.arrayContaining([expect.stringContaining('export-sheet/file-1.gz')]),
  });
  await expect(read(copy)).rejects.toThrow();
  await expect(read(`${stuck['run']}/reading.jsonl`)).rejects.toThrow();
  expect(await read(other)).toContain('a13@mail.example');
  await rm(join(workspace.dir, 'out/1.csv'));
  const again = await workspace.storeferry('run', 'fresh', '--since', String(fresh));
  expect([again.code, again.stdout]).toEqual([
    1,
    expect.stringContaining('content of file 1 is kept no more'),
  ]);
  expect(existsSync(join(workspace.dir, 'out/1.csv'))).toBe(false);
  // The address of another has it in it.
  const part = await workspace.storeferry('forget', '3@mail.example', '--yes');
  expect([part.code, part.stderr]).toEqual([
    2,
    expect.stringMatching(/nor copies of exports.*export-sheet/s),
  ]);
  expect((await workspace.storeferry('run', 'fresh')).code).toBe(0);
}

it('removes kept copies of exports that name somebody who only ordered, and names those that it cannot search', async () => {
  await isInNoExport({}, (dir, name) => readFile(join(dir, '.storeferry', 'artifacts', name)));
});

describeWithRedis('a contact in Redis', () => {
  it('is forgotten as well', async () => {
    await using redis = await startRedis();
    await using crm = await openCrm({ REDIS_URL: redis.url });
    const traces = await leavesTraces(crm);
    const client = new Redis(redis.url);
    const bodies = async () => {
      const [name = ''] = await client.keys('*contacts*:bodies');
      return Object.values(await client.hgetallBuffer(name)).flatMap((body) => decodeBodies(body));
    };
    expect((await bodies()).filter((body) => PERSON.test(body))).toHaveLength(1);
    await isForgotten(crm, traces);
    expect((await bodies()).filter((body) => /grunewald.*bergen|tromso/i.test(body))).toEqual([]);
    expect(await redisContent(redis.url)).not.toMatch(/Anna Grunewald exists|tromso|bergen/i);
    client.disconnect();
  });

  it('is in no export whose copies are in a bucket', async () => {
    await using redis = await startRedis();
    await using s3 = await startS3();
    const objects = s3Objects(s3Address(s3, ''));
    await isInNoExport({ REDIS_URL: redis.url, ...s3Environment(s3, 'shop') }, async (_, name) =>
      buffer(await objects.get(`shop/${name}`)),
    );
  });

  it('is forgotten where the files of runs are in a bucket', async () => {
    await using redis = await startRedis();
    await using s3 = await startS3();
    await using crm = await openCrm({ REDIS_URL: redis.url, ...s3Environment(s3, 'shop') });
    expect(await crm.json('run', 'crm')).toMatchObject({ code: 0, applied: 20 });
    await crm.workspace.write('crm.csv', crmExport([...rows({ city: 'Bergen' }), { number: 30 }]));
    crm.store.misbehave({ does: errorAnswer(422, 'Exists: grunewald'), keys: ['1001'] });
    expect(await crm.json('run', 'crm')).toMatchObject({ code: 3, rejected: 2 });
    const { run } = await crm.json('plan', 'crm');
    const objects = s3Objects(s3Address(s3, ''));
    const named = async () => {
      const keys = await objects.list('shop/');
      const texts = await Promise.all(keys.map(async (key) => await text(await objects.get(key))));
      return keys.filter((_, index) => PERSON.test(texts[index] ?? ''));
    };
    expect((await named()).length).toBeGreaterThan(2);
    const forgotten = await crm.json('forget', '1001', '--yes');
    expect(forgotten).toMatchObject({
      code: 0,
      versions: 1,
      rejectedRows: 1,
      superseded: [run],
      erased: true,
    });
    expect(await named()).toEqual([]);
    expect(await redisContent(redis.url)).not.toMatch(PERSON);
  });
});
