import { existsSync, globSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { describeWithServer } from './describe-with-server.ts';
import { freePort } from './free-port.ts';
import { runOrThrow, startProcess, succeeds } from './processes.ts';
import { until } from './until.ts';

const POSTGRES = globSync('/usr/lib/postgresql/*/bin').sort().at(-1) ?? '';
const MARIADB = '/usr/sbin/mariadbd';

type Step = string | (() => Promise<unknown>);

/** A database server of a test on loopback, with an empty database. */
export interface Database extends AsyncDisposable {
  /** With user and password. */
  readonly url: string;
  /** Runs statements one after the other in one connection, and waits where one is a function; gives the rows of the last. */
  run(...statements: readonly Step[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** `describe` for tests that need PostgreSQL and MariaDB. */
export function describeWithDatabases(name: string, suite: () => void): void {
  describeWithServer(
    'postgresql and mariadb-server-core',
    POSTGRES !== '' && existsSync(MARIADB),
    name,
    suite,
  );
}

/** Root may not run PostgreSQL: the user of the package does. */
async function serverUser(): Promise<{ readonly uid?: number; readonly gid?: number }> {
  if (userInfo().uid !== 0) return {};
  const id = async (flag: string) => Number((await runOrThrow('id', [flag, 'postgres'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

/** Starts PostgreSQL. */
export async function startPostgres(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-postgres-'));
  const as = await serverUser();
  if (as.uid !== undefined) {
    // The folder of the tests is of this user alone.
    await chmod(tmpdir(), 0o1777);
    await chown(folder, as.uid, as.gid ?? as.uid);
  }
  const data = join(folder, 'data');
  const options = { ...as, cwd: folder };
  await runOrThrow(
    join(POSTGRES, 'initdb'),
    ['-D', data, '-U', 'shop', '-A', 'trust', '-E', 'UTF8', '-N'],
    options,
  );
  const port = await freePort();
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'fsync=off',
  ];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const server = startProcess(join(POSTGRES, 'postgres'), args, { ...options, stdio: 'ignore' });
  const url = `postgres://shop:secret@127.0.0.1:${port}/postgres`;
  const run: Database['run'] = async (...statements) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      let rows: readonly Readonly<Record<string, unknown>>[] = [];
      for (const statement of statements)
        if (typeof statement === 'string') ({ rows } = await client.query(statement));
        else await statement();
      return rows;
    } finally {
      await client.end();
    }
  };
  await until(async () => {
    if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`);
    return await run('SELECT 1').then(
      () => true,
      () => false,
    );
  });
  return { url, run, [Symbol.asyncDispose]: () => stop(server, folder) };
}

/** Starts MariaDB. */
export async function startMariaDb(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-mariadb-'));
  const data = join(folder, 'data');
  const user = userInfo().username;
  const install = [
    '--no-defaults',
    `--datadir=${data}`,
    `--user=${user}`,
    '--auth-root-authentication-method=normal',
  ];
  await runOrThrow('mariadb-install-db', [...install, '--skip-test-db']);
  const port = await freePort();
  const server = startProcess(
    MARIADB,
    [
      '--no-defaults',
      `--datadir=${data}`,
      `--user=${user}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(folder, 'socket')}`,
      `--pid-file=${join(folder, 'pid')}`,
      '--innodb-flush-log-at-trx-commit=0',
    ],
    { stdio: 'ignore' },
  );
  const url = `mysql://root@127.0.0.1:${port}/mysql`;
  const run: Database['run'] = async (...statements) => {
    const connection = await createConnection(url);
    try {
      let found: unknown = [];
      for (const statement of statements)
        if (typeof statement === 'string') [found] = await connection.query(statement);
        else await statement();
      return Array.isArray(found) ? found : [];
    } finally {
      await connection.end();
    }
  };
  await until(async () => {
    if (server.exitCode !== null) throw new Error(`mariadbd ended with ${server.exitCode}`);
    return await run('SELECT 1').then(
      () => true,
      () => false,
    );
  });
  return { url, run, [Symbol.asyncDispose]: () => stop(server, folder) };
}

async function stop(server: ReturnType<typeof startProcess>, folder: string): Promise<void> {
  const ended = new Promise((resolve) => server.once('exit', resolve));
  if (server.exitCode === null && server.signalCode === null) {
    server.kill('SIGKILL');
    await ended;
  }
  await until(() => !succeeds('pgrep', '-f', folder), { everyMs: 50 });
  await rm(folder, { recursive: true, force: true });
}
