import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, type InputLimits } from '../../src/model/input-limits.ts';
import type { TableOptions } from '../../src/model/row.ts';
import { readMappingTables } from '../../src/run/inputs/open-mapping.ts';
import { type SideTable, stageWithSideTables } from '../../src/run/inputs/side-table.ts';
import { snapshotOf } from '../../src/source/snapshot.ts';
import { SampleFolder } from '../../src/state/artifacts.ts';
import type { FileAccess } from '../../src/state/file-access.ts';
import { makeZip } from '../source/make-zip.ts';
import { makePipe } from '../support/make-pipe.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { makeOds, makeXlsx } from '../tables/workbooks.ts';

interface Written extends TableOptions {
  readonly path: string;
  readonly match: string;
  readonly id: string;
}

/** Stages a crosswalk as a run does, and reads it. */
async function readCrosswalk(
  { match, id, ...at }: Written,
  access: FileAccess,
  limits: InputLimits = DEFAULT_LIMITS,
  opened = new DisposableStack(),
) {
  const tables: SideTable[] = [{ kind: 'crosswalk', at, columns: { match, id }, access }];
  const folder = new SampleFolder(Number.POSITIVE_INFINITY);
  const source = async () => snapshotOf([]);
  const snapshot = await stageWithSideTables(tables, null, source, { folder, limits });
  if (snapshot === undefined) throw new Error('nothing was staged');
  const { crosswalk } = await readMappingTables({ tables }, snapshot, folder, limits, opened);
  if (crosswalk === undefined) throw new Error('no crosswalk was read');
  return { crosswalk, digest: snapshot.sha256 };
}

async function read(content: string, columns = { match: 'email', id: 'id' }) {
  await using workspace = await makeWorkspace({ 'ids.csv': content });
  return await readCrosswalk({ path: 'ids.csv', ...columns }, { workspaceDir: workspace.dir });
}

