import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LockedError } from '../../src/model/storeferry-error.ts';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { checkRedisServer } from '../../src/state/redis/redis-connection.ts';
import { type Lock, shardLockName, targetLockName } from '../../src/state/state.ts';
import { patience } from '../support/pace.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { expectAdvice } from './expect-advice.ts';
import { itAgreesWithPlainMaps } from './model-suite.ts';
import { applied, bodyOf, deletion, rejected, sampleRun, TARGET, unsent, upsert } from './samples.ts';
import { startChild } from './start-child.ts';
import { describeState } from './state-suite.ts';
import { startSwallowingProxy } from './swallowing-proxy.ts';

/** Of locks that are renewed, on a busy machine too. */
const LEASE_MS = patience(2_000);

const HOLDER = { job: 'nightly', run: 'run-1' };

describeWithRedis('the shared state', () => {
  let server: RedisServer;
  let opened = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  const fresh = () =>
    ({ kind: 'redis', url: server.url, prefix: `test-${++opened}`, leaseMs: LEASE_MS }) as const;

  describe('like any state', () => {
    describeState(async () => fresh());
    itAgreesWithPlainMaps(async () => fresh(), 30);
  });

  it('goes on with marks from before there were memos', async () => {
    const options = fresh();
    await using state = await openRedisState(options);
    const run = sampleRun();
    await state.runs.create(run);
    await state.runs.record(run, 1, [applied(upsert(0, 'shirt'), 7)], 1);
    const client = new Redis(server.url);
    const marks = await client.keys(`${options.prefix}:*:marks`);
    // Without the serial, which a mark has had only since.
    expect(await client.hgetall(marks[0] ?? '')).toEqual({ shirt: '7 0\nprint-of-shirt\nnightly' });
    await client.hset(marks[0] ?? '', 'shirt', '7\nprint-of-shirt\nnightly');
    client.disconnect();
    const ledger = state.ledger(TARGET);
    const question = { job: 'nightly', keys: ['shirt'], memos: ['m1'] };
    expect(await ledger.compare(question)).toEqual([
      { fingerprint: 'print-of-shirt', id: 7, job: 'nightly' },
    ]);
    await ledger.remember([{ key: 'shirt', fingerprint: 'print-of-shirt', memo: 'm1' }]);
    expect(await ledger.compare(question)).toEqual(['same']);
    await state.runs.record(sampleRun({ job: 'another' }), 2, [applied(upsert(0, 'shirt'), 7)], 1);
    expect(await ledger.count('nightly')).toBe(0);
    expect(await ledger.count('another')).toBe(1);
  });

  it('is empty after FLUSHALL, and goes on', async () => {
    await using state = await openRedisState(fresh());
    const run = sampleRun();
    await state.runs.create(run);
    await state.runs.record(run, 1, [applied(upsert(0, 'shirt'), 7)], 1);
    const lock = await state.locks.tryAcquire('target', HOLDER);
    await flushAll(server);
    const ledger = state.ledger(TARGET);
    expect(await ledger.marks(['shirt'])).toEqual([undefined]);
    expect(await ledger.count('nightly')).toBe(0);
    for await (const page of ledger.keysOf('nightly')) expect(page).toEqual([]);
    expect(await state.runs.get('run-1')).toBeUndefined();
    expect(await state.runs.tally('run-1')).toMatchObject({ applied: 0 });
    if (!('fence' in lock)) throw new Error('not held');
    await expect(state.runs.record(run, 1, [applied(upsert(1, 'hat'))], 1, lock.fence)).rejects.toThrow(
      LockedError,
    );
    await state.runs.record(run, 1, [applied(upsert(1, 'hat'), 8)], 1);
    expect((await ledger.marks(['hat']))[0]?.id).toBe(8);
  });

  it('loses nothing that was acknowledged when Redis is killed and comes back', async () => {
    await using own = await startRedis();
    await using state = await openRedisState({ url: own.url, prefix: 'test' });
    const run = sampleRun();
    await state.runs.create(run);
    await state.runs.record(run, 1, [applied(upsert(0, 'shirt'), 7)], 1);
    await own.kill();
    const meanwhile = state.runs.record(run, 1, [applied(upsert(1, 'hat'), 8)], 1);
    await own.restart();
    await meanwhile;
    expect((await state.ledger(TARGET).marks(['shirt', 'hat'])).map((mark) => mark?.id)).toEqual([7, 8]);
    expect(await state.ledger(TARGET).bodies(['shirt'])).toEqual([bodyOf('shirt', 'print-of-shirt')]);
    expect(await state.runs.tally('run-1')).toMatchObject({ applied: 2, requests: 2 });
  });

  it('counts requests once when a connection breaks after the write and before its answer', async () => {
    await using proxy = await startSwallowingProxy(server.port);
    const { prefix } = fresh();
    await using state = await openRedisState({ url: proxy.url, prefix });
    const run = sampleRun();
    await state.runs.create(run);
    await state.runs.record(run, 1, [applied(upsert(0, 'shirt'), 7)], 2);
    proxy.swallowNextAnswer();
    await state.runs.record(run, 1, [applied(upsert(1, 'hat', { rows: 3 }), 8)], 5);
    expect(proxy.swallowed()).toBe(1);
    await state.runs.record(run, 1, [], 1);
    expect(await state.runs.tally('run-1')).toMatchObject({ applied: 2, appliedRows: 4, requests: 8 });
  });

  it('stops a process that slept longer than its lease: nothing of it is written after it wakes', async () => {
    const opening = fresh();
    await using child = startChild(opening, 'record', 'target');
    await child.saying('recorded 3');
    child.kill('SIGSTOP');
    await using state = await openRedisState(opening);
    const signal = AbortSignal.timeout(patience(30_000));
    await using lock = await state.locks.acquire('target', HOLDER, { signal, onWait: () => {} });
    const before = await state.ledger(TARGET).count('of-child');
    child.kill('SIGCONT');
    expect(await child.saying('refused')).toBe('refused LockedError');
    expect(await state.ledger(TARGET).count('of-child')).toBe(before);
    expect(lock.isHeld()).toBe(true);
  });

  it('shows the holder that its lock was lost', async () => {
    await using state = await openRedisState(fresh());
    const lock = await held(state.locks.tryAcquire('target', HOLDER));
    await flushAll(server);
    await new Promise((resolve) => lock.lost.addEventListener('abort', resolve));
    expect(lock.lost.reason).toBeInstanceOf(LockedError);
    expect(lock.isHeld()).toBe(false);
  });

  it('counts a lock as lost when Redis does not answer for the length of the lease', async () => {
    await using own = await startRedis({ aof: false });
    await using state = await openRedisState({
      url: own.url,
      prefix: 'test',
      leaseMs: 600,
      commandTimeoutMs: 200,
    });
    const lock = await held(state.locks.tryAcquire('target', HOLDER));
    own.pause();
    await new Promise((resolve) => lock.lost.addEventListener('abort', resolve));
    expect(lock.isHeld()).toBe(false);
    own.resume();
  });

  it('keeps a lock as long as it is renewed, and lets it run out once it is left', async () => {
    const opening = fresh();
    await using state = await openRedisState(opening);
    await using other = await openRedisState(opening);
    const lock = await held(state.locks.tryAcquire('target', HOLDER));
    await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
    expect(lock.isHeld()).toBe(true);
    await lock.leave();
    expect(await other.locks.tryAcquire('target', HOLDER)).toEqual({ heldBy: HOLDER });
    const signal = AbortSignal.timeout(patience(30_000));
    await other.locks.acquire('target', HOLDER, { signal, onWait: () => {} });
  });

  it.each([1, -1])('keeps a lock when the wall clock is put forward or back (%i day)', async (days) => {
    await using state = await openRedisState(fresh());
    const lock = await held(state.locks.tryAcquire('target', HOLDER));
    const wall = vi.spyOn(Date, 'now');
    const real = performance.timeOrigin;
    wall.mockImplementation(() => real + performance.now() + days * 86_400_000);
    try {
      expect(lock.isHeld()).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 1.5 * LEASE_MS));
      expect(lock.isHeld()).toBe(true);
    } finally {
      wall.mockRestore();
    }
    expect(lock.isHeld()).toBe(true);
  });

  it('is held together by processes of one run, on several machines', async () => {
    const opening = fresh();
    await using state = await openRedisState(opening);
    await using other = await openRedisState(opening);
    const first = await held(state.locks.tryAcquire('target', HOLDER, { together: true }));
    const second = await held(other.locks.tryAcquire('target', HOLDER, { together: true }));
    await first.leave();
    const run = sampleRun();
    await other.runs.create(run);
    await other.runs.record(run, 1, [applied(upsert(0, 'shirt'))], 1, second.fence);
    await second.release();
    await held(state.locks.tryAcquire('target', { job: 'weekly', run: 'run-2' }, { together: true }));
  });

  it('works on a Redis Cluster, where what is written together must lie together', async () => {
    await using node = await startClusterNode();
    await using state = await openRedisState({ url: node.url, prefix: 'test' });
    const run = sampleRun();
    await state.runs.create(run);
    for (const name of [targetLockName(TARGET), shardLockName(TARGET, run.id, 1)]) {
      await using lock = await held(state.locks.tryAcquire(name, HOLDER));
      const outcomes = [
        applied(upsert(0, 'shirt'), 7),
        rejected(upsert(1, 'hat')),
        unsent(upsert(2, 'sock')),
      ];
      await state.runs.record(run, 1, outcomes, 3, lock.fence);
    }
    await state.runs.record(run, 2, [applied(deletion(0, 'coat', 3), null)], 1);
    expect((await state.ledger(TARGET).marks(['shirt']))[0]?.id).toBe(7);
    expect(await state.runs.tally('run-1')).toMatchObject({
      applied: 1,
      rejected: 1,
      deleted: 1,
      requests: 7,
    });
    expect(await state.runs.list({ job: 'nightly', limit: 5 })).toHaveLength(1);
    await state.runs.remove('run-1');
    expect(await state.runs.list({ limit: 5 })).toEqual([]);
  });

  it('refuses with advice once a Cluster is gone', async () => {
    await using node = await startClusterNode();
    await using state = await openRedisState({
      url: node.url,
      prefix: 'test',
      commandTimeoutMs: patience(2_000),
    });
    await node.kill();
    await expectAdvice(state.runs.get('run-1'), /cannot be reached/, 'run again');
  });

  it('keeps everything under its prefix', async () => {
    await using own = await startRedis({ aof: false });
    await using state = await openRedisState({ url: own.url, prefix: 'shop' });
    const run = sampleRun();
    await state.runs.create(run);
    await using _lock = await held(state.locks.tryAcquire('target', HOLDER));
    const results = [
      applied(upsert(0, 'shirt', { knownId: 1 })),
      rejected(upsert(1, 'hat')),
      unsent(upsert(2, 'x')),
    ];
    await state.runs.record(run, 1, results, 1);
    const client = new Redis(own.url);
    const keys = await client.keys('*');
    client.disconnect();
    expect(keys.length).toBeGreaterThan(8);
    expect(keys.filter((key) => !key.startsWith('shop:'))).toEqual([]);
  });

  it('is checked for settings under which Redis forgets', async () => {
    expect((await checkRedisServer(server.url)).problems).toEqual([]);
    await using own = await startRedis({ aof: false, settings: { 'maxmemory-policy': 'allkeys-lru' } });
    const { problems } = await checkRedisServer(own.url);
    expect(problems.map(({ hint }) => hint)).toEqual([
      'Set maxmemory-policy noeviction.',
      'Set appendonly yes.',
    ]);
  });
});

async function held(attempt: Promise<Lock | { readonly heldBy: unknown }>): Promise<Lock> {
  const lock = await attempt;
  if ('heldBy' in lock) throw new Error('held by another');
  return lock;
}

async function flushAll(server: RedisServer): Promise<void> {
  const client = new Redis(server.url);
  await client.flushall();
  client.disconnect();
}

async function startClusterNode(): Promise<RedisServer> {
  const settings = { 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' };
  const node = await startRedis({ aof: false, settings });
  const client = new Redis(node.url);
  await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await expect.poll(() => client.cluster('INFO')).toContain('cluster_state:ok');
  client.disconnect();
  return node;
}
