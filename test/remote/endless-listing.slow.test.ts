import { createServer, type ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type S3Address, s3Client } from '../../src/remote/s3-client.ts';
import { s3Address } from '../support/s3-address.ts';
import { serveSftp } from './serve-sftp.ts';
import { failureOf } from './trials.ts';

const signal = new AbortController().signal;

/** An SFTP server whose folder has `count` further entries in each batch, and no end. */
async function serveFolder(count: number) {
  let batches = 0;
  return await serveSftp((sftp) => {
    sftp.on('OPENDIR', (id) => sftp.handle(id, Buffer.from('folder')));
    sftp.on('CLOSE', (id) => sftp.status(id, 0));
    sftp.on('READDIR', (id) => {
      batches += 1;
      const attrs = { mode: 0o100644, uid: 0, gid: 0, size: 1, atime: 1, mtime: 1 };
      const entries = Array.from({ length: count }, (_, index) => ({
        filename: `${batches}-${index}.csv`,
        longname: '',
        attrs,
      }));
      // A batch of the folder itself is empty once its name is left out.
      sftp.name(id, entries.length > 0 ? entries : [{ filename: '.', longname: '', attrs }]);
    });
  });
}

/** A service with the protocol of S3 that answers each listing with `answer`. */
async function serveBucket(answer: (response: ServerResponse, page: number) => void) {
  let pages = 0;
  const server = createServer((_request, response) => {
    pages += 1;
    response.on('error', () => undefined);
    response.setHeader('content-type', 'application/xml');
    answer(response, pages);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const place: S3Address = s3Address({ endpoint: `http://127.0.0.1:${address.port}` }, 'in/*.csv');
  return {
    client: () => s3Client(place),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function pageOf(page: number, count: number): string {
  const keys = Array.from(
    { length: count },
    (_, index) => `<Contents><Key>in/${page}-${index}.csv</Key></Contents>`,
  );
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${page}</NextContinuationToken>${keys.join('')}</ListBucketResult>`;
}

describe('a server that lists without end', () => {
  it.each([100, 0])('by SFTP, %i names in a batch, is refused', async (count) => {
    await using server = await serveFolder(count);
    await using client = server.client('*.csv');
    const failure = await failureOf(client.find(signal));
    expect(failure).toMatchObject({ kind: 'permanent', message: 'the folder has more than 100000 entries' });
  });

  it('by S3, in pages, is refused', async () => {
    await using server = await serveBucket((response, page) => response.end(pageOf(page, 1000)));
    await using client = server.client();
    const failure = await failureOf(client.find(signal));
    expect(failure).toMatchObject({ kind: 'permanent', message: 'the folder has more than 100000 entries' });
  });

  it('by S3, by a page that names itself as the next, is refused', async () => {
    await using server = await serveBucket((response) => response.end(pageOf(1, 1)));
    await using client = server.client();
    const failure = await failureOf(client.find(signal));
    expect(failure).toMatchObject({ kind: 'permanent', message: expect.stringContaining('never ends') });
  });

  it('by S3, in one page, is refused before it fills the memory', async () => {
    await using server = await serveBucket((response) => {
      const piece = '<Contents><Key>in/a.csv</Key></Contents>'.repeat(10_000);
      response.write('<?xml version="1.0"?><ListBucketResult>');
      const more = () => {
        while (!response.destroyed && response.write(piece)) {}
      };
      response.on('drain', more);
      more();
    });
    await using client = server.client();
    const failure = await failureOf(client.find(signal));
    expect(failure).toMatchObject({
      kind: 'permanent',
      message: 'the server answers more than 7340032 bytes',
    });
  });
});
