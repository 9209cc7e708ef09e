import { createServer } from 'node:http';

/** A store that answers as quickly as Node can: each body with an id. Runs in a process of its own (`fork`). */
const latencyMs = Number(process.argv[2] ?? 0);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const product: object = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const body = Buffer.from(JSON.stringify({ ...product, id: 1_001 }));
    const answer = () => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
    };
    if (latencyMs > 0) setTimeout(answer, latencyMs);
    else answer();
  });
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.(address.port);
});
process.once('disconnect', () => process.exit());
