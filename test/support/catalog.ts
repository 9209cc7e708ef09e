/** One product of a made catalog. */
export interface CatalogProduct {
  readonly handle: string;
  readonly title: string;
  readonly price: string;
  /** How many variants; 1 when left out. */
  readonly sizes?: number;
}

const HEADER = [
  'Handle',
  'Title',
  'Body (HTML)',
  'Published',
  'Option1 Name',
  'Option1 Value',
  'Variant SKU',
  'Variant Grams',
  'Variant Inventory Tracker',
  'Variant Inventory Qty',
  'Variant Price',
  'Variant Compare At Price',
  'Variant Requires Shipping',
  'Image Src',
  'Status',
].join(',');

/** Products 1 to n, priced 10.00 and up. */
export function manyProducts(count: number, from = 1): CatalogProduct[] {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index;
    return { handle: `product-${number}`, title: `Product ${number}`, price: `${10 + (number % 90)}.00` };
  });
}

/** A catalog as Shopify exports it. */
export function shopifyCatalog(products: readonly CatalogProduct[]): string {
  const rows = products.flatMap(({ handle, title, price, sizes = 1 }) =>
    Array.from({ length: sizes }, (_, index) =>
      [
        handle,
        index === 0 ? title : '',
        index === 0 ? `<p>About ${title}</p>` : '',
        index === 0 ? 'true' : '',
        index === 0 ? (sizes === 1 ? 'Title' : 'Size') : '',
        sizes === 1 ? 'Default Title' : `Size ${index + 1}`,
        `SKU-${handle}-${index + 1}`,
        '250',
        'shopify',
        '7',
        price,
        '',
        'true',
        index === 0 ? `https://images.example/${handle}.jpg` : '',
        index === 0 ? 'active' : '',
      ].join(','),
    ),
  );
  return `${[HEADER, ...rows].join('\n')}\n`;
}

/** What a killed process had on its way is not waited for longer than a test can; the stores of tests answer sooner. */
const TIMEOUT_SECONDS = 4;

/** The files of a workspace with one nightly catalog job on one store. */
export function catalogWorkspace(
  baseUrl: string,
  catalog: string,
  job: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const lines = Object.entries(job).map(([key, value]) => `${key}: ${value}\n`);
  return {
    'stores.yaml': `main:\n  baseUrl: ${baseUrl}\n  apiKey: \${STORE_API_KEY}\n  limits: { concurrency: 16, timeoutSeconds: ${TIMEOUT_SECONDS} }\n`,
    'jobs/nightly.yaml': `import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: shopify-products\n${lines.join('')}`,
    'catalog.csv': catalog,
  };
}
