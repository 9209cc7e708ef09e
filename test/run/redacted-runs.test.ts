import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { startWebhook } from '../support/webhook.ts';
import { makeWorkspace } from '../support/workspace.ts';

const OTHER = 'other-secret/of the shop';

it('no secret of `.env` is stored or sent, in whatever form a store says it back', async () => {
  const key = 'marked key/4711+x';
  await using webhook = await startWebhook();
  await using store = await startStore({ seed: 1 }).then((started) => ({
    ...started,
    [Symbol.asyncDispose]: () => started.close(),
  }));
  const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(3)), {
    notify: `{ url: "\${HOOK}", on: [failed, rejects] }`,
    safety: '{ maxRejects: off }',
  });
  await using workspace = await makeWorkspace(
    {
      ...files,
      '.env': `STORE_API_KEY="${store.apiKey}"\nBACKUP_TOKEN="${OTHER}"\nSPARE_PASSWORD="${key}"\n`,
    },
    { HOOK: webhook.url },
  );
  const forms = [key, OTHER].flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(`user:${secret}`).toString('base64'),
  ]);
  store.misbehave({
    does: errorAnswer(422, `bad request: ${forms.slice(0, 3).join(' | ')}`),
    keys: ['product-1'],
  });
  const refused = await workspace.storeferry('run', 'nightly', '--json');
  expect(refused.code).toBe(3);
  store.misbehave({ does: errorAnswer(401, `bad key: ${forms.slice(3).join(' | ')}`) });
  const failed = await workspace.storeferry('run', 'nightly', '--resend', '--json');
  expect(failed.code).toBe(1);
  const entries = await readdir(`${workspace.dir}/.storeferry`, { recursive: true, withFileTypes: true });
  const kept = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((file) => readFile(`${file.parentPath}/${file.name}`, 'latin1')),
  );
  const printed = JSON.stringify(webhook.calls.map(({ body }) => body));
  expect(printed).toContain('[redacted]');
  for (const text of [refused.stdout, refused.stderr, failed.stdout, failed.stderr, printed, ...kept]) {
    for (const form of [...forms, key.slice(3, 14), 'of the shop']) expect(text).not.toContain(form);
  }
});
