import { getEventListeners } from 'node:events';
import { readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Server } from 'ssh2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sftpClient } from '../../src/remote/sftp-client.ts';
import type { SftpAddress } from '../../src/remote/ssh-connection.ts';
import { makeHostKey } from '../support/host-key.ts';
import { describeWithSshd, type Sshd, startSshd } from '../support/sshd.ts';
import { failureOf, fetchAll, put } from './trials.ts';

const signal = new AbortController().signal;
const CSV = 'sku,price\nA,1\n';

describeWithSshd('a file on an SSH server', () => {
  let sshd: Sshd;
  beforeAll(async () => {
    sshd = await startSshd();
  });
  afterAll(async () => {
    await sshd[Symbol.asyncDispose]();
  });

  function addressOf(name: string, changes: Partial<SftpAddress> = {}): SftpAddress {
    return {
      kind: 'sftp',
      location: sshd.address(name),
      host: '127.0.0.1',
      port: sshd.port,
      user: sshd.user,
      path: join(sshd.folder, name),
      hostKeys: [sshd.hostKey],
      password: null,
      privateKey: sshd.privateKey,
      passphrase: null,
      newest: false,
      allowPrivateAddresses: true,
      ...changes,
    };
  }
  const there = (name: string, content: string | Buffer) => writeFileSync(join(sshd.folder, name), content);

  /** The contents of all files that are found, by their location. */
  async function contentsOf(
    address: SftpAddress,
    limitBytes?: number,
  ): Promise<Record<string, string | undefined>> {
    const found = await fetchAll(sftpClient(address), limitBytes === undefined ? {} : { limitBytes });
    return Object.fromEntries(Object.entries(found).map(([location, held]) => [location, held?.content]));
  }

  it('leaves nothing on a signal that outlives its download', async () => {
    there('c.csv', CSV);
    const stop = new AbortController();
    {
      await using client = sftpClient(addressOf('c.csv'));
      for (const file of await client.find(stop.signal)) {
        const got = await client.get(file, { signal: stop.signal, unless: null });
        if (got.kind === 'content') expect(await text(got.content)).toBe(CSV);
      }
    }
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });

  it('is read byte for byte, larger than any piece', async () => {
    const large = `${CSV}${'B,2\n'.repeat(600_000)}`;
    there('a b.csv', large);
    const { [sshd.address('a b.csv')]: content } = await contentsOf(addressOf('a b.csv'));
    expect(content === large).toBe(true);
    there('empty.csv', '');
    expect(Object.values(await contentsOf(addressOf('empty.csv')))).toEqual(['']);
  });

  it('is found by a pattern also behind a link, at the time of its target', async () => {
    there('dated-1.csv', CSV);
    utimesSync(join(sshd.folder, 'dated-1.csv'), 2_000, 2_000);
    there('feed-real.csv', CSV);
    utimesSync(join(sshd.folder, 'feed-real.csv'), 3_000, 3_000);
    symlinkSync('dated-1.csv', join(sshd.folder, 'feed-link.csv'));
    symlinkSync('nowhere.csv', join(sshd.folder, 'feed-broken.csv'));
    symlinkSync('.', join(sshd.folder, 'feed-folder.csv'));
    const [link, real] = [sshd.address('feed-link.csv'), sshd.address('feed-real.csv')];
    expect(await contentsOf(addressOf('feed-*.csv'))).toEqual({ [link]: CSV, [real]: CSV });
    expect(await contentsOf(addressOf('feed-*.csv', { newest: true }))).toEqual({ [real]: CSV });
  });

  it('is read with an encrypted key and its passphrase', async () => {
    there('a.csv', CSV);
    const encrypted = { privateKey: sshd.encryptedKey };
    expect(
      Object.values(await contentsOf(addressOf('a.csv', { ...encrypted, passphrase: sshd.passphrase }))),
    ).toEqual([CSV]);
    const failure = await failureOf(contentsOf(addressOf('a.csv', { ...encrypted, passphrase: 'MARKED' })));
    expect(failure).toMatchObject({ kind: 'permanent', message: 'the private key cannot be read' });
    expect(JSON.stringify([failure.message, failure.hint])).not.toContain('MARKED');
  });

  it('is refused when the login is refused', async () => {
    for (const wrong of [{ privateKey: null, password: 'MARKED-wrong' }, { user: 'nobody-of-that-name' }]) {
      const failure = await failureOf(contentsOf(addressOf('a.csv', wrong)));
      expect(failure.kind).toBe('permanent');
      expect(failure.message).toMatch(/refuses the login of the user/);
      expect(`${failure.message}${failure.hint}`).not.toContain('MARKED');
    }
  });

  it('is refused when the server has another key, which the message shows', async () => {
    await using other = await startSshd();
    const known = other.hostKey;
    const now = await other.changeHostKey();
    expect(now).not.toBe(known);
    const at = addressOf('a.csv', { port: other.port, hostKeys: [known] });
    const failure = await failureOf(contentsOf(at));
    expect(failure.kind).toBe('permanent');
    expect(failure.message).toContain(`it is ${now}`);
    expect(failure.hint).toContain(`hostKey: ${now}`);
    writeFileSync(join(other.folder, 'a.csv'), CSV);
    const path = join(other.folder, 'a.csv');
    expect(
      Object.values(await contentsOf({ ...at, path, privateKey: other.privateKey, hostKeys: [known, now] })),
    ).toEqual([CSV]);
  });

  it('is refused at a private address that is not allowed', async () => {
    for (const host of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1']) {
      const failure = await failureOf(contentsOf(addressOf('a.csv', { host, allowPrivateAddresses: false })));
      expect(failure.message).toMatch(/private address/);
    }
  });

  it('is refused when it is not there, is a folder, is too large, or nothing listens', async () => {
    there('large.csv', 'x'.repeat(100_000));
    expect((await failureOf(contentsOf(addressOf('none.csv')))).kind).toBe('absent');
    expect((await failureOf(contentsOf(addressOf('')))).message).toMatch(/not a regular file/);
    expect((await failureOf(contentsOf(addressOf('large.csv'), 50_000))).message).toBe('it is larger');
    expect((await failureOf(contentsOf(addressOf('a.csv', { port: 1 })))).message).toBe(
      'no server listens there',
    );
  });

  it('is one of several that a pattern finds, or the newest of them', async () => {
    for (const [index, name] of ['p-2.csv', 'p-1.csv', 'p-3.csv', 'q-1.csv', '~$q-1.csv'].entries()) {
      there(name, name);
      utimesSync(join(sshd.folder, name), 1_700_000_000 + index, 1_700_000_000 + index);
    }
    expect(Object.values(await contentsOf(addressOf('p-*.csv')))).toEqual(['p-1.csv', 'p-2.csv', 'p-3.csv']);
    expect(await contentsOf(addressOf('p-*.csv', { newest: true }))).toEqual({
      [sshd.address('p-3.csv')]: 'p-3.csv',
    });
    expect(Object.values(await contentsOf(addressOf('*q-*.csv')))).toEqual(['q-1.csv']);
    expect(await contentsOf(addressOf('r-*.csv'))).toEqual({});
  });

  it('is written completely, with the mode of the old one, and leaves nothing else', async () => {
    there('out.csv', 'old');
    there('.out.csv.storeferry-0011.tmp', 'left by a process that was killed');
    const { mode } = statSync(join(sshd.folder, 'out.csv'));
    const large = 'x'.repeat(3_000_000);
    await put(sftpClient(addressOf('out.csv')), large);
    expect(readFileSync(join(sshd.folder, 'out.csv'), 'utf8') === large).toBe(true);
    expect(statSync(join(sshd.folder, 'out.csv')).mode).toBe(mode);
    expect(readdirSync(sshd.folder).filter((name) => name.includes('storeferry'))).toEqual([]);
  });

  it('is written also where the server cannot rename over a file', async () => {
    await using other = await startSshd({ denied: 'posix-rename,fsync' });
    const at = addressOf('out.csv', {
      ...{ port: other.port, hostKeys: [other.hostKey], privateKey: other.privateKey },
      path: join(other.folder, 'out.csv'),
    });
    await put(sftpClient(at), 'first');
    await put(sftpClient(at), 'second');
    expect(readFileSync(at.path, 'utf8')).toBe('second');
    expect(readdirSync(other.folder)).toEqual(['out.csv']);
  });

  it('is moved back if a process died between moving it aside and replacing it', async () => {
    there('.torn.csv.storeferry-0011.tmp.old', 'the only one');
    there('.torn.csv.storeferry-0011.tmp', 'what was to come');
    expect((await failureOf(put(sftpClient(addressOf('torn.csv')), 'begun again', null))).kind).toBe(
      'changed',
    );
    expect(readFileSync(join(sshd.folder, 'torn.csv'), 'utf8')).toBe('the only one');
    there('.torn.csv.storeferry-0022.tmp.old', 'older');
    await put(sftpClient(addressOf('torn.csv')), 'next');
    expect(readFileSync(join(sshd.folder, 'torn.csv'), 'utf8')).toBe('next');
    expect(readdirSync(sshd.folder).filter((name) => name.includes('torn'))).toEqual(['torn.csv']);
  });

  it('is written only over the version that was read', async () => {
    await put(sftpClient(addressOf('versions.csv')), 'one', null);
    expect((await failureOf(put(sftpClient(addressOf('versions.csv')), 'two', null))).kind).toBe('changed');
    await using client = sftpClient(addressOf('versions.csv'));
    const [file] = await client.find(signal);
    const got = file && (await client.get(file, { signal, unless: null }));
    if (got?.kind !== 'content') throw new Error('not there');
    await text(got.content);
    await put(sftpClient(addressOf('versions.csv')), 'three, longer', got.version);
    expect((await failureOf(put(sftpClient(addressOf('versions.csv')), 'four', got.version))).kind).toBe(
      'changed',
    );
    expect(readFileSync(join(sshd.folder, 'versions.csv'), 'utf8')).toBe('three, longer');
    expect((await failureOf(put(sftpClient(addressOf('no/folder/out.csv')), 'x'))).kind).toBe('absent');
  });

  it('is aborted by the signal', async () => {
    const controller = new AbortController();
    await using client = sftpClient(addressOf('a.csv'));
    controller.abort(new Error('asked to stop'));
    await expect(
      client
        .find(controller.signal)
        .then(([file]) => file && client.get(file, { signal: controller.signal, unless: null })),
    ).rejects.toThrow('asked to stop');
  });

  it.each(['password', 'keyboard-interactive'])('accepts a login by %s', async (method) => {
    const { key, fingerprint } = makeHostKey();
    const server = new Server({ hostKeys: [key] }, (client) => {
      client.on('error', () => undefined);
      client.on('authentication', (context) => {
        if (context.method !== method) context.reject([method as 'password']);
        else if (context.method === 'password')
          context.password === 'right' ? context.accept() : context.reject();
        else if (context.method === 'keyboard-interactive')
          context.prompt('Password:', ([answer]) =>
            answer === 'right' ? context.accept() : context.reject(),
          );
      });
      client.on('session', (accept) => void accept().on('sftp', (_accept, reject) => reject()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const { port } = address;
    const at = addressOf('a.csv', {
      port,
      hostKeys: [fingerprint],
      privateKey: null,
    });
    expect((await failureOf(contentsOf({ ...at, password: 'right' }))).message).toMatch(/offers no SFTP/);
    expect((await failureOf(contentsOf({ ...at, password: 'wrong' }))).message).toMatch(
      /refuses the login of the user/,
    );
    server.close();
  });
});
