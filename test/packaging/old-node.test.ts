import { globSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findImports } from '../support/find-imports.ts';
import { runProcess } from '../support/processes.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const CHECK = join(ROOT, 'src', 'cli', 'node-version.cjs');
const SENTENCE =
  /^Storeferry needs Node\.js 24\.\d+ or later, and this is Node\.js (\S+) \(.+\): install the latest Node\.js 24, .+ run the command again\.\n$/;

/** A preload that makes Node say it is another version: no test can count on an old one. */
const claiming = (version: string) =>
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;

async function start(node: string, ...args: readonly string[]) {
  const { code: status, stdout, stderr } = await runProcess(node, args, { cwd: ROOT });
  return { status, stdout, stderr };
}

/** A Node below 24 of this machine: `npm test` puts Node 24 before it on the PATH. */
const nodes = [...new Set((process.env['PATH'] ?? '').split(delimiter))].flatMap((folder) =>
  globSync('node', { cwd: folder }).map((name) => join(folder, name)),
);
const majors = await Promise.all(
  nodes.map(async (node) => Number(/^v(\d+)/.exec((await start(node, '--version')).stdout)?.[1])),
);
const oldNode = nodes.find((_, index) => (majors[index] ?? 24) < 24);

describe('a Node that is too old', () => {
  it.each(['24.0.0', '24.15.0', '22.23.3', '20.20.2', '9.11.2'])(
    '%s is refused in one sentence, with exit code 2',
    async (version) => {
      const { status, stdout, stderr } = await start(
        process.execPath,
        '--import',
        claiming(version),
        'src/cli/main.ts',
        'worker',
      );
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(SENTENCE.exec(stderr)?.[1]).toBe(version);
    },
  );

  it.each(['24.16.0', '24.21.0', '25.1.0'])('%s is not', async (version) => {
    expect(await start(process.execPath, '--import', claiming(version), CHECK)).toEqual({
      ...{ status: 0, stdout: '', stderr: '' },
    });
  });

  it.skipIf(oldNode === undefined)(
    `is refused by a real one${oldNode === undefined ? ' (skipped, no Node below 24 on the PATH)' : ''}`,
    async () => {
      const { status, stderr } = await start(oldNode ?? '', CHECK);
      expect(status).toBe(2);
      expect(stderr).toMatch(SENTENCE);
    },
  );

  it('is met by the check before any other file or name: main.ts imports nothing else up front', () => {
    const main = readFileSync(join(ROOT, 'src', 'cli', 'main.ts'), 'utf8');
    expect(findImports(main)[0]?.specifier).toBe('./node-version.cjs');
    expect([...main.matchAll(/^(?:import|export)\b.*/gm)].map(([line]) => line)).toEqual([
      "import './node-version.cjs';",
    ]);
    // Outside of a function, `await` is a SyntaxError to Node before 14.
    expect(main).not.toMatch(/^(?:const|let|await)\b.*\bawait\b/m);
  });

  it("is met by npm's scripts, whose main.ts an old Node cannot read", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    for (const name of ['storeferry', 'demo']) {
      expect(scripts[`pre${name}`]).toBe('node src/cli/node-version.cjs');
      expect(scripts[name]).toMatch(/^node src\/cli\/main\.ts( demo)?$/);
    }
  });
});
