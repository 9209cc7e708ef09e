import { chmod, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setupCrm } from '../support/contacts.ts';
import { setupNightly } from '../support/nightly.ts';

/** What of a folder, itself included, others than its owner may read or write. */
async function openIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = [dir, ...entries.map((entry) => join(entry.parentPath, entry.name))];
  const modes = await Promise.all(paths.map(async (path) => ({ path, mode: (await stat(path)).mode })));
  return modes
    .filter(({ mode }) => (mode & 0o077) !== 0)
    .map(({ path, mode }) => `${path} ${mode.toString(8)}`);
}

describe('what Storeferry writes', () => {
  it('is for its owner only: state, artifacts and rejects', async () => {
    await using crm = await setupCrm({
      rows: [{ number: 1 }, { number: 2 }],
      known: [1],
      job: { safety: '{ maxRejects: off }' },
    });
    expect((await crm.workspace.storeferry('run', 'crm')).code).toBe(3);
    await crm.workspace.storeferry('runs');
    const { storeferry, dir } = crm.workspace;
    expect((await storeferry('plan', 'crm')).code).toBe(3);
    // The files of locks hold nothing, in a folder that is closed.
    const open = await openIn(join(dir, '.storeferry'));
    expect(open.filter((path) => !/\/locks\/[^/]+ /.test(path))).toEqual([]);
  });

  it('is for its owner only: a new export with the folders made for it; a file that was there keeps its rights', async () => {
    await using nightly = await setupNightly(1);
    const { workspace, store } = nightly;
    await workspace.write(
      'jobs/lists.yaml',
      'export: subscriber-lists\nstore: main\ndestination: { path: exports/deep/lists.csv }\n',
    );
    store.shop.lists.push({ id: 1, name: 'News', created: 1, subscribers: 2, opens: 0.1, clicks: 0.1 });
    expect((await workspace.storeferry('run', 'lists')).code).toBe(0);
    expect(await openIn(join(workspace.dir, 'exports'))).toEqual([]);
    const file = join(workspace.dir, 'exports/deep/lists.csv');
    await chmod(file, 0o640);
    expect((await workspace.storeferry('run', 'lists')).code).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o640);
  });

  it('is looked at by check: an open .env or .storeferry is a warning', async () => {
    await using nightly = await setupNightly(1);
    const { workspace } = nightly;
    await workspace.write('.env', 'A=b\n');
    await workspace.storeferry('plan', 'nightly');
    await chmod(join(workspace.dir, '.env'), 0o644);
    await chmod(join(workspace.dir, '.storeferry'), 0o750);
    const open = await workspace.storeferry('check');
    expect(open.code).toBe(0);
    expect(open.stdout).toMatch(
      /warning \S*\.env: it is open to every user of this machine; close it: chmod 600 \S*\.env/,
    );
    expect(open.stdout).toMatch(
      /warning \S*\.storeferry: it is open to its group; close it: chmod 700 \S*\.storeferry/,
    );
    await chmod(join(workspace.dir, '.env'), 0o600);
    await chmod(join(workspace.dir, '.storeferry'), 0o700);
    expect((await workspace.storeferry('check')).stdout).not.toContain('open to');
  });
});
