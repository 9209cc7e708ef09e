import { expect, it } from 'vitest';
import { orderShape } from './order-shape.ts';

const ORDER =
  '{"id":7,"createdOn":1793512800,"created":1793512800,"items":[{"createdOn":1},{"createdOn":2}],"note":"1793512800"}';
const COLUMNS = ['id', 'createdOn', 'created', 'items.createdOn', 'note'];

it('the time of an order is a date where a spreadsheet reads it, and stays as it is elsewhere', async () => {
  const cells = async (format: 'csv' | 'excel-csv', columns: readonly string[], order: string) =>
    (await orderShape([], { format, columns })).cells(order);
  expect(await cells('excel-csv', COLUMNS, ORDER)).toEqual([
    '7',
    '2026-11-01 06:00:00',
    '2026-11-01 06:00:00',
    '1; 2',
    '1793512800',
  ]);
  expect(await cells('csv', COLUMNS, ORDER)).toEqual(['7', '1793512800', '1793512800', '1; 2', '1793512800']);
  for (const odd of ['null', '"soon"', '-5', '1.5', '99999999999999'])
    expect((await cells('excel-csv', ['createdOn'], `{"createdOn":${odd}}`))[0]).not.toContain(':');
});
