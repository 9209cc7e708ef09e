import type { CatalogRow } from './catalog-rows.ts';
import { type Expectation, type ExpectedProduct, optionsInUse, prices, variant } from './expectation.ts';

/**
 * Simples are products unless they are 'Not Visible Individually'; a configurable lists its simples in a cell.
 * Grouped and bundle products have no counterpart in the store's API.
 */
export function countMagento(rows: readonly CatalogRow[]): Expectation {
  const sellable = ['simple', 'virtual', 'downloadable', 'configurable'];
  const kept = rows.filter((row) => sellable.includes(row.cell('product_type')));
  return {
    rows: rows.length,
    products: kept.map((row) => product(row, rows)),
    rejected: [],
    skipped: rows
      .filter((row) => !sellable.includes(row.cell('product_type')))
      .map((row) => ({ title: row.cell('name'), rows: 1, why: `is a ${row.cell('product_type')} product` })),
  };
}

function product(row: CatalogRow, rows: readonly CatalogRow[]): ExpectedProduct {
  const listed = row.cell('configurable_variations');
  const children = listed === '' ? [] : listed.split('|').map((entry) => new Map(entry.split(',').map(pair)));
  const labels = new Map(row.cell('configurable_variation_labels').split(',').map(pair));
  const codes = [...(children[0]?.keys() ?? [])].filter((code) => code !== 'sku');
  const variants = (children.length > 0 ? children : [new Map([['sku', row.cell('sku')]])]).map((child) => {
    const simple = rows.find((other) => other.cell('sku') === child.get('sku'));
    if (!simple) throw new Error('every child of the sample has its row');
    const tracked = simple.cell('use_config_manage_stock') === '1' || simple.cell('manage_stock') === '1';
    return variant(
      codes.map((code) => child.get(code) ?? ''),
      prices(Number(simple.cell('price')), null),
      {
        quantity: tracked ? Number(simple.cell('qty')) : undefined,
        sku: simple.cell('sku'),
      },
    );
  });
  return {
    title: row.cell('name'),
    type: 'physical',
    hidden: row.cell('product_online') !== '1',
    // The sample's images are paths within a shop whose address is unknown.
    images: [],
    options: optionsInUse(
      codes.map((code) => labels.get(code) ?? code),
      variants,
    ),
    variants,
    rows: 1,
  };
}

function pair(text: string): [string, string] {
  const [key = '', value = ''] = text.split('=');
  return [key, value];
}
