import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { setupNightly } from '../support/nightly.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const run = promisify(execFile);

it('what `npm run build` makes works by itself: mappings, database thread and all', {
  timeout: 120_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-dist-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['src', 'mappings', 'package.json', 'tsconfig.json', 'tsconfig.build.json']) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await run('npm', ['run', 'build'], { cwd: folder });
  await rm(join(folder, 'src'), { recursive: true });
  expect(
    (await readdir(join(folder, 'dist'), { recursive: true })).filter((name) => /\.ts$/.test(name)),
  ).toEqual([]);

  await using nightly = await setupNightly(20);
  const { store, workspace } = nightly;
  const env = { PATH: process.env['PATH'], HOME: workspace.dir, STORE_API_KEY: store.apiKey };
  const main = join(folder, 'dist', 'cli', 'main.js');
  const { stdout } = await run(process.execPath, [main, '-C', workspace.dir, 'run', 'nightly', '--json'], {
    env,
  });
  expect(JSON.parse(stdout)).toMatchObject({ status: 'done', applied: 20 });
});
