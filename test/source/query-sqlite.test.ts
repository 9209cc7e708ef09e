import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { querySqlite } from '../../src/source/query-sqlite.ts';
import { markedProcesses } from '../support/marked-processes.ts';
import { until } from '../support/until.ts';

const dir = mkdtempSync(join(tmpdir(), 'storeferry-'));
const real = join(dir, 'shop.db');
const COUNTING = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c';
const database = new DatabaseSync(real);
database.exec(`CREATE VIEW silent AS ${COUNTING} WHERE x < 0`);
database.exec(`CREATE VIEW endless AS ${COUNTING}`);
database.close();
const mark = randomUUID();
vi.stubEnv('STOREFERRY_TEST_MARK', mark);
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
});

const read = (query: string, signal?: AbortSignal) => querySqlite({ path: 'shop.db', real }, query, signal);

describe('the query of a SQLite file', () => {
  it('ends with its signal though its next row never comes, and so does its process', async () => {
    const stop = new AbortController();
    const rows = read('SELECT * FROM silent', stop.signal);
    expect((await rows.next()).value).toBe('x\n');
    const next = rows.next();
    expect(markedProcesses(mark)).toHaveLength(1);
    stop.abort(new Error('stopped'));
    await expect(next).rejects.toThrow('stopped');
    await until(() => markedProcesses(mark).length === 0);
  });

  it('is refused where its process cannot be started', async () => {
    const { execPath } = process;
    process.execPath = join(dir, 'no-node');
    try {
      await expect(read('SELECT 1').next()).rejects.toThrow('its process could not be started');
    } finally {
      process.execPath = execPath;
    }
  });

  it('of endless rows ends with its reader', async () => {
    for await (const text of read('SELECT * FROM endless')) if (text.includes('5000\n')) break;
    await until(() => markedProcesses(mark).length === 0);
  });

  it.each([
    ['BEGIN', 'it gives no columns'],
    ["SELECT x'00' AS b", 'the column b has bytes'],
    ['SELECT absent FROM silent', 'no such column: absent'],
    ["SELECT 1 FROM pragma_database_list; ATTACH '/etc/passwd' AS p", ''],
  ])('is refused with the reason: %s', async (query, reason) => {
    const text = async () => {
      let all = '';
      for await (const part of read(query)) all += part;
      return all;
    };
    if (reason === '') expect(await text()).toBe('1\n1\n');
    else await expect(text()).rejects.toThrow(`The query of shop.db failed: ${reason}`);
  });
});
