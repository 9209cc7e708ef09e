import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { objectsIn } from '../../src/model/json-object.ts';
import { storeIdentity } from '../../src/model/remote-address.ts';
import { StateError } from '../../src/model/storeferry-error.ts';
import { executeRun } from '../../src/run/execute-run.ts';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { makeWorkspace } from '../support/workspace.ts';

type Profiles = NonNullable<NonNullable<Parameters<typeof setup>[0]>['profiles']>;

/** A store with so many products of a job, probed. */
async function probedShop(
  count: number,
  profiles: Profiles,
  { redis, latencyMs = 0 }: { readonly redis?: string; readonly latencyMs?: number } = {},
) {
  const store = await setup({ profiles, latencyMs });
  const files = catalogWorkspace(store.url, shopifyCatalog(manyProducts(count)));
  const workspace = await makeWorkspace(files, {
    STORE_API_KEY: API_KEY,
    ...(redis !== undefined && { REDIS_URL: redis }),
  });
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  expect((await workspace.storeferry('probe', 'main')).code).toBe(0);
  return {
    store,
    workspace,
    products: async () =>
      new Map((await store.list('/_sandbox/products')).map((one) => [String(one.url), one])),
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** The state of a workspace, as another process of it has it. */
async function openedState(workspace: Shop['workspace']) {
  await workspace.write('.env', `STORE_API_KEY=${API_KEY}\n`);
  const open = await openContext(workspace.dir, () => {}, new AbortController().signal);
  const { job, store: config } = await readImportRequest(open.workspace, 'nightly', false);
  return {
    context: open.context,
    state: open.context.state,
    job,
    config,
    [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
  };
}

type Shop = Awaited<ReturnType<typeof probedShop>>;

/** 51 fields in 37 products edited, 3 deleted, 2 made again, 4 strangers. */
async function handEdits({ store, products }: Shop): Promise<void> {
  const held = await products();
  const edit = async (number: number, fields: object) => {
    const url = `product-${number}`;
    await store.upsert({ url, title: held.get(url)?.title, ...fields });
  };
  for (let number = 1; number <= 37; number += 1) {
    const images = ['https://images.example/by-hand.jpg'];
    await edit(number, {
      description: `<p>By hand ${number}</p>`,
      ...(number <= 7 && { images, hidden: true }),
    });
  }
  const remove = (number: number) =>
    store.send('DELETE', `/api/site/products/${held.get(`product-${number}`)?.id}`);
  for (const number of [41, 42, 43, 51, 52]) await remove(number);
  for (const number of [51, 52]) await edit(number, { description: '<p>Made again</p>' });
  for (const url of ['one', 'two', 'three', 'four']) await store.upsert({ url, title: url });
}

/** So many that they are compared in more than one slice. */
const COMPARED = 1_000;
const FOUND = { edited: 37, fields: 51, deleted: 3, recreated: 2 };

const STATES: readonly (readonly [
  name: string,
  describe: typeof describeWithRedis,
  start: typeof startRedis | null,
])[] = [
  ['the embedded state', describe, null],
  ['Redis', describeWithRedis, startRedis],
];

for (const [state, describeState, start] of STATES) {
  describeState(`drift, with ${state}`, () => {
    it.each([
      ['reads', ['extended'] as const, 4, 23],
      ['asks by writes that change nothing', [] as const, null, COMPARED + 3],
    ])('%s, and finds exactly what was done by hand', async (_way, profiles, strangers, requests) => {
      await using redis = start === null ? undefined : await start();
      await using shop = await probedShop(COMPARED, [...profiles], redis && { redis: redis.url });
      const { workspace, products } = shop;
      const none = await workspace.storeferry('drift', 'nightly', '--json');
      const base = { checked: COMPARED, strangers: strangers === null ? null : 0, error: null };
      expect(none.json()).toMatchObject({ ...base, edited: 0, fields: 0, deleted: 0, recreated: 0 });
      expect(none.code).toBe(0);
      await handEdits(shop);
      const before = await products();
      const found = await workspace.storeferry('drift', 'nightly', '--json');
      expect(found.json()).toMatchObject({ ...base, ...FOUND, strangers });
      expect(found.code).toBe(3);
      expect(await products()).toEqual(before);
      const shown = await workspace.storeferry('runs', '--json');
      expect(shown.json()['runs']).toMatchObject([{ kind: 'drift' }, { kind: 'drift' }, { kind: 'run' }]);
      const [{ requests: sent }] = shown.json()['runs'] as [{ requests: number }];
      expect(sent).toBeLessThanOrEqual(requests);
      const planned = (await workspace.storeferry('plan', 'nightly', '--json')).json();
      expect(planned).toMatchObject({ new: 0, changed: 0 });
      if (strangers === null) return;
      expect((await workspace.storeferry('drift', 'nightly', '--accept')).code).toBe(0);
      const after = (await workspace.storeferry('plan', 'nightly', '--json')).json();
      expect(after).toMatchObject({ records: COMPARED, new: 0, changed: 0 });
    });
  });
}

it('drift says what it has found, and where', async () => {
  await using shop = await probedShop(60, ['extended']);
  await handEdits(shop);
  const { stdout } = await shop.workspace.storeferry('drift', 'nightly');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'Of 60 products, 37 were edited (51 fields), 3 were deleted and 2 were made again under another id in the store.',
  );
  expect(stdout).toMatch(/edited +37 +51 fields: description \(37\), hidden \(7\) and images \(7\)/);
  expect(stdout).toMatch(/strangers +4/);
  const [, file = ''] = /as a table:\s+(\S+)/.exec(stdout) ?? [];
  // It opens from the folder of the command.
  const table = await readFile(file, 'utf8');
  expect(table.split('\n').filter((line) => line.startsWith('edited'))).toHaveLength(51);
  expect(table).toContain('stranger,four');
});

it('a second product with the url of one that is found is a stranger, also at the end of the list', async () => {
  await using store = await setup({ profiles: ['extended'] });
  let doubles = false;
  const doubling = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const { authorization = '', 'content-type': type } = headers;
    const answer = await fetch(new URL(url, store.url), {
      method,
      headers: { authorization, ...(type !== undefined && { 'content-type': type }) },
      body: (await text(request)) || null,
    });
    const found = JSON.parse(await answer.text());
    if (doubles && Array.isArray(found.items)) {
      found.items.push({ ...found.items[0], id: 4_711 });
      found.totalCount += 1;
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(found));
  });
  onTestFinished(() => void doubling.close());
  const port = await new Promise((resolve) => {
    doubling.listen(0, '127.0.0.1', () => resolve(Object(doubling.address()).port));
  });
  await using workspace = await makeWorkspace(
    catalogWorkspace(`http://127.0.0.1:${port}`, shopifyCatalog(manyProducts(10))),
    { STORE_API_KEY: API_KEY },
  );
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  expect((await workspace.storeferry('probe', 'main')).code).toBe(0);
  doubles = true;
  const found = await workspace.storeferry('drift', 'nightly', '--json');
  expect(found.json()).toMatchObject({ checked: 10, edited: 0, deleted: 0, recreated: 0, strangers: 1 });
});

