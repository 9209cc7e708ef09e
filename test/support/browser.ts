import { existsSync } from 'node:fs';
import axe, { type AxeResults } from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { describeWithServer } from './describe-with-server.ts';
import { patience } from './pace.ts';
import { endWithTest, succeeds } from './processes.ts';

/** Debian's Chromium, the one without windows where it is there; `STOREFERRY_CHROMIUM` may name another one. */
export const CHROMIUM =
  process.env['STOREFERRY_CHROMIUM'] ||
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path)) ||
  'chromium';

/** `describe` for tests in a real browser. Without one they are skipped and say so; with `CI` set that fails. */
export function describeWithBrowser(name: string, suite: () => void): void {
  describeWithServer('chromium', succeeds(CHROMIUM, '--version'), name, suite);
}

/** Starts a headless browser that asks nothing of the network but what a page asks. */
export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    timeout: patience(60_000),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  // It ends by itself when the pipe to this process ends.
  browser.once(
    'disconnected',
    endWithTest(() => browser.close()),
  );
  return browser;
}

/** Axe's rules that look at colours. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'] as const;

/** What axe-core finds wrong with a page, by these rules or by all: rule, how bad, and where. */
export async function axeFindings(page: Page, runOnly?: readonly string[]): Promise<string[]> {
  // Evaluated by the debugger's protocol, which the page's content security policy does not bind; once for each document.
  if (await page.evaluate<boolean>('globalThis.axe === undefined')) await page.evaluate(axe.source);
  // Of what passes, axe would describe each element.
  const options = JSON.stringify({ resultTypes: ['violations'], runOnly });
  const run = `axe.run(${options}).then(({ violations }) => violations)`;
  const violations = await page.evaluate<AxeResults['violations']>(run);
  return violations.map(
    ({ id, impact, nodes }) => `${id} (${impact}): ${nodes.map(({ html }) => html).join(' ')}`,
  );
}
