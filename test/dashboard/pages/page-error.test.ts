import { expect, it } from 'vitest';
import { refuseLargeWorkbook } from '../../../src/dashboard/route-parts.ts';
import { setupPages, textOf } from './setup.ts';

it.each([
  ['EROFS', 503, 'A file in the folder jobs cannot be read or changed (EROFS).'],
  ['EBADF', 500, 'This is a bug in Storeferry.'],
])('an error %s of the file system is shown as what it is', async (code, status, words) => {
  await using scene = await setupPages({});
  scene.app.get('/failing', () => {
    throw Object.assign(new Error('it failed'), { code, path: '/srv/shop/jobs/.nightly.yaml.tmp' });
  });
  const page = await scene.get('/failing');
  expect(page.status).toBe(status);
  expect(textOf(page.document.querySelector('main'))).toContain(words);
  expect(page.text).not.toContain('/srv/shop');
});

it.each([
  [1_048_574, 'xlsx', undefined],
  [1_048_575, 'csv', undefined],
  [1_048_575, 'xlsx', { statusCode: 422, message: expect.stringContaining('holds 1,048,575 records') }],
])('a workbook of %d applied records and a rejected one, as %s', async (applied, format, refusal) => {
  await using scene = await setupPages({});
  const tally = { ...(await scene.state.runs.tally('abcdefgh')), applied, rejected: 1 };
  const runs = { ...scene.state.runs, tally: async () => tally };
  const context = { ...scene.context, state: { ...scene.state, runs } };
  const asked = refuseLargeWorkbook({ context }, 'abcdefgh', format).catch((error: unknown) => error);
  if (refusal === undefined) expect(await asked).toBeUndefined();
  else expect(await asked).toMatchObject(refusal);
});