it.each([[['extended'] as const], [[] as const]])(
  'drift --restore plans to send what the job sent, and approve sends it (profiles %s)',
  async (profiles) => {
    await using shop = await probedShop(60, [...profiles]);
    const { workspace, products } = shop;
    const before = await products();
    const none = await workspace.storeferry('drift', 'nightly', '--restore');
    expect(none).toMatchObject({ code: 2 });
    expect(none.stderr).toMatch(/was not compared .*drift nightly/s);
    await handEdits(shop);
    // Sold since; where the store can be read, also of one whose price was edited.
    const canRead = profiles.length > 0;
    const sell = async (url: string, edit: object) => {
      const product = before.get(url);
      const variants = objectsIn({ ...product }, 'variants').map((one) => ({ ...one, quantity: 3 }));
      const edited = variants.map((one) => ({ ...one, ...edit }));
      await shop.store.upsert({ url, title: product?.title, variants: edited });
      before.set(url, Object.assign({}, product, { variants }));
    };
    await sell('product-1', {});
    if (canRead) await sell('product-2', { price: 99, regularPrice: 99 });
    expect((await workspace.storeferry('drift', 'nightly')).stdout).toMatch(/drift nightly --restore\n/);
    const planned = (await workspace.storeferry('drift', 'nightly', '--restore', '--json')).json();
    expect(planned).toMatchObject({ status: 'planned', records: 42, operations: 42, requests: 0 });
    const price = canRead && { 'variants.price': 1, 'variants.regularPrice': 1 };
    const given = {
      new: 3,
      changed: 39,
      fieldsChanged: { description: 39, hidden: 7, images: 9, ...price },
    };
    expect(planned, 'what is given back, also to two that were made again').toMatchObject(given);
    const { stdout } = await workspace.storeferry('runs', String(planned['run']));
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /3 records: was deleted in the store: is created again, under/,
    );
    const sent = await workspace.storeferry('approve', String(planned['run']), '--json');
    expect(sent.json()).toMatchObject({ status: 'done', applied: 42, requests: 42 });
    const after = await products();
    for (const [url, product] of before) expect({ ...after.get(url), id: 0 }).toEqual({ ...product, id: 0 });
    expect((await workspace.storeferry('drift', 'nightly', '--json')).json()).toMatchObject({
      ...{ edited: 0, deleted: 0, recreated: 0 },
    });
    const plan = await workspace.storeferry('plan', 'nightly', '--json');
    expect(plan.json()).toMatchObject({ new: 0, changed: 0 });
  },
);

