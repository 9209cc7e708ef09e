import { once } from 'node:events';
import { createServer } from 'mysql2';
import { afterEach, expect, it, vi } from 'vitest';
import { queryMysql } from '../../src/remote/mysql-kind.ts';
import { endWithTest } from '../support/processes.ts';

const JSON_TYPE = 245;
const NO_CHARSET = 63;
const UTF8MB4 = 45;

/** A server that answers each query with one column of JSON, as MySQL does: without a charset. */
async function startMysql(host: string): Promise<number> {
  // The library does not count the packets of its own server as its client does.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const server = createServer((connection) => {
    const answer = Object(connection);
    connection.on('error', () => {});
    answer.serverHandshake({
      protocolVersion: 10,
      serverVersion: '8.0.40',
      connectionId: 1,
      statusFlags: 2,
      characterSet: UTF8MB4,
      capabilityFlags: 0xffffff ^ 32,
      authCallback: (_: unknown, done: (error: null) => void) => done(null),
    });
    connection.on('stmt_prepare', () => answer.writeOk());
    connection.on('query', (query: string) => {
      if (!query.startsWith('SELECT')) return answer.writeOk();
      answer.writeColumns([
        {
          ...{ catalog: 'def', schema: 'shop', table: 'items', orgTable: 'items', name: 'a', orgName: 'a' },
          ...{ columnType: JSON_TYPE, characterSet: NO_CHARSET, columnLength: 99, flags: 0, decimals: 0 },
        },
      ]);
      answer.writeTextRow(['{"size": "groß"}']);
      answer.writeEof();
    });
  });
  const listening = Object(server)._server;
  endWithTest(() => listening.close());
  listening.listen(0, host);
  await once(listening, 'listening');
  return listening.address().port;
}

afterEach(() => vi.restoreAllMocks());

it.each([
  ['JSON of MySQL, which has no charset', '127.0.0.1', '127.0.0.1'],
  ['from an IPv6 address', '::1', '[::1]'],
])('%s is read as UTF-8', async (_, host, named) => {
  const url = `mysql://shop@${named}:${await startMysql(host)}/shop`;
  const query = 'SELECT a FROM items';
  const at = {
    kind: 'mysql',
    location: url,
    url,
    query,
    isQuery: true,
    allowPrivateAddresses: true,
  } as const;
  const { columns, batches } = await queryMysql(at, new AbortController().signal);
  const rows: (readonly (string | null)[])[] = [];
  for await (const batch of batches) rows.push(...batch);
  expect([columns, rows]).toEqual([['a'], [['{"size": "groß"}']]]);
});
