import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { probeRemote } from '../../src/remote/fetch-file.ts';

/** Longer than a query takes to begin, once its library is loaded. */
const BEGUN_MS = 200;

it.each([
  ['postgres', () => import('pg')],
  ['mysql', () => import('mysql2')],
] as const)('a query of %s whose rows nobody reads is not asked, and cannot fail', async (kind, load) => {
  await load();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const location = `${kind}://127.0.0.1:${port}/shop`;
    const at = {
      kind,
      location,
      url: location,
      query: 'SELECT 1',
      isQuery: true,
      allowPrivateAddresses: true,
    } as const;
    const found = await probeRemote(at, new AbortController().signal);
    expect(found).toEqual({ files: [location], bytes: null });
    await wait(BEGUN_MS);
    expect(connections).toBe(0);
  } finally {
    server.close();
  }
});
