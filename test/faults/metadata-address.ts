import { createServer, type RequestListener } from 'node:http';
import { catalogWorkspace } from '../support/catalog.ts';
import { makeWorkspace } from '../support/workspace.ts';

/**
 * Runs in a network of its own, where this machine has a public address and the one at which clouds serve their
 * secrets. Plans a source at the public address that leads to the other, and prints what was asked of both.
 */
const PUBLIC = '8.8.4.99';
const METADATA = '169.254.169.254';

async function listen(host: string, listener: RequestListener): Promise<{ requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(80, host, resolve));
  return { requests: () => requests };
}

const secrets = await listen(
  METADATA,
  (_request, response) => void response.end('Handle,Title,Variant Price\nsecret,Secret,1\n'),
);
const web = await listen(PUBLIC, ({ url }, response) => {
  const status = Number(url?.slice(1, 4));
  response.writeHead(status, { location: `http://${METADATA}/latest/meta-data/` }).end();
});
let refused = 0;
let planned = 0;
for (const address of [...[302, 307].map((status) => `${PUBLIC}/${status}`), `${METADATA}/latest/`]) {
  const job = `import: products\nstore: main\nsource: { url: "http://${address}" }\nmapping: shopify-products\n`;
  const files = { ...catalogWorkspace('http://127.0.0.1:9', ''), 'jobs/nightly.yaml': job };
  await using workspace = await makeWorkspace(files, { STORE_API_KEY: 'key' });
  const { code, stderr } = await workspace.storeferry('plan', 'nightly', '--json');
  if (code === 0) planned++;
  if (stderr.includes('private address')) refused++;
}
process.stdout.write(JSON.stringify({ asked: secrets.requests(), led: web.requests(), refused, planned }));
process.exit();
