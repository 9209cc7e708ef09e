import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { describeWithRedis, startRedis } from './redis.ts';

describeWithRedis('the redis-server of the tests', () => {
  it('keeps what was answered through a SIGKILL and serves it on the same address', async () => {
    await using server = await startRedis();
    const client = new Redis(server.url);
    await client.set('kept', 'yes');
    client.disconnect();
    await server.kill();
    await server.restart();
    const again = new Redis(server.url);
    expect(await again.get('kept')).toBe('yes');
    again.disconnect();
  });

  it('answers nothing while paused', async () => {
    await using server = await startRedis({ aof: false });
    const client = new Redis(server.url, { commandTimeout: 200 });
    await client.ping();
    server.pause();
    await expect(client.ping()).rejects.toThrow('timed out');
    server.resume();
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });

  it('asks for its password', async () => {
    await using server = await startRedis({ aof: false, password: 'pass-of-a-test' });
    const client = new Redis(server.url);
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
    expect(server.url).toContain('pass-of-a-test@');
  });
});
