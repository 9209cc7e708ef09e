import fc from 'fast-check';

/** A kind of source for the property test: which columns it has, and what stands in them. */
export interface SourceKind {
  readonly mapping: string;
  readonly resource: 'products' | 'contacts';
  readonly columns: Readonly<Record<string, readonly string[]>>;
}

/** Small pools, so that keys repeat, cells are blank, broken, negative or noted often enough. */
export const SOURCE_KINDS: readonly SourceKind[] = [
  {
    mapping: 'shopify-products',
    resource: 'products',
    columns: {
      Handle: ['shirt', 'shirt', 'hat', 'coat', ''],
      Title: ['Shirt', 'Hat', '', ''],
      'Body (HTML)': ['<p>Linen, "washed"\nand dried</p>', ''],
      Vendor: ['Acme', 'Other'],
      'Option1 Name': ['Size', 'Title', '', ''],
      'Option1 Value': ['S', 'M', 'Default Title', ''],
      'Variant SKU': ['a-1', 'a-2', ''],
      'Variant Grams': ['250', '0', 'x'],
      'Variant Inventory Tracker': ['shopify', ''],
      'Variant Inventory Qty': ['5', '-2', '0', ''],
      'Variant Price': ['10.00', '12.50', '', 'dear'],
      'Variant Compare At Price': ['15.00', ''],
      'Gift Card': ['false', 'false', 'true'],
      'Image Src': ['https://example.com/a.jpg', 'a.jpg', ''],
      Status: ['active', 'draft'],
    },
  },
  {
    mapping: 'woocommerce-products',
    resource: 'products',
    columns: {
      ID: ['1', '2', '3', '4'],
      Type: ['simple', 'variable', 'variation'],
      SKU: ['shirt', 'hat', 'hat-s', ''],
      Name: ['Shirt', 'Hat', 'Hat - S', ''],
      Published: ['1', '0', '-1'],
      Description: ['<b>Warm</b>\\n', ''],
      'Regular price': ['20', '25', ''],
      'Sale price': ['15', '', ''],
      'Date sale price starts': ['2026-01-05', '2026-01-20 00:00:00', '', ''],
      'Date sale price ends': ['2026-01-10', '2026-02-01', '', ''],
      Stock: ['3', '-1', ''],
      Parent: ['hat', 'id:2', '', ''],
      'Attribute 1 name': ['Size', ''],
      'Attribute 1 value(s)': ['S, M', 'S', ''],
      'Meta: _unused': ['x', 'y'],
    },
  },
  {
    mapping: 'google-merchant-products',
    resource: 'products',
    columns: {
      id: ['shirt', 'hat', 'hat-s', 'hat-m', ''],
      item_group_id: ['hat', 'coat', '', ''],
      title: ['Shirt', 'Hat', ''],
      description: ['Warm', ''],
      link: ['https://example.com/hat'],
      image_link: ['https://example.com/hat.jpg', 'hat.jpg'],
      price: ['10.00 EUR', '12 EUR', ''],
      sale_price: ['8 EUR', ''],
      sale_price_effective_date: ['2026-01-05T00:00Z/2026-01-10T00:00Z', '', ''],
      availability: ['in stock', 'out of stock'],
      color: ['red', 'blue', ''],
      brand: ['Acme', ''],
    },
  },
  {
    mapping: 'squarespace-products',
    resource: 'products',
    columns: {
      'Product ID [Non Editable]': ['1', '2', '', ''],
      'Product Type [Non Editable]': ['PHYSICAL', 'SERVICE', ''],
      'Product URL': ['shirt', 'hat', '', ''],
      Title: ['Shirt', 'Hat', '', ''],
      Description: ['<p>Warm</p>', ''],
      SKU: ['a', 'b', ''],
      'Option Name 1': ['Size', ''],
      'Option Value 1': ['S', 'M', ''],
      Price: ['10', '11', ''],
      'Sale Price': ['8', '0', ''],
      'On Sale': ['Yes', 'No'],
      Stock: ['3', 'Unlimited', '-1'],
      Visible: ['Yes', 'No'],
      Tags: ['x', 'y'],
    },
  },
  {
    mapping: 'magento-products',
    resource: 'products',
    columns: {
      sku: ['shirt', 'hat', 'hat-s', 'hat-m', ''],
      store_view_code: ['', '', 'de'],
      product_type: ['simple', 'simple', 'configurable'],
      name: ['Shirt', 'Hat', 'Hat S', ''],
      url_key: ['shirt', 'hat', ''],
      price: ['10', '12', ''],
      special_price: ['8', '', ''],
      special_price_from_date: ['2026-01-05', '', ''],
      visibility: ['Catalog, Search', 'Not Visible Individually'],
      qty: ['3', '-1', ''],
      configurable_variations: ['sku=hat-s,size=S|sku=hat-m,size=M', '', ''],
      configurable_variation_labels: ['size=Size', ''],
      weight: ['1', ''],
      tax_class_name: ['Taxable', 'None'],
    },
  },
  {
    mapping: 'hubspot-contacts',
    resource: 'contacts',
    columns: {
      'Record ID': ['1', '2', '3', '4', ''],
      'First Name': ['Ann', ''],
      'Last Name': ['Lee', ''],
      Email: ['ann@example.com', 'x', ''],
      'Phone Number': ['+1 555', ''],
      City: ['Oslo', ''],
      'Favourite Colour': ['red', ''],
    },
  },
];

