import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Mapped, Product } from '../../src/model/mapped-record.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { NO_LIMITS, planOf, record } from './plan-of.ts';

/** What the store should hold: of each product its title, and of each variant its stock and price. */
type Shop = Map<string, { title: string; variants: { quantity: number; price: number }[] }>;

const PRODUCTS = 4;
const VARIANTS = 2;

const turn = fc.oneof(
  fc.record({ job: fc.constant('catalog' as const), title: fc.integer({ min: 0, max: 3 }) }),
  fc.record({
    job: fc.constantFrom('stock' as const, 'prices' as const),
    rows: fc.uniqueArray(
      fc.record({
        product: fc.nat({ max: PRODUCTS }),
        variant: fc.nat({ max: VARIANTS - 1 }),
        value: fc.nat({ max: 2 }),
      }),
      { selector: ({ product, variant }) => `${product}-${variant}` },
    ),
  }),
);
type Turn = typeof turn extends fc.Arbitrary<infer Each> ? Each : never;

function catalogRecords(title: string): Mapped[] {
  return Array.from({ length: PRODUCTS }, (_, at) => {
    const variants = Array.from({ length: VARIANTS }, (_, v) => ({
      ...{ options: [`v${v}`], price: 50, onSale: false, regularPrice: 50, quantity: 50, sku: `${at}-${v}` },
    }));
    const body: Product = { type: 'physical', title, url: `p${at}`, options: [], variants };
    return record(`p${at}`, body, { line: at + 2 });
  });
}

/** Plans a turn, acknowledges all that it sends, and gives how many requests that were. */
async function take(ledger: MemoryLedger, each: Turn): Promise<number> {
  const isCatalog = each.job === 'catalog';
  const mapped = isCatalog
    ? catalogRecords(`title ${each.title}`)
    : each.rows.map(({ product, variant, value }, index) => {
        const sku = `${product}-${variant}`;
        const change =
          each.job === 'stock' ? { quantity: value } : { price: value, onSale: false, regularPrice: value };
        return record(sku, { variants: [{ sku, ...change }] }, { line: index + 2 });
      });
  const { operations } = await planOf({
    mapped,
    ledger,
    options: {
      job: {
        ...{ name: each.job, import: 'products', duplicates: 'reject', safety: NO_LIMITS },
        ...(isCatalog
          ? { mode: 'upsert', keep: ['variants.quantity', 'variants.pricing'] }
          : { mode: 'update', match: 'sku' }),
      },
    },
  });
  for (const operation of operations) {
    if (operation.kind !== 'upsert-product') throw new Error(operation.kind);
    const { key, body, owner = each.job } = operation;
    ledger.put(key, JSON.parse(body), { id: 1 + Number(key.slice(1)), job: owner });
  }
  return operations.length;
}

/** The same, as plainly as possible; gives how many products it changes. */
function reference(shop: Shop, each: Turn): number {
  const before = new Map([...shop].map(([key, value]) => [key, JSON.stringify(value)]));
  if (each.job === 'catalog') {
    for (let at = 0; at < PRODUCTS; at++) {
      const known = shop.get(`p${at}`)?.variants;
      const variants = known ?? Array.from({ length: VARIANTS }, () => ({ quantity: 50, price: 50 }));
      shop.set(`p${at}`, { title: `title ${each.title}`, variants });
    }
  } else {
    for (const { product, variant, value } of each.rows) {
      const found = shop.get(`p${product}`)?.variants[variant];
      if (found !== undefined) found[each.job === 'stock' ? 'quantity' : 'price'] = value;
    }
  }
  return [...shop].filter(([key, value]) => before.get(key) !== JSON.stringify(value)).length;
}

it('jobs that own different fields of the same products change their own, and send only what changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 12 }), async (turns) => {
      const ledger = new MemoryLedger();
      const shop: Shop = new Map();
      for (const each of turns) {
        expect(await take(ledger, each)).toBe(reference(shop, each));
        expect(await take(ledger, each)).toBe(0);
      }
      const held = new Map(
        [...ledger.entries].map(([key, { body, job }]) => {
          expect(job).toBe('catalog');
          const { title, variants }: Product = JSON.parse(body);
          return [
            key,
            { title, variants: variants.map(({ quantity = -1, price }) => ({ quantity, price })) },
          ];
        }),
      );
      expect(held).toEqual(shop);
    }),
    { numRuns: 60 },
  );
});
