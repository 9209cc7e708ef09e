import type { RemoteAddress } from '../model/remote-address.ts';
import { httpKind } from './http-kind.ts';
import type { RemoteClient } from './remote-client.ts';
import { withDeadlines } from './remote-deadlines.ts';
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
  if (client === undefined) throw unknownKind(at);
  return withDeadlines(client);
}

/** What distinguishes an address from others of the same location. */
export function remoteIdentity(at: RemoteAddress): readonly (string | number | null)[] {
  return kindOf(at).identity(at) ?? [];
}

/** Whether an unchanged version proves unchanged content. */
export function hasExactVersions(at: RemoteAddress): boolean {
  return kindOf(at).hasExactVersions;
}

function kindOf(at: RemoteAddress): RemoteKind {
  const found = Object.values(REMOTE_KINDS).find(({ kind }) => kind === at.kind);
  if (found === undefined) throw unknownKind(at);
  return found;
}

function unknownKind({ kind }: RemoteAddress): TypeError {
  return new TypeError(`no kind of remote file is called ${kind}`);
}
