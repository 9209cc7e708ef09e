import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import pLimit from 'p-limit';
import pRetry from 'p-retry';
import { type PlainProduct, productsOf } from './plain-products.ts';

/**
 * What one writes in an afternoon to import a catalog: csv-parse, p-limit, p-retry and fetch. It sends the same
 * records as `storeferry run`, and remembers nothing.
 *
 *     node test/bench/plain-script.ts CATALOG BASE_URL CONCURRENCY
 */
const [path = '', baseUrl = '', concurrency = '64'] = process.argv.slice(2);

async function send(product: PlainProduct): Promise<void> {
  const response = await fetch(`${baseUrl}/api/site/products?update_existing_product_by_url=true`, {
    method: 'POST',
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    body: JSON.stringify(product),
  });
  if (!response.ok) throw new Error(`the store answered ${response.status}`);
  await response.json();
}

const limit = pLimit(Number(concurrency));
const sending: Promise<void>[] = [];
for await (const product of productsOf(createReadStream(path).pipe(parse({ columns: true })))) {
  sending.push(limit(() => pRetry(() => send(product), { retries: 8 })));
}
await Promise.all(sending);
