import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { ServedDashboard } from '../dashboard/server/running-dashboard.ts';
import { patience } from '../support/pace.ts';

/** Wide as a desk, and narrow as a hand. */
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 360, height: 780 };

/** Somebody with a browser of their own. */
export interface Visitor {
  readonly page: Page;
  /**
   * What should never be: errors of scripts, messages of the console, dialogs, and what a content security policy has
   * refused. That a document was refused (a wrong token) is not among them.
   */
  readonly complaints: readonly string[];
  /** What was asked for beyond the pages' own server. */
  readonly strayRequests: readonly string[];
}

/** Opens a browser window with nothing remembered. */
export async function openVisitor(browser: Browser, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext({ viewport: DESKTOP, acceptDownloads: true, ...options });
  context.setDefaultTimeout(patience(120_000));
  const page = await context.newPage();
  const complaints: string[] = [];
  const strayRequests: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !isAnswer(message.text()))
      complaints.push(message.text());
  });
  page.on('dialog', async (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on('request', (request) => {
    const { origin } = new URL(request.url());
    if (!request.isNavigationRequest() && origin !== new URL(page.url()).origin)
      strayRequests.push(request.url());
  });
  return { page, complaints, strayRequests };
}

/** Signs in as people do: with the token that was printed. */
export async function signIn(
  page: Page,
  { url, tokens }: ServedDashboard,
  as: 'full' | 'readOnly' = 'full',
): Promise<void> {
  await page.goto(url);
  await page.getByLabel('Token').fill(tokens[as]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
}

/** Counts what a person presses; typing into a field that the keyboard has reached is no click. */
export function counted(page: Page) {
  let clicks = 0;
  const click = async (target: Locator) => {
    clicks += 1;
    await target.click();
  };
  return {
    clicks: () => clicks,
    click,
    /** The file list of the system opens with a click, and takes another. */
    give: async (label: string, name: string, buffer: Buffer) => {
      clicks += 2;
      await page.getByLabel(label).setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    },
    press: (words: string) =>
      click(
        page
          .getByRole('link', { name: words, exact: true })
          .or(page.getByRole('button', { name: words, exact: true })),
      ),
    type: async (label: string, text: string) => {
      clicks += 1;
      await page.getByLabel(label).fill(text);
    },
    /** A list that opens, and its entry. */
    choose: async (label: string, words: string) => {
      clicks += 2;
      await page.getByLabel(label).selectOption(words);
    },
  };
}

/** Chromium says in the console that a document was answered with an error. */
function isAnswer(text: string): boolean {
  return text.startsWith('Failed to load resource: the server responded with a status of 4');
}
