import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { openShop } from '../queue/workers-setup.ts';
import { describeWithBrowser, openBrowser } from '../support/browser.ts';
import { describeWithRedis } from '../support/redis.ts';
import { openVisitor, signIn } from './visitor.ts';

/** The id of the one entry of the queue of runs. */
async function queuedId(page: Page): Promise<string> {
  const answer = await page.evaluate<{ queues: { jobs: { id: string }[] }[] }>(
    `fetch('/queues/api/queues?activeQueue=runs&status=latest&page=1').then((answer) => answer.json())`,
  );
  return answer.queues.flatMap(({ jobs }) => jobs)[0]?.id ?? 'none';
}

/** What must be scrolled sideways to be seen whole: the page itself, lists and tabs within it; and what of the header is cut off. */
async function sidewaysScrolls(page: Page): Promise<string[]> {
  return await page.evaluate<string[]>(`[...document.querySelectorAll('html, body, header, main, main *')]
    .filter((element) => element.scrollWidth > element.clientWidth + 1)
    .filter((element) => element.tagName === 'HTML' || ['auto', 'scroll'].includes(getComputedStyle(element).overflowX))
    .concat([...document.querySelectorAll('header :is(a, button)')].filter((element) => element.getBoundingClientRect().right > innerWidth))
    .map((element) => element.tagName + ' ' + element.textContent.slice(0, 40))`);
}

describeWithRedis('on Redis', () => {
  describeWithBrowser('the queues in a browser', () => {
    it('are behind the sign-in, and shown within the same policy', async () => {
      await using shop = await openShop({ products: 3 });
      await shop.workspace.storeferry('enqueue', 'nightly');
      const [dashboard, browser] = await Promise.all([serveDashboard(shop.workspace), openBrowser()]);
      try {
        const { page, complaints, strayRequests } = await openVisitor(browser);
        await page.goto(new URL('/queues', dashboard.url).href);
        await page.getByLabel('Token').waitFor();
        await signIn(page, dashboard);
        await page.getByRole('link', { name: 'Queues', exact: true }).click();
        for (const queue of ['runs', 'ticks', 'shards-main']) {
          await page.getByRole('link', { name: queue, exact: true }).first().waitFor();
        }
        await page.setViewportSize({ width: 375, height: 812 });
        for (const path of ['/queues', '/queues/queue/runs', `/queues/queue/runs/${await queuedId(page)}`]) {
          await page.goto(new URL(path, dashboard.url).href);
          await page.locator('main ul, main [role="tablist"]').first().waitFor();
          expect([path, await sidewaysScrolls(page)]).toEqual([path, []]);
        }
        expect(complaints).toEqual([]);
        expect(strayRequests).toEqual([]);
      } finally {
        await browser.close();
      }
    });
  });
});
