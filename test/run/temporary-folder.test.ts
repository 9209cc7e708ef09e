import { expect, it } from 'vitest';
import { startFileServer } from '../support/file-server.ts';
import { makeWorkspace } from '../support/workspace.ts';

// As in a systemd unit with ProtectSystem=strict and without PrivateTmp=yes: nothing can be written in the temporary folder.

it('a temporary folder that cannot be written is named by `check --online` and by a run, and is no bug', async () => {
  await using server = await startFileServer({ '/catalog.csv': 'Handle,Title\n' });
  const files = {
    'stores.yaml': `main: { baseUrl: "${server.url}", apiKey: "\${STORE_API_KEY}" }\n`,
    'jobs/nightly.yaml': `import: products\nstore: main\nsource: { url: { address: "${server.url}/catalog.csv", allowPrivateAddresses: true } }\nmapping: shopify-products\n`,
  };
  await using workspace = await makeWorkspace(files, {
    TMPDIR: '/dev/null/absent',
    STORE_API_KEY: 'k',
  });
  const checked = await workspace.storeferry('check', '--online', '--json');
  expect(checked.stdout).toMatch(
    /"temporary folder".*The temporary folder \/dev\/null\/absent cannot be written \(ENOTDIR\)/s,
  );
  const planned = await workspace.storeferry('plan', 'nightly');
  expect(planned.code).toBe(1);
  const shown = (planned.stdout + planned.stderr).replaceAll(/\s+/g, ' ');
  expect(shown).not.toMatch(/bug/i);
  expect(shown).toMatch(/temporary folder \/dev\/null\/absent cannot be written.*PrivateTmp=yes/);
});
