import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactJson, exactStringify, exactText } from '../../src/export/exact-json.ts';
import { orderShape } from './order-shape.ts';

const columnsOf = async (...orders: readonly unknown[]) =>
  (await orderShape(orders.map((order) => JSON.stringify(order)))).columns;

const cellsOf = async (order: unknown, columns: readonly string[]) =>
  (await orderShape([], { columns })).cells(JSON.stringify(order));

describe('the columns of orders', () => {
  it('are the fields that have a value, nested ones by their path', async () => {
    expect(
      await columnsOf({ id: 1, customer: { name: 'Ada', address: { city: 'Bath' } }, tags: [], items: [{}] }),
    ).toEqual(['id', 'customer.name', 'customer.address.city', 'tags', 'items']);
  });

  it('are where later orders have them', async () => {
    const orders = [
      { id: 1, total: 2 },
      { id: 2, coupon: { code: 'X' }, total: 3, note: '' },
    ];
    expect(await columnsOf(...orders)).toEqual(['id', 'coupon.code', 'total', 'note']);
  });

  it('leave out a field that is null wherever it is no object, and keep one that is always null', async () => {
    expect(await columnsOf({ shipping: null, gone: null }, { shipping: { zip: '1' } })).toEqual([
      'shipping.zip',
      'gone',
    ]);
    expect(await columnsOf({ shipping: 'none' }, { shipping: { zip: '1' } })).toEqual([
      'shipping.zip',
      'shipping',
    ]);
  });

  it('never share a name: dots and backslashes in names differ from those between names', async () => {
    const order = { 'a.b': 1, a: { b: 2, '': 3 }, 'a\\': { b: 4 }, '': 5 };
    const names = await columnsOf(order);
    expect(new Set(names).size).toBe(5);
    expect(await cellsOf(order, names)).toEqual(['1', '2', '3', '4', '5']);
  });

  it('are inert names', async () => {
    const order = '{"__proto__": {"polluted": 1}, "constructor": 2, "toString": null}';
    const shape = await orderShape([order]);
    expect(shape.columns).toEqual(['__proto__.polluted', 'constructor', 'toString']);
    expect(shape.cells(order)[0]).toBe('1');
    expect(await cellsOf({}, ['constructor.name', '__proto__'])).toEqual(['', '']);
  });

  it('are refused when names are data', async () => {
    const order = Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`id${index}`, 1]));
    await expect(columnsOf(order)).rejects.toThrow(/more than 2000 different fields/);
  });

  it('lead back to the value, whatever the names are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string(), { minLength: 1, maxLength: 4 }), async (names) => {
        const order = names.reduceRight<unknown>((value, name) => Object.fromEntries([[name, value]]), 1);
        const shape = await orderShape([JSON.stringify(order)]);
        expect(shape.columns).toHaveLength(1);
        expect(shape.cells(JSON.stringify(order))).toEqual(['1']);
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
  ])('of %j is %j', async (value, text) => {
    expect(await cellsOf({ value }, ['value'])).toEqual([text]);
  });

  it('takes one value of a list, or that of each', async () => {
    const order = { items: [{ sku: 'A', options: ['x'] }, { quantity: 2 }] };
    const columns = ['items.0.sku', 'items.sku', 'items.options', 'items.7.sku', 'items.nothing'];
    expect(await cellsOf(order, columns)).toEqual(['A', 'A; ', '[["x"],null]', '', '']);
  });
});

describe('JSON with all its digits', () => {
  it.each([
    ['12345678901234567890', '12345678901234567890'],
    ['9007199254740993', '9007199254740993'],
    ['0.1234567890123456789', '0.1234567890123456789'],
    ['1e400', '1e400'],
    ['0.0000001', '0.0000001'],
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
