import { describe, expect, it } from 'vitest';
import { unauthorized } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { wallClock } from '../support/wall-clock.ts';
import { makeWorkspace } from '../support/workspace.ts';

const PRODUCTS = 40;
const MAPPING = `
import: products
columns: { code: Code, price: Price, sale: Sale, from: From, to: To }
product: { url: code, title: code }
variants: { sku: code, pricing: { regular: price, sale: sale, from: [from, date], to: [to, date] } }
`;
const DURING = Date.UTC(2026, 11, 3, 12);
const DURING_TOO = Date.UTC(2026, 11, 4, 12);
const AFTER = Date.UTC(2026, 11, 20, 12);

/** A shop whose every product is on sale from 1 to 5 December 2026, and a clock to set. */
async function setup() {
  const stack = new AsyncDisposableStack();
  const store = await startStore({ seed: 1 });
  stack.defer(() => store.close());
  const clock = stack.use(wallClock());
  const rows = Array.from({ length: PRODUCTS }, (_, index) => `p-${index},10,7,2026-12-01,2026-12-05\n`);
  const workspace = stack.use(
    await makeWorkspace(
      {
        // One at a time: what a failed run leaves at work at the store would have to be waited for.
        'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 1 } }\n`,
        'jobs/sale.yaml': 'import: products\nstore: main\nsource: { path: sale.csv }\nmapping: sale\n',
        'mappings/sale.yaml': MAPPING,
        'sale.csv': `Code,Price,Sale,From,To\n${rows.join('')}`,
      },
      { ...clock.env, STORE_API_KEY: store.apiKey },
    ),
  );
  return {
    ...{ store, workspace },
    async at(moment: number, ...words: readonly string[]) {
      clock.at(moment);
      return await workspace.storeferry(...words);
    },
    /** How many products the store has at the price. */
    priced: (price: number) =>
      [...store.shop.products.values()].filter((product) =>
        JSON.stringify(product).includes(`"price":${price},`),
      ).length,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe('a run that fails during a sale', () => {
  it('is planned again once the sale is over, and leaves no sale price', async () => {
    await using scene = await setup();
    scene.store.misbehave({ does: unauthorized, from: 20 });
    const failed = await scene.at(DURING, 'run', 'sale', '--json');
    expect(failed.json()).toMatchObject({ status: 'failed' });
    expect(scene.priced(7)).toBe(19);
    scene.store.behave();
    const next = await scene.at(AFTER, 'run', 'sale', '--json');
    expect(next.json()).toMatchObject({ status: 'done', applied: PRODUCTS, unsent: 0 });
    expect(next.json()['run']).not.toBe(failed.json()['run']);
    expect([scene.priced(7), scene.priced(10)]).toEqual([0, PRODUCTS]);
    const shown = await scene.at(AFTER, 'runs', String(failed.json()['run']));
    expect(shown.stdout).toContain('2026-12-06T00:00:00');
  });

  it('is continued while the sale goes on', async () => {
    await using scene = await setup();
    scene.store.misbehave({ does: unauthorized, from: 20 });
    const failed = await scene.at(DURING, 'run', 'sale', '--json');
    scene.store.behave();
    const next = await scene.at(DURING_TOO, 'run', 'sale', '--json');
    expect(next.json()).toMatchObject({ run: failed.json()['run'], status: 'done', applied: PRODUCTS });
    expect(scene.priced(7)).toBe(PRODUCTS);
  });
});

describe('a plan that was made during a sale', () => {
  it('is refused once the sale is over, with the moment and what to type', async () => {
    await using scene = await setup();
    const planned = await scene.at(DURING, 'plan', 'sale', '--json');
    const refused = await scene.at(AFTER, 'approve', String(planned.json()['run']));
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('2026-12-06T00:00:00');
    expect(refused.stderr).toContain('plan sale');
    expect(scene.store.figures().requests).toBe(0);
    const approved = await scene.at(DURING_TOO, 'approve', String(planned.json()['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done', applied: PRODUCTS });
    expect(scene.priced(7)).toBe(PRODUCTS);
  });
});
