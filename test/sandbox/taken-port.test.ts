import { expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';

it('a port that is taken is said to be, and what to do', async () => {
  const first = await startSandbox({ port: 0, apiKey: 'key' });
  const port = Number(new URL(first.url).port);
  await expect(startSandbox({ port, apiKey: 'key' })).rejects.toMatchObject({
    message: `The sandbox cannot listen on 127.0.0.1:${port}: the port is in use.`,
    hint: 'Name another port with --port.',
    exitCode: 2,
  });
  await first.close();
});
