import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { setupNightly } from '../support/nightly.ts';
import { patience } from '../support/pace.ts';
import { runOrThrow as run } from '../support/processes.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** What a clone has, and `npm pack` or what it calls looks at. */
const CLONED = [
  ...[
    'package.json',
    'tsconfig.json',
    'tsconfig.build.json',
    '.npmrc',
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
  ],
  ...['src', 'mappings', 'jobs', 'stores.yaml'],
];
const UNREACHABLE = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH/;

it('what `npm pack` makes of a fresh clone can be installed by itself, and shows the demo', {
  timeout: patience(300_000),
}, async ({ skip }) => {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-package-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const clone = join(folder, 'clone');
  const prefix = join(folder, 'prefix');
  const elsewhere = join(folder, 'elsewhere');
  for (const name of CLONED) await cp(join(ROOT, name), join(clone, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', folder], { cwd: clone });
  const dist = await readdir(join(clone, 'dist'), { recursive: true });
  expect(dist.filter((name) => name.endsWith('.ts'))).toEqual([]);
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));

  // As the README says it: the dependencies run without the scripts that some bring along.
  const install = ['install', '--global', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', prefix];
  try {
    const { stderr } = await run('npm', [...install, join(folder, tarball)], { cwd: folder });
    expect(stderr).not.toMatch(/install-scripts|allow-scripts|deprecated/);
  } catch (error) {
    const isOffline = error instanceof Error && UNREACHABLE.test(error.message);
    if (isOffline && process.env['CI'] === undefined) skip("skipped, npm's registry cannot be reached");
    throw error;
  }
  const command = join(prefix, 'bin', 'storeferry');
  await mkdir(elsewhere);
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: elsewhere, TMPDIR: elsewhere };

  await using nightly = await setupNightly(20);
  const { store, workspace } = nightly;
  const ran = await run(command, ['-C', workspace.dir, 'run', 'nightly', '--json'], {
    cwd: elsewhere,
    env: { ...env, STORE_API_KEY: store.apiKey },
  });
  expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'done', applied: 20 });

  const demo = await run(command, ['demo'], { cwd: elsewhere, env });
  expect(demo.stdout).toContain('That was the demo.');
  expect(demo.stderr).not.toContain('Warning:');
  const printed = [...demo.stdout.matchAll(/Report: (\S+)/g)].map(([, path = '']) => path);
  expect(printed.length).toBeGreaterThan(3);
  expect(printed.filter((path) => !existsSync(resolve(elsewhere, path)))).toEqual([]);
  // The next demo takes the place of this one.
  await run(command, ['demo'], { cwd: elsewhere, env });
  expect(printed.filter((path) => existsSync(resolve(elsewhere, path)))).toEqual([]);
});
