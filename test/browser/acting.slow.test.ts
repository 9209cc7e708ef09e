import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServedDashboard, serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { axeFindings, describeWithBrowser, openBrowser } from '../support/browser.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type SlowShop, slowShop } from './slow-shop.ts';
import { openVisitor, signIn } from './visitor.ts';

/** So many that a run is surely still under way when its page has been looked at for a while. */
const WATCHED = 120;
const INTERRUPTED = 400;

/** Presses a button or follows a link, by its words. */
async function press(page: Page, words: string): Promise<void> {
  await page
    .getByRole('link', { name: words, exact: true })
    .or(page.getByRole('button', { name: words, exact: true }))
    .click();
}

/** Begins a run at the page of its job, as far as its own page. */
async function begin(page: Page, { url }: ServedDashboard, job: string): Promise<void> {
  await page.goto(new URL(`/jobs/${job}`, url).href);
  await press(page, `Run ${job}`);
  await press(page, 'Run now');
  await page.waitForURL(/\/runs\/\w+$/);
}

async function outcome(page: Page, words: string): Promise<void> {
  await page.locator('.lead .badge', { hasText: new RegExp(`^${words}$`) }).waitFor();
}

/** Resolves when a figure that the page began with has become another. */
async function figureChanges(page: Page, name: string): Promise<void> {
  const figure = page.locator(`[data-live="${name}"]`);
  const before = await figure.textContent();
  await expect.poll(() => figure.textContent()).not.toBe(before);
}

