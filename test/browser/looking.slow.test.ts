import { globSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServedDashboard, serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { axeFindings, COLOUR_RULES, describeWithBrowser, openBrowser } from '../support/browser.ts';
import { IMAGES, PICTURES, type PictureWords, WORDS_FILE, wordsOf } from './pictures.ts';
import { type SampleShop, sampleShop } from './sample-shop.ts';
import { DESKTOP, openVisitor, PHONE, signIn } from './visitor.ts';

const DAYS = 3;

/**
 * What is wrong with the look of a page as it is open, in the light and in the dark: axe-core's findings, its headings, and what
 * lies beyond its edge. The dark differs by the colours of `light-dark()` alone, so only the rules about colours are asked again.
 */
async function findings(page: Page, name: string): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    const seen = await axeFindings(page, colorScheme === 'dark' ? COLOUR_RULES : undefined);
    if ((await page.locator('h1').count()) !== 1) seen.push('it has not one h1');
    seen.push(...(await beyondEdge(page)));
    found.push(...seen.map((text) => `${name}, ${colorScheme}: ${text}`));
  }
  return found;
}

interface FocusedControl {
  readonly at: string;
  readonly words: string;
  readonly isSeen: boolean;
}

/** Numbers what a keyboard must reach, and counts it; of radio buttons with one name it reaches one. */
const MARK_CONTROLS = `(() => {
  document.activeElement?.blur();
  const groups = new Set();
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary')].filter((one) => {
    if (one.disabled || one.type === 'hidden' || !one.checkVisibility({ visibilityProperty: true })) return false;
    if (one.type !== 'radio') return true;
    return !groups.has(one.name) && groups.add(one.name);
  });
  for (const [index, one] of controls.entries()) {
    const alike = one.type === 'radio' ? document.getElementsByName(one.name) : [one];
    for (const each of alike) each.dataset.control = index;
  }
  return controls.length;
})()`;
const FOCUSED_CONTROL = `(() => {
  const { activeElement: one } = document;
  const { outlineStyle, boxShadow } = getComputedStyle(one);
  // The browser marks the part of a date that has the focus.
  const isSeen = one === document.body || one.type === 'date' || outlineStyle !== 'none' || boxShadow !== 'none';
  return { at: one.dataset.control ?? '', words: (one.innerText || one.id || one.tagName), isSeen };
})()`;

async function beyondEdge(page: Page): Promise<string[]> {
  const beyond = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return beyond > 0 ? [`scrolls ${beyond} px sideways`] : [];
}

