import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { executeRun } from '../../src/run/execute-run.ts';
import { S3_KEYS, startS3 } from '../support/s3-server.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const PICTURES = 40;
const PER_PRODUCT = 10;
const JPEG = Buffer.from('ffd8ffe000104a46494600', 'hex');

it('notes published pictures together, also those before a failure', async () => {
  await using s3 = await startS3();
  await using store = await startStore({ seed: 1 });
  const numbers = Array.from({ length: PER_PRODUCT }, (_, n) => n);
  const lines = Array.from({ length: PICTURES / PER_PRODUCT }, (_, product) =>
    [`a-${product}`, ...numbers.map((n) => `${product * PER_PRODUCT + n}.jpg`)].join(','),
  );
  const publish = `{ from: photos, address: "https://images.example/", s3: { address: "s3://bucket/shop", endpoint: "${s3.endpoint}", allowPrivateAddresses: true } }`;
  await using workspace = await makeWorkspace({
    'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
    'mappings/lamps.yaml': `import: products
columns: { code: Code, 'photo{n}': 'Photo {n}' }
product: { url: code, title: code, images: 'photo{n}' }
variants: { sku: code, pricing: { price: { value: 1 } } }
`,
    'jobs/lamps.yaml': `import: products\nstore: main\nsource: { path: lamps.csv }\nmapping: lamps\nimages: { publish: ${publish} }\n`,
    'lamps.csv': `${[['Code', ...numbers.map((n) => `Photo ${n + 1}`)].join(','), ...lines].join('\n')}\n`,
    '.env': `STORE_API_KEY=${store.apiKey}\nAWS_ACCESS_KEY_ID=${S3_KEYS.accessKeyId}\nAWS_SECRET_ACCESS_KEY=${S3_KEYS.secretAccessKey}\n`,
  });
  await mkdir(join(workspace.dir, 'photos'));
  for (let n = 0; n < PICTURES; n++)
    await writeFile(join(workspace.dir, 'photos', `${n}.jpg`), Buffer.concat([JPEG, Buffer.from(`${n}`)]));
  const puts = () => s3.requests.filter((request) => request.startsWith('PUT /bucket/shop/')).length;
  const remembered: number[] = [];
  const run = async () => {
    await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
    const { state } = open.context;
    const { checkedAddresses } = state;
    const counting = {
      ...checkedAddresses,
      remember: (...[checks, at]: Parameters<typeof checkedAddresses.remember>) => {
        remembered.push(checks.length);
        return checkedAddresses.remember(checks, at);
      },
    };
    const context = { ...open.context, state: { ...state, checkedAddresses: counting } };
    const request = await readImportRequest(open.workspace, 'lamps', false);
    return await executeRun(context, { kind: 'run', request });
  };
  s3.intercept((request, response, next) => {
    if (puts() <= PICTURES - 10) void next(request, response);
    else response.writeHead(403).end();
  });
  expect((await run()).run.status).toBe('failed');
  const first = puts();
  s3.intercept((request, response, next) => void next(request, response));
  expect((await run()).run.status).toBe('done');
  expect(remembered.length).toBeLessThan(5);
  expect(remembered.reduce((sum, count) => sum + count, 0)).toBe(PICTURES);
  expect(puts() - first).toBeLessThan(15);
});
