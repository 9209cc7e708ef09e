import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { editFile, readEditable } from '../../../src/config/edit-file.ts';
import { editRoutes } from '../../../src/dashboard/edit-job/edit-routes.ts';
import { readForms } from '../../../src/dashboard/route-parts.ts';
import { catalogWorkspace } from '../../support/catalog.ts';
import { setupPages, textOf } from './setup.ts';

const FILE = 'jobs/nightly.yaml';
const FILES: Readonly<Record<string, string>> = {
  ...catalogWorkspace('http://127.0.0.1:9', ''),
  '.env': 'STORE_API_KEY=a-key-of-nobody\n',
};

it('a mail server is refused while the environment names another one, which would be used', async () => {
  await using scene = await setupPages(FILES, { env: { SMTP_URL: 'smtps://old.example' } });
  const { app, dashboard, workspace } = scene;
  readForms(app);
  editRoutes(app, { dashboard });
  const read = async () =>
    await Promise.all([FILE, '.env'].map((file) => readFile(join(workspace.dir, file), 'utf8')));
  const before = await read();
  const { sha256 } = readEditable(dashboard.readWorkspace(), FILE);
  const mail = { kind: 'email', address: 'anna@shop.example', from: 'shop@shop.example', when: 'always' };
  const typed = { ...mail, 'on.failed': 'on', mailServer: 'smtps://new.example' };
  const fields = Object.entries(typed).map(([name, value]) => [`notify.0.${name}`, value] as const);
  const { statusCode, body } = await app.inject({
    method: 'POST',
    url: '/jobs/nightly/edit',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ sha256, ...Object.fromEntries(fields) }).toString(),
  });
  expect(statusCode).toBe(422);
  const about = parseHTML(body).document.querySelector('[id="about-notify.0.mailServer"]');
  expect(textOf(about)).toContain('SMTP_URL has another value in the environment');
  expect(await read()).toEqual(before);
});

it.each([
  ['Europe/London', 'timezone'],
  [`"$\{TZ_OF_SHOP:UTC}"`, undefined],
])('the time zone %s is checked in the browser unless the environment has it', async (zone, check) => {
  const job = `${FILES[FILE]}schedule: { cron: "15 2 * * *", timezone: ${zone} }\n`;
  await using scene = await setupPages({ ...FILES, [FILE]: job });
  editRoutes(scene.app, { dashboard: scene.dashboard });
  const { body } = await scene.app.inject('/jobs/nightly/edit');
  const { document } = parseHTML(body);
  expect(document.getElementById('timezone')?.getAttribute('data-check') ?? undefined).toBe(check);
});

it('a file stays as it is if the variables that it would use cannot be written', async () => {
  await using scene = await setupPages(FILES);
  const workspace = scene.dashboard.readWorkspace();
  const { sha256, text } = readEditable(workspace, FILE);
  const edit = () =>
    editFile(workspace, FILE, {
      sha256,
      edits: [{ set: ['mode'], value: 'mirror' }],
      fields: [],
      check: () => [],
      variables: { SMTP_URL: `#'"\`` },
    });
  expect(edit).toThrow('cannot be written into .env');
  expect(await readFile(join(scene.workspace.dir, FILE), 'utf8')).toBe(text);
});

describe('a secret of a typed address', () => {
  const open = (name: string) => `$${'{'}${name}}`;
  const byLink = (url: string) =>
    FILES[FILE]?.replace(/source:.*/, () => `source: { url: ${JSON.stringify(url)} }`) ?? '';
  const edited = async (files: Readonly<Record<string, string>>, location: string, env = {}) => {
    await using scene = await setupPages({ ...FILES, ...files }, { env });
    const { app, dashboard, workspace } = scene;
    readForms(app);
    editRoutes(app, { dashboard });
    const { sha256 } = readEditable(dashboard.readWorkspace(), FILE);
    const { statusCode, body } = await app.inject({
      method: 'POST',
      url: '/jobs/nightly/edit',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ sha256, place: 'url', location }).toString(),
    });
    const read = async (file: string) => await readFile(join(workspace.dir, file), 'utf8');
    const { source } = parse(await read(FILE));
    return { statusCode, body, url: source.url, variables: parseEnv(await read('.env')) };
  };

  it('goes into .env, and its placeholder into the job', async () => {
    const { statusCode, url, variables } = await edited(
      {},
      'https://shop.example/a.csv?lang=de&token=se-cret',
    );
    expect(statusCode).toBe(303);
    expect(url).toBe(`https://shop.example/a.csv?lang=de&token=${open('FEED_TOKEN')}`);
    expect(variables).toEqual({ STORE_API_KEY: 'a-key-of-nobody', FEED_TOKEN: 'se-cret' });
  });

  it('replaces the one of before, unless another file uses its variable, or the environment names it', async () => {
    const files = {
      [FILE]: byLink(`https://shop.example/a.csv?token=${open('FEED_TOKEN')}`),
      '.env': 'STORE_API_KEY=a-key-of-nobody\nFEED_TOKEN=old\n',
    };
    const typed = 'https://shop.example/a.csv?token=new';
    const alone = await edited(files, typed);
    expect([alone.url, alone.variables]).toEqual([
      `https://shop.example/a.csv?token=${open('FEED_TOKEN')}`,
      { STORE_API_KEY: 'a-key-of-nobody', FEED_TOKEN: 'new' },
    ]);
    const other = { 'jobs/other.yaml': byLink(`https://shop.example/b.csv?token=${open('FEED_TOKEN')}`) };
    for (const { url, variables } of [
      await edited({ ...files, ...other }, typed),
      await edited(files, typed, { FEED_TOKEN: 'old' }),
      await edited(files, 'https://other.example/a.csv?token=new'),
    ]) {
      expect(url).toMatch(`.example/a.csv?token=${open('FEED_TOKEN_2')}`);
      expect(variables).toMatchObject({ FEED_TOKEN: 'old', FEED_TOKEN_2: 'new' });
    }
  });

  it('of a user is the auth of the address, on another server instead of that of before', async () => {
    const typed = 'https://me:pass-word@shop.example/a.csv';
    const auth = { user: 'me', password: open('FEED_PASSWORD') };
    expect((await edited({}, typed)).url).toEqual({ address: 'https://shop.example/a.csv', auth });
    const map = `{ address: https://old.example/a.csv, auth: { bearer: "${open('STORE_API_KEY')}" }, headers: { Accept: text/csv } }`;
    const moved = await edited({ [FILE]: byLink('').replace('url: ""', () => `url: ${map}`) }, typed);
    expect(moved.url).toEqual({ address: 'https://shop.example/a.csv', auth });
    expect(moved.variables).toMatchObject({ FEED_PASSWORD: 'pass-word' });
  });
});
