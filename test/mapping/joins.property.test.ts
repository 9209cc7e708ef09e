import fc from 'fast-check';
import { expect, it } from 'vitest';
import { joinOpeners } from '../../src/mapping/compile-mapping.ts';
import { mappingOf } from './mapping-setup.ts';

const SPEC = mappingOf(`
import: products
columns: { code: Code }
lookups:
  t:
    path: t.csv
    match: Key
    join:
      on: code
      columns: { sum: { sum: N }, min: { min: N }, max: { max: N }, first: { first: N }, count: { count: N }, only: N }
product: { url: code, title: code }
variants: { pricing: { price: 1 } }
`);

const row = fc.record({
  key: fc.constantFrom('a', 'A ', 'b', 'c', ''),
  cents: fc.option(fc.integer({ min: -99_999, max: 99_999 }), { nil: null }),
});

it('a joined table holds what its rows hold of each key, in exact numbers', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 30 }), (rows) => {
      const table = joinOpeners(SPEC, {}).get('t')?.open('t.csv', ['Key', 'N']);
      if (table === undefined) throw new Error('no join');
      const text = (cents: number) => String(cents / 100);
      for (const [index, { key, cents }] of rows.entries()) {
        table.add({ cells: [key, cents === null ? '' : text(cents)], line: index + 2 }, 2);
      }
      const keys = new Set(rows.map(({ key }) => key.trim().toLowerCase()).filter((key) => key !== ''));
      expect(table.size).toBe(keys.size);
      for (const key of keys) {
        const number = table.find(` ${key.toUpperCase()}`) ?? expect.fail();
        const own = rows
          .filter((one) => one.key.trim().toLowerCase() === key)
          .flatMap(({ cents }) => (cents === null ? [] : [cents]));
        const cell = (name: string) =>
          table.cell(
            number,
            table.columns.findIndex((one) => one.name === name),
          );
        const some = own.length > 0;
        expect(cell('sum')).toBe(some ? text(own.reduce((a, b) => a + b)) : '');
        expect(cell('min')).toBe(some ? text(Math.min(...own)) : '');
        expect(cell('max')).toBe(some ? text(Math.max(...own)) : '');
        expect(cell('first')).toBe(some ? text(own[0] ?? 0) : '');
        expect(cell('count')).toBe(String(own.length));
        expect(table.fault(number)?.code).toBe(new Set(own).size > 1 ? 'join-ambiguous' : undefined);
      }
      expect(table.find('d')).toBeUndefined();
    }),
  );
});
