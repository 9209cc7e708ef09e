import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atLeast, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { SCALE } from './scale.ts';
import { openScene, type Scene } from './scene.ts';

const PRODUCTS = 40;
const REFUSED = 5;

/** The report page of the run, and everything else in which the API key stands. */
async function pageAndLeaks(scene: Scene, run: unknown) {
  const page = join(scene.workspace.dir, '.storeferry', 'artifacts', String(run), 'report.html');
  return { page: await readFile(page, 'utf8'), leaks: await scene.leaks() };
}

it.concurrent('a store that repeats the API key in what it says does not bring it into the report', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  const seed = seedOf(context);
  await using scene = await openScene({
    seed,
    catalog: shopifyCatalog(manyProducts(PRODUCTS)),
    job: { safety: '{ maxRejects: off }' },
  });
  const { store } = scene;
  const telltale = `No such product for Bearer ${store.apiKey}`;
  store.misbehave({ does: errorAnswer(422, telltale), until: REFUSED });
  const ended = (await scene.storeferry('run', 'nightly', '--json')).json();
  expect(ended).toMatchObject({ status: 'done-with-rejects', rejected: REFUSED });
  const refused = await pageAndLeaks(scene, ended['run']);
  expect(refused.page).toContain('No such product for');

  store.behave();
  store.misbehave({ does: errorAnswer(401, `Unknown key ${store.apiKey}`) });
  const revoked = (await scene.storeferry('run', 'nightly', '--resend', '--json')).json();
  expect(revoked['status']).toBe('failed');
  const failed = await pageAndLeaks(scene, revoked['run']);
  expect(failed.page).toContain('API key');

  figure(context, {
    invariant: 24,
    seed,
    fired: scene.fired(),
    measured: [
      none('leaks', refused.leaks.length + failed.leaks.length),
      none('keys in reports', [refused, failed].filter(({ page }) => page.includes(store.apiKey)).length),
      atLeast(2, 'reports looked through', [refused, failed].length),
    ],
  });
});
