import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { freePort } from '../support/free-port.ts';
import { runProcess, startProcess } from '../support/processes.ts';
import { describeWithRedis } from '../support/redis.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

const PASSWORD = "9f2c'$(exit 7)7b";

const composeSchema = z.object({
  services: z.object({
    redis: z.object({ command: z.array(z.string()), healthcheck: z.object({ test: z.array(z.string()) }) }),
  }),
});

/** The Redis of docker-compose.yml, by its own command, without a container: on a free port, in a temporary folder. */
async function startComposeRedis() {
  const file = await readFile(join(import.meta.dirname, '..', '..', 'docker-compose.yml'), 'utf8');
  const { redis } = composeSchema.parse(parse(file)).services;
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-compose-'));
  const port = await freePort();
  const shim = join(dir, 'docker-entrypoint.sh');
  await writeFile(shim, `#!/bin/sh\nexec "$@" --port ${port} --bind 127.0.0.1\n`);
  await chmod(shim, 0o755);
  const env = { PATH: `${dir}:${process.env['PATH']}`, REDIS_PASSWORD: PASSWORD, REDIS_MAXMEMORY: '1gb' };
  const [program = '', ...words] = redis.command.map((word) => word.replaceAll('$$', '$'));
  const server = startProcess(program, words, { cwd: dir, env, stdio: 'ignore' });
  const check = (redis.healthcheck.test[1] ?? '')
    .replaceAll('$$', '$')
    .replace('redis-cli', `redis-cli -p ${port}`);
  return {
    port,
    args: async () => (await runProcess('ps', ['-o', 'args=', '-p', String(server.pid)])).stdout,
    isHealthy: async (password = PASSWORD) =>
      (await runProcess('sh', ['-c', check], { env: { ...env, REDIS_PASSWORD: password } })).code === 0,
    async [Symbol.asyncDispose]() {
      const ended = once(server, 'exit');
      if (server.exitCode === null && server.kill('SIGKILL')) await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

describeWithRedis('the Redis of docker-compose.yml', () => {
  it('answers nothing without its password, does what a worker asks, and no administration', async () => {
    await using redis = await startComposeRedis();
    await until(() => redis.isHealthy());
    expect(await redis.isHealthy('wrong')).toBe(false);
    expect(await redis.args()).not.toContain(PASSWORD);

    const stranger = new Redis(redis.port, { lazyConnect: true, retryStrategy: () => null });
    stranger.on('error', () => {});
    await expect(stranger.ping()).rejects.toThrow(/NOAUTH|closed/);
    stranger.disconnect();
    const user = new Redis(redis.port, { username: 'storeferry', password: PASSWORD });
    const forbidden: readonly (readonly [string, ...string[]])[] = [
      ['CONFIG', 'GET', '*'],
      ['FLUSHALL'],
      ['ACL', 'LIST'],
      ['SHUTDOWN'],
      ['KEYS', '*'],
      ['SWAPDB', '0', '1'],
      ['MIGRATE', '127.0.0.1', '6379', 'key', '0', '100'],
    ];
    for (const [command, ...args] of forbidden) {
      await expect(user.call(command, args)).rejects.toThrow(/NOPERM/);
    }
    user.disconnect();

    await using store = await startStore({ seed: 1 });
    await using shop = await makeWorkspace(
      catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(20))),
      {
        STORE_API_KEY: store.apiKey,
        REDIS_URL: `redis://storeferry:${encodeURIComponent(PASSWORD)}@127.0.0.1:${redis.port}`,
      },
    );
    const worker = shop.start('worker');
    await worker.printed('"ready"');
    const ended = await shop.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(ended.json()).toMatchObject({ status: 'done', applied: 20 });
    expect((await shop.storeferry('runs')).code).toBe(0);
    expect(worker.stderr()).not.toContain('NOPERM');
  });
});
