import { expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/commands.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { setupNightly } from '../support/nightly.ts';

it('listens to signals only until a command is over, in a process that runs many', async () => {
  await using setup = await setupNightly(1);
  await setup.workspace.write('.env', `STORE_API_KEY=${setup.store.apiKey}\n`);
  const listening = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name));
  const before = listening();
  const codes: number[] = [];
  for (const command of [['runs'], ['plan', 'nightly'], ['show', 'no-such-key'], ['no-such-command']]) {
    codes.push(await runCommandLine(['-C', setup.workspace.dir, ...command], memoryTerminal().terminal));
  }
  expect(codes).toEqual([0, 0, 2, 2]);
  expect(listening()).toEqual(before);
});
