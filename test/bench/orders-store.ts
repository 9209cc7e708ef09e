import { createServer } from 'node:http';

/**
 * A store of so many orders that answers each page after a while. Runs in a process of its own (`fork`). While pages
 * are read an order is added now and then, newest first, unless it is asked to keep still.
 */
const [count = 20_000, latencyMs = 20, addEvery = 0] = process.argv.slice(2).map(Number);

function order(id: number): string {
  return JSON.stringify({
    id,
    number: `SF-${id}`,
    createdOn: 1_700_000_000 + id,
    customer: { name: 'Ada Bell', email: `ada${id}@mail.example` },
    items: [{ sku: 'MUG', quantity: 2, price: 14.5 }],
    note: 'Please leave it with the neighbour. '.repeat(4),
    total: 29,
  });
}

const orders = Array.from({ length: count }, (_, index) => order(count - index));
let requests = 0;

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://store');
  const limit = Number(searchParams.get('limit') ?? 30);
  const skip = Number(searchParams.get('skip') ?? 0);
  setTimeout(() => {
    requests++;
    if (addEvery > 0 && requests % addEvery === 0) orders.unshift(order(count + requests));
    const items = orders.slice(skip, skip + limit).join(',');
    const body = `{"items":[${items}],"totalCount":${orders.length},"limit":${limit},"skip":${skip}}`;
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  }, latencyMs);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.(address.port);
});
process.once('disconnect', () => process.exit());
