import { describe, expect, it } from 'vitest';
import { runTotals } from '../../../src/report/run-facts.ts';
import { jobLockName } from '../../../src/state/state.ts';
import { ALL_APPLIED, aRun } from '../../report/run-facts.ts';
import { cellsOf, LOOKING, type PagesScene, setupPages, textOf } from './setup.ts';

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
const noTotals = runTotals(null, { ...ALL_APPLIED, applied: 0, deleted: 0 });

/** The lock that a run under way holds: without it the run counts as interrupted. */
async function held({ state }: PagesScene, job: string, run = `of-${job}`) {
  const lock = await state.locks.tryAcquire(jobLockName(job), { job, run });
  if ('heldBy' in lock) throw new Error(`The lock of ${job} is taken.`);
  return lock;
}

describe('the page of jobs', () => {
  it('says what each job moves, when, when next by the clock of the visitor, and what came of it last', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const totals = aRun().totals;
    await scene.state.runs.create(
      aRun({
        id: 'lastrun',
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
    expect(card).toContain('Wed 16 Jan 01:15 UTC (in 13 h 15 min)');
    const abroad = await scene.get('/', { ...LOOKING, timezone: 'Asia/Tokyo' });
    expect(textOf(abroad.document.querySelector('.job'))).toContain('Wed 16 Jan 10:15 GMT+9');
    expect(card).toContain('Failed');
    expect(card).toContain('3 h ago, took 12.3 s');
    expect(document.querySelector('a[href="/runs/lastrun"]')).not.toBeNull();
    expect(document.querySelector('[aria-current="page"]')?.getAttribute('href')).toBe('/');
  });

  it('offers to run and to plan to those who may, and to no one else', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const buttons = async (viewer?: typeof LOOKING) =>
      [...(await scene.get('/', viewer)).document.querySelectorAll('#quiet-jobs .button')].map((button) => [
        textOf(button),
        button.getAttribute('href'),
      ]);
    expect(await buttons()).toEqual([
      ['Run nightly', '/jobs/nightly/run'],
      ['Plan nightly', '/jobs/nightly/plan'],
    ]);
    expect(await buttons(LOOKING)).toEqual([]);
  });

  it('says whether schedules are active, and what to do where they are not', async () => {
    const files = { 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY };
    const said = async (schedules: 'worker' | 'no-worker') => {
      await using scene = await setupPages(files, { ...at, schedules });
      return textOf((await scene.get('/')).document.querySelector('main'));
    };
    expect(await said('worker')).toContain('Schedules are active: a worker is running.');
    expect(await said('no-worker')).toContain('no worker is running. Start one: storeferry -C shop worker');
  });

  it('shows what is wrong in the files with file, line and column, first of all', async () => {
    const broken = NIGHTLY.replace('mapping: shopify-products', 'maping: shopify-products');
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': broken }, at);
    const { document } = await scene.get('/');
    const notice = textOf(document.querySelector('h1 + .notice.bad'));
    expect(notice).toContain('jobs/nightly.yaml:4:1');
    expect(notice).toContain("did you mean 'mapping'?");
    expect(document.querySelector('.job a[href$="/run"]')).toBeNull();
    expect(textOf(document.querySelector('.job'))).toContain(
      'Its file cannot be used. jobs/nightly.yaml:1:1',
    );
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

  it('lists jobs by what they need: what is broken or failed first, then what is under way, then all others a line each', async () => {
    const names = ['alpha', 'bravo', 'charlie', 'delta', 'echo', 'foxtrot', 'golf', 'hotel'];
    const plain = NIGHTLY.replace(/schedule.*\n/, '');
    await using scene = await setupPages(
      {
        'stores.yaml': STORES,
        ...Object.fromEntries(names.map((name) => [`jobs/${name}.yaml`, plain])),
        'jobs/golf.yaml': plain.replace('mapping:', 'maping:'),
      },
      at,
    );
    const ended = {
      bravo: { status: 'done-with-rejects', totals: { ...noTotals, records: 9, rejected: 3 } },
      charlie: { status: 'failed', error: 'The store refused the API key (401). Check it.' },
      delta: { status: 'stopped', error: 'maxDeletes: 52 of 100; the limit is 5%' },
      echo: { status: 'running' },
      foxtrot: { status: 'done' },
      hotel: { status: 'planned', kind: 'plan', totals: { ...noTotals, operations: 24 } },
    } as const;
    for (const [job, changes] of Object.entries(ended)) {
      await scene.state.runs.create(aRun({ id: `of-${job}`, job, finishedAt: null, ...changes }));
    }
    await using _lock = await held(scene, 'echo');
    const { document } = await scene.get('/');
    const group = (id: string) =>
      [...document.querySelectorAll(`section[aria-labelledby="${id}"] .job h3`)].map(textOf);
    expect(group('needing')).toEqual(['golf', 'charlie', 'delta', 'bravo', 'hotel']);
    expect(group('running')).toEqual(['echo']);
    expect([...document.querySelectorAll('#quiet-jobs tbody th')].map(textOf)).toEqual(['alpha', 'foxtrot']);
    const reasons = [...document.querySelectorAll('.job-why')].map(textOf);
    expect(reasons[1]).toBe('The store refused the API key (401).');
    expect(reasons[2]).toBe('Deletions: 52 of 100; the limit is 5%');
    expect(reasons[3]).toBe('3 records were rejected and not sent.');
    expect(reasons[4]).toBe('A plan waits for approval: 24 requests.');
  });

  it('offers no second start while a job is under way, and says what is running and who runs it', async () => {
    await using scene = await setupPages(
      { 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY, 'jobs/queued.yaml': NIGHTLY },
      {
        ...at,
        atWork: { nightly: { by: 'worker', run: 'underway' }, queued: { by: 'queue', run: null } },
      },
    );
    await scene.state.runs.create(
      aRun({ id: 'underway', job: 'nightly', status: 'running', startedAt: NOW - 180_000, finishedAt: null }),
    );
    await using _lock = await held(scene, 'nightly', 'underway');
    for (const url of ['/', '/jobs/nightly']) {
      const { document } = await scene.get(url);
      expect(textOf(document.querySelector('main'))).toContain(
        'Run underway is running, started 3 min ago and executed by a worker.',
      );
      expect(
        document.querySelector('main a[href="/jobs/nightly/run"], main a[href="/jobs/nightly/plan"]'),
      ).toBeNull();
      expect(document.querySelector('main a[href="/runs/underway/interrupt"]')).not.toBeNull();
    }
    const queued = await scene.get('/jobs/queued');
    expect(textOf(queued.document.querySelector('.notice'))).toBe('Queued: it waits for a worker.');
    const offered = [...queued.document.querySelectorAll('main .button')].map((button) =>
      button.getAttribute('href'),
    );
    expect(offered.map((href) => href?.replace('/jobs/queued/', ''))).toEqual([
      ...['edit', 'columns', 'duplicate', 'rename', 'remove'],
    ]);
    const looking = await scene.get('/', LOOKING);
    expect(looking.document.querySelector('main .button')).toBeNull();
  });

  it('quotes nobody where it says why a run of contacts failed', async () => {
    const contacts = NIGHTLY.replace('import: products', 'import: contacts').replace(
      'shopify-products',
      'hubspot-contacts\ncrosswalk: { path: ids.csv, match: email, id: id }',
    );
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': contacts }, at);
    const error = 'The store answered 422: jane.doe@example.com is no contact.';
    await scene.state.runs.create(
      aRun({ id: 'failed', job: 'nightly', status: 'failed', resource: 'contacts', error }),
    );
    for (const url of ['/', '/jobs/nightly', '/runs']) {
      const { text, document } = await scene.get(url);
      expect(text).not.toContain('jane.doe');
      expect(textOf(document.querySelector('main'))).toContain('The store answered 422');
    }
  });

  it('shows a newcomer how to make a job', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES }, at);
    expect(textOf((await scene.get('/')).document.querySelector('.empty'))).toMatch(
      /Upload a file or give its address.*New job/,
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
    expect(settings).toContain(
      'Creates and changes, and deletes what this job last sent and the source no longer has (mirror)',
    );
    expect(settings).toContain('at most 12 deleted');
    expect(settings).not.toContain('in the source');
    expect(settings).toContain('at most 10% of the records rejected');
    expect(settings).toContain('hooks.example when a run fails and when a run is done');
    expect(text).not.toMatch(/feed-secret|hook-secret/);
  });

  it('lists its runs, and draws the recent ones without plans', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const kinds = ['run', 'run', 'plan', 'run'] as const;
    for (const [index, kind] of [...kinds.entries()].reverse()) {
      const startedAt = NOW - (index + 1) * 86_400_000;
      await scene.state.runs.create(
        aRun({ id: `run${index}`, job: 'nightly', kind, startedAt, finishedAt: startedAt + 5_000 }),
      );
    }
    const { document } = await scene.get('/jobs/nightly');
    const rows = [...document.querySelectorAll('tbody tr')].map(cellsOf);
    expect(rows).toHaveLength(4);
    expect(rows[0]).toContain('run0 | Done | ');
    expect(rows[2]).toContain('run2 plan');
    expect(document.querySelectorAll('#recent svg[role="img"]').length).toBeGreaterThan(0);
  });

  it('says what to do while there are no runs', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const refused = 'Somebody with the role operate can start one.';
    const shown = async (viewer?: typeof LOOKING) =>
      textOf((await scene.get('/jobs/nightly', viewer)).document.querySelector('#runs'));
    expect(await shown(LOOKING)).toContain(refused);
    // Those who may plan have the button for it.
    expect(await shown()).not.toContain(refused);
    expect(await shown()).toContain('A plan shows what a run would send');
  });

  it('of a job that is not there names the one that was meant', async () => {
    await using scene = await setupPages({ 'stores.yaml': STORES, 'jobs/nightly.yaml': NIGHTLY }, at);
    const { status, document } = await scene.get('/jobs/nighly');
    expect(status).toBe(404);
    expect(textOf(document.querySelector('main'))).toContain("did you mean 'nightly'?");
  });
});
