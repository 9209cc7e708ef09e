import type { CatalogRow } from './catalog-rows.ts';
import {
  advancedOf,
  type Expectation,
  type ExpectedLoss,
  type ExpectedProduct,
  prices,
  unique,
  variant,
} from './expectation.ts';

const column = {
  id: ['ID'],
  type: ['Type', 'Tipo'],
  sku: ['SKU', 'REF'],
  name: ['Name', 'Nome'],
  published: ['Published', 'Publicado'],
  visibility: ['Visibility in catalog', 'Catalog visibility', 'Visibilidade no catálogo'],
  inStock: ['In stock?', 'Em estoque?'],
  stock: ['Stock', 'Estoque'],
  weight: ['Weight (kg)', 'Peso (kg)'],
  sale: ['Sale price', 'Preço promocional'],
  regular: ['Regular price', 'Preço'],
  images: ['Images', 'Imagens'],
  parent: ['Parent', 'Produto ascendente'],
  file: ['Download 1 URL'],
} as const;

const attributes = [1, 2, 3, 4] as const;
const attributeName = (row: CatalogRow, n: number) =>
  row.cell(`Attribute ${n} name`, `Nome do atributo ${n}`);
const attributeValue = (row: CatalogRow, n: number) =>
  row.cell(`Attribute ${n} value(s)`, `Valores do atributo ${n}`);

/** A row with a parent is a variation of the row with that SKU or id; any other row is a product. */
export function countWooCommerce(rows: readonly CatalogRow[]): Expectation {
  const products: ExpectedProduct[] = [];
  const skipped: ExpectedLoss[] = [];
  for (const row of rows.filter((candidate) => candidate.cell(...column.parent) === '')) {
    const names = [row.cell(...column.sku), `id:${row.cell(...column.id)}`].filter((name) => name !== '');
    const children = rows.filter((child) => names.includes(child.cell(...column.parent)));
    const loss = { title: row.cell(...column.name), rows: 1 + children.length };
    if (['grouped', 'external'].includes(row.cell(...column.type)))
      skipped.push({ ...loss, why: 'has no price of its own or is sold elsewhere' });
    else if (children.length === 0 && row.cell(...column.regular) === '')
      skipped.push({ ...loss, why: 'has no price' });
    else products.push(product(row, children));
  }
  return { rows: rows.length, products, rejected: [], skipped };
}

function product(row: CatalogRow, children: CatalogRow[]): ExpectedProduct {
  const names = attributes
    .map((n) => attributeName(row, n))
    .filter((name) => name !== '' && children.some((child) => namesAttribute(child, name)));
  const variants = (children.length > 0 ? children : [row]).flatMap((sold) => {
    const sale = sold.cell(...column.sale);
    const stock = sold.cell(...column.stock);
    const weight = sold.cell(...column.weight) || row.cell(...column.weight);
    // A variation without a value for an attribute is bought with any that its product lists.
    const choices = names
      .map((name) =>
        attributeOf(sold, name) === '' ? splitList(attributeOf(row, name)) : [attributeOf(sold, name)],
      )
      .reduce<string[][]>(
        (made, values) => made.flatMap((one) => values.map((value) => [...one, value])),
        [[]],
      );
    return choices.map((choice) =>
      variant(choice, prices(Number(sold.cell(...column.regular)), sale === '' ? null : Number(sale)), {
        quantity: stock === '' ? (sold.cell(...column.inStock) === '0' ? 0 : undefined) : Number(stock),
        sku: sold.cell(...column.sku),
        weight: weight === '' ? undefined : Number(weight),
      }),
    );
  });
  const file = row.cell(...column.file);
  const virtual = (children.length > 0 ? children : [row]).every((sold) =>
    sold.cell(...column.type).includes('virtual'),
  );
  return {
    title: row.cell(...column.name),
    type: file !== '' ? 'digital' : virtual ? 'service' : 'physical',
    hidden: row.cell(...column.published) !== '1' || row.cell(...column.visibility) === 'hidden',
    images: unique(
      [row, ...children].flatMap((one) => one.cell(...column.images).split(', ')).filter((url) => url !== ''),
    ),
    options: names.map((name, index) => {
      const used = unique(variants.map(({ options }) => options[index] ?? ''));
      const listed = splitList(attributeOf(row, name));
      return {
        name,
        values: used.toSorted((one, other) => listed.indexOf(one) - listed.indexOf(other)),
        advanced: advancedOf(variants),
      };
    }),
    variants,
    rows: 1 + children.length,
  };
}

/** Commas within a value are written with a backslash. */
function splitList(text: string): string[] {
  return text.split(/(?<!\\), /).map((value) => value.replaceAll('\\,', ','));
}

function namesAttribute(row: CatalogRow, name: string): boolean {
  return attributes.some((n) => attributeName(row, n) === name);
}

function attributeOf(row: CatalogRow, name: string): string {
  const n = attributes.find((candidate) => attributeName(row, candidate) === name);
  return n === undefined ? '' : attributeValue(row, n);
}