it.each([[['extended'] as const], [[] as const]])(
  'drift --accept keeps what the store has: later runs change nothing (profiles %s)',
  async (profiles) => {
    await using shop = await probedShop(60, [...profiles]);
    const { workspace, products } = shop;
    await handEdits(shop);
    const accepted = await workspace.storeferry('drift', 'nightly', '--accept', '--json');
    expect(accepted.code).toBe(0);
    expect(accepted.json()).toMatchObject(FOUND);
    const after = await products();
    expect((await workspace.storeferry('plan', 'nightly', '--json')).json()).toMatchObject({
      new: 0,
      changed: 0,
    });
    expect((await workspace.storeferry('drift', 'nightly', '--json')).json()).toMatchObject({
      ...{ edited: 0, fields: 0, deleted: 3, recreated: 0 },
    });
    expect(await products()).toEqual(after);
    await shop.store.upsert({
      url: 'product-1',
      title: String(after.get('product-1')?.title),
      description: '<p>Again</p>',
    });
    expect((await workspace.storeferry('drift', 'nightly', '--json')).json()).toMatchObject({
      edited: 1,
      fields: 1,
    });
  },
);

it('drift continues where it was killed, and leaves nothing behind', async () => {
  await using shop = await probedShop(1_200, [], { latencyMs: 2 });
  await handEdits(shop);
  const before = await shop.products();
  for (let kills = 0; kills < 3; kills += 1) {
    const drifting = shop.workspace.start('drift', 'nightly');
    await drifting.printed('updates with the title alone');
    await new Promise((resolve) => setTimeout(resolve, 300));
    drifting.process.kill('SIGKILL');
    await drifting.ended;
  }
  const ended = await shop.workspace.storeferry('drift', 'nightly', '--json');
  expect(ended.json()).toMatchObject({ checked: 1_200, ...FOUND, error: null });
  expect(await shop.products()).toEqual(before);
  expect((await shop.workspace.storeferry('plan', 'nightly', '--json')).json()).toMatchObject({ new: 0 });
});

