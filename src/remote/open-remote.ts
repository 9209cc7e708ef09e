import type { RemoteAddress } from '../model/remote-address.ts';
import type { RemoteClient } from './remote-client.ts';
import { withDeadlines } from './remote-deadlines.ts';

/** The client of an address; nothing is connected yet, and every call has a deadline. Its library is loaded here, on first use. */
export async function openRemote(at: RemoteAddress): Promise<RemoteClient> {
  return withDeadlines(await clientOf(at));
}

async function clientOf(at: RemoteAddress): Promise<RemoteClient> {
  switch (at.kind) {
    case 'http':
      return (await import('./http-client.ts')).httpClient(at);
    case 's3':
      return (await import('./s3-client.ts')).s3Client(at);
    case 'sftp':
      return (await import('./sftp-client.ts')).sftpClient(at);
    default:
      return at satisfies never;
  }
}
