import type { RemoteAddress } from '../model/remote-address.ts';
import { httpKind } from './http-kind.ts';
import type { RemoteClient } from './remote-client.ts';
import type { RemoteKind } from './remote-kind.ts';
import { s3Kind } from './s3-kind.ts';
import { sftpKind } from './sftp-kind.ts';

/** The kinds of files on other machines, by their keys in a source or destination, in the order of the reference. */
export const REMOTE_KINDS = { url: httpKind, s3: s3Kind, sftp: sftpKind } satisfies Readonly<
  Record<string, RemoteKind>
>;

/** The client of an address; nothing is connected yet, and every call has a deadline. */
export async function openRemote(at: RemoteAddress): Promise<RemoteClient> {
  const client = await kindOf(at).open(at);
  // Loaded on first use, like the clients: every command reads jobs, few reach for a file.
  const { withDeadlines } = await import('./remote-deadlines.ts');
  return withDeadlines(client);
}

/** What distinguishes an address from others of the same location. */
export function remoteIdentity(at: RemoteAddress): readonly (string | number | null)[] {
  return kindOf(at).identity(at);
}

/** Whether an unchanged version proves unchanged content. */
export function hasExactVersions(at: RemoteAddress): boolean {
  return kindOf(at).hasExactVersions;
}

function kindOf(at: RemoteAddress): RemoteKind {
  const found = Object.values(REMOTE_KINDS).find(({ kind }) => kind === at.kind);
  if (found === undefined) throw new TypeError(`there is no kind ${at.kind} of remote files`);
  return found;
}
