import { shapeOf } from '../../src/export/writing/row-shape.ts';

/** How orders, as JSON, become lines; without named columns those that the orders have. */
export function orderShape(
  orders: readonly string[],
  { format = 'csv', columns }: { format?: 'csv' | 'excel-csv'; columns?: readonly string[] } = {},
) {
  const destination = { path: 'orders.csv', mode: 'replace', format } as const;
  return shapeOf(
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
}
