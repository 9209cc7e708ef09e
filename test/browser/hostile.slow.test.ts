import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServedDashboard, serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { describeWithBrowser, openBrowser } from '../support/browser.ts';
import { aList, type Exports, setupExports } from '../support/exports.ts';
import { openVisitor, signIn } from './visitor.ts';

const SCRIPT = '<script>alert(1)</script>';
const IMAGE = `"><img src=x onerror=alert(1)>`;
const SVG = '</title></style><svg onload=alert(1)>';

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

/** A catalog that says such things wherever a report quotes it; `price` differs between runs. */
function catalog(price: string): string {
  const rows = [SCRIPT, IMAGE, SVG].flatMap((text, index) => [
    [`good-${index}`, `${text} ${price}`, `<p>${text}</p>`, text, `${text} ${index}`, price],
    [`bad-${index}`, text, text, text, `${text} b${index}`, `${text} tbc`],
  ]);
  const header = ['Handle', 'Title', 'Body (HTML)', 'Option1 Value', 'Variant SKU', 'Variant Price', IMAGE];
  return `${[header, ...rows.map((row) => [...row, SCRIPT])].map((row) => row.map(quoted).join(',')).join('\n')}\n`;
}

describeWithBrowser('what catalogs and stores say', () => {
  let shop: Exports;
  let dashboard: ServedDashboard;
  let browser: Browser;
  const runs: string[] = [];

  beforeAll(async () => {
    [shop, browser] = await Promise.all([
      setupExports({
        lists: 'export: subscriber-lists\ndestination: { path: exports/lists.csv, mode: append }\n',
        nightly:
          'import: products\nsource: { path: catalog.csv }\nmapping: shopify-products\nsafety: { maxRejects: off, maxChanges: 1 }\n',
      }),
      openBrowser(),
    ]);
    const { store, workspace } = shop;
    store.shop.lists.push(aList(1, SCRIPT), aList(2, IMAGE), aList(3, SVG));
    for (const [job, price] of [
      ['nightly', '10.00'],
      ['nightly', '1000.00'],
      ['lists', ''],
      ['lists', ''],
    ] as const) {
      await workspace.write('catalog.csv', catalog(price));
      runs.push(String((await workspace.storeferry('run', job, '--json')).json()['run']));
      store.shop.lists.splice(0, 1, aList(1, IMAGE));
    }
    dashboard = await serveDashboard(workspace);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.[Symbol.asyncDispose]();
  });

  it('would be heard of if it ran', async () => {
    const { page, complaints, strayRequests } = await openVisitor(browser);
    await page.setContent('<script>alert(1)</script><img src="http://127.0.0.1:9/" onerror="nothing()">');
    await expect.poll(() => complaints.join()).toContain('nothing is not defined');
    expect(complaints).toContain('dialog: 1');
    expect(strayRequests).toEqual(['http://127.0.0.1:9/']);
    await expect(expectInert(page)).rejects.toThrow();
  });

  it('runs nothing in a report that is opened as a file', async () => {
    for (const run of runs) {
      const { page, complaints, strayRequests } = await openVisitor(browser);
      await page.goto(
        pathToFileURL(join(shop.workspace.dir, '.storeferry', 'artifacts', run, 'report.html')).href,
      );
      await expectInert(page);
      expect(await page.locator('body').innerText()).toContain('alert(1)');
      expect(complaints).toEqual([]);
      expect(strayRequests).toEqual([]);
    }
  });

  it('runs nothing in the dashboard', async () => {
    const { page, complaints, strayRequests } = await openVisitor(browser);
    await signIn(page, dashboard);
    const [first, second] = runs;
    const printed: string[] = [];
    for (const path of [
      ...['/', '/jobs/nightly', '/jobs/lists', '/runs', '/lists/lists', ...runs.map((run) => `/runs/${run}`)],
      ...[`/runs/${second}/approve`, '/jobs/nightly/run', '/jobs/lists/run', `/runs/${first}/report.html`],
      ...[`/jobs/${encodeURIComponent(SCRIPT)}`, `/runs?job=${encodeURIComponent(IMAGE)}`],
    ]) {
      await page.goto(new URL(path, dashboard.url).href);
      if (!path.endsWith('.html')) await expectInert(page);
      printed.push(await page.locator('body').innerText());
    }
    expect(printed.join('\n')).toContain('Approve the plan of nightly?');
    expect(printed.join('\n')).toContain(SCRIPT);
    expect(printed.join('\n')).toContain(IMAGE);
    expect(complaints).toEqual([]);
    expect(strayRequests).toEqual([]);
  });

  it('runs nothing when it is said as a token', async () => {
    const { page, complaints } = await openVisitor(browser);
    await page.goto(dashboard.url);
    await page.getByLabel('Token').fill(SCRIPT);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await signIn(page, dashboard);
    expect(complaints).toEqual([]);
  });

  it('has nothing done by the page of another origin', async () => {
    const other = createServer((request, response) => {
      response.setHeader('content-type', 'text/html');
      const action = new URL(request.url ?? '/', dashboard.url).href;
      response.end(
        `<!doctype html><form method="post" action="${action}"><input name="once" value="${crypto.randomUUID()}"><input name="csrfToken" value="x"><button>Win</button></form>`,
      );
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    try {
      const { page } = await openVisitor(browser);
      await signIn(page, dashboard);
      const known = async () => (await shop.workspace.storeferry('runs')).stdout.match(/^[a-z0-9]{8}(?= )/gm);
      const before = await known();
      expect(before).toHaveLength(runs.length);
      // Browsers take two ports of one host for the same site, so the session's cookie goes along.
      for (const path of ['/jobs/lists/run', `/runs/${runs[1]}/approve`, '/sign-out']) {
        await page.goto(`http://127.0.0.1:${address.port}${path}`);
        await page.getByRole('button', { name: 'Win' }).click();
        await page.getByRole('heading', { name: 'From another page' }).waitFor();
      }
      expect(await known()).toEqual(before);
      await page.goto(dashboard.url);
      await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    } finally {
      other.close();
      other.closeAllConnections();
    }
  });
});

/** No element of what was said has become one of the page. */
async function expectInert(page: Page): Promise<void> {
  expect(await page.locator('[onerror], [onload], img, script:not([src="/assets/live.js"])').count()).toBe(0);
}
