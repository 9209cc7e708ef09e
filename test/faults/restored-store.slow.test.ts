import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { setupNightly } from '../support/nightly.ts';
import { lie } from '../support/store/faults.ts';

const KNOWN = 20;
const LOST = 5;
const MIRROR = { mode: 'mirror', safety: '{ maxDeletes: off, minRows: off }' };

/** A mirror of 20 products before a store that loses the last five, and gives their ids to others. */
async function restored() {
  const setup = await setupNightly(KNOWN, MIRROR);
  expect((await setup.workspace.storeferry('run', 'nightly')).code).toBe(0);
  const { shop } = setup.store;
  const lost = [...shop.products.values()].slice(-LOST);
  for (const { id } of lost) shop.remove(id);
  return { setup, lost, urls: lost.map(({ url = '' }) => url) };
}

describe('a store that was restored from a copy', () => {
  it('loses no product that somebody made by hand and that has the id of one that was lost', async (context) => {
    const { setup, lost, urls } = await restored();
    await using _ = setup;
    const { shop } = setup.store;
    const byHand = lost.map(({ id }) => ({
      id,
      type: 'physical' as const,
      title: 'By hand',
      url: `hand-${id}`,
    }));
    for (const product of byHand) shop.products.set(product.id, product);

    const kept = manyProducts(KNOWN).filter(({ handle }) => !urls.slice(0, 2).includes(handle));
    await setup.workspace.write('catalog.csv', shopifyCatalog(kept));
    const first = await setup.workspace.storeferry('run', 'nightly', '--resend');
    expect(first.stdout.replaceAll(/\s+/g, ' ')).toContain('2 products were not deleted');
    const second = await setup.workspace.storeferry('run', 'nightly', '--json');
    figure(context, {
      invariant: 30,
      seed: null,
      fired: { 'stores restored': 1, 'ids given away': LOST },
      measured: [
        none(
          'strangers deleted',
          byHand.filter(({ id }) => shop.products.get(id)?.title !== 'By hand').length,
        ),
        none('orphans left', urls.slice(0, 2).filter((url) => shop.byUrl(url) !== undefined).length),
      ],
    });
    expect(second.json()).toMatchObject({ status: 'done', removed: 2, deleted: 2 });
  });

  it('is said to have given ids away, where products that are to be deleted share theirs with new ones', async () => {
    const { setup, lost, urls } = await restored();
    await using _ = setup;
    const kept = manyProducts(KNOWN).filter(({ handle }) => !urls.includes(handle));
    const added = manyProducts(LOST, 900);
    for (const [at, { handle: url, title }] of added.entries()) {
      setup.store.misbehave({ keys: [url], does: lie(JSON.stringify({ id: lost[at]?.id, url, title })) });
    }
    await setup.workspace.write('catalog.csv', shopifyCatalog([...kept, ...added]));
    const { stdout, code } = await setup.workspace.storeferry('run', 'nightly');
    expect(code).toBe(0);
    expect(stdout).toMatch(/deleted +0/);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('5 products were not deleted');
    expect(setup.store.requests.filter(({ method }) => method === 'DELETE')).toEqual([]);
  });
});
