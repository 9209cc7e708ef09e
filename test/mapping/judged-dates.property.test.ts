import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { mapTables } from '../../src/mapping/map-tables.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';
import { CONTEXT, mappingOf, table } from './mapping-setup.ts';

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 0, 1);
const DATED = mappingOf(`
import: products
columns: { code: Code, price: Price, sale: Sale, from: From, to: To }
product: { url: code, title: code }
variants: { sku: code, pricing: { regular: price, sale: sale, from: [from, date], to: [to, date] } }
`);

async function mapAt(now: number, rows: readonly (readonly string[])[]) {
  const mapping = compileMapping(DATED, { ...CONTEXT, now });
  const mapped: unknown[] = [];
  for await (const batch of mapTables(mapping, [table(['Code', 'Price', 'Sale', 'From', 'To'], rows)], {
    openScratch: openRowScratch,
  })) {
    mapped.push(...batch);
  }
  return { mapped: JSON.stringify(mapped), dates: mapping.mapper.clock.judged() };
}

const moment = fc.integer({ min: -12, max: 24 * 22 }).map((hours) => FIRST_DAY + (hours * DAY_MS) / 24);
const day = fc.option(fc.integer({ min: 1, max: 20 }), { nil: null });
const dated = fc.record({ from: day, to: day });

it('the dates that a mapping has judged say until when, and since when, it makes the same of its rows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(dated, { maxLength: 5 }), moment, moment, async (sales, now, later) => {
      const rows = sales.map(({ from, to }, index) => [
        ...[`p${index}`, '10', '7'],
        ...[from, to].map((date) => (date === null ? '' : `2026-01-${String(date).padStart(2, '0')}`)),
      ]);
      const planned = await mapAt(now, rows);
      const { since = null, until = null } = planned.dates ?? {};
      if (since !== null) expect(since).toBeLessThanOrEqual(now);
      if (until !== null) expect(until).toBeGreaterThan(now);
      const holds = (since === null || later >= since) && (until === null || later < until);
      const then = await mapAt(later, rows);
      if (holds) expect(then.mapped).toBe(planned.mapped);
      expect(planned.dates === null).toBe(sales.every(({ from, to }) => from === null && to === null));
    }),
  );
});
