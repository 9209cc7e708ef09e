import { expect, it } from 'vitest';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { runInWorkspace } from '../../src/cli/run-in-workspace.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { setupNightly } from '../support/nightly.ts';

it('shows the stack of a bug of our own on standard error, and still ends with the JSON object', async () => {
  await using setup = await setupNightly(3);
  await setup.workspace.write('.env', `STORE_API_KEY=${setup.store.apiKey}\n`);
  const { terminal, out, err } = memoryTerminal();
  const interruptSignal = () => new AbortController().signal;
  const directory = setup.workspace.dir;
  const invocation = { terminal, directory, program: 'storeferry', commands: [], interruptSignal };
  const code = await runInWorkspace(
    invocation,
    { json: true, action: 'run', about: 'nightly' },
    async ({ workspace }) => ({
      kind: 'run',
      request: await readImportRequest(workspace, 'nightly', false),
      workers: async () => {
        throw new TypeError('of no use to anybody');
      },
    }),
  );
  expect(code).toBe(1);
  expect(err()).toContain('TypeError: of no use to anybody\n    at ');
  expect(JSON.parse(out().trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
    job: 'nightly',
    status: 'failed',
    unsent: 3,
    error: expect.stringContaining('of no use to anybody'),
  });
});
