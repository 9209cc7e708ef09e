import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setupNightly } from '../support/nightly.ts';
import { unauthorized } from '../support/store/faults.ts';

describe('a run that cannot go on because its snapshot', () => {
  it.each<[string, (artifacts: string, run: string) => Promise<void>]>([
    ['was cleared away', (artifacts) => rm(artifacts, { recursive: true })],
    ['was damaged', (artifacts, run) => writeFile(join(artifacts, run, 'snapshot.json'), '{')],
  ])('%s gives way to a new one, which sends only what is missing', async (_how, lose) => {
    await using night = await setupNightly(60);
    const { store, workspace } = night;
    store.misbehave({ does: unauthorized, from: 30 });
    const failed = await workspace.storeferry('run', 'nightly', '--json');
    expect(failed.json()).toMatchObject({ status: 'failed' });
    store.behave();
    const sent = store.shop.products.size;
    store.forget();
    await lose(join(workspace.dir, '.storeferry', 'artifacts'), String(failed.json()['run']));

    const next = await workspace.storeferry('run', 'nightly', '--json');
    expect(next.json()).toMatchObject({ status: 'done', unchanged: sent, applied: 60 - sent });
    expect(next.json()['run']).not.toBe(failed.json()['run']);
    expect(store.figures()).toMatchObject({ requests: 60 - sent, duplicates: 0 });
  });
});
