import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Client, type SFTPWrapper } from 'ssh2';
import { rejectOnAbort } from '../model/clock.ts';
import type { RemoteAddress } from '../model/remote-address.ts';
import { errorCode } from '../model/storeferry-error.ts';
import { guardedLookup, refusePrivateHost } from './guarded-lookup.ts';
import {
  connectionFailure,
  connectionLost,
  permanentFailure,
  RemoteFailure,
  timeoutFailure,
  transientFailure,
} from './remote-client.ts';
import { CLOSE_MS, CONNECTION_TIMEOUTS } from './remote-deadlines.ts';

/** A file on an SSH server. */
export interface SftpAddress extends RemoteAddress {
  readonly kind: 'sftp';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Absolute, or relative to the user's home folder. `*` in its last part matches any text, in sources. */
  readonly path: string;
  /** Fingerprints of the keys that the server may have, as `SHA256:…`. */
  readonly hostKeys: readonly string[];
  readonly password: string | null;
  readonly privateKey: string | null;
  readonly passphrase: string | null;
  /** Of several files, only the one written last. */
  readonly newest: boolean;
}

/** The server has another key than those that are allowed. */
class OtherHostKey extends RemoteFailure {
  readonly seen: string;

  constructor(seen: string, host: string) {
    super('permanent', `the key of the server is not the one that \`hostKey\` names: it is ${seen}`, {
      hint: `Ask the operator of ${host} whether this is its key. If it is, set \`hostKey: ${seen}\`; if it is not, the connection leads to another server.`,
    });
    this.seen = seen;
  }
}

const READY_MS = 20_000;
const KEEP_ALIVE_MS = 10_000;
/** An SFTP session with a server whose host key was checked. */
export type SshConnection = Awaited<ReturnType<typeof connectSsh>>;

/** Connects, checks the server's key and logs in. RemoteFailure, or the signal's reason. */
export async function connectSsh(at: SftpAddress, signal: AbortSignal) {
  signal.throwIfAborted();
  refusePrivateHost(at.host, at.allowPrivateAddresses, at.host);
  const socket = await connectSocket(at, signal);
  const client = new Client();
  const lost = new AbortController();
  client.on('close', () => lost.abort(connectionLost()));
  let refusedKey: RemoteFailure | undefined;
  const abort = () => client.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    const sftp = await new Promise<SFTPWrapper>((resolve, reject) => {
      client.on('error', reject);
      client.on('close', () => reject(transientFailure('the server closed the connection')));
      client.on('keyboard-interactive', (_name, _instructions, _language, prompts, answer) =>
        answer(prompts.map(() => at.password ?? '')),
      );
      client.once('ready', () =>
        client.sftp((error, opened) => (error === undefined ? resolve(opened) : reject(noSftp(error)))),
      );
      client.connect({
        sock: socket,
        username: at.user,
        ...(at.password !== null && { password: at.password, tryKeyboard: true }),
        ...(at.privateKey !== null && { privateKey: at.privateKey }),
        ...(at.passphrase !== null && { passphrase: at.passphrase }),
        readyTimeout: READY_MS,
        keepaliveInterval: KEEP_ALIVE_MS,
        hostVerifier: (key: Buffer) => {
          refusedKey = refusalOf(key, at);
          return refusedKey === undefined;
        },
      });
    });
    return {
      sftp,
      /** Whether it can no longer be used. */
      closed: lost.signal,
      /** Ends the session; the socket is closed even if the server does not answer. */
      close() {
        client.end();
        const timer = setTimeout(() => client.destroy(), CLOSE_MS);
        client.once('close', () => clearTimeout(timer));
      },
      /** Closes it at once. */
      drop() {
        lost.abort(connectionLost());
        client.destroy();
      },
    };
  } catch (error) {
    client.destroy();
    // The client does not own the socket when the private key cannot be read.
    socket.destroy();
    signal.throwIfAborted();
    throw refusedKey ?? sshFailure(error, at);
  } finally {
    signal.removeEventListener('abort', abort);
    // Pending calls end with `closed`; without a listener the event would end the process.
    client.on('error', () => undefined);
  }
}

/** The fingerprint of the key of the server that answers there. Nobody is logged in. RemoteFailure. */
export async function seenHostKey(at: RemoteAddress, signal: AbortSignal): Promise<string> {
  if (!isSftp(at)) throw new TypeError(`${at.kind} has no host key`);
  try {
    const { close } = await connectSsh({ ...at, hostKeys: [] }, signal);
    close();
  } catch (error) {
    if (error instanceof OtherHostKey) return error.seen;
    throw error;
  }
  throw permanentFailure('the server shows no key');
}

function isSftp(at: RemoteAddress): at is SftpAddress {
  return at.kind === 'sftp';
}

async function connectSocket(at: SftpAddress, signal: AbortSignal) {
  const { host, port } = at;
  const socket = connect({ host, port, lookup: guardedLookup(at.allowPrivateAddresses) });
  socket.setNoDelay(true);
  const timer = setTimeout(() => socket.destroy(timeoutFailure()), CONNECTION_TIMEOUTS.connectMs);
  try {
    // The option `signal` of Node would leave its listener on the signal, and with it the socket.
    await rejectOnAbort(once(socket, 'connect'), signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? signal.reason : connectionFailure(error);
  } finally {
    clearTimeout(timer);
  }
}

/** The fingerprint of a public key as OpenSSH writes it. */
export function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256')
    .update(key)
    .digest('base64')
    .replace(/={1,2}$/, '')}`;
}

function refusalOf(key: Buffer, { host, hostKeys }: SftpAddress): RemoteFailure | undefined {
  const seen = fingerprintOf(key);
  const known = hostKeys.some((hostKey) => {
    const expected = Buffer.from(hostKey.replace(/={1,2}$/, ''));
    return expected.length === seen.length && timingSafeEqual(expected, Buffer.from(seen));
  });
  return known ? undefined : new OtherHostKey(seen, host);
}

function noSftp(error: Error) {
  return permanentFailure(
    `the server offers no SFTP (${errorCode(error)})`,
    'Ask its operator to allow the subsystem sftp for this user.',
  );
}

function sshFailure(error: unknown, at: SftpAddress) {
  if (error instanceof RemoteFailure) return error;
  const level = error instanceof Error && 'level' in error ? error.level : undefined;
  switch (level) {
    case 'client-authentication':
      return permanentFailure(
        `the server refuses the login of the user ${at.user}`,
        'Check the user, and the password or private key.',
      );
    case 'client-timeout':
      return timeoutFailure();
    case 'handshake':
    case 'protocol':
      return permanentFailure(
        'the server and this client have no encryption method in common',
        'Check whether an SSH server answers at this port, and its version.',
      );
    default:
      return error instanceof Error && /privateKey|private key|passphrase/i.test(error.message)
        ? permanentFailure(
            'the private key cannot be read',
            'It must be the whole key, BEGIN and END lines included; an encrypted one needs `passphrase`.',
          )
        : connectionFailure(error);
  }
}
