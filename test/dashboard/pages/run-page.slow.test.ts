import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Run } from '../../../src/model/run.ts';
import { jobLockName } from '../../../src/state/state.ts';
import { aRun } from '../../report/run-facts.ts';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { type Nightly, setupNightly } from '../../support/nightly.ts';
import { LOOKING, type PagesScene, pagesOf, setupPages, textOf } from './setup.ts';

const SCRIPT = '<script>alert(1)</script>';
const NAMES = '<img src=x onerror=alert(1)>';

describe('the page of a run', () => {
  let nightly: Nightly;
  let pages: PagesScene;
  let whileLatest: (string | null)[] = [];
  const ids: Record<'first' | 'rejected' | 'stopped' | 'planned', string> = {
    first: '',
    rejected: '',
    stopped: '',
    planned: '',
  };

  beforeAll(async () => {
    nightly = await setupNightly(30, { mode: 'mirror' });
    const { workspace, store } = nightly;
    const perform = async (...args: readonly string[]) =>
      String((await workspace.storeferry(...args, '--json')).json()['run']);
    const products = manyProducts(30).map((product) => ({ ...product, title: SCRIPT }));
    pages = await pagesOf(workspace, { env: { STORE_API_KEY: store.apiKey } });
    ids.first = await perform('run', 'nightly');
    await workspace.write(
      'catalog.csv',
      shopifyCatalog([...products, { handle: 'dear', title: NAMES, price: 'tbc' }]),
    );
    ids.rejected = await perform('run', 'nightly');
    whileLatest = await actions(ids.rejected);
    await workspace.write('catalog.csv', shopifyCatalog(products.slice(0, 27)));
    ids.stopped = await perform('run', 'nightly');
    await workspace.write(
      'catalog.csv',
      shopifyCatalog(
        products.map((product, index) => ({ ...product, price: index === 0 ? '1000.00' : product.price })),
      ),
    );
    ids.planned = await perform('plan', 'nightly');
  });

  afterAll(async () => {
    await pages[Symbol.asyncDispose]();
    await nightly[Symbol.asyncDispose]();
  });

  const actions = async (id: string, viewer?: typeof LOOKING) =>
    [...(await pages.get(`/runs/${id}`, viewer)).document.querySelectorAll('.next-list a')].map((link) =>
      link.getAttribute('href'),
    );

  it('offers what fits: the undo of what was sent, the rejects, the approval of a plan', async () => {
    expect(await actions(ids.first)).toEqual([`/runs/${ids.first}/undo`]);
    expect(whileLatest).toEqual([
      `/runs/${ids.rejected}/rejects.csv`,
      `/runs/${ids.rejected}/rejects`,
      `/runs/${ids.rejected}/retry`,
      `/runs/${ids.rejected}/undo`,
    ]);
    // To override a safety limit is not the first thing to think of.
    expect(await actions(ids.stopped)).toEqual([
      '/jobs/nightly/run',
      `/runs/${ids.stopped}/approve`,
      `/runs/${ids.stopped}/discard`,
    ]);
    expect(await actions(ids.planned)).toEqual([
      `/runs/${ids.planned}/approve`,
      '/jobs/nightly/plan',
      `/runs/${ids.planned}/discard`,
    ]);
  });

  it('offers the retry of rejects also when a later run has begun, and leads to that', async () => {
    expect(await actions(ids.rejected)).toEqual([
      `/runs/${ids.stopped}`,
      `/runs/${ids.rejected}/rejects.csv`,
      `/runs/${ids.rejected}/rejects`,
      `/runs/${ids.rejected}/retry`,
      `/runs/${ids.rejected}/undo`,
    ]);
  });

  it('says what an approval would send', async () => {
    const { document } = await pages.get(`/runs/${ids.stopped}`);
    expect(textOf(document.querySelector('.next-list'))).toContain('3 requests (3 to delete)');
  });

  it('offers nothing to those who may only look', async () => {
    for (const id of Object.values(ids)) expect(await actions(id, LOOKING)).toEqual([]);
  });

  it('runs nothing that stands in the catalog, and is valid for both viewers', async () => {
    for (const id of Object.values(ids)) {
      for (const viewer of [undefined, LOOKING]) {
        const { document } = await pages.get(`/runs/${id}`, viewer);
        expect(document.querySelector('main script, main img')).toBeNull();
      }
    }
  });

  it('shows no secret', async () => {
    for (const url of ['/', '/jobs/nightly', `/runs/${ids.rejected}`]) {
      expect((await pages.get(url)).text).not.toContain(nightly.store.apiKey);
    }
  });
});

describe('the page of a run under way', () => {
  const STARTED = Date.UTC(2030, 0, 15, 12);
  const running = (changes: Partial<Run> = {}) =>
    aRun({
      id: 'underway',
      job: 'nightly',
      status: 'running',
      step: 'apply',
      startedAt: STARTED,
      finishedAt: null,
      progress: {
        step: 'apply',
        done: 450,
        total: 1_000,
        unit: 'requests',
        applied: 448,
        rejected: 2,
        at: STARTED,
      },
      ...changes,
    });

  async function watched(changes: Partial<Run> = {}) {
    const pages = await setupPages({ 'stores.yaml': '{}\n' }, { now: () => STARTED + 60_000 });
    await pages.state.runs.create(running(changes));
    const lock = await pages.state.locks.tryAcquire(jobLockName('nightly'), {
      job: 'nightly',
      run: 'underway',
    });
    if ('heldBy' in lock) throw new Error('The lock is held.');
    return { pages, lock };
  }

  it('shows how far it is, where to hear more, and how to stop it', async () => {
    const { pages, lock } = await watched();
    const { document } = await pages.get('/runs/underway');
    const live = document.querySelector('[data-events]');
    expect(live?.getAttribute('data-events')).toBe('/runs/underway/events');
    expect(textOf(document.querySelector('[aria-current="step"]'))).toBe('Send it to the store');
    expect(document.querySelector('progress')?.getAttribute('value')).toBe('0.4500');
    expect(textOf(document.querySelector('[data-live="applied"]'))).toBe('448');
    expect(document.querySelector('script[src="/assets/live.js"]')).not.toBeNull();
    expect(document.querySelector('noscript a')?.getAttribute('href')).toBe('/runs/underway');
    expect(document.querySelector('.next-list a')?.getAttribute('href')).toBe('/runs/underway/interrupt');
    await lock.release();
    await pages[Symbol.asyncDispose]();
  });

  it('says that it was asked to stop', async () => {
    const { pages, lock } = await watched({ interruptAskedAt: STARTED + 58_000 });
    expect(textOf((await pages.get('/runs/underway')).document.querySelector('.live'))).toContain(
      'It was asked to stop just now',
    );
    await lock.release();
    await pages[Symbol.asyncDispose]();
  });

  it('whose process has died is interrupted, and can be continued', async () => {
    const { pages, lock } = await watched();
    await lock.release();
    const { document } = await pages.get('/runs/underway');
    expect(document.querySelector('[data-events]')).toBeNull();
    expect(textOf(document.querySelector('main'))).toContain('Its process died at the step apply');
    expect(document.querySelector('.next-list a')?.getAttribute('href')).toBe('/jobs/nightly/run');
    await pages[Symbol.asyncDispose]();
  });

  it('that is not kept says so', async () => {
    await using pages = await setupPages({ 'stores.yaml': '{}\n' });
    const { status, document } = await pages.get(`/runs/${encodeURIComponent(NAMES)}`);
    expect(status).toBe(404);
    expect(textOf(document.querySelector('main'))).toContain(
      'At least the latest 20 runs of each job are kept',
    );
  });
});
