import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactJson, exactStringify, exactText } from '../../src/export/exact-json.ts';
import { cellText, columnName, FoundColumns, pathOf, valueAt } from '../../src/export/writing/row-shape.ts';

const columnsOf = (...orders: readonly unknown[]) => {
  const found = new FoundColumns();
  for (const order of orders) found.add(exactJson(JSON.stringify(order)));
  return found.names();
};

describe('the columns of orders', () => {
  it('are the fields that have a value, nested ones by their path', () => {
    expect(
      columnsOf({ id: 1, customer: { name: 'Ada', address: { city: 'Bath' } }, tags: [], items: [{}] }),
    ).toEqual(['id', 'customer.name', 'customer.address.city', 'tags', 'items']);
  });

  it('are where later orders have them', () => {
    expect(columnsOf({ id: 1, total: 2 }, { id: 2, coupon: { code: 'X' }, total: 3, note: '' })).toEqual([
      'id',
      'coupon.code',
      'total',
      'note',
    ]);
  });

  it('leave out a field that is null wherever it is no object, and keep one that is always null', () => {
    expect(columnsOf({ shipping: null, gone: null }, { shipping: { zip: '1' } })).toEqual([
      'shipping.zip',
      'gone',
    ]);
    expect(columnsOf({ shipping: 'none' }, { shipping: { zip: '1' } })).toEqual(['shipping.zip', 'shipping']);
  });

  it('never share a name: dots and backslashes in names differ from those between names', () => {
    const order = { 'a.b': 1, a: { b: 2, '': 3 }, 'a\\': { b: 4 }, '': 5 };
    const names = columnsOf(order);
    expect(new Set(names).size).toBe(5);
    expect(names.map((name) => valueAt(order, pathOf(name)))).toEqual([1, 2, 3, 4, 5]);
  });

  it('are inert names', () => {
    const order: unknown = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2, "toString": null}');
    const found = new FoundColumns();
    found.add(order);
    expect(found.names()).toEqual(['__proto__.polluted', 'constructor', 'toString']);
    expect(valueAt(order, ['__proto__', 'polluted'])).toBe(1);
    expect(valueAt({}, ['constructor', 'name'])).toBeUndefined();
    expect(valueAt({}, ['__proto__'])).toBeUndefined();
  });

  it('are refused when names are data', () => {
    const order = Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`id${index}`, 1]));
    expect(() => columnsOf(order)).toThrow(/more than 2000 different fields/);
  });

  it('lead back to the value, whatever the names are', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 4 }), (names) => {
        const column = names.reduce<string | null>((parent, name) => columnName(parent, name), null);
        expect(pathOf(column ?? '')).toEqual(names);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a cell', () => {
  it.each([
    [null, ''],
    [undefined, ''],
    [true, 'true'],
    [0, '0'],
    ['', ''],
    ['0x', '0x'],
    [[], ''],
    [['a', null, 2], 'a; ; 2'],
    [[{ a: 1 }], '[{"a":1}]'],
    [[['a']], '[["a"]]'],
    [{}, ''],
    [{ a: [1] }, '{"a":[1]}'],
  ])('of %j is %j', (value, text) => {
    expect(cellText(value)).toBe(text);
  });

  it('takes one value of a list, or that of each', () => {
    const order = { items: [{ sku: 'A', options: ['x'] }, { quantity: 2 }] };
    expect(valueAt(order, pathOf('items.0.sku'))).toBe('A');
    expect(cellText(valueAt(order, pathOf('items.sku')))).toBe('A; ');
    expect(cellText(valueAt(order, pathOf('items.options')))).toBe('[["x"],null]');
    expect(valueAt(order, pathOf('items.7.sku'))).toBeUndefined();
    expect(valueAt(order, pathOf('items.nothing'))).toBeUndefined();
  });
});

describe('JSON with all its digits', () => {
  it.each([
    ['12345678901234567890', '12345678901234567890'],
    ['9007199254740993', '9007199254740993'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['1e400', '1e400'],
    ['1.50', '1.5'],
    ['-7', '-7'],
  ])('reads %s as %s', (number, text) => {
    expect(exactText(exactJson(number))).toBe(text);
    expect(exactStringify(exactJson(`{"a":[${number},"x"]}`))).toBe(`{"a":[${text},"x"]}`);
  });

  it('is what JSON.parse reads where that loses nothing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(exactStringify(exactJson(text)))).toEqual(JSON.parse(text));
      }),
    );
  });
});
