import type { ChildProcess } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from './free-port.ts';
import { startProcess, succeeds } from './processes.ts';
import { until } from './until.ts';

/** The server to test with: `STOREFERRY_REDIS_SERVER` may name another one that is called alike, such as valkey-server. */
const REDIS_SERVER = process.env['STOREFERRY_REDIS_SERVER'] || 'redis-server';

/** A redis-server of our own on a free loopback port, with its data in a temporary folder. */
export interface RedisServer extends AsyncDisposable {
  /** `redis://127.0.0.1:port`, with the password if one was asked for. */
  readonly url: string;
  readonly port: number;
  /** SIGKILL: what was not yet on disk is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data; kills it first if it still runs. */
  restart(): Promise<void>;
  /** SIGSTOP: connections stay open and nobody answers. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** Copies its data as they are at this moment; what it gives replaces the data by the copy and starts it again. */
  keepCopy(): Promise<() => Promise<void>>;
  /** Kills it and removes its data. */
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** Append-only file, written through on every command, so that a SIGKILL loses nothing. Default true. */
  readonly aof?: boolean;
  readonly password?: string;
  /** Further settings, as in redis.conf: `{ 'maxmemory-policy': 'allkeys-lru' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Whether the server is there. */
export function hasRedisServer(): boolean {
  return succeeds(REDIS_SERVER, '--version');
}

/**
 * `describe` for tests that need a real Redis. Without one they are skipped and say so, except where the
 * environment demands it (`CI`, `STOREFERRY_REQUIRE_REDIS`): there a missing server fails.
 */
export function describeWithRedis(name: string, suite: () => void): void {
  const { CI, STOREFERRY_REQUIRE_REDIS } = process.env;
  if (hasRedisServer()) {
    describe(name, suite);
  } else if (CI || STOREFERRY_REQUIRE_REDIS) {
    describe(name, () => {
      it(`finds ${REDIS_SERVER}`, () => expect.fail(`no ${REDIS_SERVER}`));
    });
  } else {
    process.stdout.write(`skipped, no ${REDIS_SERVER}\n`);
    describe.skip(name, suite);
  }
}

/** Starts a redis-server and waits until it answers. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-redis-'));
  const port = await freePort();
  const settings: Record<string, string> = {
    bind: '127.0.0.1',
    port: String(port),
    dir: folder,
    logfile: join(folder, 'redis.log'),
    save: '',
    appendonly: options.aof === false ? 'no' : 'yes',
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    ...(options.password === undefined ? {} : { requirepass: options.password }),
    ...options.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const copies: string[] = [];
  let server: ChildProcess | undefined;

  const start = async () => {
    server = startProcess(REDIS_SERVER, args, { stdio: 'ignore' });
    await untilAnswering(port, server, join(folder, 'redis.log'));
  };
  const kill = async () => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const gone = new Promise((resolve) => server?.once('exit', resolve));
    server.kill('SIGKILL');
    await gone;
  };
  const stop = async () => {
    await kill();
    for (const dir of [folder, ...copies]) await rm(dir, { recursive: true, force: true });
  };

  await start();
  return {
    url: `redis://${options.password === undefined ? '' : `:${options.password}@`}127.0.0.1:${port}`,
    port,
    kill,
    async restart() {
      await kill();
      await start();
    },
    pause: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
    async keepCopy() {
      const copy = `${folder}-copy-${copies.length}`;
      copies.push(copy);
      await cp(folder, copy, { recursive: true });
      return async () => {
        await kill();
        await rm(folder, { recursive: true });
        await cp(copy, folder, { recursive: true });
        await start();
      };
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function untilAnswering(port: number, server: ChildProcess, logFile: string): Promise<void> {
  try {
    await until(async () => {
      if (server.exitCode !== null) throw new Error(`it ended with ${server.exitCode}`);
      const answer = await ping(port);
      return answer !== undefined && !answer.startsWith('-LOADING');
    });
  } catch (cause) {
    server.kill('SIGKILL');
    const log = await readFile(logFile, 'utf8').catch(() => 'no log');
    throw new Error(`${REDIS_SERVER} does not start: ${log}`, { cause });
  }
}

function ping(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
    socket.once('error', () => resolve(undefined));
    socket.once('close', () => resolve(undefined));
  });
}
