import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { startStore } from '../support/store.ts';
import { startWebhook } from '../support/webhook.ts';
import { makeWorkspace } from '../support/workspace.ts';

const SECRET = 'sk-1ive-and-secret-0042';
const CATALOG = shopifyCatalog(manyProducts(3));

/** Everything in a folder, as one text. */
async function everythingIn(dir: string): Promise<string> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n');
}

async function scene(source: string) {
  const store = await startStore({ seed: 1 });
  const webhook = await startWebhook();
  const outside = await mkdtemp(join(tmpdir(), 'storeferry-outside-'));
  const files = catalogWorkspace(store.baseUrl, CATALOG, { notify: `{ url: "\${HOOK}", on: [failed] }` });
  const job = files['jobs/nightly.yaml']?.replace('path: catalog.csv', `path: "${source}"`) ?? '';
  const workspace = await makeWorkspace(
    {
      ...files,
      'jobs/nightly.yaml': job,
      '.env': `OTHER_API_KEY=${SECRET}\n`,
    },
    { HOOK: webhook.url, STORE_API_KEY: store.apiKey },
  );
  await mkdir(join(workspace.dir, 'inbox'));
  return {
    ...{ store, webhook, workspace, outside },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await webhook[Symbol.asyncDispose]();
      await store.close();
      await rm(outside, { recursive: true, force: true });
    },
  };
}

describe('a source that a link in the inbox leads elsewhere', () => {
  it.each(['inbox/*.csv', 'inbox/a.csv', '**/*.csv'])(
    'is refused, and nothing of it is shown: %s',
    async (source) => {
      await using s = await scene(source);
      await symlink('../.env', join(s.workspace.dir, 'inbox/a.csv'));
      const ended = await s.workspace.storeferry('run', 'nightly');
      expect(ended.code).toBe(1);
      expect(ended.stderr + ended.stdout).toMatch(/a\.csv (is hidden|leads outside)/);
      const left = await everythingIn(join(s.workspace.dir, '.storeferry'));
      const texts = [
        ended.stdout,
        ended.stderr,
        left,
        JSON.stringify(s.webhook.calls.map(({ body }) => body)),
      ];
      expect(s.webhook.calls).toHaveLength(1);
      expect(s.store.requests).toHaveLength(0);
      expect(texts.filter((text) => text.includes(SECRET))).toEqual([]);
    },
  );

  it('matches no hidden files', async () => {
    await using s = await scene('**/*');
    await rm(join(s.workspace.dir, 'catalog.csv'));
    const ended = await s.workspace.storeferry('run', 'nightly');
    expect(ended.code).toBe(1);
    expect(ended.stderr + ended.stdout).not.toContain(SECRET);
    expect(await everythingIn(join(s.workspace.dir, '.storeferry'))).not.toContain(SECRET);
  });

  it('is read where its folder is allowed, in the environment or in .env', async () => {
    await using s = await scene('inbox/*.csv');
    await writeFile(join(s.outside, 'feed.csv'), CATALOG);
    await symlink(s.outside, join(s.workspace.dir, 'inbox/feeds'));
    await symlink(join(s.outside, 'feed.csv'), join(s.workspace.dir, 'inbox/feed.csv'));
    const refused = await s.workspace.storeferry('plan', 'nightly');
    expect([refused.code, refused.stdout + refused.stderr]).toEqual([
      1,
      expect.stringContaining('STOREFERRY_ALLOW'),
    ]);
    await s.workspace.write('.env', `STOREFERRY_ALLOW=${s.outside}\n`);
    const planned = await s.workspace.storeferry('plan', 'nightly', '--json');
    expect(planned.json()).toMatchObject({ status: 'planned', new: 3 });
  });

  it('is refused as a destination, and as a crosswalk or lookup, too', async (context) => {
    await using s = await scene('catalog.csv');
    const { workspace } = s;
    await workspace.write(
      'jobs/lists.yaml',
      'export: subscriber-lists\nstore: main\ndestination: { path: out/lists.csv }\n',
    );
    await workspace.write(
      'jobs/crm.yaml',
      'import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: hubspot-contacts\ncrosswalk: { path: ids.csv, match: email, id: id }\n',
    );
    await symlink(s.outside, join(workspace.dir, 'out'));
    await symlink('.env', join(workspace.dir, 'ids.csv'));
    await symlink('../.env', join(workspace.dir, 'inbox/ids.csv'));
    const exported = await workspace.storeferry('run', 'lists');
    const planned = await workspace.storeferry('plan', 'crm');
    const checked = await workspace.storeferry('check', '--online');
    expect(exported.stdout + exported.stderr).toContain('leads outside the workspace');
    expect(planned.stdout).toContain('The crosswalk ids.csv is hidden');
    expect(checked.stdout).toContain('leads outside the workspace');
    expect(checked.stdout).toContain('is hidden');
    const written = await readdir(s.outside);
    figure(context, {
      invariant: 25,
      seed: null,
      fired: { 'links out of the workspace': 2, 'links to hidden files': 1 },
      measured: [
        none('files outside', written.length),
        none(
          'secrets shown',
          [exported, planned, checked].filter(({ stdout, stderr }) => (stdout + stderr).includes(SECRET))
            .length,
        ),
      ],
    });
  });
});
