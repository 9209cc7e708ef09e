import { connectionFailure } from './connection-failure.ts';
import { RemoteFailure } from './remote-failure.ts';

/** Status codes of SFTP version 3. */
const NO_SUCH_FILE = 2;
const PERMISSION_DENIED = 3;
const NO_CONNECTION = 6;
const CONNECTION_LOST = 7;
const UNSUPPORTED = 8;

function statusOf(error: unknown): number | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? code : undefined;
}

export function isAbsent(error: unknown): boolean {
  return statusOf(error) === NO_SUCH_FILE;
}

/** Whether the server does not know what it was asked to do. */
export function isUnsupported(error: unknown): boolean {
  return (
    statusOf(error) === UNSUPPORTED || (error instanceof Error && /does not support/i.test(error.message))
  );
}

/** The failure of a request to an SFTP server. */
export function sftpFailure(error: unknown): RemoteFailure {
  if (error instanceof RemoteFailure) return error;
  const status = statusOf(error);
  switch (status) {
    case undefined:
      return connectionFailure(error);
    case NO_SUCH_FILE:
      return new RemoteFailure('absent', 'there is no such file or folder', {
        hint: 'Check the path: it begins at the root of the server; /~/ begins at the home folder of the user.',
      });
    case PERMISSION_DENIED:
      return new RemoteFailure('final', 'the server denies access to it', {
        hint: 'Check the permissions of the user on the server.',
      });
    case NO_CONNECTION:
    case CONNECTION_LOST:
      return new RemoteFailure('passing', 'the connection was lost');
    default:
      return new RemoteFailure('final', `the server fails (SFTP status ${status})`, {
        hint: 'Its disk may be full or damaged: ask its operator.',
      });
  }
}
