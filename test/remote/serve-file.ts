import type { SFTPWrapper } from 'ssh2';
import { serveSftp } from './serve-sftp.ts';

const OK = 0;
const END = 1;

/** An SFTP server with one file in each place, for who knows the password; gives the address of a file. */
export async function serveFile(text: string, password: string) {
  const content = Buffer.from(text);
  const serve = (sftp: SFTPWrapper) => {
    sftp.on('STAT', (id) =>
      sftp.attrs(id, { mode: 0o100644, uid: 0, gid: 0, atime: 1, mtime: 1, size: content.length }),
    );
    sftp.on('OPEN', (id) => sftp.handle(id, Buffer.from('file')));
    sftp.on('CLOSE', (id) => sftp.status(id, OK));
    sftp.on('READ', (id, _handle, offset, length) =>
      offset >= content.length
        ? sftp.status(id, END)
        : sftp.data(id, content.subarray(offset, offset + length)),
    );
  };
  const server = await serveSftp(serve, password);
  const { port } = server.at('');
  return {
    fingerprint: server.fingerprint,
    address: (user: string) => `sftp://${user}@127.0.0.1:${port}/in/list.csv`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