describeWithBrowser('the dashboard in a browser', () => {
  const rejected = manyProducts(6).map((product, index) =>
    index === 2 ? { ...product, price: 'tbc' } : product,
  );
  let shop: SlowShop;
  let dashboard: ServedDashboard;
  let browser: Browser;

  beforeAll(async () => {
    [shop, browser] = await Promise.all([
      slowShop({
        watched: { store: 'slow', catalog: shopifyCatalog(manyProducts(WATCHED)) },
        interrupted: { store: 'slow', catalog: shopifyCatalog(manyProducts(INTERRUPTED, 1000)) },
        limited: { store: 'main', catalog: shopifyCatalog(manyProducts(10, 2000)), lines: 'mode: mirror\n' },
        rejected: {
          store: 'main',
          catalog: shopifyCatalog(rejected),
          lines: 'safety: { maxRejects: off }\n',
        },
        typed: {
          store: 'main',
          catalog: shopifyCatalog(
            manyProducts(60, 3001).map((product) => ({ ...product, sizes: 2, price: 'tbc' })),
          ),
          lines: 'safety: { maxRejects: off }\n',
        },
      }),
      openBrowser(),
    ]);
    dashboard = await serveDashboard(shop.workspace);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.[Symbol.asyncDispose]();
  });

  it('shows nothing for a wrong token, the jobs for the right one, and nothing any more after the sign-out', async () => {
    const { page, complaints } = await openVisitor(browser);
    await page.goto(new URL('/runs', dashboard.url).href);
    await page.getByLabel('Token').fill(`${dashboard.tokens.full}x`);
    await press(page, 'Sign in');
    await page.getByRole('alert').waitFor();
    const shown = await page.locator('body').innerText();
    for (const job of ['watched', 'limited', 'slow', 'main']) expect(shown).not.toContain(job);
    await page.getByLabel('Token').fill(dashboard.tokens.full);
    await press(page, 'Sign in');
    // It leads where one wanted to go.
    await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
    await press(page, 'Jobs');
    await page.getByRole('rowheader', { name: 'watched' }).waitFor();

    await press(page, 'Sign out');
    await page.getByLabel('Token').waitFor();
    await page.goBack();
    await page.getByLabel('Token').waitFor();
    expect(await page.getByText('watched').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('shows a run as it happens, without loading the page, and its report at the end', async () => {
    const { page, complaints, strayRequests } = await openVisitor(browser);
    await signIn(page, dashboard);
    await begin(page, dashboard, 'watched');
    let loads = 0;
    page.on('load', () => {
      loads += 1;
    });
    await figureChanges(page, 'applied');
    await figureChanges(page, 'applied');
    expect(loads).toBe(0);
    expect(await page.getByRole('progressbar').getAttribute('value')).not.toBeNull();
    expect(await page.locator('[data-live="figures"]').textContent()).toMatch(
      new RegExp(`^\\d+ of ${WATCHED} requests$`),
    );
    const job = page.locator('main a[href="/jobs/watched"]').first();
    await job.focus();
    await outcome(page, 'Done');
    expect(await job.evaluate((link) => link.matches(':focus'))).toBe(true);
    expect(loads).toBe(0);
    expect(await page.locator('.live').count()).toBe(0);
    expect((await shop.products('slow')).size).toBe(WATCHED);
    expect(complaints).toEqual([]);
    expect(strayRequests).toEqual([]);
  });

  it('stops at a limit, shows why, and sends the plan once it has been approved', async () => {
    const { page, complaints } = await openVisitor(browser);
    await signIn(page, dashboard);
    await begin(page, dashboard, 'limited');
    await outcome(page, 'Done');
    await shop.workspace.write('catalogs/limited.csv', shopifyCatalog(manyProducts(5, 2002)));
    await begin(page, dashboard, 'limited');
    await outcome(page, 'Stopped by a safety limit');
    expect(await page.locator('main').innerText()).toContain('5 of 10 products would be deleted');
    expect((await shop.products('main')).size).toBe(10);

    await press(page, 'Approve');
    await page.getByRole('heading', { name: 'Approve the plan of limited?' }).waitFor();
    expect(await page.locator('.does').innerText()).toContain('Deletes 5 products');
    await press(page, 'Cancel');
    await outcome(page, 'Stopped by a safety limit');
    expect((await shop.products('main')).size).toBe(10);
    await press(page, 'Approve');
    await press(page, 'Send and delete');
    await outcome(page, 'Done');
    expect([...(await shop.products('main')).keys()].sort()).toEqual(
      manyProducts(5, 2002).map(({ handle }) => handle),
    );
    expect(complaints).toEqual([]);
  });

  it('gives the rejects to be corrected, shows the corrections, and sends them', async () => {
    const { page, complaints } = await openVisitor(browser);
    await signIn(page, dashboard);
    await begin(page, dashboard, 'rejected');
    await outcome(page, 'Done, with rejects');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      press(page, 'Download the rejects'),
    ]);
    expect(download.suggestedFilename()).toMatch(/^rejected-\w+-rejects\.csv$/);
    const file = join(shop.workspace.dir, 'corrected.csv');
    const text = await readFile(await download.path(), 'utf8');
    expect(text).toContain(',tbc,');
    await writeFile(file, text.replace(',tbc,', ',23.50,'));

    await press(page, 'Upload the corrected file');
    await page.getByLabel('The corrected file').setInputFiles(file);
    await press(page, 'Upload and check');
    const cells = page.getByRole('row', { name: /Variant Price/ });
    expect((await cells.innerText()).split(/\s*\t\s*/)).toEqual([
      expect.stringMatching(/^\d+$/),
      'Variant Price',
      'tbc',
      '23.50',
    ]);
    expect((await shop.products('main')).has('product-3')).toBe(false);
    await press(page, 'Send the corrected rows');
    await page.waitForURL(/\/runs\/\w+$/);
    await outcome(page, 'Done');
    const sent = (await shop.products('main')).get('product-3');
    expect(JSON.stringify(sent)).toContain('23.5');
    expect(complaints).toEqual([]);
  });

  it('corrects rejected rows in place, on several pages, and sends them', async () => {
    const { page, complaints, strayRequests } = await openVisitor(browser);
    await signIn(page, dashboard);
    await begin(page, dashboard, 'typed');
    await outcome(page, 'Done, with rejects');
    await press(page, 'Correct the rows here');
    const price = (line: number) => page.getByLabel(`Variant Price, line ${line}`, { exact: true });
    // The first column after the line is the one that reasons name.
    const headers = page.getByRole('columnheader');
    expect(await headers.nth(1).innerText()).toBe('Variant Price');
    expect(await price(2).getAttribute('aria-invalid')).toBe('true');
    expect(await axeFindings(page)).toEqual([]);
    await price(2).fill('23.50');
    await price(3).fill('23.50');
    await page.getByLabel('Body (HTML), line 2', { exact: true }).fill('<p>Öl, "new"</p>');
    await press(page, 'Next page');
    // The 60 rejected products have two rows each: 25 of them are on a page.
    await page.getByText('3 cells corrected so far').waitFor();
    await price(52).fill('24.50');
    await price(53).fill('24.50');
    await press(page, 'Previous page');
    await page.getByText('5 cells corrected so far').waitFor();
    expect(await price(3).inputValue()).toBe('23.50');
    await press(page, 'Check the corrections');
    await page.getByText('5 cells edited in 4 of 120 rows').waitFor();
    await press(page, 'Cancel');
    expect(await price(3).inputValue()).toBe('23.50');
    await press(page, 'Check the corrections');
    await press(page, 'Send the corrected rows');
    await page.waitForURL(/\/runs\/\w+$/);
    await outcome(page, 'Done, with rejects');
    const sent = JSON.stringify((await shop.products('main')).get('product-3001'));
    expect(sent).toContain('23.5');
    expect(sent).toContain('Öl, \\"new\\"');
    expect((await shop.products('main')).has('product-3026')).toBe(true);
    expect((await shop.products('main')).has('product-3002')).toBe(false);
    expect(complaints).toEqual([]);
    expect(strayRequests).toEqual([]);
  });

  it('interrupts a run, and continues it where it stopped', async () => {
    const { page, complaints } = await openVisitor(browser);
    await signIn(page, dashboard);
    await begin(page, dashboard, 'interrupted');
    await figureChanges(page, 'applied');
    expect(await axeFindings(page)).toEqual([]);
    const run = page.url();
    await press(page, 'Interrupt');
    await press(page, 'Interrupt the run');
    await outcome(page, 'Interrupted');
    const held = (await shop.products('slow')).size - WATCHED;
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThan(INTERRUPTED);

    await page.locator('#next').locator('..').getByRole('link', { name: 'Run', exact: true }).click();
    expect(await page.locator('.does').innerText()).toContain('it continues where run');
    await press(page, 'Run now');
    await page.waitForURL(run);
    await outcome(page, 'Done');
    expect((await shop.products('slow')).size).toBe(WATCHED + INTERRUPTED);
    expect(complaints).toEqual([]);
  });
});
