import { expect, it } from 'vitest';
import { refuseLargeWorkbook } from '../../../src/dashboard/route-parts.ts';
import { writePlan } from '../../../src/plan/plan-file.ts';
import { planOf, products } from '../../plan/plan-of.ts';
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

/** The records of a run that sent some and rejected one; `planned`: that its plan has so many operations, and none was sent. */
it.each<[string, { applied?: number; planned?: number }, string, boolean]>([
  ['applied records and a rejected one', { applied: 1_048_574 }, 'xlsx', false],
  ['applied records and a rejected one', { applied: 1_048_575 }, 'csv', false],
  ['applied records and a rejected one', { applied: 1_048_575 }, 'xlsx', true],
  ['records that wait for approval', { planned: 1_048_575 }, 'xlsx', false],
  ['records that wait for approval', { planned: 1_048_576 }, 'xlsx', true],
])('a workbook of %s, %o, as %s', async (_, { applied, planned }, format, isRefused) => {
  await using scene = await setupPages({});
  const id = 'abcdefgh';
  const none = await scene.state.runs.tally(id);
  const tally = applied === undefined ? none : { ...none, applied, rejected: 1 };
  const runs = { ...scene.state.runs, tally: async () => tally };
  const context = { ...scene.context, state: { ...scene.state, runs } };
  if (planned !== undefined) {
    const { plan } = await planOf({ mapped: products(1, 2) });
    const shards = plan.shards.map((shard) => ({ ...shard, operations: planned }));
    await writePlan(context.artifacts.run(id), { ...plan, shards });
  }
  const target = { storeId: 'id:main', resource: 'products' } as const;
  const asked = refuseLargeWorkbook({ context }, { target, id }, format).catch((error: unknown) => error);
  if (isRefused)
    expect(await asked).toMatchObject({
      statusCode: 422,
      message: expect.stringContaining('holds 1,048,575 records'),
    });
  else expect(await asked).toBeUndefined();
});
