import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { runOrThrow } from '../support/processes.ts';
import { makeWorkspace } from '../support/workspace.ts';

it('completes commands, options and jobs in bash', async () => {
  await using workspace = await makeWorkspace({});
  const { stdout } = await workspace.storeferry('completion', 'bash');
  await mkdir(join(workspace.dir, 'jobs'));
  const hostile = ['$(touch made)', '`touch made`', "night';touch made;'", '-rf', 'night shift'];
  for (const name of ['nightly', 'night-shift', 'lists', ...hostile])
    await writeFile(join(workspace.dir, `jobs/${name}.yaml`), '');
  const complete = async (...words: readonly string[]): Promise<string[]> => {
    const script = `${stdout}
COMP_WORDS=(storeferry "$@"); COMP_CWORD=$#; _storeferry; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout: printed } = await runOrThrow('bash', ['-c', script, 'bash', ...words], {
      cwd: workspace.dir,
    });
    return printed.trimEnd().split('\n').sort();
  };
  expect(await complete('')).toEqual(
    expect.arrayContaining([...COMMANDS.map(({ name }) => name), '--help', '--version']),
  );
  expect(await complete('un')).toEqual(['undo']);
  expect(await complete('run', 'night')).toEqual(['night-shift', 'nightly']);
  expect(await complete('-C', '.', 'run', '--re')).toEqual(['--resend']);
  expect(await complete('show', 'night')).toEqual(['']);
  expect(await complete('run', '')).not.toEqual(expect.arrayContaining(['-rf']));
  // The name of a file is no command.
  expect(await readdir(workspace.dir)).not.toContain('made');
});

it('prints scripts for zsh and fish, and refuses other shells', async () => {
  await using workspace = await makeWorkspace({});
  const { stdout: fish } = await workspace.storeferry('completion', 'fish');
  for (const { name } of COMMANDS) expect(fish).toContain(`-a ${name} -d '`);
  expect((await workspace.storeferry('completion', 'zsh')).stdout).toContain('bashcompinit');
  const refused = await workspace.storeferry('completion', 'tcsh');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('bash, zsh, fish');
});
