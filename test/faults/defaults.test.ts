import { readdir, readFile, readlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure, skipFault } from '../support/figure.ts';
import { atLeast, none } from '../support/measure.ts';
import { hasRedisServer } from '../support/redis.ts';
import { delay } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import { SCALE } from './scale.ts';
import { openScene } from './scene.ts';

const PROTECTED = [
  ['GET', '/api/site/orders'],
  ['GET', '/api/site/subscriber-lists'],
  ['POST', '/api/site/products'],
  ['PUT', '/api/site/contacts/1001'],
  ['DELETE', '/api/site/products/1'],
  ['GET', '/_sandbox/products'],
  ['GET', '/_sandbox/contacts'],
] as const;
const LISTENING = '0A';

/** The addresses a process listens at, as `ip:port` in the kernel's hexadecimal. */
async function listening(pid: number): Promise<string[]> {
  const inodes = new Set<string>();
  for (const fd of await readdir(`/proc/${pid}/fd`)) {
    const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8')),
  );
  return tables
    .flatMap((table) => table.trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode = '']) => state === LISTENING && inodes.has(inode))
    .map(([, local = '']) => local);
}

const LOOPBACK = /^(0100007F|00000000000000000000000001000000|0000000000000000FFFF00000100007F):/;

function reaches(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 });
    const say = (reached: boolean) => () => {
      socket.destroy();
      resolve(reached);
    };
    socket.once('connect', say(true)).once('error', say(false)).once('timeout', say(false));
  });
}

it.concurrent('nothing listens unless asked, then on loopback alone, and nothing is given without a key', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  if (process.platform !== 'linux') {
    skipFault(context, {
      invariant: 26,
      reason: 'what a process listens at is read from /proc, which only Linux has',
    });
    return;
  }
  const withRedis = hasRedisServer();
  await using scene = await openScene({
    seed: 1,
    catalog: shopifyCatalog(manyProducts(50)),
    redis: withRedis,
  });
  const { store } = scene;
  store.misbehave({ does: delay(1_000) });
  const quiet = [scene.start('run', 'nightly')];
  await until(() => store.requests.length > 0);
  if (withRedis) quiet.push(await scene.worker());
  const listeningUnasked = (
    await Promise.all(quiet.map(({ process }) => listening(process.pid ?? 0)))
  ).flat();

  const sandbox = scene.start('sandbox', '--port', '0', '--api-key', 'key-of-the-sandbox');
  await sandbox.printed('listens at');
  const addresses = await listening(sandbox.process.pid ?? 0);
  const port = Number.parseInt(addresses[0]?.split(':')[1] ?? '', 16);
  const base = `http://127.0.0.1:${port}`;
  const outside = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address);
  const reachedFromOutside = (await Promise.all(outside.map((host) => reaches(host, port)))).filter(Boolean);

  let given = 0;
  let tried = 0;
  for (const [method, path] of PROTECTED) {
    for (const headers of [
      {},
      { authorization: 'Bearer ' },
      { authorization: 'Bearer wrong' },
      { authorization: 'key-of-the-sandbox' },
    ]) {
      const { status } = await fetch(base + path, {
        method,
        headers: { 'user-agent': 'test/1', ...headers },
      });
      tried++;
      if (status !== 401) given++;
    }
  }
  const known = await fetch(`${base}/api/site/orders`, {
    headers: { 'user-agent': 'test/1', authorization: 'Bearer key-of-the-sandbox' },
  });
  expect(known.status).toBe(200);
  figure(context, {
    invariant: 26,
    seed: null,
    fired: { 'requests without the right key': tried, 'connections from other addresses': outside.length },
    measured: [
      none('listening unasked', listeningUnasked.length),
      none('listening beyond loopback', addresses.filter((address) => !LOOPBACK.test(address)).length),
      none('reached from another address', reachedFromOutside.length),
      none('answered without the key', given),
      atLeast(1, 'places where the sandbox listens', addresses.length),
    ],
  });
});