it.each([
  ['are gone', false],
  ['are gone, unless others have learned of newer ones', true],
])(
  'drift counts what it compared before it failed, and notes edits that %s, when it is continued',
  async (_, newer) => {
    await using shop = await probedShop(60, ['extended']);
    const { store, workspace, products } = shop;
    const title = (await products()).get('product-1')?.title;
    const drift = async () => (await workspace.storeferry('drift', 'nightly', '--json')).json();
    await store.upsert({ url: 'product-1', title: 'By hand' });
    expect(await drift()).toMatchObject({ checked: 60, edited: 1, strangers: 0 });
    await store.upsert({ url: 'product-1', title });
    await store.upsert({ url: 'stranger', title: 'stranger' });

    await using open = await openedState(workspace);
    const { state, job, config } = open;
    const ledger: typeof state.ledger = (target) => {
      const own = state.ledger(target);
      const bodies: typeof own.bodies = async (keys) =>
        (await own.bodies(keys)).map((body, index) => (keys[index] === 'product-2' ? undefined : body));
      const observe: typeof own.observe = () => Promise.reject(new StateError('the disk is full'));
      return Object.create(own, { bodies: { value: bodies }, observe: { value: observe } });
    };
    const context = { ...open.context, state: Object.create(state, { ledger: { value: ledger } }) };
    const request = { job, store: config, sample: null, random: Math.random };
    const failed = await executeRun(context, { kind: 'drift', request });
    expect(failed).toMatchObject({ run: { status: 'failed' } });
    const known = state.ledger({ storeId: storeIdentity(config), resource: 'products' });
    const edited = newer ? { title: { value: 'By hand again', since: Date.now() } } : {};
    if (newer) {
      const [mark] = await known.marks(['product-1']);
      const key = { key: 'product-1', fingerprint: mark?.fingerprint ?? '' };
      await known.observe([{ ...key, observation: { altered: {}, edited } }]);
    }

    expect(await drift()).toMatchObject({ checked: 59, edited: 0, strangers: 1 });
    const [view] = await known.views(['product-1']);
    expect(view?.observation?.edited ?? {}).toEqual(edited);
    await workspace.write(
      'catalog.csv',
      shopifyCatalog(manyProducts(60).map((one) => ({ ...one, title: 'New' }))),
    );
    expect((await workspace.storeferry('plan', 'nightly', '--json')).json()).toMatchObject({
      changed: 60,
      held: 0,
    });
  },
);

it('drift by writes deletes no draft of somebody, and leaves titles whose edits are known', async () => {
  await using shop = await probedShop(3, []);
  const { store, workspace, products } = shop;
  await store.send('DELETE', `/api/site/products/${(await products()).get('product-1')?.id}`);
  await store.upsert({ url: 'product-1', title: 'A draft', hidden: true });
  await store.upsert({ url: 'product-2', title: 'By hand' });
  const opened = await openedState(workspace);
  const { state, config } = opened;
  const known = state.ledger({ storeId: storeIdentity(config), resource: 'products' });
  const [mark] = await known.marks(['product-2']);
  const title = { value: 'By hand', since: Date.now(), accepted: true as const };
  const observation = { altered: {}, edited: { title } };
  await known.observe([{ key: 'product-2', fingerprint: mark?.fingerprint ?? '', observation }]);
  await opened[Symbol.asyncDispose]();

  const found = await workspace.storeferry('drift', 'nightly', '--json');
  expect(found.json()).toMatchObject({ deleted: 0, recreated: 1, edited: 0 });
  const after = await products();
  expect(after.get('product-1')).toMatchObject({ hidden: true });
  expect(after.get('product-2')).toMatchObject({ title: 'By hand' });
});

it('drift refuses where nothing is known of the store', async () => {
  await using store = await setup();
  await using workspace = await makeWorkspace(catalogWorkspace(store.url, shopifyCatalog(manyProducts(3))), {
    STORE_API_KEY: API_KEY,
  });
  await workspace.storeferry('run', 'nightly');
  const { code, stderr } = await workspace.storeferry('drift', 'nightly');
  expect(code).toBe(2);
  expect(stderr).toMatch(/storeferry -C \S+ probe main/);
});

it('drift restores nothing that was found in a store which had this name before', async () => {
  await using shop = await probedShop(3, ['extended']);
  await using other = await setup({});
  const { store, workspace } = shop;
  await store.upsert({ url: 'product-1', title: 'By hand' });
  expect((await workspace.storeferry('drift', 'nightly')).code).toBe(3);
  const stores = await readFile(join(workspace.dir, 'stores.yaml'), 'utf8');
  await workspace.write('stores.yaml', stores.replace(store.url, other.url));
  const { code, stderr } = await workspace.storeferry('drift', 'nightly', '--restore');
  expect([code, stderr]).toEqual([2, expect.stringContaining('was not compared with nightly yet')]);
});
