import { globSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { findImports } from '../support/find-imports.ts';
import { runOrThrow } from '../support/processes.ts';

const ROOT = join(import.meta.dirname, '..', '..');

it('package.json has as dependencies the packages that src/ imports, and no others', async () => {
  const files = await Promise.all(
    globSync('src/**/*.ts', { cwd: ROOT }).map((file) => readFile(join(ROOT, file), 'utf8')),
  );
  const required = files.flatMap((text) =>
    [...text.matchAll(/createRequire\(import\.meta\.url\)\(\s*'([^']+)'/g)].map(([, name = '']) => name),
  );
  const imported = files.flatMap(findImports).map(({ specifier }) => specifier);
  const names = [...required, ...imported]
    .filter((specifier) => !/^(?:\.|node:)/.test(specifier))
    .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '');
  expect([...new Set(names)].toSorted()).toEqual(Object.keys(packageJson.dependencies).toSorted());
});

it('npm pack gets a manifest without packages, and package.json is as before, also after an interruption', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-manifest-'));
  try {
    const manifest = join(folder, 'package.json');
    await cp(join(ROOT, 'package.json'), manifest);
    const whole = await readFile(manifest, 'utf8');
    const call = (step: string) =>
      runOrThrow(process.execPath, [join(ROOT, 'packed-manifest.ts'), step], { cwd: folder });
    // The first is interrupted: nothing restores what it kept.
    for (const _ of [1, 2]) {
      await call('trim');
      const { dependencies, devDependencies, overrides, ...rest } = packageJson;
      expect(JSON.parse(await readFile(manifest, 'utf8'))).toEqual(rest);
    }
    await call('restore');
    expect(await readFile(manifest, 'utf8')).toBe(whole);
    expect(await readdir(folder)).toEqual(['package.json']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
