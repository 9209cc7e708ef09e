import { expect, it } from 'vitest';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { openShop } from '../queue/workers-setup.ts';
import { describeWithBrowser, openBrowser } from '../support/browser.ts';
import { describeWithRedis } from '../support/redis.ts';
import { openVisitor, signIn } from './visitor.ts';

describeWithRedis('on Redis', () => {
  describeWithBrowser('the queues in a browser', () => {
    it('are behind the sign-in, and shown within the same policy', async () => {
      await using shop = await openShop({ products: 3 });
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
        expect(complaints).toEqual([]);
        expect(strayRequests).toEqual([]);
      } finally {
        await browser.close();
      }
    });
  });
});
