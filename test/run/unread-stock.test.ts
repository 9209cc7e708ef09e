import { expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { storeIdentity } from '../../src/model/remote-address.ts';
import { withCurrentStock } from '../../src/run/import/product-updates.ts';
import { product } from '../apply/setup.ts';
import { connect, serve } from '../storefront/setup.ts';
import { hurriedClock } from '../support/hurried-clock.ts';
import { setupNightly } from '../support/nightly.ts';

const PRODUCTS = 100;

/** Products of a first run, read again from a store that answers so; gives the operations, or what ended the reading. */
async function readAgain(status: (id: number) => number) {
  await using setup = await setupNightly(PRODUCTS);
  const { workspace, store } = setup;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
  const { context } = open;
  const { store: config } = await readImportRequest(open.workspace, 'nightly', false);
  const [run] = await context.state.runs.list({ limit: 1 });
  if (run === undefined) throw new Error('no run');
  const ledger = context.state.ledger({ storeId: storeIdentity(config), resource: 'products' });
  const keys = [...store.shop.products.values()].map(({ url = '' }) => url);
  const bodies = await ledger.bodies(keys);
  const operations = keys.map((key, index) =>
    product(index, { key, body: bodies[index] ?? '', knownId: index + 1, stock: [] }),
  );
  const url = await serve(({ url: path = '' }, response) => {
    const id = Number(path.split('/').at(-1));
    const code = status(id);
    const answer = code === 200 ? { id, variants: [] } : { success: false, message: 'no' };
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const clock = hurriedClock(1_000);
  const storefront = connect(url, { clock });
  const stocked = withCurrentStock(
    context,
    { run, store: config, isRead: () => true },
    storefront,
    (async function* () {
      yield operations;
    })(),
  );
  const ended = await stocked.next().then(
    ({ value }) => value?.length,
    (error: unknown) => String(error),
  );
  return { ended, minutes: clock.monotonic() / 60_000 };
}

it('a store that answers no read ends the run after a quarter of an hour', async () => {
  const { ended, minutes } = await readAgain(() => 503);
  expect(ended).toMatch('has not answered properly for 15 minutes');
  expect(minutes).toBeLessThan(25);
});

it.each([404, 410])('products that a read answers with %i keep their stock', async (status) => {
  expect((await readAgain((id) => (id % 2 === 0 ? status : 200))).ended).toBe(PRODUCTS);
});

it('a few products that cannot be read stop no other', async () => {
  expect((await readAgain((id) => (id % 10 === 0 ? 500 : 200))).ended).toBe(PRODUCTS);
});
