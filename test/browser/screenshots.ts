import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { openBrowser } from '../support/browser.ts';
import { sampleShop } from './sample-shop.ts';
import { openVisitor, signIn } from './visitor.ts';

/** The screenshots of the README: the sample jobs after two weeks; the last run, of a bad catalog, was stopped. */
const DAYS = 14;
const IMAGES = join(import.meta.dirname, '..', '..', 'docs', 'images');
const REPORT_WIDTH = 880;
const DASHBOARD_WIDTH = 1120;
/** Below the last of it, in pixels. */
const MARGIN = 16;

await mkdir(IMAGES, { recursive: true });
await using shop = await sampleShop(DAYS);
const dashboard = await serveDashboard(shop.workspace);
const browser = await openBrowser();
try {
  const { page } = await openVisitor(browser, {
    viewport: { width: REPORT_WIDTH, height: 900 },
    colorScheme: 'light',
  });
  await page.goto(pathToFileURL(shop.artifact(shop.catalogRuns.at(-1) ?? '', 'report.html')).href);
  await photograph(page, 'report.png', '.report > :nth-child(3)');
  await page.setViewportSize({ width: DASHBOARD_WIDTH, height: 900 });
  await signIn(page, dashboard);
  await photograph(page, 'dashboard.png', '#quiet-jobs');
} finally {
  await browser.close();
}

/** Takes the page from its top to the lower edge of an element. */
async function photograph(page: Page, name: string, lowest: string): Promise<void> {
  const box = await page.locator(lowest).first().boundingBox();
  if (box === null) throw new Error(`${lowest} is not to be seen`);
  const width = page.viewportSize()?.width ?? 0;
  const clip = { x: 0, y: 0, width, height: Math.ceil(box.y + box.height) + MARGIN };
  await page.screenshot({ path: join(IMAGES, name), fullPage: true, clip });
}
