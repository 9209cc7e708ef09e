import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/commands.ts';
import { placeholder } from '../../src/config/yaml-text.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { memoryTerminal } from '../support/memory-terminal.ts';
import { setupNightly } from '../support/nightly.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { makeWorkspace } from '../support/workspace.ts';

const JOB = 'import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: shopify-products\n';

/** A workspace whose store is at an address. */
function workspaceAt(url: string, files: Readonly<Record<string, string>> = {}, env = {}) {
  return makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${url}", apiKey: "${placeholder('STORE_API_KEY')}" }\n`,
      'jobs/nightly.yaml': JOB,
      'catalog.csv': shopifyCatalog(manyProducts(2)),
      '.env': 'STORE_API_KEY=a-key-of-ours\n',
      ...files,
    },
    env,
  );
}

/** A server that answers every request alike. */
async function answering(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer) {
  const server = createServer((_, response) => response.writeHead(status, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('check --online', () => {
  it('finds all well with one request that changes nothing', async () => {
    await using setup = await setupNightly(3);
    const { store, workspace } = setup;
    const checked = await workspace.storeferry('check', '--online');
    expect(checked.stdout).toMatch(/^ok +store main: .* answers in \d+ ms and takes the key/m);
    expect(checked.stdout).toMatch(/^ok +job nightly: its source catalog\.csv exists/m);
    expect(checked.stdout).toMatch(/^ok +artifacts: can be written/m);
    expect(checked.stdout).toMatch(/^ok +disk: /m);
    expect(checked.stdout).toContain(`Next: storeferry -C ${workspace.dir} plan nightly`);
    expect(checked.code).toBe(0);
    expect(store.figures().requests).toBe(1);
  });

  it('suggests an id where two addresses answer alike', async () => {
    const lists = JSON.stringify([{ id: 4, name: 'News', created: 1_700_000_000 }]);
    const json = { 'content-type': 'application/json' };
    await using one = await answering(200, json, lists);
    await using other = await answering(200, json, lists);
    const stores = (id: string) =>
      [one, other]
        .map(
          ({ url }, at) =>
            `${['main', 'second'][at]}: { baseUrl: "${url}", apiKey: "\${STORE_API_KEY}"${id} }\n`,
        )
        .join('');
    await using workspace = await workspaceAt(one.url, { 'stores.yaml': stores('') });
    const checked = await workspace.storeferry('check', '--online');
    expect(checked.stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /(main and second|second and main) answer with the same subscriber lists.* give both the same `id` in stores\.yaml/,
    );
    await workspace.write('stores.yaml', stores(', id: shop'));
    expect((await workspace.storeferry('check', '--online')).stdout).not.toContain('same subscriber lists');
  });

  it('finds a damaged state, and one that is gone', async () => {
    await using setup = await setupNightly(40);
    const { workspace } = setup;
    const path = join(workspace.dir, '.storeferry', 'state.db');
    const checked = async () => {
      const { code, stdout } = await workspace.storeferry('check', '--online');
      return { code, said: stdout.replaceAll(/\s+/g, ' ') };
    };
    expect(await checked()).toMatchObject({ code: 0, said: expect.stringMatching(/ok state: no state yet/) });
    await workspace.storeferry('run', 'nightly');
    expect(await checked()).toMatchObject({ code: 0, said: expect.stringMatching(/ok state: .* is intact/) });
    const sound = await readFile(path);
    const zeroed = (from: number, to: number) => Buffer.from(sound).fill(0, from, to);
    const damages = [zeroed(0, 100), zeroed(4_096, sound.length), sound.subarray(0, sound.length / 2)];
    for (const damage of damages) {
      await writeFile(path, damage);
      const found = await checked();
      expect(found.said).toMatch(/error state: The state database .* is damaged/);
      expect(found.said).not.toContain('No problems found');
      expect(found.code).toBe(1);
    }
    await writeFile(path, '');
    const { said } = await checked();
    expect(said).toMatch(/warning state: .* is empty/);
    expect(said).toContain('A run can start; 1 warning above.');
    expect(said).not.toContain('No problems found');
  });

  it('sends nothing without --online', async () => {
    await using setup = await setupNightly(3);
    expect((await setup.workspace.storeferry('check')).code).toBe(0);
    expect(setup.store.figures().requests).toBe(0);
  });

  it.each([
    ['a wrong key', 401, {}, '{"success":false,"message":"Who?"}', 'refuses the key (401: Who?)'],
    ['a web page', 200, {}, '<!doctype html><p>Welcome', 'answers 200 with a web page, which is not the API'],
    ['no such path', 404, {}, 'Not here', 'answers 404 with text that is not JSON, which is not the API'],
    ['JSON of something else', 200, {}, '{"ok":true}', 'JSON of another shape'],
    ['a redirect', 301, { location: 'https://www.shop.example/' }, '', '301 to https://www.shop.example/'],
    ['a store in trouble', 503, {}, '', 'answers 503'],
  ])('distinguishes %s', async (_, status, headers, body, said) => {
    await using server = await answering(status, headers, body);
    await using workspace = await workspaceAt(server.url);
    const { terminal, out } = memoryTerminal();
    expect(await runCommandLine(['-C', workspace.dir, 'check', '--online'], terminal)).toBe(1);
    expect(out().replaceAll(/\s+/g, ' ')).toContain(said);
    expect(out()).not.toContain('a-key-of-ours');
  });

  it.each([
    ['a name that nobody knows', 'http://shop.invalid', 'cannot be resolved'],
    ['a port where nothing listens', 'http://127.0.0.1:9', 'no server listens at 127.0.0.1:9'],
  ])('distinguishes %s', async (_, url, said) => {
    await using workspace = await workspaceAt(url);
    const { terminal, out } = memoryTerminal();
    expect(await runCommandLine(['-C', workspace.dir, 'check', '--online'], terminal)).toBe(1);
    expect(out()).toContain(said);
  });

  it('reads an answer that is packed though nobody asked for it', async () => {
    await using server = await answering(200, { 'content-encoding': 'gzip' }, gzipSync('[]'));
    await using workspace = await workspaceAt(server.url);
    const { terminal, out } = memoryTerminal();
    expect(await runCommandLine(['-C', workspace.dir, 'check', '--online'], terminal)).toBe(0);
    expect(out()).toMatch(/^ok +store main: .* takes the key/m);
  });

  it('names https:// where the server speaks only http', async () => {
    await using server = await answering(200, {}, '[]');
    await using workspace = await workspaceAt(server.url.replace('http:', 'https:'));
    expect((await workspace.storeferry('check', '--online')).stdout).toContain(
      'does not use the protocol of https',
    );
  });

  it('attempts everything, even where the files are wrong, and then ends as for wrong files', async () => {
    await using server = await answering(200, {}, '[]');
    await using workspace = await workspaceAt(server.url, {
      'catalog.csv': 'Name;Price\nMug;1\n',
      'jobs/broken.yaml': 'import: products\n',
      'jobs/absent.yaml': JOB.replace('catalog.csv', 'absent.csv'),
    });
    const checked = await workspace.storeferry('check', '--online');
    expect(checked.stdout).toContain('jobs/broken.yaml');
    expect(checked.stdout).toMatch(/^ok +store main/m);
    const said = checked.stdout.replaceAll(/\s+/g, ' ');
    expect(said).toMatch(
      /error job nightly: .* does not fit the mapping shopify-products: the file has no 'Handle'/,
    );
    expect(said).toContain('error job absent: its source cannot be read');
    expect(checked.code).toBe(2);
  });

  it('sends no request with a key that is not set', async () => {
    await using setup = await setupNightly(1);
    await using workspace = await workspaceAt(setup.store.baseUrl, { '.env': '' });
    const { terminal, out } = memoryTerminal();
    expect(await runCommandLine(['-C', workspace.dir, 'check', '--online'], terminal)).toBe(0);
    expect(out()).toMatch(/^not checked +store main: STORE_API_KEY not set/m);
    expect(out()).toContain('The files are valid; set STORE_API_KEY');
    expect(setup.store.figures().requests).toBe(0);
  });

  it('says that a store takes no more requests just now', async () => {
    await using setup = await setupNightly(1);
    setup.store.misbehave({ does: errorAnswer(429, 'Slower') });
    const checked = await setup.workspace.storeferry('check', '--online');
    expect(checked.stdout).toContain('answers 429: Slower');
    expect(checked.code).toBe(1);
  });
});

it('check --online reaches for sources and destinations elsewhere, and says what is in the way', async () => {
  await using server = await answering(200, {}, '[]');
  await using refusing = await answering(403, {}, '');
  await using nothing = await answering(404, {}, '');
  const at = (url: string) =>
    JOB.replace('path: catalog.csv', `url: { address: "${url}/c.csv", allowPrivateAddresses: true }`);
  await using workspace = await workspaceAt(server.url, {
    'jobs/here.yaml': at(server.url),
    'jobs/closed.yaml': at(refusing.url),
    'jobs/gone.yaml': at(nothing.url),
    'jobs/lists.yaml': 'export: subscriber-lists\nstore: main\ndestination: { path: exports/lists.csv }\n',
    'jobs/typo.yaml': 'export: orders\nstore: main\ndestination: { sqlite: typo.db, table: orders }\n',
    'jobs/made.yaml':
      'export: orders\nstore: main\ndestination: { sqlite: made.db, table: o, create: true }\n',
  });
  const checked = await workspace.storeferry('check', '--online');
  const said = checked.stdout.replaceAll(/\s+/g, ' ');
  expect(said).toContain(`ok job here: its source ${server.url}/c.csv can be read`);
  expect(said).toContain(`error job closed: its source cannot be read: ${refusing.url}/c.csv`);
  expect(said).toContain(`error job gone: its source ${nothing.url}/c.csv does not exist`);
  expect(said).toContain('ok job lists: its destination exports/lists.csv can be written');
  expect(said).toMatch(/error job typo: there is no \S+typo\.db, table orders/);
  expect(said).toContain('ok job made: its destination made.db can be written');
  expect((await readdir(workspace.dir)).filter((name) => name.endsWith('.db'))).toEqual([]);
  expect(checked.code).toBe(1);
});

describeWithRedis('check --online with Redis', () => {
  it('names the runs that wait for a worker, as runs does, and the way on where the queue has lost one', async () => {
    await using redis = await startRedis();
    await using server = await answering(200, {}, '[]');
    const later = `${JOB}schedule: { cron: "15 2 * * *" }\n`;
    await using workspace = await workspaceAt(
      server.url,
      { 'jobs/later.yaml': later },
      { REDIS_URL: redis.url },
    );
    const following = workspace.start('enqueue', 'nightly', '--follow');
    await following.printed('Enqueued nightly as run ');
    const [, run = ''] = /as run (\w+)/.exec(following.stderr()) ?? [];
    const checked = await workspace.storeferry('check', '--online');
    expect(checked.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'warning workers: none is running, so the schedules of later are inactive, and 1 run waits for one',
    );
    expect(checked.stdout).not.toContain('No problems found');
    expect((await workspace.storeferry('runs')).stdout).toContain(
      `Run ${run} of nightly waits for a worker.`,
    );
    expect((await workspace.storeferry('runs', '--json')).json()).toMatchObject({
      queued: [{ run, job: 'nightly' }],
    });
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    const lost = await following.ended;
    expect(lost.code).toBe(1);
    expect(lost.stderr).toContain(`Enqueue the job again: storeferry -C ${workspace.dir} enqueue nightly`);
  });

  it('says what makes it forget, and whether workers are running', async () => {
    await using redis = await startRedis({ aof: false, settings: { 'maxmemory-policy': 'allkeys-lru' } });
    await using server = await answering(200, {}, '[]');
    const scheduled = `${JOB}schedule: { cron: "15 2 * * *" }\n`;
    await using workspace = await workspaceAt(
      server.url,
      { 'jobs/nightly.yaml': scheduled },
      { REDIS_URL: redis.url },
    );
    const checked = await workspace.storeferry('check', '--online');
    expect(checked.stdout).toMatch(/^ok +Redis: answers in \d+ ms, version \d/m);
    expect(checked.stdout).toContain('Set maxmemory-policy noeviction.');
    expect(checked.stdout).toContain('Set appendonly yes.');
    expect(checked.stdout).toMatch(
      /^warning +workers: none is running, so the schedules of nightly are inactive/m,
    );
    expect(checked.code).toBe(1);
  });
});

it('check --online ends though Redis does not answer', async () => {
  await using server = await answering(200, {}, '[]');
  await using workspace = await workspaceAt(server.url, {}, { REDIS_URL: 'redis://127.0.0.1:9' });
  const checked = await workspace.storeferry('check', '--online');
  expect(checked.stdout).toMatch(/^error +Redis: .* cannot be reached/m);
  expect(checked.stdout).toMatch(/^not checked +workers/m);
  expect(checked.code).toBe(1);
});
