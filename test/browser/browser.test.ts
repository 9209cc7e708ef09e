import { expect, it } from 'vitest';
import { describeWithBrowser, openBrowser, seriousFindings } from '../support/browser.ts';

describeWithBrowser('the browser of the tests', () => {
  it('finds what is wrong with a page, and nothing where nothing is', async () => {
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.setContent(
        '<!doctype html><html lang="en"><title>A</title><main><h1>A</h1><img src="data:,"></main>',
      );
      expect(await seriousFindings(page)).toEqual([expect.stringContaining('image-alt')]);
      await page.setContent('<!doctype html><html lang="en"><title>A</title><main><h1>A</h1></main>');
      expect(await seriousFindings(page)).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