describe('a crosswalk', () => {
  it('finds ids by the column that the job names, trimmed and in any case', async () => {
    const { crosswalk } = await read(
      'Store id;E-Mail;CRM\n007;" Ann@Mail.example ";C1\n8.0;bob@mail.example;c2\n',
      {
        match: 'e-mail',
        id: 'store id',
      },
    );
    expect(crosswalk.find(' ANN@mail.example')).toBe(7);
    expect(crosswalk.find('bob@mail.example')).toBe(8);
    expect(crosswalk.find('c1')).toBeUndefined();
  });

  it('finds an e-mail address in each form that Unicode has for it, and other values in their own', async () => {
    const content = 'id,email,code\n7,rene\u0301@mail.example,e\u0301\n8,\uff42ob@mail.example,b\n';
    const { crosswalk } = await read(content);
    expect(crosswalk.find('Ren\u00e9@mail.example')).toBe(7);
    expect(crosswalk.find('bob@mail.example')).toBe(8);
    const byCode = (await read(content, { match: 'code', id: 'id' })).crosswalk;
    expect([byCode.find('e\u0301'), byCode.find('\u00e9')]).toEqual([7, undefined]);
  });

  it('passes over lines without a value or without an id', async () => {
    const { crosswalk } = await read('id,email\n,ann@mail.example\n7,\n\n');
    expect(crosswalk.find('ann@mail.example')).toBeUndefined();
    expect(crosswalk.find('')).toBeUndefined();
  });

  it('gives no number for an id that is none', async () => {
    const { crosswalk } = await read('id,email\nx7,ann@mail.example\n');
    expect(crosswalk.find('ann@mail.example')).toBeNaN();
  });

  it('takes a line that is there twice, and two values for one contact', async () => {
    const { crosswalk } = await read('id,email\n7,a@mail.example\n007,A@mail.example\n7,b@mail.example\n');
    expect([crosswalk.find('a@mail.example'), crosswalk.find('b@mail.example')]).toEqual([7, 7]);
  });

  it('has another digest when a byte of it is another', async () => {
    const [one, same, other] = await Promise.all(
      ['id,email\n7,a@x\n', 'id,email\n7,a@x\n', 'id,email\n8,a@x\n'].map((content) => read(content)),
    );
    expect(one?.digest).toBe(same?.digest);
    expect(one?.digest).not.toBe(other?.digest);
  });

  it.each([
    [
      'two ids for one value',
      'id,email\n7,ann@mail.example\n8,ANN@mail.example\n',
      3,
      'two ids for the same email',
    ],
    [
      'two ids for two forms of one address',
      'id,email\n7,rene\u0301@mail.example\n8,ren\u00e9@mail.example\n',
      3,
      'two ids for the same email',
    ],
    ['a row that is too short', 'id,email,name\n7,ann@mail.example\n', 2, '2 cells under 3 headers'],
    ['no column of that name', 'id,mail\n7,ann@mail.example\n', 1, "no column 'email'"],
    ['two columns of that name', 'id,email,Email\n7,a,b\n', 1, 'more than once: columns 2, 3'],
  ])('is refused with %s, by its line and without the value', async (_name, content, line, message) => {
    const refused = await read(content).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ place: { file: 'ids.csv', line } });
    expect(String(refused)).toContain(message);
    expect(String(refused).toLowerCase()).not.toContain('ann@');
  });

  it('without the column says how the job names it', async () => {
    const hint = expect.stringContaining('Both columns may have any name');
    await expect(read('id,E-Mail Address\n7,ann@mail.example\n')).rejects.toMatchObject({ hint });
  });

  it('may be packed with gzip', async () => {
    await using workspace = await makeWorkspace({});
    await writeFile(join(workspace.dir, 'ids.csv.gz'), gzipSync('id,email\n7,ann@mail.example\n'));
    const options = { path: 'ids.csv.gz', match: 'email', id: 'id' };
    const { crosswalk } = await readCrosswalk(options, { workspaceDir: workspace.dir }, DEFAULT_LIMITS);
    expect(crosswalk.find('ann@mail.example')).toBe(7);
  });

  it.each([
    ['crosswalkRows', { crosswalkRows: 2 }, { crosswalkRows: 1 }, 3],
    ['columns', { columns: 2 }, { columns: 1 }, 1],
    ['bytes', { bytes: 49 }, { bytes: 48 }, undefined],
    ['cellBytes', { cellBytes: 16 }, { cellBytes: 15 }, 2],
  ])('is held to the limit %s, packed or not', async (limit, within, below, line) => {
    const content = 'id,email\n7,ann@mail.example\n8,"bob@mail.example"\n';
    await using workspace = await makeWorkspace({ 'ids.csv': content });
    await writeFile(join(workspace.dir, 'ids.csv.gz'), gzipSync(content));
    for (const path of ['ids.csv', 'ids.csv.gz']) {
      const held = (limits: Partial<InputLimits>) =>
        readCrosswalk(
          { path, match: 'email', id: 'id' },
          { workspaceDir: workspace.dir },
          { ...DEFAULT_LIMITS, ...limits },
        );
      expect((await held(within)).crosswalk.find('bob@mail.example')).toBe(8);
      await expect(held(below)).rejects.toMatchObject({
        message: expect.stringContaining(`beyond the limit ${limit} (`),
        hint: expect.stringContaining(`limits: { ${limit}: `),
        place: line === undefined ? { file: path } : { file: path, line },
      });
    }
  });

  it('is refused when it is a bomb, long before it is unpacked', async () => {
    await using workspace = await makeWorkspace({});
    const bomb = gzipSync(Buffer.alloc(96 * 1024 * 1024, `7,${'x'.repeat(100_000)}\n`), { level: 9 });
    await writeFile(join(workspace.dir, 'ids.csv.gz'), Buffer.concat([gzipSync('id,email\n'), bomb]));
    const options = { path: 'ids.csv.gz', match: 'email', id: 'id' };
    await expect(
      readCrosswalk(options, { workspaceDir: workspace.dir }, DEFAULT_LIMITS),
    ).rejects.toMatchObject({
      message: expect.stringContaining('beyond the limit ratio (200)'),
    });
  });

  it('is refused when it is half a zip', async () => {
    await expect(read('PK\u0003\u0004 and so on')).rejects.toMatchObject({
      message: expect.stringContaining('cannot be read'),
      hint: expect.stringContaining('download or copy it again'),
    });
  });

  it('is refused, and not waited for, when it is a pipe', async () => {
    await using workspace = await makeWorkspace({});
    await makePipe(join(workspace.dir, 'ids.csv'));
    const columns = { path: 'ids.csv', match: 'email', id: 'id' };
    await expect(readCrosswalk(columns, { workspaceDir: workspace.dir }, DEFAULT_LIMITS)).rejects.toThrow(
      'The crosswalk `ids.csv` is not a regular file',
    );
  });

  it('is refused when it is not there', async () => {
    await using workspace = await makeWorkspace({});
    await expect(
      readCrosswalk(
        { path: 'ids.csv', match: 'email', id: 'id' },
        { workspaceDir: workspace.dir },
        DEFAULT_LIMITS,
      ),
    ).rejects.toThrow('No file matches the crosswalk `ids.csv`.');
  });
});

