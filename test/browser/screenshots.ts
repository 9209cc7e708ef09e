import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { openBrowser } from '../support/browser.ts';
import { IMAGES, lowerEdge, PICTURES, WORDS_FILE, wordsOf } from './pictures.ts';
import { sampleShop } from './sample-shop.ts';
import { openVisitor } from './visitor.ts';

/** Makes the pictures of the documents: the sample jobs after two weeks; the last run, of a bad catalog, was stopped. */
const DAYS = 14;
/** Below the last element, in pixels. */
const MARGIN = 16;

await mkdir(IMAGES, { recursive: true });
await using shop = await sampleShop(DAYS);
const dashboard = await serveDashboard(shop.workspace);
const browser = await openBrowser();
try {
  const { page } = await openVisitor(browser, { colorScheme: 'light' });
  const words: Record<string, readonly string[]> = {};
  for (const picture of PICTURES) {
    const { name, width, lowest, open } = picture;
    await page.setViewportSize({ width, height: 900 });
    await open(page, { shop, dashboard });
    const clip = { x: 0, y: 0, width, height: (await lowerEdge(page, lowest)) + MARGIN };
    await page.screenshot({ path: join(IMAGES, name), fullPage: true, clip });
    words[name] = await wordsOf(page, picture);
  }
  await writeFile(join(IMAGES, WORDS_FILE), `${JSON.stringify(words, null, 2)}\n`);
} finally {
  await browser.close();
}
