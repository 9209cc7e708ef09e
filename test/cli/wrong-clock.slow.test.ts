import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { startFileServer } from '../support/file-server.ts';
import { none } from '../support/measure.ts';
import { startStore } from '../support/store.ts';
import { wallClock } from '../support/wall-clock.ts';
import { makeWorkspace } from '../support/workspace.ts';

const PRODUCTS = 6;
const DAY_MS = 86_400_000;

/** A job that reads its catalog from the web, with a clock that can be wrong. */
async function setup() {
  const stack = new AsyncDisposableStack();
  const store = await startStore({ seed: 1 });
  stack.defer(() => store.close());
  const server = stack.use(await startFileServer());
  const clock = stack.use(wallClock());
  const { 'jobs/nightly.yaml': nightly = '', ...files } = catalogWorkspace(store.baseUrl, 'unused');
  const source = `{ url: { address: "${server.url}/catalog.csv", allowPrivateAddresses: true } }`;
  const job = nightly.replace('{ path: catalog.csv }', source);
  const workspace = stack.use(
    await makeWorkspace(
      { ...files, 'jobs/nightly.yaml': job },
      { ...clock.env, STORE_API_KEY: store.apiKey },
    ),
  );
  return {
    ...{ store, clock, workspace },
    offer(price: string) {
      const products = manyProducts(PRODUCTS).map((product) => ({ ...product, price }));
      server.files.set('/catalog.csv', Buffer.from(shopifyCatalog(products)));
    },
    pricesInStore: () =>
      new Set(
        [...store.shop.products.values()].map(
          (product) => /"price":([\d.]+)/.exec(JSON.stringify(product))?.[1],
        ),
      ),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe('a clock that was put forward once, and then right', () => {
  it.for([40 * DAY_MS, -40 * DAY_MS])(
    'does not make a source that goes back look unchanged (%i ms)',
    async (ms, context) => {
      await using scene = await setup();
      const run = async (price: string) => {
        scene.offer(price);
        const ended = await scene.workspace.storeferry('run', 'nightly', '--json');
        return ended.json();
      };
      scene.clock.ahead(ms);
      expect(await run('10.00')).toMatchObject({ status: 'done', applied: PRODUCTS });
      scene.clock.ahead(0);
      expect(await run('20.00')).toMatchObject({ status: 'done', applied: PRODUCTS });
      expect(await run('10.00')).toMatchObject({ status: 'done', applied: PRODUCTS });
      figure(context, {
        invariant: 29,
        seed: scene.store.seed,
        fired: { 'clock wrong by 40 days for one run': 1 },
        measured: [
          none(
            'prices in the store that its source does not have, after a wrong clock',
            [...scene.pricesInStore()].filter((price) => price !== '10').length,
          ),
        ],
      });
      expect(await run('10.00')).toMatchObject({ unchanged: PRODUCTS, requests: 0 });
    },
  );

  it('does not count what a plan waited for approval as work, and no work as less than none', async () => {
    await using scene = await setup();
    scene.offer('10.00');
    const planned = await scene.workspace.storeferry('plan', 'nightly', '--json');
    for (const ms of [3 * DAY_MS, -3 * DAY_MS]) {
      scene.clock.ahead(ms);
      const shown = await scene.workspace.storeferry('runs', String(planned.json()['run']));
      expect(shown.stdout).toMatch(/planned, nothing sent, after [\d.]+ m?s /);
    }
    scene.clock.ahead(3 * DAY_MS);
    const approved = await scene.workspace.storeferry('approve', String(planned.json()['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done', applied: PRODUCTS });
    expect(Number(approved.json()['durationMs'])).toBeGreaterThan(Number(planned.json()['durationMs']));
    expect(Number(approved.json()['durationMs'])).toBeLessThan(DAY_MS);
  });

  it('does not hide that a run has begun since a plan was made', async () => {
    await using scene = await setup();
    scene.offer('10.00');
    scene.clock.ahead(DAY_MS);
    const planned = await scene.workspace.storeferry('plan', 'nightly', '--json');
    scene.clock.ahead(0);
    scene.offer('20.00');
    expect((await scene.workspace.storeferry('run', 'nightly')).code).toBe(0);
    const approved = await scene.workspace.storeferry('approve', String(planned.json()['run']));
    expect(approved.code).toBe(2);
    expect(scene.pricesInStore()).toEqual(new Set(['20']));
  });

  it('takes no history', async () => {
    await using scene = await setup();
    const run = async (price: string) => {
      scene.offer(price);
      return (await scene.workspace.storeferry('run', 'nightly', '--json')).json();
    };
    await run('10.00');
    const { run: id } = await run('20.00');
    scene.clock.ahead(500 * DAY_MS);
    await run('30.00');
    scene.clock.ahead(0);
    await run('20.00');
    expect((await scene.workspace.storeferry('undo', String(id))).code).toBe(0);
  });

  it('leaves the rejects of the newest run to be retried, and lists that run first', async () => {
    await using scene = await setup();
    scene.offer('10.00');
    scene.clock.ahead(DAY_MS);
    await scene.workspace.storeferry('run', 'nightly');
    scene.clock.ahead(0);
    scene.offer('soon');
    const rejected = await scene.workspace.storeferry('run', 'nightly', '--json');
    expect(rejected.code).toBe(4);
    const approved = await scene.workspace.storeferry('approve', String(rejected.json()['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done-with-rejects', rejected: PRODUCTS });
    const listed = await scene.workspace.storeferry('runs');
    expect(listed.stdout.split('\n').find((line) => /^\w{8} +nightly/.test(line))).toContain(
      rejected.json()['run'],
    );
    const retried = await scene.workspace.storeferry('retry', String(rejected.json()['run']));
    expect(retried.stderr).not.toContain('not the latest');
    expect(retried.code).toBe(3);
  });
});
