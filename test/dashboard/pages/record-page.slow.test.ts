import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { setupCrm } from '../../support/contacts.ts';
import { setupNightly } from '../../support/nightly.ts';
import { ACTING, LOOKING, pagesOf, textOf } from './setup.ts';

const SCRIPT = '<script>alert(1)</script>';

describe('the records of a run', () => {
  it('show the cells beside the request body while the plan and its source are there', async () => {
    await using shop = await setupNightly(2);
    const { workspace, store } = shop;
    await using pages = await pagesOf(workspace, { env: { STORE_API_KEY: store.apiKey } });
    const perform = async (...args: readonly string[]) =>
      String((await workspace.storeferry(...args, '--json')).json()['run']);
    const [one, two] = manyProducts(2);
    if (one === undefined || two === undefined) throw new Error('two products');

    const done = await perform('run', 'nightly');
    expect(textOf((await pages.get(`/runs/${done}/records`)).document.body)).toContain(
      'The copy of the source is gone',
    );
    expect((await pages.get(`/runs/${done}`)).text).not.toContain(`/runs/${done}/records`);

    await workspace.write(
      'catalog.csv',
      shopifyCatalog([
        { ...one, title: SCRIPT },
        { ...two, price: 'tbc' },
      ]),
    );
    const planned = await perform('plan', 'nightly');
    expect((await pages.get(`/runs/${planned}`)).text).toContain(`href="/runs/${planned}/records"`);
    const list = await pages.get(`/runs/${planned}/records`, LOOKING);
    const links = [...list.document.querySelectorAll('main .part a')].map((link) =>
      link.getAttribute('href'),
    );
    expect(links).toEqual([
      `/runs/${planned}/records?key=product-2`,
      `/runs/${planned}/records?key=product-1`,
    ]);

    const changed = await pages.get(`/runs/${planned}/records?key=product-1`, LOOKING);
    expect(changed.text).not.toContain(SCRIPT);
    const pair = [...changed.document.querySelectorAll('.traced-pair')].find(
      (found) => found.querySelector('.traced-field code')?.textContent === 'title',
    );
    expect(pair?.querySelector('.traced-cells')?.textContent).toBe(`Title line 2${SCRIPT}`);
    expect(pair?.querySelector('.traced-old')?.textContent).toBe('was "Product 1"');
    // The cell leads to the row that it is in, and from there to its field.
    const cell = pair?.querySelector('.traced-cells a')?.getAttribute('href') ?? '';
    const back = changed.document.querySelector(`${cell} a`)?.getAttribute('href') ?? '';
    expect(changed.document.querySelector(back)).toBe(pair);

    const rejected = await pages.get(`/runs/${planned}/records?key=product-2`);
    expect(textOf(rejected.document.body)).toContain("variants.price: 'tbc' is not");
    expect(rejected.document.querySelector('.traced-cell.bad')?.textContent).toBe('Variant Pricetbc');
    expect(textOf((await pages.get(`/runs/${planned}/records?key=SKU-product-2-1`)).document.body)).toContain(
      'product-2',
    );
    expect((await pages.get('/runs/nosuch/records')).status).toBe(404);
  });

  it('of contacts are for visitors with full access only', async () => {
    await using crm = await setupCrm({ rows: [{ number: 1, phone: '1', city: 'Leeds' }] });
    await using pages = await pagesOf(crm.workspace, { env: { STORE_API_KEY: crm.store.apiKey } });
    const run = String((await crm.workspace.storeferry('plan', 'crm', '--json')).json()['run']);
    expect((await pages.get(`/runs/${run}`, LOOKING)).text).not.toContain(`/runs/${run}/records`);
    // Contacts of a plan are named to them.
    const listed = textOf((await pages.get(`/runs/${run}/outcomes`, ACTING)).document.body);
    expect(listed).toContain('1001plannedcrm.csv:2Name 1');
    const url = `/runs/${run}/records?key=1001`;
    const refused = await pages.app.inject({ url, headers: { 'x-viewer': 'looking' } });
    expect(refused.statusCode).toBe(403);
    expect(refused.body).not.toContain('Leeds');
    expect(textOf((await pages.get(`/runs/${run}/records?key=1001`, ACTING)).document.body)).toContain(
      'Leeds',
    );
  });
});
