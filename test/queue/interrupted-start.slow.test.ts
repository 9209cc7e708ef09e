import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { seedOf } from '../support/seed.ts';
import { seededRandom } from '../support/store/random.ts';
import { until } from '../support/until.ts';
import { startVanishingLine } from '../support/vanishing-line.ts';
import { makeWorkspace, type RunningCommand, type Workspace } from '../support/workspace.ts';

/** A worker sends about so many pieces to Redis before it is ready. */
const PIECES_OF_A_START = 70;

const files = catalogWorkspace('http://127.0.0.1:9', shopifyCatalog(manyProducts(1)));

/** A workspace whose workers reach Redis at this port; all workers of one Redis share their artifacts. */
function workspaceAt(port: number, artifacts: string): Promise<Workspace> {
  return makeWorkspace(files, {
    STORE_API_KEY: 'key',
    REDIS_URL: `redis://127.0.0.1:${port}`,
    ARTIFACTS_URL: artifacts,
  });
}

/** Whether the worker takes work, or has ended by itself. */
function outcome(worker: RunningCommand): Promise<'ready' | 'ended'> {
  return worker.printed('"ready"').then(
    () => 'ready',
    () => 'ended',
  );
}

interface Shared extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly artifacts: string;
}

async function startShared(): Promise<Shared> {
  const [redis, artifacts] = await Promise.all([
    startRedis(),
    mkdtemp(join(tmpdir(), 'storeferry-artifacts-')),
  ]);
  return {
    redis,
    artifacts,
    async [Symbol.asyncDispose]() {
      await redis.stop();
      await rm(artifacts, { recursive: true, force: true });
    },
  };
}

/** Cuts the line to Redis at a piece of the start, and asks the worker to stop when it is ready or, cut off for good, at once. */
async function cutDuringStart({ redis, artifacts }: Shared, cutAt: number, awayMs: number | null) {
  await using line = await startVanishingLine(redis.port, { cutAt, awayMs });
  await using workspace = await workspaceAt(line.port, artifacts);
  const worker = workspace.start('worker');
  const found = awayMs === null ? 'cut off' : await outcome(worker);
  await until(() => line.pieces() >= cutAt || worker.process.exitCode !== null);
  worker.process.kill('SIGTERM');
  return { cutAt, found, ended: await worker.ended };
}

describeWithRedis('a worker that starts while Redis goes away', () => {
  it.concurrent('for a moment, takes work or ends with an error, and SIGTERM ends it', async (context) => {
    const random = seededRandom(seedOf(context));
    await using shared = await startShared();
    const drawn = Array.from({ length: 3 }, () => 7 + Math.floor(random() * PIECES_OF_A_START));
    const starts = await Promise.all(
      [1, 3, 5, ...drawn].map((moment) => cutDuringStart(shared, moment, 200)),
    );
    for (const { cutAt, found, ended } of starts) {
      expect({ cutAt, found, code: ended.code }).toEqual({ cutAt, found, code: found === 'ready' ? 0 : 1 });
      if (found === 'ended') expect(ended.stderr).toContain('cannot be reached');
    }
  });

  it.concurrent('for good, ends at SIGTERM', async (context) => {
    const random = seededRandom(seedOf(context));
    await using shared = await startShared();
    const drawn = Array.from({ length: 3 }, () => 1 + Math.floor(random() * PIECES_OF_A_START));
    const ends = await Promise.all(drawn.map((moment) => cutDuringStart(shared, moment, null)));
    for (const { cutAt, ended } of ends) {
      const said = /stopped|cannot be reached/.test(ended.stderr);
      expect({ cutAt, said, ended: ended.code === 0 || ended.code === 1 }).toEqual({
        cutAt,
        said: true,
        ended: true,
      });
    }
  });

  it.concurrent('as a process that hangs, ends at SIGTERM', async () => {
    await using shared = await startShared();
    await using line = await startVanishingLine(shared.redis.port, {
      cutAt: Number.POSITIVE_INFINITY,
      awayMs: null,
    });
    await using workspace = await workspaceAt(line.port, shared.artifacts);
    shared.redis.pause();
    const worker = workspace.start('worker');
    await until(() => line.pieces() > 0);
    worker.process.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });
});
