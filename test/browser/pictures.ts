import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import type { ServedDashboard } from '../dashboard/server/running-dashboard.ts';
import { makeXlsx } from '../tables/workbooks.ts';
import type { SampleShop } from './sample-shop.ts';
import { signIn } from './visitor.ts';

/** The folder of the pictures of the documents, and what they show in words. */
export const IMAGES = join(import.meta.dirname, '..', '..', 'docs', 'images');
export const WORDS_FILE = 'words.json';

/** The words of each picture, by its name. */
export type PictureWords = Readonly<Record<string, readonly string[]>>;

interface Picture {
  readonly name: string;
  readonly width: number;
  /** The last element that it shows. */
  readonly lowest: string;
  readonly open: (page: Page, scene: PictureScene) => Promise<void>;
}

interface PictureScene {
  readonly shop: SampleShop;
  readonly dashboard: ServedDashboard;
}

/** A price list as people keep it: a title above the header, a heading between the rows, a price in words. */
const PRICE_LIST = [
  ['Spring prices 2031', '', '', '', ''],
  ['Item no.', 'Name', 'Price', 'Stock', 'Picture'],
  ['Drinking', '', '', '', ''],
  ['M-100', 'Tideline mug', 12.5, 40, 'https://shop.example/img/mug.jpg'],
  ['M-101', 'Harbour cup', 9, 12, 'https://shop.example/img/cup.jpg'],
  ['Serving', '', '', '', ''],
  ['J-200', 'Storm jug', 34, 5, 'https://shop.example/img/jug.jpg'],
  ['J-201', 'Pier carafe', 'on request', 0, 'https://shop.example/img/carafe.jpg'],
];

/** The pictures of the documents: the sample jobs, whose last run of the catalog was stopped, and a new job. */
export const PICTURES: readonly Picture[] = [
  {
    name: 'report.png',
    width: 880,
    lowest: '.report > :nth-child(3)',
    open: async (page, { shop }) =>
      void (await page.goto(pathToFileURL(shop.artifact(shop.catalogRuns.at(-1) ?? '', 'report.html')).href)),
  },
  {
    name: 'dashboard.png',
    width: 1120,
    lowest: '#quiet-jobs',
    open: async (page, { dashboard }) => await signIn(page, dashboard),
  },
  {
    name: 'new-job.png',
    width: 1120,
    lowest: '.file-grid',
    async open(page, { dashboard }) {
      await page.goto(new URL('/new', dashboard.url).href);
      await page.getByLabel('CSV, Excel').setInputFiles({
        name: 'spring-prices.xlsx',
        mimeType: 'application/octet-stream',
        buffer: makeXlsx([{ name: 'Prices', rows: PRICE_LIST, merged: ['A1:E1'] }]),
      });
      await page.getByRole('button', { name: 'Upload' }).click();
      await page.locator('.first-record').waitFor();
    },
  },
];

/** What is written in fixed words on the part of a page that a picture shows: headings, buttons, columns, terms. */
export async function wordsOf(page: Page, { lowest }: Picture): Promise<string[]> {
  const edge = await lowerEdge(page, lowest);
  const found = await page.evaluate<{ words: string; top: number }[]>(`
    [...document.querySelectorAll(':is(h1, h2, h3, button, label, legend, th, dt, summary, nav a, a.button)')]
      .filter((element) => element.checkVisibility() && !element.querySelector('select'))
      .map((element) => ({ words: element.innerText, top: element.getBoundingClientRect().top + scrollY }))`);
  const words = found
    .filter(({ top }) => top < edge)
    .map((one) => one.words.replaceAll(/\s+/g, ' ').trim())
    // Figures, dates and ids differ from run to run.
    .filter((text) => text !== '' && !/\d/.test(text));
  return [...new Set(words)];
}

/** Where an element of a page ends, in pixels from the top. */
export async function lowerEdge(page: Page, element: string): Promise<number> {
  const box = await page.locator(element).first().boundingBox();
  if (box === null) throw new Error(`${element} is not to be seen`);
  return Math.ceil(box.y + box.height);
}
