import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { openShop } from '../queue/workers-setup.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { describeWithRedis } from '../support/redis.ts';
import { HOSTILE_ANSWERS } from './corpus.ts';
import { watchAnswers } from './hostile-jobs.ts';

/** Replaces all values of a key, which keeps its type. */
async function replaceValues(client: Redis, key: string, value: string): Promise<void> {
  switch (await client.type(key)) {
    case 'hash':
      for (const field of (await client.hkeys(key)).slice(0, 5)) await client.hset(key, field, value);
      break;
    case 'zset':
      await client.zadd(key, 1, value);
      break;
    case 'list':
      await client.lset(key, 0, value);
      break;
    case 'set':
      await client.sadd(key, value);
      break;
    default:
      await client.set(key, value);
  }
}

describeWithRedis('hostile values in Redis', () => {
  it('are named or left out by the dashboard, which answers meanwhile', {
    timeout: patience(900_000),
  }, async (context) => {
    await using shop = await openShop({ products: 3 });
    const { redis, workspace } = shop;
    const run = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    const stop = watchAnswers(async () => (await client.get('/style.css')).status < 500);
    const raw = new Redis(redis.url);
    const keys = (await raw.keys('storeferry:*')).filter((key) => !key.includes(':lock:'));
    const values = [...Object.values(HOSTILE_ANSWERS).map((make) => make()), '__proto__', '\u0000', ''];
    let damages = 0;
    for (const [number, key] of keys.entries()) {
      const kept = await raw.dumpBuffer(key);
      for (const value of [values[number % values.length], values[(number + 5) % values.length], undefined]) {
        damages += 1;
        if (value === undefined) await raw.pipeline().del(key).rpush(key, 'x').exec();
        else await replaceValues(raw, key, value);
        for (const path of ['/', '/runs', `/runs/${run}`, '/jobs/nightly']) {
          const { status, words } = await client.get(path);
          expect([200, 404, 409, 422, 503], `${key} ${path} ${status}: ${words.slice(0, 300)}`).toContain(
            status,
          );
          expect(words, `${key} ${path}`).not.toContain('This is a bug');
        }
        await raw.del(key);
        if (kept !== null) await raw.restore(key, 0, kept);
      }
    }
    raw.disconnect();
    const late = await stop();
    figure(context, {
      invariant: 33,
      seed: null,
      fired: { 'hostile values in Redis': damages },
      measured: [none(`late or wrong answers ${late.join('; ')}`, late.length)],
    });
  });
});
