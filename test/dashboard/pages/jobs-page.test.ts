import { describe, expect, it } from 'vitest';
import { aRun } from '../../report/run-facts.ts';
import { cellsOf, LOOKING, setupPages, textOf } from './setup.ts';

const NOW = Date.UTC(2030, 0, 15, 12);
const STORES = `main:\n  baseUrl: https://shop.example\n  apiKey: \${STORE_API_KEY}\n`;
const NIGHTLY = `import: products
store: main
source: { path: catalog.csv }
mapping: shopify-products
schedule: { cron: "15 2 * * *", timezone: Europe/Berlin }
`;
const ENV = { STORE_API_KEY: 'key-that-nobody-sees' };
const at = { env: ENV, now: () => NOW };

describe('the page of jobs', () => {
  it('says what each job moves, when, when next by its own clock, and what came of it last', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const totals = aRun().totals;
    await scene.state.runs.create(
      aRun({
        id: 'lastnight',
        job: 'nightly',
        status: 'failed',
        startedAt: NOW - 3 * 3_600_000,
        finishedAt: NOW - 3 * 3_600_000 + 12_300,
        totals,
      }),
    );
    const { status, document } = await scene.get('/');
    const card = textOf(document.querySelector('.job'));
    expect(status).toBe(200);
    expect(card).toContain('Imports products from catalog.csv into the store main.');
    expect(card).toContain('At 02:15, every day Europe/Berlin');
    expect(card).toContain('Wed 16 Jan 02:15 CET (in 13 h 15 min)');
    expect(card).toContain('Failed');
    expect(card).toContain('3 h ago, took 12.3 s');
    expect(document.querySelector('a[href="/runs/lastnight"]')).not.toBeNull();
    expect(document.querySelector('[aria-current="page"]')?.getAttribute('href')).toBe('/');
  });

  it('offers to run and to plan to those who may, and to no one else', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const buttons = async (viewer?: typeof LOOKING) =>
      [...(await scene.get('/', viewer)).document.querySelectorAll('.job .button')].map((button) => [
        textOf(button),
        button.getAttribute('href'),
      ]);
    expect(await buttons()).toEqual([
      ['Run nightly', '/jobs/nightly/run'],
      ['Plan nightly', '/jobs/nightly/plan'],
    ]);
    expect(await buttons(LOOKING)).toEqual([]);
  });

  it('says who keeps the clock, and what to do when nobody does', async () => {
    const files = { 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY };
    const said = async (keeper: 'worker' | 'no-worker' | 'no-redis') => {
      await using scene = await setupPages(files, { ...at, keeper });
      return textOf((await scene.get('/')).document.querySelector('main'));
    };
    expect(await said('worker')).toContain('A worker runs the jobs by the clock.');
    expect(await said('no-worker')).toContain('start a worker with storeferry -C shop worker');
    expect(await said('no-redis')).toContain('Set REDIS_URL');
  });

  it('shows what is wrong in the files with file, line and column, first of all', async () => {
    const broken = NIGHTLY.replace('mapping: shopify-products', 'maping: shopify-products');
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': broken }, at);
    const { document } = await scene.get('/');
    const notice = textOf(document.querySelector('h1 + .notice.bad'));
    expect(notice).toContain('jobs/nightly.yaml:4:1');
    expect(notice).toContain("did you mean 'mapping'?");
    expect(document.querySelector('.job a[href$="/run"]')).toBeNull();
    expect(textOf(document.querySelector('.job'))).toContain('cannot be used as it stands');
  });

  it('names the variables that are not set, and never the values of those that are', async () => {
    const files = { 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY };
    await using unset = await setupPages(files, { now: at.now });
    expect(textOf((await unset.get('/')).document.querySelector('.notice'))).toContain(
      'Not set yet: STORE_API_KEY',
    );
    await using set = await setupPages(files, at);
    for (const url of ['/', '/jobs/nightly', '/runs']) {
      expect((await set.get(url)).text).not.toContain(ENV.STORE_API_KEY);
    }
  });

  it('tells a newcomer how to make a job', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES }, at);
    expect(textOf((await scene.get('/')).document.querySelector('.empty'))).toContain(
      'storeferry -C shop init',
    );
  });
});

describe('the page of a job', () => {
  const EVERYTHING = `import: products
store: main
source: { url: "https://feed.example/a.csv?token=\${FEED_TOKEN}" }
mapping: shopify-products
mode: mirror
safety: { maxDeletes: 12, minRows: off }
notify: { url: "https://hooks.example/\${HOOK_TOKEN}", on: [failed, done] }
`;

  it('says what its file says, in words, without its secrets', async () => {
    const env = { ...ENV, FEED_TOKEN: 'feed-secret', HOOK_TOKEN: 'hook-secret' };
    await using scene = await setupPages(
      { 'stores.yaml': STORES, 'jobs/outlet.yaml': EVERYTHING },
      { ...at, env },
    );
    const { text, document } = await scene.get('/jobs/outlet');
    const settings = textOf(document.querySelector('.settings'));
    expect(settings).toContain('https://feed.example/a.csv');
    expect(settings).toContain('mirror: creates and changes, and deletes');
    expect(settings).toContain('at most 12 deleted');
    expect(settings).not.toContain('in the source');
    expect(settings).toContain('at most 10% of the records rejected');
    expect(settings).toContain('hooks.example when a run failed and when it was done');
    expect(text).not.toMatch(/feed-secret|hook-secret/);
  });

  it('lists its runs and draws its nights, plans left out', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const kinds = ['run', 'run', 'plan', 'run'] as const;
    for (const [index, kind] of [...kinds.entries()].reverse()) {
      const startedAt = NOW - (index + 1) * 86_400_000;
      await scene.state.runs.create(
        aRun({ id: `night${index}`, job: 'nightly', kind, startedAt, finishedAt: startedAt + 5_000 }),
      );
    }
    const { document } = await scene.get('/jobs/nightly');
    const rows = [...document.querySelectorAll('tbody tr')].map(cellsOf);
    expect(rows).toHaveLength(4);
    expect(rows[0]).toContain('night0 | Done | ');
    expect(rows[2]).toContain('night2 plan');
    expect(document.querySelectorAll('#nights svg[role="img"]').length).toBeGreaterThan(0);
  });

  it('says what to do while there are no runs', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    expect(textOf((await scene.get('/jobs/nightly')).document.querySelector('#runs'))).toContain(
      'storeferry -C shop plan nightly',
    );
  });

  it('of a job that is not there names the one that was meant', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const { status, document } = await scene.get('/jobs/nighly');
    expect(status).toBe(404);
    expect(textOf(document.querySelector('main'))).toContain("did you mean 'nightly'?");
  });
});
