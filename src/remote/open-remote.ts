import type { RemoteAddress } from '../model/remote-address.ts';
import { withDeadlines } from './deadlines.ts';
import type { RemoteClient } from './remote-client.ts';

/** The client of an address; nothing is connected yet, and every call has a deadline. Its library is loaded only now. */
export async function openRemote(at: RemoteAddress): Promise<RemoteClient> {
  return withDeadlines(await clientOf(at));
}

async function clientOf(at: RemoteAddress): Promise<RemoteClient> {
  switch (at.kind) {
    case 'http':
      return (await import('./http.ts')).httpClient(at);
    case 's3':
      return (await import('./s3.ts')).s3Client(at);
    case 'sftp':
      return (await import('./sftp.ts')).sftpClient(at);
    default:
      return at satisfies never;
  }
}
