import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { encodeBody } from '../../src/state/encode-body.ts';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { connectRedis, type RedisConnection } from '../../src/state/redis/redis-connection.ts';
import { redisKeys } from '../../src/state/redis/redis-keys.ts';
import { IN_DOUBT } from '../../src/state/state.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { range, sampleRun } from './samples.ts';
import { collected } from './two-processes.ts';

const PREFIX = 'test';
const KEYS = redisKeys(PREFIX);
const REASON = { code: 'store-422', message: 'Too long' };
const REFUSAL = { shard: 1, index: 1, key: 'refused', rows: 1, spans: [], reason: REASON };
const LEDGER = { storeId: '//localhost:3999', resource: 'products' } as const;

/** The hash tag of a target before targets were identities. */
function oldTag(store: string, baseUrl: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([store, baseUrl, 'products']))
    .digest('base64url');
  return `{${store}-products-${digest.slice(0, 12)}}`;
}

/** Writes a run and its ledger as earlier versions did: marks as `id fingerprint job`. */
async function writeOld(
  { client }: RedisConnection,
  id: string,
  [store, baseUrl]: readonly [string, string],
  marks: Readonly<Record<string, string>>,
): Promise<void> {
  const tag = oldTag(store, baseUrl);
  const { storeId: _none, ...run } = sampleRun({ id, store, baseUrl });
  const fields = Object.entries(run).map(([field, value]) => [field, JSON.stringify(value)]);
  await client.hset(KEYS.run(id), Object.fromEntries(fields));
  await client.zadd(KEYS.runs(), run.startedAt, id);
  await client.zadd(KEYS.runs(run.job), run.startedAt, id);
  await client.hset(KEYS.outcomes(tag, id), '1', 'aru');
  await client.hset(KEYS.tally(tag, id), { applied: 1, rejected: 1, requests: 3 });
  await client.hset(KEYS.unsent(tag, id), '1:2', JSON.stringify({ code: 'store-503', message: 'Later' }));
  await client.zadd(KEYS.refusals(tag, id), 65_537, JSON.stringify(REFUSAL));
  const written = Object.entries(marks).map(async ([key, mark]) => {
    await client.hset(KEYS.marks(tag), key, mark.replaceAll(' ', '\n'));
    await client.hset(KEYS.bodies(tag), key, encodeBody(`{"${key}":"${store}"}`));
    await client.zadd(KEYS.jobKeys(tag), 0, `${mark.split(' ')[2]}\0${key}`);
  });
  await Promise.all(written);
}

describeWithRedis('a Redis from before targets were identities', () => {
  it('keeps a ledger that stands alone, and what became of its runs', async () => {
    await using server = await startRedis();
    const raw = await connectRedis(server);
    const many = Object.fromEntries(range(2_500).map((index) => [`key-${index}`, `${index} print nightly`]));
    await writeOld(raw, 'run-1', ['main', 'http://127.0.0.1:3999'], many);
    for (const _twice of range(2)) {
      await using state = await openRedisState({ url: server.url, prefix: PREFIX });
      const ledger = state.ledger(LEDGER);
      expect(await ledger.count('nightly')).toBe(2_500);
      expect(await ledger.marks(['key-7'])).toEqual([{ fingerprint: 'print', id: 7, job: 'nightly' }]);
      expect(await ledger.bodies(['key-7'])).toEqual(['{"key-7":"main"}']);
      expect(await state.runs.get('run-1')).toMatchObject({ storeId: '//localhost:3999' });
      expect([...(await state.runs.outcomes('run-1', 1)).values()]).toEqual([
        'applied',
        'rejected',
        'unsent',
      ]);
      expect(await state.runs.tally('run-1')).toMatchObject({ applied: 1, rejected: 1, requests: 3 });
      expect(await collected(state.runs.refusals('run-1'))).toMatchObject([{ key: 'refused' }]);
      expect(await state.runs.unsentReasons('run-1')).toMatchObject([{ count: 1 }]);
    }
    expect(await raw.client.keys(`${PREFIX}:${oldTag('main', 'http://127.0.0.1:3999')}:*`)).toEqual([]);
    await raw.close();
  });

  it('on a Cluster makes one ledger of the names of one store, all of it in doubt', async () => {
    await using cluster = await startRedisCluster();
    const raw = await connectRedis(cluster);
    const coat = '7 print nightly';
    await writeOld(raw, 'run-1', ['main', 'http://127.0.0.1:3999'], { coat, hat: ' print nightly' });
    await writeOld(raw, 'run-2', ['second', 'http://localhost:3999'], {
      coat,
      hat: '9 print weekly',
      shirt: '10 print weekly',
    });
    await using state = await openRedisState({ url: cluster.url, prefix: PREFIX });
    const ledger = state.ledger(LEDGER);
    expect(await ledger.marks(['coat', 'hat', 'shirt'])).toEqual([
      { fingerprint: IN_DOUBT, id: 7, job: 'nightly' },
      { fingerprint: IN_DOUBT, id: 9, job: '' },
      { fingerprint: IN_DOUBT, id: 10, job: 'weekly' },
    ]);
    expect(await collected(ledger.keysOf('nightly'))).toEqual([{ key: 'coat', id: 7 }]);
    expect(await collected(ledger.keysOf('weekly'))).toEqual([{ key: 'shirt', id: 10 }]);
    expect(await state.runs.tally('run-2')).toMatchObject({ applied: 1 });
    await raw.close();
  });

  it('is left alone while an earlier version is at work, and by one that is too old for it', async () => {
    await using server = await startRedis();
    const raw = await connectRedis(server);
    const store = ['main', 'http://127.0.0.1:3999'] as const;
    await writeOld(raw, 'run-1', store, { coat: '7 print nightly' });
    const lock = KEYS.lock(`target:${oldTag(...store)}`);
    await raw.client.hset(lock, { token: 't', job: 'nightly', run: 'run-1' });
    const open = () => openRedisState({ url: server.url, prefix: PREFIX });
    await expect(open()).rejects.toThrow('Run run-1 of nightly is under way in an earlier version');
    await raw.client.del(lock);
    await (await open())[Symbol.asyncDispose]();
    await raw.client.set(KEYS.version(), 99);
    await expect(open()).rejects.toMatchObject({ hint: expect.stringContaining('update this one') });
    await raw.close();
  });
});
