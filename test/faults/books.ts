import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CatalogProduct, shopifyCatalog } from '../support/catalog.ts';
import { errorAnswer, type FaultRule } from '../support/store/faults.ts';
import type { Store } from '../support/store.ts';
import type { Workspace } from '../support/workspace.ts';

/** A catalog with something of each kind: what arrives, what no mapping can read, what the store refuses. */
export interface Books {
  readonly products: readonly CatalogProduct[];
  readonly csv: string;
}

const UNMAPPABLE = 'unmappable-';
const REFUSED = 'refused-';
/** How urls begin of products that somebody has made in the store by hand. */
export const STRANGER = 'by-hand-';

/** The store's part: it refuses its share, and says why with more than it should. */
export function refusal(apiKey: string): FaultRule {
  return {
    name: '422',
    does: errorAnswer(422, `Too dear, said Bearer ${apiKey}`),
    keys: (key) => key.startsWith(REFUSED),
  };
}

/** Books of so many products, of one to three rows each; chance decides on prices and kinds. */
export function makeBooks(count: number, random: () => number): Books {
  return booksOf(Array.from({ length: count }, (_, index) => makeProduct(index + 1, random)));
}

function booksOf(products: readonly CatalogProduct[]): Books {
  return { products, csv: shopifyCatalog(products) };
}

function makeProduct(number: number, random: () => number): CatalogProduct {
  const chance = random();
  const kind = chance < 0.04 ? UNMAPPABLE : chance < 0.07 ? REFUSED : 'item-';
  const price = kind === UNMAPPABLE ? 'a song' : priceOf(random);
  const sizes = 1 + Math.floor(random() * 3);
  return { handle: `${kind}${number}`, title: `Product ${number}`, price, sizes };
}

function priceOf(random: () => number): string {
  return (1 + Math.floor(random() * 9_900) / 100).toFixed(2);
}

/** The books of the next run: a third of the prices changed, a few products gone, as many new. */
export function nextBooks({ products }: Books, random: () => number): Books {
  const last = Math.max(...products.map(({ handle }) => Number(handle.split('-')[1])));
  const kept = products.filter(() => random() > 0.02);
  const changed = kept.map((product) =>
    product.handle.startsWith(UNMAPPABLE) || random() > 0.33
      ? product
      : { ...product, price: priceOf(random) },
  );
  const added = Array.from({ length: products.length - kept.length }, (_, index) =>
    makeProduct(last + 1 + index, random),
  );
  return booksOf([...changed, ...added]);
}

/** What does not add up after a run, counted by looking at the store and at the rejects file. */
export interface Audit {
  /** Source rows that are neither in the store as they stand nor in the rejects file. */
  readonly missing: number;
  /** Products of the store that the source no longer has. */
  readonly left: number;
  /** Records that the summary does not account for. */
  readonly unaccounted: number;
  /** Refused by the store and not in the rejects file. */
  readonly rejectionsLost: number;
}

/** Holds what a finished run says against the store and the rejects file. */
export async function audit(
  books: Books,
  store: Store,
  workspace: Workspace,
  summary: Readonly<Record<string, unknown>>,
): Promise<Audit> {
  const rejects = await rejectedRows(workspace, summary['rejectsFile']);
  let missing = 0;
  let rejectionsLost = 0;
  for (const product of books.products) {
    const { handle, sizes = 1 } = product;
    if (handle.startsWith('item-')) {
      if (!isStored(product, store)) missing += sizes;
      continue;
    }
    const lost = sizes - (rejects.get(handle) ?? 0);
    missing += lost;
    if (handle.startsWith(REFUSED)) rejectionsLost += lost;
  }
  const wanted = new Set(books.products.map(({ handle }) => handle));
  const left = [...store.shop.products.values()].filter(
    ({ url = '' }) => !wanted.has(url) && !url.startsWith(STRANGER),
  ).length;
  const parts = ['applied', 'unchanged', 'rejected', 'unsent', 'skipped'];
  const sum = parts.reduce((total, part) => total + Number(summary[part]), 0);
  return { missing, left, unaccounted: Math.abs(Number(summary['records']) - sum), rejectionsLost };
}

/** How many of the products the store does not hold as they are given. */
export function wrongIn(store: Store, products: readonly CatalogProduct[]): number {
  return products.filter((product) => !isStored(product, store)).length;
}

function isStored({ handle, title, price, sizes = 1 }: CatalogProduct, store: Store): boolean {
  const stored = store.shop.byUrl(handle);
  const variants = stored?.variants ?? [];
  return (
    stored?.title === title &&
    variants.length === sizes &&
    variants.every((variant) => variant.price === Number(price))
  );
}

/** How many rows of each handle the rejects file has. */
async function rejectedRows(workspace: Workspace, file: unknown): Promise<Map<string, number>> {
  const rows = new Map<string, number>();
  if (typeof file !== 'string') return rows;
  const text = await readFile(join(workspace.dir, file), 'utf8');
  for (const line of text
    .replace(/^\ufeff/, '')
    .split('\n')
    .slice(1)) {
    const [handle = ''] = line.split(',');
    rows.set(handle, (rows.get(handle) ?? 0) + 1);
  }
  return rows;
}
