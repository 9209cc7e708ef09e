import { deflateRawSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StateError } from '../../src/model/storeferry-error.ts';
import { decodeBodies, decodeBody } from '../../src/state/encode-body.ts';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { applied, rejected, sampleRun, TARGET, unsent, upsert } from './samples.ts';

const MIB = 1024 * 1024;

async function allOf<Item>(pages: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

describeWithRedis('what somebody else wrote to Redis', () => {
  let server: RedisServer;
  let opened = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  /** A state with two runs, its own problems, and a client that writes beside it. */
  async function scene() {
    const prefix = `foreign-${++opened}`;
    const problems: string[] = [];
    const state = await openRedisState({
      ...{ url: server.url, prefix },
      onUnreadable: (problem) => problems.push(problem.message),
    });
    const client = new Redis(server.url);
    await state.runs.create(sampleRun({ id: 'good', startedAt: 1 }));
    await state.runs.create(sampleRun({ id: 'other', startedAt: 2 }));
    return {
      ...{ state, client, problems },
      key: (end: string) => `${prefix}:${end}`,
      async [Symbol.asyncDispose]() {
        client.disconnect();
        await state[Symbol.asyncDispose]();
      },
    };
  }

  const hurts: readonly (readonly [what: string, hurt: (client: Redis, key: string) => Promise<unknown>])[] =
    [
      ['a job that is a list', (client, key) => client.hset(key, 'job', '["crm"]')],
      ['a field that is no JSON', (client, key) => client.hset(key, 'totals', '{')],
      ['a status that is none', (client, key) => client.hset(key, 'status', '"fine"')],
      ['a missing field', (client, key) => client.hdel(key, 'startedAt')],
      ['totals of another shape', (client, key) => client.hset(key, 'totals', '{"rows":"many"}')],
      ['the id of another run', (client, key) => client.hset(key, 'id', '"good"')],
      ['a key of another type', async (client, key) => [await client.del(key), await client.set(key, 'x')]],
    ];
  it.for(hurts)('leaves a run out of lists and names it: %s', async ([, hurt]) => {
    await using s = await scene();
    await hurt(s.client, s.key('run:{other}'));
    expect((await s.state.runs.list({})).map(({ id }) => id)).toEqual(['good']);
    expect(s.problems).toHaveLength(1);
    await expect(s.state.runs.get('other')).rejects.toThrow(StateError);
    expect((await s.state.runs.get('good'))?.job).toBe('nightly');
  });

  it('does not repeat control characters of a name', async () => {
    await using s = await scene();
    await s.client.zadd(s.key('runs'), 3, '\u001b[31mred');
    await s.client.hset(s.key('run:{\u001b[31mred}'), 'id', '1');
    await s.state.runs.list({});
    expect(s.problems.join('')).toContain('red');
    expect(s.problems.join('')).not.toContain('\u001b');
  });

  it('keeps what a newer version has added to a run', async () => {
    await using s = await scene();
    await s.client.hset(s.key('run:{good}'), 'added', '"later"');
    expect(await s.state.runs.get('good')).toMatchObject({ added: 'later' });
  });

  it('leaves out refusals, reasons and sums that cannot be read', async () => {
    await using s = await scene();
    const { runs } = s.state;
    const run = sampleRun({ id: 'good' });
    await runs.record(run, 1, [rejected(upsert(0, 'a')), unsent(upsert(1, 'b'))], 2);
    const of = async (end: string) => (await s.client.keys(s.key(`*run:good:${end}`)))[0] ?? '';
    await s.client.zadd(await of('refusals'), 7, '{"shard":1,"spans":7}');
    await s.client.hset(await of('unsent'), '1:9', 'null');
    await s.client.hset(await of('tally'), 'applied', 'many');
    const refusals = await allOf(runs.refusals('good'));
    expect(refusals.map(({ key }) => key)).toEqual(['a']);
    expect((await runs.unsentReasons('good')).map(({ reason }) => reason.code)).toEqual(['store-503']);
    expect(await runs.tally('good')).toMatchObject({ applied: 0, rejected: 1 });
    expect(s.problems).toHaveLength(2);
  });

  it('takes a mark that it cannot read for none: no request gets an id from it', async () => {
    await using s = await scene();
    const run = sampleRun({ id: 'good' });
    await s.state.runs.record(run, 1, [applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), 8)], 2);
    const [marks = ''] = await s.client.keys(s.key('*:marks'));
    for (const mark of [
      '../contacts/1\nprint\nnightly',
      '1e9\nprint\nnightly',
      '-5\nprint\nnightly',
      '',
      'x',
    ]) {
      await s.client.hset(marks, 'shirt', mark);
      const ledger = s.state.ledger(TARGET);
      expect((await ledger.marks(['shirt', 'hat'])).map((found) => found?.id)).toEqual([undefined, 8]);
      const pages = await allOf(ledger.keysOf('nightly'));
      expect(pages.find(({ key }) => key === 'shirt')?.id).toBeNull();
    }
  });
});

describe('a packed body that unpacks to more than any request has', () => {
  const bomb = deflateRawSync(Buffer.alloc(100 * MIB, 0x20), { windowBits: 13, memLevel: 6 });

  it('is refused, alone and in a block, without being unpacked', () => {
    expect(bomb.length).toBeLessThan(MIB);
    const before = process.memoryUsage.rss();
    const alone = Buffer.concat([Buffer.of(1), bomb]);
    const block = Buffer.concat([Buffer.of(2, 1, 0, 0, 0, 1), bomb]);
    expect(() => decodeBody(alone)).toThrow(StateError);
    expect(() => decodeBodies(block)).toThrow(StateError);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * MIB);
  });
});
