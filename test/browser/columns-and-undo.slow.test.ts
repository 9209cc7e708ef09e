import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServedDashboard, serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { axeFindings, describeWithBrowser, openBrowser } from '../support/browser.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';
import { openVisitor, PHONE } from './visitor.ts';

const MAPPING = `import: products
columns:
  name: Title # the name
  price: Preis
required: [name, price]
product: { url: [name, slug], title: name }
variants: { pricing: { price: [price, number] } }
`;

/** Without the helper of `visitor.ts`, which waits for a heading. */
async function enter(page: Page, { url, tokens }: ServedDashboard, path: string): Promise<void> {
  await page.goto(new URL(path, url).href);
  await page.getByLabel('Token').fill(tokens.full);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // Keys that are pressed before find nothing yet.
  await page.waitForLoadState();
}

const isWide = (page: Page) =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

describeWithBrowser('columns, held records and undo in a browser', () => {
  let nightly: Nightly;
  let dashboard: ServedDashboard;
  let browser: Browser;
  const at = (name: string) => join(nightly.workspace.dir, name);
  const priceOf = (n: number) =>
    [...nightly.store.shop.products.values()].find(({ url }) => url === `product-${n}`)?.variants?.[0]?.price;

  beforeAll(async () => {
    const guards = '[{ field: variants.price, changeBy: 50%, action: hold }]';
    [nightly, browser] = await Promise.all([
      setupNightly(12, { guards, safety: '{ maxPriceMoves: off }' }),
      openBrowser(),
    ]);
    const job = 'import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: ours\n';
    await nightly.workspace.write('jobs/supplier.yaml', job);
    await nightly.workspace.write('mappings/ours.yaml', MAPPING);
    dashboard = await serveDashboard(nightly.workspace);
  });
  afterAll(async () => {
    await browser?.close();
    await nightly?.[Symbol.asyncDispose]();
  });

  it('matches a renamed column, with scripts on a desktop and without on a phone', async () => {
    for (const options of [{}, { viewport: PHONE, javaScriptEnabled: false }]) {
      await writeFile(at('mappings/ours.yaml'), MAPPING);
      const isScripted = !('javaScriptEnabled' in options);
      const { page, complaints, strayRequests } = await openVisitor(browser, options);
      await enter(page, dashboard, '/jobs/supplier/columns');
      await page.getByText("No column of the file fills Price ('Preis')").waitFor();
      if (isScripted) expect(await axeFindings(page)).toEqual([]);
      await page.getByLabel('Field of the column Variant Price').selectOption({ label: 'Price' });
      // With the script the choice alone shows the records.
      if (!isScripted) await page.getByRole('button', { name: 'Show the records again' }).click();
      await page.getByText('In the file: 12 records can be sent.').waitFor();
      await page.getByText('What changes in the file of the mapping').click();
      expect(await page.locator('pre.file').innerText()).toMatch(
        /-\s+price: Preis\n\+\s+price: Variant Price/,
      );
      expect(await isWide(page)).toBe(0);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: 'Plan supplier?' }).waitFor();
      expect(await readFile(at('mappings/ours.yaml'), 'utf8')).toBe(
        MAPPING.replace('Preis', 'Variant Price'),
      );
      expect(complaints).toEqual([]);
      expect(strayRequests).toEqual([]);
    }
  });

  it('releases a held record and undoes the release, by the keyboard alone', async () => {
    const { workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    const dear = manyProducts(12).map((product, index) => ({
      ...product,
      price: (Number(product.price) * (index < 2 ? 10 : 1)).toFixed(2),
    }));
    const before = [1, 2].map(priceOf);
    await workspace.write('catalog.csv', shopifyCatalog(dear));
    const run = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    const { page, complaints } = await openVisitor(browser);
    await enter(page, dashboard, `/runs/${run}`);
    const press = async (name: string, key = 'Enter') => {
      const named = page.locator(':focus').and(page.locator(`[aria-label="${name}"], :text-is("${name}")`));
      for (let tabs = 0; tabs < 60 && (await named.count()) === 0; tabs++) await page.keyboard.press('Tab');
      await named.waitFor();
      await page.keyboard.press(key);
    };
    await press('Release held records');
    await page.getByRole('heading', { name: `Release held records of run ${run}` }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect(await isWide(page)).toBe(0);
    await press('Release product-2', 'Space');
    await press('Release the chosen records');
    await page.waitForURL((url) => /^\/runs\/\w+$/.test(url.pathname) && !url.pathname.endsWith(run));
    await page.locator('.lead .badge', { hasText: /^Done$/ }).waitFor();
    expect([1, 2].map(priceOf)).toEqual([before[0], (before[1] ?? 0) * 10]);

    await press('Undo');
    await page.getByRole('heading', { name: /^Undo run/ }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await press('Plan the undo');
    await page.locator('.lead .badge', { hasText: /^Planned/ }).waitFor();
    await press('Approve');
    await page.getByRole('heading', { name: /^Approve the undo of run/ }).waitFor();
    await press('Send this plan');
    await page.locator('.lead .badge', { hasText: /^Done/ }).waitFor();
    expect([1, 2].map(priceOf)).toEqual(before);
    expect(complaints).toEqual([]);
  });
});
