import type { ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { describeWithServer } from './describe-with-server.ts';
import { freePort } from './free-port.ts';
import { runOrThrow, startProcess } from './processes.ts';
import { until } from './until.ts';

export const SSHD = '/usr/sbin/sshd';

/** OpenSSH's server on a free loopback port, with keys of its own and a folder to serve. */
export interface Sshd extends AsyncDisposable {
  readonly port: number;
  readonly user: string;
  /** A folder for the files of the test. */
  readonly folder: string;
  /** `SHA256:…` of the server's key. */
  readonly hostKey: string;
  /** The private key that is let in, and its encrypted copy. */
  readonly privateKey: string;
  readonly encryptedKey: string;
  readonly passphrase: string;
  /** The address of a file in the folder. */
  address(name: string): string;
  /** Gives the server another key, as if somebody else answered; gives its fingerprint. */
  changeHostKey(): Promise<string>;
}

/** `describe` for tests that need an SSH server. */
export function describeWithSshd(name: string, suite: () => void): void {
  describeWithServer('sshd', existsSync(SSHD), name, suite);
}

/** Starts it as the user that runs the test. `denied`: requests that the server does not know. */
export async function startSshd({ denied = '' } = {}): Promise<Sshd> {
  const root = await mkdtemp(join(tmpdir(), 'storeferry-sshd-'));
  const folder = join(root, 'files');
  mkdirSync(folder);
  const { username, uid } = userInfo();
  // The folder that a server started by root gives its privileges up in; a system's service makes it at boot.
  if (uid === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const passphrase = 'MARKED-passphrase';
  const keygen = (name: string, secret = '') =>
    runOrThrow('ssh-keygen', ['-q', '-t', 'ed25519', '-N', secret, '-C', 'test', '-f', join(root, name)]);
  await Promise.all([keygen('host'), keygen('user'), keygen('encrypted', passphrase)]);
  const read = (name: string) => readFile(join(root, name), 'utf8');
  await writeFile(join(root, 'authorized'), (await read('user.pub')) + (await read('encrypted.pub')));
  const port = await freePort();
  const settings = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${join(root, 'host')}`,
    `AuthorizedKeysFile ${join(root, 'authorized')}`,
    'StrictModes no',
    'UsePAM no',
    'PermitRootLogin yes',
    'PidFile none',
    'MaxStartups 100',
    `Subsystem sftp internal-sftp${denied === '' ? '' : ` -P ${denied}`}`,
  ];
  await writeFile(join(root, 'config'), `${settings.join('\n')}\n`);

  let server: ChildProcess | undefined;
  const start = async () => {
    const started = startProcess(SSHD, ['-D', '-e', '-f', join(root, 'config')], { stdio: 'ignore' });
    server = started;
    await until(async () => {
      if (started.exitCode !== null) throw new Error('sshd does not start');
      return await answers(port);
    });
  };
  const stop = async () => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const gone = new Promise((resolve) => server?.once('exit', resolve));
    server.kill('SIGKILL');
    await gone;
  };
  await start();
  return {
    port,
    user: username,
    folder,
    hostKey: await fingerprint(join(root, 'host.pub')),
    privateKey: await read('user'),
    encryptedKey: await read('encrypted'),
    passphrase,
    address: (name) => `sftp://${username}@127.0.0.1:${port}${folder}/${name}`,
    async changeHostKey() {
      await stop();
      await rm(join(root, 'host'));
      await keygen('host');
      await start();
      return await fingerprint(join(root, 'host.pub'));
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function fingerprint(file: string): Promise<string> {
  const { stdout } = await runOrThrow('ssh-keygen', ['-lf', file]);
  return stdout.split(' ')[1] ?? '';
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('data', () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => undefined);
    socket.once('close', () => resolve(false));
  });
}
