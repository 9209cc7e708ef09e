import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { StateUnavailableError } from '../../src/model/storeferry-error.ts';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { expectAdvice } from './expect-advice.ts';
import { applied, range, sampleRun, TARGET, upsert } from './samples.ts';

describeWithRedis('the shared state refuses with advice', () => {
  it('an address where nobody listens, at once', async () => {
    const opening = openRedisState({ url: 'redis://user:geheim-1@127.0.0.1:1', prefix: 'test' });
    await expectAdvice(opening, /127\.0\.0\.1:1 cannot be reached/, 'REDIS_URL');
  });

  it.each(['http://:geheim-1@host', 'geheim-1', 'redis://:geheim-1%@host', 'redis://:geheim-1@host/name'])(
    'the address %s, which is of another kind',
    async (url) => {
      await expectAdvice(openRedisState({ url, prefix: 'test' }), /form redis:/, 'rediss');
    },
  );

  it('a wrong password, and shows none', async () => {
    await using own = await startRedis({ aof: false, password: 'right-password' });
    const wrong = own.url.replace('right-password', 'geheim-1');
    await expectAdvice(openRedisState({ url: wrong, prefix: 'test' }), /refuses the connection/, 'password');
    await expectAdvice(
      openRedisState({ url: own.url.replace(':right-password@', ''), prefix: 'test' }),
      /refuses the connection/,
      'password',
    );
  });

  it('a server that does not answer', async () => {
    await using own = await startRedis({ aof: false });
    await using state = await openRedisState({ url: own.url, prefix: 'test', commandTimeoutMs: 300 });
    own.pause();
    await expectAdvice(state.runs.get('run-1'), /cannot be reached/, 'run again');
    await expectAdvice(
      openRedisState({ url: own.url, prefix: 'test', commandTimeoutMs: 300 }),
      /cannot be reached/,
      'REDIS_URL',
    );
    own.resume();
  });

  it('a server that is gone, after the command timeout', async () => {
    await using own = await startRedis({ aof: false });
    await using state = await openRedisState({ url: own.url, prefix: 'test', commandTimeoutMs: 500 });
    await own.kill();
    await expectAdvice(
      state.runs.record(sampleRun(), 1, [applied(upsert(0, 'shirt'))], 1),
      /reached/,
      'run again',
    );
    await expect(state.runs.get('run-1')).rejects.toThrow(StateUnavailableError);
  });

  it('a full server, with nothing written by halves', async () => {
    await using own = await startRedis({ aof: false, settings: { maxmemory: '3mb' } });
    await using state = await openRedisState({ url: own.url, prefix: 'test' });
    const run = sampleRun();
    await state.runs.create(run);
    const filling = async () => {
      for (let shard = 0; shard < 100; shard++) {
        const results = range(500).map((index) => applied(upsert(index, `key-${shard}-${index}`)));
        await state.runs.record(run, shard, results, 500);
      }
    };
    await expectAdvice(filling(), /is full/, 'maxmemory');
    const { applied: recorded } = await state.runs.tally('run-1');
    expect(recorded).toBeGreaterThan(0);
    expect(await state.ledger(TARGET).count('nightly')).toBe(recorded);
  });

  it('a replica', async () => {
    await using own = await startRedis({ aof: false });
    await using state = await openRedisState({ url: own.url, prefix: 'test' });
    const client = new Redis(own.url);
    await client.replicaof('127.0.0.1', 1);
    client.disconnect();
    await expectAdvice(state.runs.create(sampleRun()), /is a replica/, 'primary');
  });
});
