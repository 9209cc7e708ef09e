import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { seededRandom } from '../support/store/random.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const FILES = {
  'mappings/catalog.yaml': `import: products
columns: { url: Url, title: Title, text: Text, price: Price, qty: Qty }
product: { url: url, title: title, description: text }
variants: { sku: url, pricing: { price: [price, number] }, quantity: [qty, integer] }
`,
  'mappings/stock.yaml': `import: products
columns: { sku: SKU, qty: Qty }
required: [sku, qty]
variants: { sku: sku, quantity: [qty, integer] }
`,
  'jobs/catalog.yaml': `import: products
store: main
source: { path: catalog.csv }
mapping: catalog
mode: mirror
safety: { maxDeletes: off, maxRejects: off, minRows: off, maxPriceMoves: off }
schedule: { cron: "0 3 * * *" }
`,
  'jobs/stock.yaml': `import: products
store: main
source: { path: stock.csv }
mapping: stock
mode: update
match: sku
safety: { maxRejects: off, maxPriceMoves: off }
`,
};

interface Lamp {
  readonly title: string;
  readonly text: string;
  readonly price: number;
  readonly qty: number;
}

type Lamps = ReadonlyMap<string, Lamp>;

function catalogOf(lamps: Lamps): string {
  const rows = [...lamps].map(([url, { title, text, price, qty }]) => [url, title, text, price, qty].join());
  return `Url,Title,Text,Price,Qty\n${rows.join('\n')}\n`;
}

function lampsOf(count: number): Lamps {
  return new Map(
    Array.from({ length: count }, (_, index) => [
      `lamp-${index}`,
      { title: `Lamp ${index}`, text: 'A lamp', price: 10 + index, qty: 5 },
    ]),
  );
}

type Redis = { readonly url: string } & AsyncDisposable;

