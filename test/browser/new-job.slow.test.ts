import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { type ServedDashboard, serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { axeFindings, describeWithBrowser, openBrowser } from '../support/browser.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { makeXlsx } from '../tables/workbooks.ts';
import { counted, openVisitor, PHONE, signIn } from './visitor.ts';

const KEY = 'sandbox-key';
const PRODUCTS = z.array(z.object({ url: z.string(), title: z.string() }));
const ROWS = [
  ['Name', 'Preis', 'Lager', 'Bild', 'Beschreibung', 'Intern'],
  ['Tasse blau', 12.9, 3, 'https://img.example/tasse.jpg', 'Eine blaue Tasse.', 'a'],
  ['Teller', 1299, 0, 'https://img.example/teller.jpg', 'Ein großer Teller.', 'b'],
  ['Schale', 'zwölf Euro', 2, 'https://img.example/schale.jpg', 'Eine Schale.', 'c'],
  ...Array.from({ length: 27 }, (_, index) => [
    ...[`Krug ${index + 1}`, 20 + index / 10, index, `https://img.example/${index}.jpg`, 'Ein Krug.', 'd'],
  ]),
];

/** Files as shops have them, in Latin-1, and what the page shows of their first product. */
const USUAL_FILES = [
  {
    name: 'sizes.csv',
    content: 'Article;Name;Price;S;M;L\nA1;Shirt white;19,90;3;5;0\nA2;Shirt black;21,90;1;2;3\n',
    first: /Shirt white\s*19\.90\s*S 19\.90\s*M 19\.90\s*L 19\.90/,
  },
  {
    name: 'artikel.csv',
    content:
      'Artikelnr.;Bezeichnung;Größe;Verkaufspreis\r\n1001;Kännchen;klein;1.249,00\r\n1002;Schüssel;groß;12,90\r\n',
    first: /Kännchen\s*1,249\.00/,
  },
  { name: 'stock.csv', content: 'SKU;Stock\n1001;5\n1002;0\n', first: /1001\s*Stock\s*5\s*SKU\s*1001/ },
  {
    name: 'heureka.xml',
    content:
      '<SHOP><SHOPITEM><ITEM_ID>h</ITEM_ID><PRODUCTNAME>Star</PRODUCTNAME><URL>https://s.example/h</URL><PRICE_VAT>24.99</PRICE_VAT></SHOPITEM></SHOP>',
    first: /Star\s*24\.99/,
  },
];

describeWithBrowser('a new job in a browser', () => {
  let sandbox: Awaited<ReturnType<typeof startSandbox>>;
  let workspace: Workspace;
  let dashboard: ServedDashboard;
  let browser: Browser;

  beforeAll(async () => {
    [sandbox, workspace, browser] = await Promise.all([
      startSandbox({ port: 0, apiKey: KEY }),
      makeWorkspace({}),
      openBrowser(),
    ]);
    await writeFile(join(workspace.dir, '.price-list.xlsx'), makeXlsx([{ name: 'Artikel', rows: ROWS }]));
    dashboard = await serveDashboard(workspace, '--worker');
  });
  afterAll(async () => {
    await browser?.close();
    await workspace?.[Symbol.asyncDispose]();
    await sandbox?.close();
  });

  it('leads from an empty workspace to an approved import and a schedule in less than 15 clicks', async () => {
    const { page, complaints, strayRequests } = await openVisitor(browser, { timezoneId: 'Asia/Tokyo' });
    const { press, type, choose, clicks } = counted(page);
    await page.goto(dashboard.url);
    await page.getByLabel('Token').fill(dashboard.tokens.full);
    await press('Sign in');

    await press('New job');
    // The file list of the system opens with a click, and takes another.
    await page.getByLabel('CSV, Excel').setInputFiles({
      name: 'Preisliste März.xlsx',
      mimeType: 'application/octet-stream',
      buffer: await readFile(join(workspace.dir, '.price-list.xlsx')),
    });
    const chosen = 2;
    await press('Upload');
    await page.getByRole('heading', { name: 'New job', level: 1 }).waitFor();
    expect(await page.locator('#matching').innerText()).toContain("the sheet 'Artikel': 30 rows, 6 columns");
    expect(await page.getByLabel('Field of the column Preis').inputValue()).toBe('price');
    expect(await page.locator('#preview-counts').innerText()).toBe(
      'In the file: 29 records can be sent and 1 is rejected.',
    );
    const refused = page.locator('.preview .bad');
    expect(await refused.locator('mark').innerText()).toBe('zwölf Euro');
    expect(await refused.innerText()).toContain('Artikel!B4');
    expect(await axeFindings(page)).toEqual([]);

    await type('Address of the store', sandbox.url);
    await type('API key', KEY);
    await choose('When does it run?', 'day');
    expect(await page.getByLabel('Time zone').inputValue()).toBe('Asia/Tokyo');
    await press('Create the job and plan it');
    await page.getByRole('heading', { name: /^Plan|^Run/, level: 1 }).waitFor();
    await page.locator('.lead .badge', { hasText: /^Planned/ }).waitFor();
    await press('Approve');
    await press('Send this plan');
    await page.locator('.lead .badge', { hasText: /^Done/ }).waitFor();

    expect(clicks() + chosen).toBeLessThan(15);
    const answer = await fetch(`${sandbox.url}/_sandbox/products`, {
      headers: { authorization: `Bearer ${KEY}` },
    });
    expect(PRODUCTS.parse(await answer.json())).toHaveLength(29);
    const job: unknown = parse(await readFile(join(workspace.dir, 'jobs/my-products.yaml'), 'utf8'));
    expect(job).toMatchObject({
      source: { path: 'uploads/Preisliste-März.xlsx' },
      mapping: 'my-products',
      schedule: { cron: '15 2 * * *', timezone: 'Asia/Tokyo' },
    });
    const written = await Promise.all(
      ['jobs/my-products.yaml', 'mappings/my-products.yaml', 'stores.yaml'].map((name) =>
        readFile(join(workspace.dir, name), 'utf8'),
      ),
    );
    expect(written.join('')).not.toContain(KEY);
    expect((await workspace.storeferry('check')).code).toBe(0);
    await page.goto(new URL('/jobs/my-products', dashboard.url).href);
    expect(await page.locator('main').innerText()).toMatch(/At 02:15, every day\s+Asia\/Tokyo/);

    const upload = async (rows: readonly (readonly (string | number)[])[]) => {
      await page.goto(new URL('/jobs/my-products', dashboard.url).href);
      await page.getByRole('link', { name: 'Upload a new file' }).click();
      const buffer = makeXlsx([{ name: 'Artikel', rows }]);
      await page.getByLabel('The new file').setInputFiles({ name: 'new.xlsx', mimeType: 'x/y', buffer });
      await page.getByRole('button', { name: 'Upload and replace' }).click();
    };
    const file = join(workspace.dir, 'uploads/Preisliste-März.xlsx');
    const before = await readFile(file);
    await upload([['Etwas'], ['anderes']]);
    await page.getByRole('alert').filter({ hasText: 'does not fit the mapping my-products' }).waitFor();
    expect((await readFile(file)).equals(before)).toBe(true);
    await upload(ROWS.slice(0, 3));
    await page.getByRole('button', { name: 'Plan now' }).waitFor();
    expect((await readFile(file)).equals(before)).toBe(false);
    expect(complaints).toEqual([]);
    expect(strayRequests).toEqual([]);
  });

  it('takes usual files of shops to a sent plan without a question, in less than 15 clicks each', async () => {
    const { page, complaints } = await openVisitor(browser);
    await signIn(page, dashboard);
    for (const { name, content, first } of USUAL_FILES) {
      const { press, clicks } = counted(page);
      await page.goto(dashboard.url);
      await press('New job');
      const file = { name, mimeType: 'application/octet-stream', buffer: Buffer.from(content, 'latin1') };
      await page.getByLabel('CSV, Excel').setInputFiles(file);
      await press('Upload');
      await page.locator('.first-record', { hasText: first }).waitFor();
      await press('Create the job and plan it');
      await page.locator('.lead .badge', { hasText: /^Planned/ }).waitFor();
      await press('Approve');
      await press('Send this plan');
      await page.locator('.lead .badge', { hasText: /^Done/ }).waitFor();
      // The file list of the system opens with a click, and takes another.
      expect(clicks() + 2).toBeLessThan(15);
    }
    expect(complaints).toEqual([]);
  });

  it('refuses private addresses, and visitors who may only look', async () => {
    const acting = await dashboard.signedIn('full');
    const give = async (address: string) =>
      (await acting.submit(await acting.get('/new'), '/new/address', { address })).words;
    expect(await give('http://127.0.0.1:1/list.csv')).toContain('cannot be imported');
    expect(await give('ftp://shop.example/list.csv')).toContain('expected an address');
    expect(await give('sftp://shop.example/list.csv')).toContain('with a user');
    const login = await give('sftp://shop:MARKED-password@127.0.0.1/list.csv');
    expect(login).toContain('127.0.0.1 is a private address');
    expect(login).toContain('New job From sftp://shop@127.0.0.1/list.csv');
    const looking = await dashboard.signedIn('readOnly');
    expect((await looking.get('/')).words).not.toContain('New job');
    for (const path of ['/new', '/jobs/my-products/upload'])
      expect((await looking.get(path)).status).toBe(403);
  });

  it('leaves the keyboard where it is when a question is answered', async () => {
    const { page, complaints } = await openVisitor(browser);
    await page.goto(dashboard.url);
    await page.getByLabel('Token').fill(dashboard.tokens.full);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.goto(new URL('/new', dashboard.url).href);
    await page.getByLabel('CSV, Excel').setInputFiles({
      name: 'list.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('Aaa;Bbb;Ccc\nTasse;Anna;12,90\nTeller;Bert;8,50\n'),
    });
    await page.getByRole('button', { name: 'Upload' }).click();
    const question = page.getByLabel('Which column has the name of the product?');
    await question.focus();
    // Each press chooses the next entry of a list that is closed.
    for (const column of ['Aaa', 'Bbb']) {
      await page.keyboard.press('ArrowDown');
      const chosen = page.locator(
        `[aria-label="Field of the column ${column}"] option[value=title][selected]`,
      );
      await chosen.waitFor({ state: 'attached' });
      expect(await question.inputValue()).toBe(`=${column}`);
      expect(await question.evaluate((element) => element.matches(':focus'))).toBe(true);
    }
    expect(complaints).toEqual([]);
  });

  it('finds the header below merged titles, and lets it be chosen', async () => {
    const { page, complaints } = await openVisitor(browser, { viewport: PHONE });
    await page.goto(dashboard.url);
    await page.getByLabel('Token').fill(dashboard.tokens.full);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.goto(new URL('/new', dashboard.url).href);
    const rows = [['Ann'], ['Prices'], ['Name', 'Price', 'Stock'], ['Cups'], ['Mug', 4, 1], ['Jug', 5, 2]];
    const merged = ['A1:C1', 'A2:C2', 'A4:C4'];
    await page.getByLabel('CSV, Excel').setInputFiles({
      name: 'titled.xlsx',
      mimeType: 'application/octet-stream',
      buffer: makeXlsx([{ name: 'P', rows, merged }]),
    });
    await page.getByRole('button', { name: 'Upload' }).click();
    const isHeader = (row: number) => page.getByLabel(`Header in row ${row}`, { exact: true });
    expect(await isHeader(3).isChecked()).toBe(true);
    expect(await page.locator('.file-grid').innerText()).toMatch(
      /not read[\s\S]*Ann merged[\s\S]*Cups merged/,
    );
    expect(await page.locator('#preview-counts').innerText()).toBe(
      'In the file: 2 records can be sent and 1 is skipped.',
    );
    await page.getByLabel('Data from row 6').check();
    await page.getByText('In the file: 1 record can be sent.').waitFor();
    await isHeader(2).check();
    await page.locator('#headerRow-2[checked]').waitFor();
    expect(await isHeader(2).evaluate((element) => element.matches(':focus'))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('renders the records again when a column is given another field, with and without scripts', async () => {
    for (const [javaScriptEnabled, isLate] of [
      [true, false],
      [true, true],
      [false, false],
    ] as const) {
      const { page, complaints } = await openVisitor(browser, { viewport: PHONE, javaScriptEnabled });
      const chosen = Promise.withResolvers<void>();
      await page.goto(dashboard.url);
      await page.getByLabel('Token').fill(dashboard.tokens.full);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.goto(new URL('/new', dashboard.url).href);
      if (isLate) {
        await page.route(/\/form[^/]*\.js/, async (route) => {
          await chosen.promise;
          await route.continue();
        });
      }
      await page.getByLabel('CSV, Excel').setInputFiles({
        name: 'list.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from('Bezeichnung;Verkaufspreis;Kürzel\nTasse;12,90;T-1\nTeller;8,50;T-2\n'),
      });
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.getByLabel('Field of the column Kürzel').selectOption('sku');
      chosen.resolve();
      if (!javaScriptEnabled) await page.getByRole('button', { name: 'Show the records again' }).click();
      await page.locator('#field-2 option[value=sku][selected]').waitFor({ state: 'attached' });
      await page.locator('.preview summary').first().click();
      await expect.poll(() => page.locator('.preview').innerText()).toContain('"T-1"');
      expect(complaints).toEqual([]);
      const wide = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(wide).toBe(0);
    }
  });
});
