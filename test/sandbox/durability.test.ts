import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { LockedError, StateError, UsageError } from '../../src/model/storeferry-error.ts';
import { openDatabase } from '../../src/sandbox/open-database.ts';
import { startProcess } from '../support/processes.ts';
import { until } from '../support/until.ts';
import { API_KEY, client, setup } from './setup.ts';

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'storeferry-sandbox-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function startSandbox(dataDir: string) {
  const child = startProcess(
    process.execPath,
    [fileURLToPath(new URL('./sandbox-process.ts', import.meta.url)), dataDir, API_KEY],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const [url] = await once(createInterface({ input: child.stdout }), 'line');
  return {
    ...client(String(url)),
    async kill() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

describe('what the sandbox has answered', () => {
  it('survives a kill in the middle of writing', async () => {
    await using folder = await temporaryFolder();
    const acknowledged = new Map<string, string>();
    let number = 0;
    for (let round = 0; round < 3; round += 1) {
      const sandbox = await startSandbox(folder.path);
      let alive = true;
      const writers = Array.from({ length: 8 }, async () => {
        while (alive) {
          number += 1;
          const product = { title: `Round ${round}`, url: `p-${number % 400}` };
          const answer = await sandbox.upsert(product).catch(() => undefined);
          if (answer?.status === 200 || answer?.status === 201) acknowledged.set(product.url, product.title);
        }
      });
      const before = number;
      await until(() => number > before + 60 + 20 * round);
      await sandbox.kill();
      alive = false;
      await Promise.all(writers);
    }
    expect(acknowledged.size).toBeGreaterThan(50);

    await using store = await setup({ dataDir: folder.path });
    const products = await store.list('/_sandbox/products');
    const titles = new Map(products.map(({ url, title }) => [url, title]));
    expect(titles.size).toBe(products.length);
    const lost = [...acknowledged].filter(([url, title]) => !(String(titles.get(url)) >= title));
    expect(lost).toEqual([]);
  });

  it('is there after a restart, and the seeds are not planted twice', async () => {
    await using folder = await temporaryFolder();
    {
      await using store = await setup({ dataDir: folder.path });
      await store.upsert({ title: 'Mug', url: 'mug' });
      await store.send('PUT', '/api/site/contacts/1001', { note: 'Kept' });
    }
    await using store = await setup({ dataDir: folder.path });
    expect(await store.list('/_sandbox/products')).toMatchObject([{ id: 1, url: 'mug' }]);
    const contacts = await store.list('/_sandbox/contacts');
    expect(contacts).toHaveLength(320);
    expect(contacts[0]?.note).toBe('Kept');
  });
});

describe('the data folder', () => {
  it('belongs to one sandbox at a time', async () => {
    await using folder = await temporaryFolder();
    const other = await startSandbox(folder.path);
    await expect(setup({ dataDir: folder.path })).rejects.toThrow(LockedError);
    await other.kill();
    await using store = await setup({ dataDir: folder.path });
    expect((await store.send('GET', '/api/site/orders')).status).toBe(200);
  });

  it('is refused when it cannot be used', async () => {
    await expect(setup({ dataDir: '/dev/null/folder' })).rejects.toThrow(StateError);
  });

  it('is refused when a later version wrote it', async () => {
    await using folder = await temporaryFolder();
    const database = openDatabase(folder.path, () => undefined);
    database.exec('PRAGMA user_version = 9');
    database.close();
    await expect(setup({ dataDir: folder.path })).rejects.toThrow(/format 9/);
  });

  it('gets either everything a new store holds or nothing', async () => {
    await using folder = await temporaryFolder();
    const dies = () => {
      throw new Error('no room');
    };
    expect(() => openDatabase(folder.path, dies)).toThrow(StateError);
    await using store = await setup({ dataDir: folder.path });
    expect(await store.list('/_sandbox/contacts')).toHaveLength(320);
  });

  it('is free again when the port is not', async () => {
    await using taken = await setup();
    await using folder = await temporaryFolder();
    const port = Number(new URL(taken.url).port);
    await expect(setup({ dataDir: folder.path, port })).rejects.toThrow(UsageError);
    await using store = await setup({ dataDir: folder.path });
    expect(await store.list('/_sandbox/products')).toEqual([]);
  });
});
