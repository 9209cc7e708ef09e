import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServedDashboard, serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { axeFindings, describeWithBrowser, openBrowser } from '../support/browser.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';
import { openVisitor, PHONE } from './visitor.ts';

describeWithBrowser('the job that is edited in a browser', () => {
  let nightly: Nightly;
  let dashboard: ServedDashboard;
  let browser: Browser;

  beforeAll(async () => {
    [nightly, browser] = await Promise.all([setupNightly(3), openBrowser()]);
    dashboard = await serveDashboard(nightly.workspace);
  });
  afterAll(async () => {
    await browser?.close();
    await nightly?.[Symbol.asyncDispose]();
  });

  it('is changed, refused and asked about, with scripts on a desktop and without on a phone', async () => {
    const file = join(nightly.workspace.dir, 'jobs/nightly.yaml');
    const original = `${await readFile(file, 'utf8')}# by hand\n`;
    for (const options of [{ timezoneId: 'Asia/Tokyo' }, { viewport: PHONE, javaScriptEnabled: false }]) {
      await writeFile(file, original);
      const { page, complaints, strayRequests } = await openVisitor(browser, options);
      await page.goto(dashboard.url);
      await page.getByLabel('Token').fill(dashboard.tokens.full);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.goto(new URL('/jobs/nightly', dashboard.url).href);
      await page.getByRole('link', { name: 'Edit', exact: true }).click();
      const wide = async () => {
        // Its words are there before its styles.
        await page.waitForLoadState('load');
        return await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
      };
      const scripted = !('javaScriptEnabled' in options);
      if (scripted) expect(await axeFindings(page)).toEqual([]);
      const shots = process.env['EDIT_SHOTS'];
      const shot = async (name: string) => {
        if (shots !== undefined)
          await page.screenshot({ path: `${shots}/${name}-${scripted ? 1280 : 390}.png`, fullPage: true });
      };
      await shot('form');
      expect(await wide()).toBe(0);

      await page.getByLabel('When does it run?').selectOption('Each day');
      if (!scripted) await page.getByLabel('Time zone').fill('Asia/Tokyo');
      const posted: string[] = [];
      page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()));
      const limit = page.getByLabel('Rejected records');
      await limit.fill('many');
      await page.getByLabel('At', { exact: true }).fill('6 am');
      await page.getByRole('button', { name: 'Save' }).click();
      // The first wrong field; without scripts the browser says it in a bubble.
      expect(await page.locator('#time:invalid:focus').count()).toBe(1);
      if (scripted) {
        expect(await page.locator('#wrong-time').innerText()).toMatch(
          /^Give hours and minutes, such as 06:00/,
        );
        expect(await page.locator('#time').getAttribute('aria-describedby')).toBe('wrong-time about-time');
        expect(await page.locator('#wrong-maxRejects').innerText()).toMatch(
          /^Give a whole number, a percentage/,
        );
        expect(await limit.getAttribute('aria-invalid')).toBe('true');
        expect(await axeFindings(page)).toEqual([]);
      }
      await page.getByLabel('At', { exact: true }).fill('02:15');
      await limit.fill('300%');
      await page.getByRole('button', { name: 'Save' }).focus();
      expect(await page.locator('#wrong-time, #wrong-maxRejects').count()).toBe(0);
      expect(posted).toEqual([]);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('expected a whole number').waitFor();
      expect(await page.getByLabel('Rejected records').getAttribute('aria-invalid')).toBe('true');
      await shot('refused');
      expect(await readFile(file, 'utf8')).toBe(original);

      await writeFile(file, original.replace('catalog.csv', 'other.csv'));
      await page.getByLabel('Rejected records').fill('3%');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('was changed after this form was shown').waitFor();
      expect(await page.getByLabel('File or address').inputValue()).toBe('other.csv');
      await shot('outdated');
      if (scripted) expect(await axeFindings(page)).toEqual([]);
      expect(await wide()).toBe(0);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('At 02:15, every day').waitFor();
      await shot('job');
      expect(await readFile(file, 'utf8')).toBe(
        `${original.replace('catalog.csv', 'other.csv').replace('# by hand\n', '')}safety: { maxRejects: 3% }\nschedule: { cron: "15 2 * * *", timezone: Asia/Tokyo }\n# by hand\n`,
      );
      expect(complaints.filter((text) => !/status of 4(09|22)/.test(text))).toEqual([]);
      expect(strayRequests).toEqual([]);
    }
  });
});
