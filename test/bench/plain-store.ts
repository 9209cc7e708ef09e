import { createServer } from 'node:http';

/**
 * A store that answers as quickly as Node can: each body with an id. Runs in its own process (`fork`). It sends its
 * port, and on each message: when the first request since the last message arrived, when the last answer left, and the number of requests.
 *
 *     node test/bench/plain-store.ts [latency in ms] [keep]    keep: the bodies are printed as well
 */
const latencyMs = Number(process.argv[2] ?? 0);
const keeps = process.argv[3] === 'keep';

let first = 0;
let last = 0;
let requests = 0;
let bodies: string[] = [];

const server = createServer((request, response) => {
  if (requests++ === 0) first = performance.now();
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString('utf8');
    const product: object = JSON.parse(text);
    if (keeps) bodies.push(text);
    const body = Buffer.from(JSON.stringify({ ...product, id: 1_001 }));
    const answer = () => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
      last = performance.now();
    };
    if (latencyMs > 0) setTimeout(answer, latencyMs);
    else answer();
  });
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.(address.port);
});
process.on('message', () => {
  process.send?.({ requests, sendingMs: last - first, bodies });
  requests = 0;
  bodies = [];
});
process.once('disconnect', () => process.exit());
