import { expect, it } from 'vitest';
import { axeFindings, describeWithBrowser, openBrowser } from '../support/browser.ts';

describeWithBrowser('the browser of the tests', () => {
  it('finds what is wrong with a page, and nothing where nothing is', async () => {
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.setContent(
        '<!doctype html><html lang="en"><title>A</title><main><h1>A</h1><img src="data:,"></main>',
      );
      expect(await axeFindings(page)).toEqual([expect.stringContaining('image-alt')]);
      await page.setContent('<!doctype html><html lang="en"><title>A</title><main><h1>A</h1></main>');
      expect(await axeFindings(page)).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
