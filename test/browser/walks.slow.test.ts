import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { type ServedDashboard, serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { makeZip } from '../source/make-zip.ts';
import { describeWithBrowser, openBrowser } from '../support/browser.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { makeXlsx } from '../tables/workbooks.ts';
import { counted, openVisitor, signIn } from './visitor.ts';

const MOST_CLICKS = 15;
/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A price list as people keep it: a merged title above the header, and headings between the rows. */
function priceList(factor: number): Buffer {
  const rows = [
    ['Frühjahr 2031'],
    ['Art.-Nr.', 'Bezeichnung', 'VK Preis', 'Bestand'],
    ['Trinken'],
    ['M-1', 'Becher', 12.5 * factor, 4],
    ['M-2', 'Tasse', 9 * factor, 12],
    ['Servieren'],
    ['K-1', 'Krug', 34 * factor, 5],
  ];
  return makeXlsx([{ name: 'Preise', rows, merged: ['A1:D1', 'A3:D3', 'A6:D6'] }]);
}

/** Shoes with a column for each size, whose headers do not say what their cells are. */
const SIZES = 'Artikel;Modell;Preis;36;37;38\nS-1;Läufer;79,90;3;0;5\nS-2;Wanderer;129,00;1;2;4\n';

/** In one workspace, one after the other: each begins where a shop owner would, at the jobs. */
describeWithBrowser('the ways of a shop owner, without a terminal', () => {
  let sandbox: Awaited<ReturnType<typeof startSandbox>>;
  let workspace: Workspace;
  let dashboard: ServedDashboard;
  let browser: Browser;
  let page: Page;
  let complaints: readonly string[];

  beforeAll(async () => {
    [sandbox, workspace, browser] = await Promise.all([
      startSandbox({ port: 0, apiKey: 'first-key' }),
      makeWorkspace({}),
      openBrowser(),
    ]);
    dashboard = await serveDashboard(workspace, '--worker');
    ({ page, complaints } = await openVisitor(browser, { timezoneId: 'Europe/Berlin' }));
    await signIn(page, dashboard);
  });
  afterAll(async () => {
    await browser?.close();
    await workspace?.[Symbol.asyncDispose]();
    await sandbox?.close();
  });

  /** A picture of the page as it is, where somebody wants to look at the ways: `WALK_SHOTS=folder`. */
  const shot = async (name: string) => {
    const folder = process.env['WALK_SHOTS'];
    if (folder === undefined) return;
    for (const width of [1280, 390]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: true });
      }
    }
  };
  const outcome = (words: RegExp) => page.locator('.lead .badge', { hasText: words }).waitFor();
  const prices = async () => {
    const answer = await fetch(`${sandbox.url}/_sandbox/products`, {
      headers: { authorization: 'Bearer first-key' },
    });
    return [...(await answer.text()).matchAll(/"price":([\d.]+)/g)].map(([, price]) => Number(price)).sort();
  };

  it('imports a price list with titles and headings, and asks again for a missing and a wrong key', async () => {
    const { press, give, type, clicks } = counted(page);
    await shot('jobs');
    await press('New job');
    await give('CSV, Excel', 'Preise.xlsx', priceList(1));
    await press('Upload');
    await page.locator('.first-record', { hasText: /Becher\s*12\.50/ }).waitFor();
    await shot('new-job');
    expect(await page.locator('.preview').innerText()).toMatch(/row 3.*row 4.*row 5.*row 6.*row 7/s);
    // Row 3 is a heading.
    expect(await page.getByLabel('Data from row 4').isChecked()).toBe(true);
    await press('Create the job and plan it');
    const beside = (name: string) => page.locator(`#wrong-${name}`);
    expect(await beside('url').innerText()).toMatch(/^The address of the store is missing/);
    await shot('missing');
    await type('Address of the store', sandbox.url);
    await type('API key', 'mistyped');
    await press('Create the job and plan it');
    expect(await beside('apiKey').innerText()).toMatch(/refuses the key\. Copy the key from the store again/);
    await shot('wrong-key');
    // Nothing else is said to be wrong, and the refused key is not kept.
    expect(await page.locator('main').innerText()).not.toMatch(/There is no field|A key is known/);
    await type('API key', 'first-key');
    await press('Create the job and plan it');
    await outcome(/^Planned/);
    await press('Approve');
    await press('Send this plan');
    await outcome(/^Done/);
    expect(await prices()).toEqual([12.5, 34, 9]);
    expect(clicks()).toBeLessThanOrEqual(MOST_CLICKS);
  });

  it('takes a wrong run back', async () => {
    await page.goto(dashboard.url);
    const before = counted(page);
    await before.press('my-products');
    await shot('job');
    await page.goto(new URL('/jobs/my-products/columns', dashboard.url).href);
    // A heading is no value of the columns that it covers.
    expect(await page.locator('table.columns').innerText()).toMatch(/Art\.-Nr\.\s+M-1\s/);
    await page.goto(new URL('/jobs/my-products', dashboard.url).href);
    await before.press('Upload a new file');
    await before.give('The new file', 'Preise.xlsx', priceList(2));
    await before.press('Upload and replace');
    await before.press('Plan now');
    await outcome(/^Planned/);
    await before.press('Approve');
    await before.press('Send this plan');
    await outcome(/^Done/);
    expect(await prices()).toEqual([18, 25, 68]);
    expect(before.clicks()).toBeLessThanOrEqual(MOST_CLICKS);
    await page.goto(dashboard.url);
    const { press, click, clicks } = counted(page);
    await press('my-products');
    await click(page.locator('#runs').locator('..').getByRole('link').first());
    await press('Undo');
    await shot('undo');
    await press('Plan the undo');
    await outcome(/^Planned/);
    await shot('undo-plan');
    await press('Approve');
    await press('Send this plan');
    await outcome(/^Done/);
    expect(await prices()).toEqual([12.5, 34, 9]);
    expect(clicks()).toBeLessThanOrEqual(MOST_CLICKS);
  });

  it('asks what columns with sizes as headers contain, and for the rest of the job after that', async () => {
    await page.setViewportSize({ width: 390, height: 900 });
    await page.goto(dashboard.url);
    const { press, give, choose, clicks } = counted(page);
    await press('New job');
    await give('CSV, Excel', 'Schuhe.csv', Buffer.from(SIZES));
    await press('Upload');
    const field = (column: string) => page.getByLabel(`Field of the column ${column}`);
    // What the answer decides is not said to be unused.
    for (const column of ['Preis', '36', '38'])
      expect(await field(column).locator('option:checked').innerText()).toBe('Still open');
    const grid = page.locator('.grid-scroll[data-more]');
    await page.getByText('Scroll the table sideways to see all of its 6 columns.').waitFor();
    await grid.evaluate((table) => table.scrollTo(table.scrollWidth, 0));
    await grid.waitFor({ state: 'detached' });
    expect(await field('38').isVisible()).toBe(true);
    await shot('sizes');
    await choose("What do the columns '36', '37', '38' contain?", 'each is a variant, with this stock');
    await page.locator('.first-record', { hasText: /Läufer\s*79\.90\s*36 79\.90/ }).waitFor();
    await page.getByLabel('Name of the job').waitFor();
    await shot('sizes-answered');
    await choose('When does it run?', 'Each day');
    expect(await page.getByLabel('Time zone').inputValue()).toBe('Europe/Berlin');
    await press('Create the job and plan it');
    await outcome(/^Planned/);
    await press('Approve');
    await press('Send this plan');
    await outcome(/^Done/);
    expect(clicks()).toBeLessThanOrEqual(MOST_CLICKS);
  });

  it('takes the pictures of a file as a ZIP', async () => {
    await page.goto(dashboard.url);
    const { press, give, type, clicks } = counted(page);
    await press('New job');
    await give('CSV, Excel', 'Bilder.csv', Buffer.from('Artikel;Name;Preis;Bild\nB-1;Becher;4,90;rot.png\n'));
    await press('Upload');
    await page.locator('.first-record', { hasText: 'No picture' }).waitFor();
    await give('The pictures as files', 'fotos.zip', makeZip([{ name: 'fotos/rot.png', content: PIXEL }]));
    const typed = Promise.withResolvers<void>();
    await page.route(/\/form[^/]*\.js/, async (route) => {
      await typed.promise;
      await route.continue();
    });
    await press('Upload the pictures');
    await type('At which address are the images?', 'https://images.example/shop/');
    await page.keyboard.press('Tab');
    typed.resolve();
    await page.locator('.first-record', { hasText: 'rot.png of fotos.zip' }).waitFor();
    const width = "document.querySelector('.first-record img').naturalWidth";
    await expect.poll(() => page.evaluate(width)).toBe(1);
    await shot('pictures');
    await type('Where are the pictures put', 'public/shop');
    await press('Create the job and plan it');
    await outcome(/^Planned/);
    expect(await page.locator('main').innerText()).toMatch(/1 picture \([^)]+\) of 1 is to be uploaded\./);
    await press('Approve');
    await press('Send this plan');
    await outcome(/^Done/);
    expect(await readdir(join(workspace.dir, 'public/shop'))).toHaveLength(1);
    expect(clicks()).toBeLessThanOrEqual(MOST_CLICKS);
  });

  it('collects the statistics of lists every morning, by the clock of the visitor', async () => {
    await page.goto(dashboard.url);
    const { press, clicks } = counted(page);
    await press('New export');
    await shot('export');
    await press('Create');
    await page.getByRole('heading', { name: 'list-statistics', level: 1 }).waitFor();
    expect(await page.locator('main').innerText()).toMatch(/At 06:00, every day\s+Europe\/Berlin/);
    expect(await page.locator('main').innerText()).not.toContain('storeferry -C');
    await shot('export-job');
    await press('Run list-statistics');
    await press('Run now');
    await outcome(/^Done/);
    await shot('export-run');
    const [file] = await Promise.all([page.waitForEvent('download'), press('Download the exported file')]);
    expect(file.suggestedFilename()).toBe('list-statistics.csv');
    expect(clicks()).toBeLessThanOrEqual(MOST_CLICKS);
  });

  it('changes the key of the store, which was changed there', async () => {
    const { url } = sandbox;
    await sandbox.close();
    sandbox = await startSandbox({ port: Number(new URL(url).port), apiKey: 'second-key' });
    await page.goto(dashboard.url);
    const { press, type, clicks } = counted(page);
    await press('Stores');
    await press('Test main');
    await page.getByText('refuses the key').waitFor();
    await shot('stores');
    await press('Change main');
    await type('New API key', 'first-key');
    await press('Test and save');
    await page.getByText('Copy the key from the store again').waitFor();
    await shot('key');
    await type('New API key', 'second-key');
    await press('Test and save');
    await press('Test main');
    await page.getByText('takes the key').waitFor();
    expect(clicks()).toBeLessThanOrEqual(MOST_CLICKS);
    await page.goto(new URL('/jobs/list-statistics/run', dashboard.url).href);
    await counted(page).press('Run now');
    await outcome(/^Done/);
    expect(complaints).toEqual([]);
  });
});