describeWithBrowser('every page in a browser', () => {
  let shop: SampleShop;
  let dashboard: ServedDashboard;
  let browser: Browser;

  beforeAll(async () => {
    [shop, browser] = await Promise.all([sampleShop(DAYS), openBrowser()]);
    dashboard = await serveDashboard(shop.workspace);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.[Symbol.asyncDispose]();
  });

  const address = (path: string) => new URL(path, dashboard.url).href;
  const pages = (): string[] => {
    const { catalogRuns, contacts, lists } = shop;
    const [first, rejected, stopped] = catalogRuns;
    return [
      ...['/', '/jobs/nightly-catalog', '/jobs/bulk-contacts', '/jobs/list-statistics', '/runs'],
      ...[first, rejected, stopped, contacts, lists].map((run) => `/runs/${run}`),
      ...['/lists/list-statistics', '/jobs/nightly-catalog/run', '/jobs/nightly-catalog/plan'],
      ...[`/runs/${stopped}/approve`, `/runs/${stopped}/interrupt`, `/runs/${contacts}/retry`],
      ...['/records', '/records?q=mug', `/runs/${stopped}/outcomes`],
      ...[`/runs/${stopped}/records`, `/runs/${stopped}/records?key=tideline-mug`],
      ...['/runs/nosuch', '/elsewhere'],
    ];
  };
  /** The pages with forms. */
  const forms = (): string[] => {
    const { catalogRuns, contacts } = shop;
    const [, rejected, stopped] = catalogRuns;
    const ofJob = 'verify drift duplicate rename remove edit columns upload leave-out'.split(' ');
    return [
      ...ofJob.map((page) => `/jobs/nightly-catalog/${page}`),
      ...['/jobs/list-statistics/edit', '/jobs/bulk-contacts/edit', '/jobs/bulk-contacts/columns'],
      ...[`/runs/${stopped}/discard`, `/runs/${rejected}/undo`, `/runs/${contacts}/rejects`],
      ...['/stores', '/stores/new', '/stores/main/edit', '/exports/new', '/new', '/tokens', '/audit'],
    ];
  };

  it('is dark by other colours alone', () => {
    const sheets = globSync(join(import.meta.dirname, '../../src/**/*.css'));
    expect(sheets.filter((file) => readFileSync(file, 'utf8').includes('light-dark('))).not.toEqual([]);
    expect(sheets.filter((file) => readFileSync(file, 'utf8').includes('prefers-color-scheme'))).toEqual([]);
  });

  it.each([
    ['on a desk', { viewport: DESKTOP, colorScheme: 'light' }],
    ['on a phone', { viewport: PHONE, isMobile: true, hasTouch: true, colorScheme: 'light' }],
  ] as const)('has nothing against it, and fits, %s, in the light and in the dark', async (_, look) => {
    const { page, complaints, strayRequests } = await openVisitor(browser, look);
    await page.goto(dashboard.url);
    const found = await findings(page, '/sign-in');
    await signIn(page, dashboard);
    const isWide = look.viewport === DESKTOP;
    for (const path of [...pages(), ...forms()]) {
      await page.goto(address(path));
      found.push(...(await findings(page, path)));
      if (!isWide) continue;
      // At 200 % a window has half as many pixels.
      await page.setViewportSize({ width: DESKTOP.width / 2, height: DESKTOP.height / 2 });
      found.push(...(await beyondEdge(page)).map((text) => `${path} at 200 %: ${text}`));
      await page.setViewportSize(DESKTOP);
    }
    if (isWide) {
      await PICTURES.find(({ name }) => name === 'new-job.png')?.open(page, { shop, dashboard });
      found.push(...(await findings(page, 'the file of a new job')));
    }
    expect(found).toEqual([]);
    expect(complaints).toEqual([]);
    expect(strayRequests).toEqual([]);
  });

  it('looks as the pictures of the documents show it (npm run screenshots)', async () => {
    const shown: PictureWords = JSON.parse(await readFile(join(IMAGES, WORDS_FILE), 'utf8'));
    const { page } = await openVisitor(browser);
    for (const picture of PICTURES) {
      await picture.open(page, { shop, dashboard });
      const words = new Set(await wordsOf(page, picture));
      const gone = shown[picture.name]?.filter((text) => !words.has(text));
      expect([picture.name, gone]).toEqual([picture.name, []]);
    }
  });

  it.each([DESKTOP, PHONE])('has nothing against the people and their sign-in, %o', async (viewport) => {
    const { workspace } = shop;
    const add = ['people', 'add', 'anna@shop.example', '--role', 'approve', '--by-proxy'];
    await workspace.storeferry(...add);
    const { page } = await openVisitor(browser, { viewport });
    await page.goto(address('/sign-in'));
    await page.getByText('Sign in with a token').click();
    const found = await findings(page, '/sign-in');
    await workspace.storeferry('people', 'remove', 'anna@shop.example');
    await signIn(page, dashboard);
    await workspace.storeferry(...add);
    await page.goto(address('/people'));
    found.push(...(await findings(page, '/people')));
    await workspace.storeferry('people', 'remove', 'anna@shop.example');
    expect(found).toEqual([]);
  });

  it('opens a report as a file, without a network, a script or a complaint', async () => {
    for (const run of [...shop.catalogRuns, shop.contacts, shop.lists]) {
      const { page, complaints } = await openVisitor(browser);
      const requests: string[] = [];
      page.on('request', (request) => requests.push(request.url()));
      const file = pathToFileURL(shop.artifact(run, 'report.html')).href;
      await page.goto(file);
      await page.locator('.lead').waitFor();
      expect(requests).toEqual([file]);
      expect(complaints).toEqual([]);
      expect(await findings(page, run)).toEqual([]);
      await page.context().close();
    }
  });

  it('shows the report as it is mailed, where no script could run', async () => {
    const { page } = await openVisitor(browser);
    await signIn(page, dashboard);
    await page.goto(address(`/runs/${shop.catalogRuns[1]}`));
    await page.getByRole('link', { name: 'The report as one file' }).click();
    await page.locator('.report-file .lead').waitFor();
    expect(await page.locator('.report-file').innerText()).toContain('Done, with rejects');
  });

  it('shows everything to the read-only token, and offers nothing to do', async () => {
    const { page } = await openVisitor(browser);
    await signIn(page, dashboard, 'readOnly');
    const stopped = shop.catalogRuns.at(-1);
    for (const path of ['/', '/jobs/nightly-catalog', `/runs/${stopped}`, `/runs/${shop.contacts}`]) {
      await page.goto(address(path));
      const offered = await page.locator('main :is(a.button, button)').allInnerTexts();
      expect(offered.filter((words) => !/^(Trends|See the trends)/.test(words))).toEqual([]);
    }
    for (const path of [
      `/runs/${stopped}/approve`,
      '/jobs/nightly-catalog/run',
      `/runs/${shop.contacts}/retry`,
    ]) {
      expect((await page.goto(address(path)))?.status()).toBe(403);
      await page.getByRole('heading', { name: 'Read-only access' }).waitFor();
    }
    // Who keeps a form from elsewhere, with the token of this session, is refused as well.
    await page.goto(address(`/runs/${stopped}`));
    await page.evaluate(`(() => {
      const form = document.querySelector('form.sign-out');
      form.action = '/runs/${stopped}/approve';
      form.append(Object.assign(document.createElement('input'), { name: 'once', value: crypto.randomUUID() }));
      form.submit();
    })()`);
    await page.getByRole('heading', { name: 'Read-only access' }).waitFor();
    expect((await shop.workspace.storeferry('runs', String(stopped))).stdout).toContain(
      'stopped by a safety limit',
    );
  });

  it('is used by the keyboard alone, from the link that skips to the content to the button that begins', async () => {
    const { page, complaints } = await openVisitor(browser);
    const focused = async () =>
      await page.evaluate<string>(`(document.activeElement?.innerText ?? '').replace(/\\s+/g, ' ').trim()`);
    const tabTo = async (words: string, most: number) => {
      const passed: string[] = [];
      while (passed.at(-1) !== words) {
        if (passed.length > most) throw new Error(`${words} is not among ${passed.join(', ')}`);
        await page.keyboard.press('Tab');
        passed.push(await focused());
      }
      return passed;
    };
    await page.goto(dashboard.url);
    // The field for the token has the focus by itself.
    await page.locator('#token:focus').waitFor();
    await page.keyboard.type(dashboard.tokens.full);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    await page.goto(address('/jobs/list-statistics'));
    expect(await tabTo('Sign out', 9)).toEqual([
      ...['Skip to the content', 'Storeferry my-shop', 'Jobs', 'Runs', 'Records', 'Lists', 'Stores'],
      'Sign out',
    ]);
    await page.goto(address('/jobs/list-statistics'));
    await page.keyboard.press('Tab');
    const skip = page.locator('.skip-link');
    expect((await skip.boundingBox())?.y).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    await tabTo('Run list-statistics', 4);
    expect(await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')).toBe(
      'solid',
    );
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Run list-statistics?' }).waitFor();
    await tabTo('Run now', 20);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\/\w+$/);
    await page.locator('.lead .badge', { hasText: 'Done' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('lets the keyboard reach each control of each page, and shows where it is', async () => {
    const { page } = await openVisitor(browser);
    await signIn(page, dashboard);
    for (const path of [...pages(), ...forms()]) {
      await page.goto(address(path));
      const controls = await page.evaluate<number>(MARK_CONTROLS);
      const missed = new Set(Array.from({ length: controls }, (_, index) => `${index}`));
      const unseen: string[] = [];
      for (let tabs = 0; tabs < controls + 20 && missed.size > 0; tabs++) {
        await page.keyboard.press('Tab');
        const { at, words, isSeen } = await page.evaluate<FocusedControl>(FOCUSED_CONTROL);
        missed.delete(at);
        if (!isSeen) unseen.push(words);
      }
      expect([path, [...missed], unseen]).toEqual([path, [], []]);
    }
  });

  it('works without JavaScript, where a run under way says how to reload', async () => {
    const { page } = await openVisitor(browser, { javaScriptEnabled: false });
    await signIn(page, dashboard);
    await page.getByRole('link', { name: 'Plan nightly-catalog' }).click();
    await page.getByRole('button', { name: 'Plan now' }).click();
    await page.waitForURL(/\/runs\/\w+$/);
    const again = page.getByRole('link', { name: 'reload' });
    const outcome = async () => {
      if ((await again.count()) > 0) await again.click();
      return (await page.locator('.lead .badge').allInnerTexts()).join();
    };
    await expect.poll(outcome).toBe('Stopped by a safety limit');
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByLabel('Outcome').selectOption({ label: 'Done' });
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/status=done/);
    expect(new Set(await page.locator('tbody .badge').allInnerTexts())).toEqual(new Set(['Done']));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
  });
});
