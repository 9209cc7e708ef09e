import { expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { makeWorkspace } from '../support/workspace.ts';

it.each([
  ['says its own key, which is no secret', [], true],
  ['keeps a key that it was given to itself', ['--api-key', 'key-of-ours'], false],
])('the sandbox %s', async (_name, options, shown) => {
  await using folder = await makeWorkspace({});
  const sandbox = folder.start('sandbox', '--port', String(await freePort()), ...options);
  await sandbox.printed('Stop it with Ctrl-C.');
  sandbox.process.kill('SIGINT');
  const { code, stdout } = await sandbox.ended;
  expect(code).toBe(0);
  expect(stdout.includes('Its API key:     sandbox-key\n')).toBe(shown);
  expect(stdout).not.toContain('key-of-ours');
});
