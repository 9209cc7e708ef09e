import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/commands.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { makeWorkspace } from '../support/workspace.ts';

it.each([
  ['audit', 'bogus'],
  ['contacts', 'bogus'],
  ['export', 'bogus', 'nightly'],
  ['catalog', '--out', 'products.doc'],
  ['tokens', '--scope', 'operate'],
  ['tokens', 'revoke', 'ci', '--days', '3'],
  ['audit', 'export', '--known', 'abc'],
  ['runs', '--csv'],
  ['runs', 'k3v', '--outcome', 'held'],
])('%s %s is refused before anything is made', async (...words) => {
  await using workspace = await makeWorkspace(
    { 'stores.yaml': 'main: { baseUrl: "http://127.0.0.1:1", apiKey: "k-1" }\n' },
    {},
  );
  const { terminal } = memoryTerminal();
  expect(await runCommandLine(['-C', workspace.dir, ...words], terminal)).toBe(2);
  expect(existsSync(join(workspace.dir, '.storeferry'))).toBe(false);
});
