import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { Pool } from 'undici';
import { productsOf } from './plain-products.ts';

/**
 * undici's Pool and nothing else: all bodies are made beforehand, then sent over so many connections.
 *
 *     node test/bench/pool-alone.ts CATALOG BASE_URL CONCURRENCY
 */
const [path = '', baseUrl = '', concurrency = '64'] = process.argv.slice(2);
const bodies: string[] = [];
for await (const product of productsOf(createReadStream(path).pipe(parse({ columns: true })))) {
  bodies.push(JSON.stringify(product));
}
const pool = new Pool(baseUrl, { connections: Number(concurrency), pipelining: 1 });
const headers = { authorization: 'Bearer key', 'user-agent': 'bench/1', 'content-type': 'application/json' };
let next = 0;
async function worker(): Promise<void> {
  for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
    const answer = await pool.request({
      path: '/api/site/products?update_existing_product_by_url=true',
      method: 'POST',
      headers,
      body,
    });
    await answer.body.json();
  }
}
await Promise.all(Array.from({ length: Number(concurrency) }, worker));
await pool.close();