describe('a crosswalk that is no CSV', () => {
  const rows = [
    ['E-Mail', 'Store id'],
    ['Ann@mail.example', 7],
    ['bob@mail.example', '008'],
  ];
  const records = [
    { 'E-Mail': 'Ann@mail.example', 'Store id': 7 },
    { 'E-Mail': 'bob@mail.example', 'Store id': '008' },
  ];
  const xml = records.map(
    (record) => `<c><mail>${record['E-Mail']}</mail><number>${record['Store id']}</number></c>`,
  );
  const columns = { match: 'e-mail', id: 'store id' };
  it.each<[string, string | Uint8Array, object]>([
    [
      'ids.xlsx',
      makeXlsx([
        { name: 'Old', rows },
        { name: 'Ids', rows: [['Ids of May'], ...rows] },
      ]),
      { ...columns, sheet: 'Ids', headerRow: 2 },
    ],
    ['ids.ods', makeOds([{ name: 'Ids', rows }]), columns],
    ['ids.json', JSON.stringify({ contacts: records }), { ...columns, records: 'contacts' }],
    ['ids.jsonl', records.map((record) => JSON.stringify(record)).join('\n'), columns],
    ['ids.jsonl.gz', gzipSync(records.map((record) => JSON.stringify(record)).join('\n')), columns],
    [
      'ids.xml',
      `<all>${xml.join('')}</all>`.replace('<all>', '<?xml version="1.0"?><all>'),
      { match: 'mail', id: 'number', records: 'all.c' },
    ],
    [
      'ids.zip',
      makeZip([{ name: 'ids.csv', content: 'e-mail,store id\nann@mail.example,7\nbob@mail.example,8\n' }]),
      columns,
    ],
  ])('is read from %s', async (path, content, choice) => {
    await using workspace = await makeWorkspace({});
    await writeFile(join(workspace.dir, path), content);
    const options = { path, match: '', id: '', ...choice };
    const { crosswalk, digest } = await readCrosswalk(
      options,
      { workspaceDir: workspace.dir },
      DEFAULT_LIMITS,
    );
    expect([crosswalk.find('ann@mail.example'), crosswalk.find('BOB@mail.example')]).toEqual([7, 8]);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
  });
  it('is held to its limit of rows', async () => {
    await using workspace = await makeWorkspace({});
    await writeFile(join(workspace.dir, 'ids.ods'), makeOds([{ name: 'Ids', rows }]));
    const options = { path: 'ids.ods', ...columns };
    await expect(
      readCrosswalk(options, { workspaceDir: workspace.dir }, { ...DEFAULT_LIMITS, crosswalkRows: 1 }),
    ).rejects.toThrow('beyond the limit crosswalkRows (1)');
  });
});
