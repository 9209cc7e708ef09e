import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Run } from '../../../src/model/run.ts';
import { historyPlot } from '../../../src/report/plots/history-plot.ts';
import { aRun, NOW } from '../../report/run-facts.ts';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { type Nightly, setupNightly } from '../../support/nightly.ts';
import { type PagesScene, pagesOf, textOf } from './setup.ts';

describe('the page of a run after the store has forgotten products', () => {
  let nightly: Nightly;
  let pages: PagesScene;
  const ids = { verified: '', run: '', rejects: '' };

  beforeAll(async () => {
    nightly = await setupNightly(20);
    const { workspace, store } = nightly;
    pages = await pagesOf(workspace, { env: { STORE_API_KEY: store.apiKey } });
    const perform = async (...args: readonly string[]) =>
      /\(run (\w+)\)/.exec((await workspace.storeferry(...args)).stdout)?.[1] ?? '';
    const forgetAll = () => {
      for (const id of [...store.shop.products.keys()]) store.shop.remove(id);
    };
    const changed = (to: string) => manyProducts(20).map((product) => ({ ...product, title: to }));
    await perform('run', 'nightly');
    forgetAll();
    ids.verified = await perform('verify', 'nightly');
    forgetAll();
    await workspace.write('catalog.csv', shopifyCatalog(changed('Lamp')));
    ids.run = await perform('run', 'nightly');
    forgetAll();
    const dear = { handle: 'dear', title: 'Dear', price: 'tbc' };
    await workspace.write('catalog.csv', shopifyCatalog([...changed('Mug'), dear]));
    ids.rejects = await perform('run', 'nightly');
  });

  afterAll(async () => {
    await pages[Symbol.asyncDispose]();
    await nightly[Symbol.asyncDispose]();
  });

  const shown = async (id: string) => textOf((await pages.get(`/runs/${id}`)).document.body);

  it('says what a verification found, and how to send everything again', async () => {
    const text = await shown(ids.verified);
    expect(text).toContain('Verification of nightly on the store main');
    expect(text).toContain(
      'Of 20 products sent again, 20 were missing from the store, or had another id there.',
    );
    expect(text).toContain('These were all 20 known products: the figure is exact.');
    expect(text).toContain('about 20 requests');
    expect(text).toContain('run nightly --resend');
  });

  it('counts the ids that changed in a run, and offers to estimate the loss', async () => {
    const text = await shown(ids.run);
    expect(text).toContain('The store answered with another id than before for 20 products');
    expect(text).toContain('To estimate how many records the store has lost:Verify');
  });

  it('names it also beside buttons', async () => {
    const text = await shown(ids.rejects);
    expect(text).toContain('The store answered with another id than before for 20 products');
    expect(text).toContain('To estimate how many records the store has lost:');
    expect(text).toContain('To estimate how many records the store has lost:Verify');
  });

  it('lists it with its figures, and keeps it out of the comparison of runs', async () => {
    const { document } = await pages.get('/runs');
    expect(textOf(document.body)).toContain('20 verified, 20 forgotten');
    const job = await pages.get('/jobs/nightly');
    expect(textOf(job.document.body)).toContain('20 verified, 20 forgotten');
    const compared = (kind: Run['kind']) =>
      historyPlot([aRun({ kind }), aRun()], { timezone: 'UTC', now: NOW });
    expect(await compared('verify')).toBeNull();
    expect(await compared('run')).not.toBeNull();
  });
});