/** A file of the source in one run. */
export interface SourceFile {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** What happens to a source between two runs. */
type Edit =
  | { readonly kind: 'cell'; readonly row: number; readonly column: number; readonly pick: number }
  | { readonly kind: 'remove'; readonly row: number }
  | { readonly kind: 'repeat'; readonly row: number; readonly at: number }
  | { readonly kind: 'ragged'; readonly row: number; readonly longer: boolean }
  | { readonly kind: 'turn'; readonly by: number }
  | { readonly kind: 'split'; readonly at: number }
  | { readonly kind: 'drop column'; readonly column: number };

const at = fc.nat(40);
const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('cell' as const), row: at, column: at, pick: at }),
  },
  fc.record({ kind: fc.constant('remove' as const), row: at }),
  fc.record({ kind: fc.constant('repeat' as const), row: at, at }),
  fc.record({ kind: fc.constant('ragged' as const), row: at, longer: fc.boolean() }),
  fc.record({ kind: fc.constant('turn' as const), by: at }),
  fc.record({ kind: fc.constant('split' as const), at }),
  fc.record({ kind: fc.constant('drop column' as const), column: at }),
);

/** The rows of the first run, and the edits before each of the next runs. */
export function editsOf(kind: SourceKind): fc.Arbitrary<{
  readonly rows: readonly (readonly string[])[];
  readonly edits: readonly (readonly Edit[])[];
}> {
  const row = fc.tuple(...Object.values(kind.columns).map((pool) => fc.constantFrom(...pool)));
  return fc.record({
    rows: fc.array(row, { minLength: 1, maxLength: 14 }),
    edits: fc.array(fc.array(edit, { maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  });
}

/** The files after the edits; columns are only reordered or dropped, so the kind stays the same in all runs. */
export function edited(
  kind: SourceKind,
  files: readonly SourceFile[],
  edits: readonly Edit[],
): readonly SourceFile[] {
  return edits.reduce((before, one) => editedOnce(kind, before, one), files);
}

function editedOnce(kind: SourceKind, files: readonly SourceFile[], edit: Edit): readonly SourceFile[] {
  const [first, ...others] = files;
  if (first === undefined) return files;
  const { header, rows } = first;
  const place = (index: number) => (rows.length === 0 ? 0 : index % rows.length);
  const withRows = (changed: readonly (readonly string[])[]) => [{ header, rows: changed }, ...others];
  switch (edit.kind) {
    case 'cell': {
      const column = edit.column % header.length;
      const pool = kind.columns[header[column] ?? ''] ?? ['x'];
      const cell = pool[edit.pick % pool.length] ?? '';
      return withRows(
        rows.map((row, index) => (index === place(edit.row) ? row.with(column % row.length, cell) : row)),
      );
    }
    case 'remove':
      return withRows(rows.filter((_, index) => index !== place(edit.row)));
    case 'repeat': {
      const row = rows[place(edit.row)];
      return row === undefined ? files : withRows(rows.toSpliced(place(edit.at), 0, row));
    }
    case 'ragged':
      return withRows(
        rows.map((row, index) =>
          index === place(edit.row) && row.length > 2
            ? edit.longer
              ? [...row, 'extra']
              : row.slice(0, -2)
            : row,
        ),
      );
    case 'turn': {
      const by = edit.by % header.length;
      const turn = (cells: readonly string[]) =>
        cells.length === header.length ? [...cells.slice(by), ...cells.slice(0, by)] : cells;
      return [{ header: turn(header), rows: rows.map(turn) }, ...others];
    }
    case 'split': {
      const here = place(edit.at);
      return [{ header, rows: rows.slice(0, here) }, { header, rows: rows.slice(here) }, ...others];
    }
    case 'drop column': {
      const column = edit.column % header.length;
      // Families, unused and optional columns come and go; without a required one the file is refused.
      const may = /^(Option1|Option Name|Vendor|Image|Tags|City|color|brand|weight|Attribute|Meta)/i;
      if (!may.test(header[column] ?? '')) return files;
      const without = (cells: readonly string[]) => cells.filter((_, index) => index !== column);
      return [{ header: without(header), rows: rows.map(without) }, ...others];
    }
    default:
      return edit satisfies never;
  }
}
