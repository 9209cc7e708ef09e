import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readCrosswalk } from '../../src/run/mapping/read-crosswalk.ts';
import { makeWorkspace } from '../support/workspace.ts';

async function read(content: string, columns = { match: 'email', id: 'id' }) {
  await using workspace = await makeWorkspace({ 'ids.csv': content });
  return await readCrosswalk({ path: 'ids.csv', ...columns }, workspace.dir);
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

  it('without the column says that it has to bear the name of the field', async () => {
    const hint = expect.stringContaining("Rename the column to match to 'email'");
    await expect(read('id,E-Mail Address\n7,ann@mail.example\n')).rejects.toMatchObject({ hint });
  });

  it('may be packed with gzip', async () => {
    await using workspace = await makeWorkspace({});
    await writeFile(join(workspace.dir, 'ids.csv.gz'), gzipSync('id,email\n7,ann@mail.example\n'));
    const options = { path: 'ids.csv.gz', match: 'email', id: 'id' };
    const { crosswalk } = await readCrosswalk(options, workspace.dir);
    expect(crosswalk.find('ann@mail.example')).toBe(7);
  });

  it('is refused when it is a workbook', async () => {
    await expect(read('PK\u0003\u0004 and so on')).rejects.toMatchObject({
      message: expect.stringContaining('not a CSV file'),
      hint: expect.stringContaining('save it as "CSV UTF-8"'),
    });
  });

  it('is refused when it is not there', async () => {
    await using workspace = await makeWorkspace({});
    await expect(readCrosswalk({ path: 'ids.csv', match: 'email', id: 'id' }, workspace.dir)).rejects.toThrow(
      'ids.csv cannot be read',
    );
  });
});
