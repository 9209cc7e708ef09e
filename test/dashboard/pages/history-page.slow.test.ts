import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { setupCrm } from '../../support/contacts.ts';
import { setupNightly } from '../../support/nightly.ts';
import { ACTING, LOOKING, pagesOf, textOf } from './setup.ts';

describe('the pages of records', () => {
  it('find a record, show when its price changed, and list the records of a run by outcome', async () => {
    await using shop = await setupNightly(3, { safety: '{ maxPriceMoves: off }' });
    const { workspace, store } = shop;
    await using pages = await pagesOf(workspace, { env: { STORE_API_KEY: store.apiKey } });
    await workspace.storeferry('run', 'nightly');
    const [one, two, three] = manyProducts(3);
    if (one === undefined || two === undefined || three === undefined) throw new Error('three products');
    const catalog = [{ ...one, price: '99.00' }, { ...two, price: 'tbc' }, three];
    await workspace.write('catalog.csv', shopifyCatalog(catalog));
    const run = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);

    const found = await pages.get('/records?q=product', LOOKING);
    const links = [...found.document.querySelectorAll('main table a')].map((link) =>
      link.getAttribute('href'),
    );
    expect(links).toHaveLength(3);
    const record = await pages.get('/records?q=SKU-product-1-1', LOOKING);
    const text = textOf(record.document.body);
    expect(text).toContain('variants.price: 11 → 99');
    expect(text).toContain('catalog.csv:2');
    expect(record.document.querySelectorAll('figure svg')).toHaveLength(2);
    expect((await pages.get(links[0] ?? '')).status).toBe(200);
    const missing = await pages.app.inject({
      url: '/records?store=main&resource=products&key=nobody',
      headers: { 'x-viewer': 'looking' },
    });
    expect(missing.statusCode).toBe(404);

    const all = await pages.get(`/runs/${run}/outcomes`, LOOKING);
    expect(textOf(all.document.body)).toMatch(/product-2.*rejected.*product-1.*applied/s);
    const applied = textOf((await pages.get(`/runs/${run}/outcomes?outcome=applied`)).document.body);
    expect(applied).toContain('product-1');
    expect(applied).not.toContain('product-2');
    expect((await pages.get('/runs/nosuch/outcomes')).status).toBe(404);
  });

  it('show contacts to visitors with full access only', async () => {
    await using crm = await setupCrm({ rows: [{ number: 1, phone: '1', city: 'Leeds' }] });
    await using pages = await pagesOf(crm.workspace, { env: { STORE_API_KEY: crm.store.apiKey } });
    const run = String((await crm.workspace.storeferry('run', 'crm', '--json')).json()['run']);
    expect(textOf((await pages.get('/records?q=1001', ACTING)).document.body)).toContain('Leeds');
    expect((await pages.get('/records?q=1001', LOOKING)).text).not.toContain('Leeds');
    const refused = await pages.app.inject({
      url: `/runs/${run}/outcomes`,
      headers: { 'x-viewer': 'looking' },
    });
    expect(refused.statusCode).toBe(403);
  });
});
