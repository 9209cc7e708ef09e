import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, type TestContext } from 'vitest';
import type { RemoteAddress } from '../../src/model/remote-address.ts';
import { openRemote } from '../../src/remote/remote-kinds.ts';
import type { S3Address } from '../../src/remote/s3-client.ts';
import type { SftpAddress } from '../../src/remote/ssh-connection.ts';
import { figure } from '../support/figure.ts';
import { startFileServer } from '../support/file-server.ts';
import { none } from '../support/measure.ts';
import { startProcess } from '../support/processes.ts';
import { S3_KEYS, startS3 } from '../support/s3-server.ts';
import { describeWithSshd, startSshd } from '../support/sshd.ts';
import { httpAddress } from './http-address.ts';
import { put } from './trials.ts';

const signal = new AbortController().signal;

/** Begins to send a large file in a process of its own, and kills that in the middle, as soon as it is under way. */
async function killedUpload(at: RemoteAddress, underWay = () => true): Promise<void> {
  const child = startProcess(
    process.execPath,
    [join(import.meta.dirname, 'upload-child.ts'), JSON.stringify(at)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  do await sleep(100);
  while (!underWay());
  child.kill('SIGKILL');
  expect((await exited)[1]).toBe('SIGKILL');
}

/** What was there must still be there, whole. */
function measure(context: Pick<TestContext, 'task'>, where: string, kept: string | null | undefined): void {
  figure(context, {
    invariant: 19,
    seed: null,
    fired: { [`SIGKILL during an upload to ${where}`]: 1 },
    measured: [none('partial files', kept === 'old' ? 0 : 1)],
  });
}

describe('a process that is killed while it sends', () => {
  it('leaves the old object in S3 complete', async (context) => {
    await using server = await startS3();
    const at: S3Address = {
      ...{ kind: 's3', location: 's3://bucket/a', bucket: 'bucket', key: 'a', endpoint: server.endpoint },
      ...{ region: 'us-east-1', credentials: { ...S3_KEYS, sessionToken: null }, pathStyle: true },
      ...{ newest: false, allowPrivateAddresses: true },
    };
    await put(await openRemote(at), 'old');
    await killedUpload(at, () => server.requests.some((request) => request.includes('partNumber=')));
    await using client = await openRemote(at);
    const got = await client.get({ location: '', path: 'a' }, { signal, unless: null });
    const kept = got.kind === 'content' ? await text(got.content) : null;
    measure(context, 'S3', kept);
  });

  it('leaves the old file on a web server that accepts complete uploads only', async (context) => {
    await using server = await startFileServer({ '/a': 'old' });
    await killedUpload(httpAddress(`${server.url}/a`));
    expect(server.requests).toHaveLength(1);
    measure(context, 'a web server', server.files.get('/a')?.toString());
  });
});

describeWithSshd('a process that is killed while it sends over SFTP', () => {
  it('leaves the old file complete, and a leftover that the next upload removes', async (context) => {
    await using sshd = await startSshd();
    const at: SftpAddress = {
      ...{ kind: 'sftp', location: sshd.address('a'), host: '127.0.0.1', port: sshd.port, user: sshd.user },
      ...{ path: join(sshd.folder, 'a'), hostKeys: [sshd.hostKey], privateKey: sshd.privateKey },
      ...{ password: null, passphrase: null, newest: false, allowPrivateAddresses: true },
    };
    writeFileSync(join(sshd.folder, 'a'), 'old');
    await killedUpload(at);
    measure(context, 'an SSH server', readFileSync(join(sshd.folder, 'a'), 'utf8'));
    expect(readdirSync(sshd.folder)).toHaveLength(2);
    await put(await openRemote(at), 'new');
    expect(readFileSync(join(sshd.folder, 'a'), 'utf8')).toBe('new');
    expect(readdirSync(sshd.folder)).toEqual(['a']);
  });
});
