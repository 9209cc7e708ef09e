import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setupNightly } from '../support/nightly.ts';
import { errorAnswer, unauthorized } from '../support/store/faults.ts';

describe('the rejects of a run', () => {
  it('can still be retried when a later setup could not read its source', async () => {
    await using setup = await setupNightly(20);
    const { store, workspace } = setup;
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-5'] });
    const run = await workspace.storeferry('run', 'nightly', '--json');
    store.behave();
    await rm(join(workspace.dir, 'catalog.csv'));
    expect((await workspace.storeferry('run', 'nightly')).code).toBe(1);

    const retry = await workspace.storeferry('retry', String(run.json()['run']), '--json');
    expect(retry.json()).toMatchObject({ status: 'done', applied: 1 });
  });

  it('are kept as corrected when the run is continued', async () => {
    await using setup = await setupNightly(40);
    const { store, workspace } = setup;
    const refused = { does: errorAnswer(422, 'Too dear'), keys: ['product-1'] };
    let rejects = '';
    // It is continued twice, and corrected both times.
    for (const price of ['9.50', '8.50']) {
      store.behave();
      store.misbehave(refused);
      store.misbehave({ does: unauthorized, from: store.requests.length + 20 });
      const failed = await workspace.storeferry('run', 'nightly', '--json');
      expect(failed.json()).toMatchObject({ status: 'failed', rejected: 1 });
      rejects = join(workspace.dir, String(failed.json()['rejectsFile']));
      await writeFile(rejects, (await readFile(rejects, 'utf8')).replaceAll('11.00', price));
    }
    store.behave();
    store.misbehave(refused);
    const continued = await workspace.storeferry('run', 'nightly', '--json');
    expect(continued.json()).toMatchObject({ status: 'done-with-rejects' });
    for (const [name, price] of [
      ['rejects-corrected.csv', '9.50'],
      ['rejects-corrected-2.csv', '8.50'],
    ] as const)
      expect(await readFile(join(dirname(rejects), name), 'utf8')).toContain(price);
  });

  it('show what was corrected without letting a cell act on the terminal', async () => {
    await using setup = await setupNightly(20);
    const { store, workspace } = setup;
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-5'] });
    const run = await workspace.storeferry('run', 'nightly', '--json');
    const rejects = join(workspace.dir, String(run.json()['rejectsFile']));
    const text = await readFile(rejects, 'utf8');
    await writeFile(rejects, text.replace(',Product 5,', ',Product \u001b[31mfive,'));
    store.behave();

    const retry = await workspace.storeferry('retry', String(run.json()['run']));
    expect(retry.stderr).toContain("'Product 5' -> 'Product [31mfive'");
    expect(retry.stderr + retry.stdout).not.toContain('\u001b');
  });
});