async function openShop(redis: Redis | undefined, delayMs = 0) {
  const store = await startStore({ seed: 1, latencyMs: { min: delayMs, max: delayMs } });
  const workspace = await makeWorkspace(
    {
      ...FILES,
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 2, timeoutSeconds: 1 } }\n`,
    },
    {
      STORE_API_KEY: store.apiKey,
      STOREFERRY_LEASE_MS: '1000',
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    },
  );
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr, json } = await workspace.storeferry(...args, '--json');
    if (stdout === '') throw new Error(stderr);
    const said: Record<string, unknown> = { ...json(), code };
    return said;
  };
  return {
    ...{ store, workspace, run },
    /** What the store holds, without its ids and times. */
    held: () =>
      new Map(
        [...store.shop.products.values()].map(({ url = '', title, description, variants }) => [
          url,
          { title, description, variants },
        ]),
      ),
    idOf: (url: string) => [...store.shop.products.values()].find((product) => product.url === url)?.id,
    async sends(lamps: Lamps) {
      await workspace.write('catalog.csv', catalogOf(lamps));
      return String((await run('run', 'catalog'))['run']);
    },
    async undoes(of: string, ...options: readonly string[]) {
      const plan = await run('undo', of, ...options);
      return plan['operations'] === 0 ? plan : await run('approve', String(plan['run']));
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

/** The next state of the catalog: some products created, changed or gone, now and then all prices a hundred times as high. */
function nextLamps(lamps: Lamps, round: number, random: () => number): Lamps {
  const factor = round % 4 === 3 ? 100 : 1;
  const kept = [...lamps].flatMap(([url, lamp]): [string, Lamp][] => {
    if (random() < 0.15) return [];
    const text = random() < 0.3 ? `About ${round}` : lamp.text;
    const changed = random() < 0.4 ? { title: `Lamp of ${round}`, qty: round } : {};
    return [[url, { ...lamp, text, ...changed, price: lamp.price * factor }]];
  });
  const all = lampsOf(14);
  const added = [...all].filter(([url]) => !lamps.has(url) && random() < 0.4);
  return new Map([...kept, ...added]);
}

function suite(openRedis: () => Promise<Redis | undefined>): void {
  it('returns the store to its start, run by run, where ten random runs are undone in reverse order', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    const random = seededRandom(11);
    let lamps = lampsOf(8);
    await shop.sends(lamps);
    const states = [shop.held()];
    const runs: string[] = [];
    for (let round = 1; round <= 10; round++) {
      lamps = nextLamps(lamps, round, random);
      runs.push(await shop.sends(lamps));
      states.push(shop.held());
    }
    states.pop();
    for (const run of runs.toReversed()) {
      const undone = await shop.undoes(run);
      expect(undone).toMatchObject({ status: 'done', rejected: 0, unsent: 0, skipped: 0 });
      expect(shop.held()).toEqual(states.pop());
    }
    expect(shop.store.violations).toEqual([]);
  });

  it('does so where the runs and their undoing are killed at random moments', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis, 40);
    const random = seededRandom(5);
    const killed = async (...args: readonly string[]) => {
      const requests = shop.store.figures().requests;
      const wanted = requests + 1 + Math.floor(random() * 6);
      const started = shop.workspace.start(...args);
      const ended = started.ended.then(() => true);
      while (shop.store.figures().requests < wanted) {
        if (await Promise.race([ended, sleep(5, false)])) return;
      }
      started.process.kill('SIGKILL');
      await started.ended;
      // With Redis its lock lasts a little longer.
      await sleep(redis === undefined ? 0 : 1_500);
    };
    let lamps = lampsOf(8);
    await shop.sends(lamps);
    const states = [shop.held()];
    const runs: string[] = [];
    for (let round = 1; round <= 3; round++) {
      lamps = nextLamps(lamps, round, random);
      await shop.workspace.write('catalog.csv', catalogOf(lamps));
      await killed('run', 'catalog');
      runs.push(await shop.sends(lamps));
      states.push(shop.held());
    }
    states.pop();
    for (const run of runs.toReversed()) {
      const { run: plan, operations } = await shop.run('undo', run);
      if (operations !== 0) await killed('approve', String(plan));
      const undone = await shop.undoes(run);
      expect(undone).toMatchObject({ rejected: 0, unsent: 0 });
      expect(shop.held()).toEqual(states.pop());
    }
    expect(shop.store.violations).toEqual([]);
  });

  it('plans, names what it leaves, and can itself be undone', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    const lamps = new Map(lampsOf(6));
    lamps.set('bare-lamp', { title: 'Bare', text: '', price: 3, qty: 1 });
    await shop.sends(lamps);
    const start = shop.held();
    const id = shop.idOf('lamp-5');
    const next = new Map([...lamps].map(([url, lamp]) => [url, { ...lamp, price: lamp.price + 1 }]));
    next.set('bare-lamp', { title: 'Bare', text: 'Now with a text', price: 4, qty: 1 });
    next.delete('lamp-5');
    next.set('new-lamp', { title: 'New', text: 'New', price: 3, qty: 1 });
    const run = await shop.sends(next);
    const after = shop.held();

    const planned = await shop.workspace.storeferry('undo', run);
    expect(planned.code).toBe(0);
    expect(planned.stdout).toContain(`lamp-5 (was ${id})`);
    expect(planned.stdout).toContain('The run added fields (description in 1 product): they may stay');
    expect(planned.stdout).toContain('pause the schedule (0 3 * * *)');
    expect(shop.held()).toEqual(after);
    const part = await shop.undoes(run, '--only', 'lamp-0');
    expect(part).toMatchObject({ status: 'done', applied: 1, deleted: 0 });
    const undone = await shop.undoes(run);
    expect(undone).toMatchObject({ status: 'done', applied: 6, deleted: 1, new: 1, unchanged: 1 });
    // What the run added stays: the API does not empty a field that a request leaves out.
    const bare = start.get('bare-lamp');
    if (bare === undefined) throw new Error('no bare lamp');
    start.set('bare-lamp', { ...bare, description: 'Now with a text' });
    expect(shop.held()).toEqual(start);
    expect(shop.idOf('lamp-5')).not.toBe(id);
    const redone = await shop.undoes(String(undone['run']));
    expect(redone).toMatchObject({ status: 'done', applied: 6, deleted: 1 });
    const listed = await shop.run('runs', String(undone['run']));
    expect(listed).toMatchObject({ kind: 'undo', undoOf: run });

    // Another job changes a product since: it is left, and named.
    await shop.workspace.write('stock.csv', 'SKU,Qty\nlamp-1,77\n');
    const stock = String((await shop.run('run', 'stock'))['run']);
    const left = await shop.workspace.storeferry('undo', run);
    expect(left.stdout).toContain(`run ${stock} of stock changed it since (lamp-1)`);
    await shop.undoes(stock);
    expect(shop.store.violations).toEqual([]);
    // The catalog owns what the stock job had changed: its mirror deletes it.
    next.delete('lamp-1');
    await shop.workspace.write('catalog.csv', catalogOf(next));
    expect(await shop.run('run', 'catalog')).toMatchObject({ code: 0, deleted: 1 });
  });

  it('is stopped by a safety limit, and refuses what cannot be undone', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    await shop.workspace.write(
      'jobs/catalog.yaml',
      FILES['jobs/catalog.yaml'].replace('maxDeletes: off', 'maxDeletes: 5%'),
    );
    const run = await shop.sends(lampsOf(30));
    const stopped = await shop.run('undo', run);
    expect(stopped).toMatchObject({ code: 4, status: 'stopped', removed: 30, requests: 0 });
    expect(shop.store.shop.products.size).toBe(30);
    const ofPlan = await shop.workspace.storeferry('undo', String(stopped['run']));
    expect(ofPlan).toMatchObject({ code: 2 });
    expect(ofPlan.stderr).toContain('is a plan');
    const ofOther = await shop.workspace.storeferry('undo', run, '--only', 'nothing');
    expect(ofOther.stderr).toContain(`changed no record "nothing"`);
    const again = String((await shop.run('undo', run))['run']);
    expect(await shop.run('approve', again)).toMatchObject({ code: 0, deleted: 30 });
    expect(shop.store.shop.products.size).toBe(0);
    // The next run reads the source again, and sends it.
    expect(await shop.run('run', 'catalog')).toMatchObject({ code: 0, applied: 30 });
  });
}

describe('undo on SQLite', () => suite(async () => undefined));
describeWithRedis('undo on Redis', () => suite(() => startRedis()));
