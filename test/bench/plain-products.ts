/** A product as write-catalog.ts means it; what `shopify-products` makes of the same rows. */
export type PlainProduct = Readonly<Record<string, unknown>>;

type PlainRow = Readonly<Record<string, string>>;

/** Rows of one handle, which follow each other, as one product. */
export async function* productsOf(rows: AsyncIterable<PlainRow>): AsyncGenerator<PlainProduct> {
  let group: PlainRow[] = [];
  for await (const row of rows) {
    if (group.length > 0 && group[0]?.['Handle'] !== row['Handle']) {
      yield productOf(group);
      group = [];
    }
    group.push(row);
  }
  if (group.length > 0) yield productOf(group);
}

function productOf(rows: readonly PlainRow[]): PlainProduct {
  const head = rows[0] ?? {};
  const hasOptions = head['Option1 Name'] !== 'Title';
  const values = (name: string) => [...new Set(rows.map((row) => row[name] ?? ''))];
  const kept = [
    'Variant Price',
    'Variant Compare At Price',
    'Variant Inventory Qty',
    'Variant SKU',
    'Variant Grams',
  ];
  const advanced = kept.some((name) => values(name).length > 1);
  const option = (number: number) => ({
    name: head[`Option${number} Name`],
    values: values(`Option${number} Value`),
    advanced,
  });
  return {
    type: 'physical',
    title: head['Title'],
    description: head['Body (HTML)'],
    url: head['Handle'],
    hidden: head['Published'] !== 'true',
    images: rows.map((row) => row['Image Src']),
    categories: [{ name: head['Type'], url: head['Type'], parentCategory: 0 }],
    options: hasOptions ? [option(1), option(2)] : [],
    variants: rows.map((row) => variantOf(row, hasOptions)),
  };
}

function variantOf(row: PlainRow, hasOptions: boolean): object {
  const price = Number(row['Variant Price']);
  const before = Number(row['Variant Compare At Price']);
  const sale =
    before > price
      ? { onSale: true, regularPrice: before, salePrice: price }
      : { onSale: false, regularPrice: price };
  return {
    options: hasOptions ? [row['Option1 Value'], row['Option2 Value']] : [],
    price,
    ...sale,
    quantity: Number(row['Variant Inventory Qty']),
    sku: row['Variant SKU'],
    weight: Number(row['Variant Grams']) / 1_000,
  };
}
