import { shapeOf } from '../../src/export/writing/row-shape.ts';
import { cellAsText } from '../../src/tables/write-table.ts';

/** How orders, as JSON, become lines of text; without named columns those that the orders have. */
export async function orderShape(
  orders: readonly string[],
  { format = 'csv', columns }: { format?: 'csv' | 'excel-csv'; columns?: readonly string[] } = {},
) {
  const destination = { path: 'orders.csv', mode: 'replace', format } as const;
  const shape = await shapeOf(
    {
      export: 'orders',
      destination,
      ...(columns && { columns: columns.map((path) => ({ path, name: path })) }),
    },
    '',
    async function* () {
      yield orders;
    },
  );
  const { columns: names, json } = shape;
  return { columns: names, json, cells: (item: string) => shape.cells(item).map((cell) => cellAsText(cell)) };
}
