import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SourceError } from '../../src/model/storeferry-error.ts';
import { type StageOptions, stageSource, stageSourceUnless } from '../../src/source/snapshot.ts';
import { httpAddress } from '../remote/http-address.ts';
import { startFileServer } from '../support/file-server.ts';
import { workspaceWith } from './folder-on-disk.ts';
import { makeZip } from './make-zip.ts';

const CSV = 'sku,price\nA,1\nB,2\n';
const retryPolicy = { retries: 1, firstWaitMs: 1 };

async function stage(address: string, options: Partial<StageOptions> = {}) {
  await using workspace = await workspaceWith({});
  const snapshot = await stageSource(
    { remote: httpAddress(address) },
    { ...workspace, retryPolicy, ...options },
  );
  const contents = await Promise.all(
    snapshot.files.map(({ stored }) => readFile(join(workspace.folder.location, stored), 'utf8')),
  );
  return { snapshot, contents };
}

async function refusal(address: string, options: Partial<StageOptions> & { files?: number } = {}) {
  await using workspace = await workspaceWith({});
  const { files, ...rest } = options;
  const error: unknown = await stageSource(
    { remote: httpAddress(address), files },
    { ...workspace, retryPolicy, ...rest },
  ).catch((reason: unknown) => reason);
  if (!(error instanceof SourceError)) throw new Error(`expected a SourceError, got ${String(error)}`);
  expect(await workspace.folder.list()).toEqual([]);
  expect(error.hint).toBeTruthy();
  expect(JSON.stringify([error.message, error.hint, error.place])).not.toContain('MARKED');
  return error.message;
}

describe('a snapshot of a remote source', () => {
  it('unpacks gzip and zip as from files, and labels them by their address', async () => {
    await using server = await startFileServer({
      '/a.csv': CSV,
      '/b.gz': gzipSync(CSV),
      '/c.zip': makeZip([{ name: 'in.csv', content: CSV }]),
    });
    server.answer(
      '/d.csv',
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(CSV)),
    );
    for (const path of ['/a.csv', '/b.gz', '/d.csv']) {
      const { snapshot, contents } = await stage(`${server.url}${path}?token=MARKED`);
      expect(contents).toEqual([CSV]);
      expect(snapshot.files[0]?.name).toBe(server.url + path);
      expect(JSON.stringify(snapshot)).not.toContain('MARKED');
    }
    const { snapshot } = await stage(`${server.url}/c.zip`);
    expect(snapshot.files[0]?.name).toBe(`${server.url}/c.zip/in.csv`);
  });

  it('is taken only when the source no longer has the known version', async () => {
    await using server = await startFileServer({ '/a.csv': CSV });
    await using workspace = await workspaceWith({});
    const remote = httpAddress(`${server.url}/a.csv`);
    const { version = null } = await stageSource({ remote }, { ...workspace, retryPolicy });
    expect(version).not.toBeNull();
    const again = () => stageSourceUnless(version, { remote }, { ...workspace, retryPolicy });
    expect(await again()).toBeUndefined();
    server.files.set('/a.csv', Buffer.from('sku\nC\n'));
    const changed = await again();
    expect(changed?.files[0]?.bytes).toBe(6);
    expect(changed?.version).not.toBe(version);
  });

  it('does not use the version of another address', async () => {
    await using server = await startFileServer({ '/a.csv': CSV, '/b.csv': CSV });
    await using workspace = await workspaceWith({});
    const options = { ...workspace, retryPolicy };
    const { version = null } = await stageSource({ remote: httpAddress(`${server.url}/a.csv`) }, options);
    const other = await stageSourceUnless(version, { remote: httpAddress(`${server.url}/b.csv`) }, options);
    expect(other?.files).toHaveLength(1);
  });

  it('has no version when the server sends none', async () => {
    await using server = await startFileServer();
    server.answer('/a.csv', (_request, response) => void response.writeHead(200).end(CSV));
    expect((await stage(`${server.url}/a.csv`)).snapshot).not.toHaveProperty('version');
  });

  it('is refused with place and advice when it cannot be downloaded', async () => {
    await using server = await startFileServer({
      '/page.csv': '<!doctype html><title>Log in</title>',
      '/cut.gz': gzipSync(CSV.repeat(100)).subarray(0, -12),
      '/empty.csv': '',
      '/two.zip': makeZip([
        { name: 'a.csv', content: CSV },
        { name: 'b.csv', content: CSV },
      ]),
    });
    server.answer('/closed.csv', (_request, response) => void response.writeHead(403).end('MARKED'));
    server.answer('/down.csv', (_request, response) => void response.writeHead(503).end('MARKED'));
    const at = (path: string) => `${server.url}${path}?token=MARKED`;
    expect(await refusal(at('/none.csv'))).toMatch(
      /^The source http:\S+none\.csv cannot be read: there is no such file/,
    );
    expect(await refusal(at('/closed.csv'))).toMatch(/refuses access \(403\)/);
    expect(await refusal(at('/down.csv'))).toMatch(/answers 503/);
    expect(await refusal(at('/page.csv'))).toMatch(/is an HTML page, not a CSV file/);
    expect(await refusal(at('/cut.gz'))).toMatch(/is damaged/);
    expect(await refusal(at('/empty.csv'))).toMatch(/is empty/);
    expect(await refusal(at('/two.zip'), { files: 1 })).toMatch(
      /gives 2 file\(s\) where the job says `files: 1`/,
    );
  });

  it('keeps the limits on bytes and ratio, packed or not', async () => {
    await using server = await startFileServer({
      '/large.csv': CSV.repeat(1_000),
      '/large.gz': gzipSync(CSV.repeat(100_000)),
      '/bomb.gz': gzipSync(Buffer.alloc(80 * 1024 * 1024, 'x')),
    });
    expect(await refusal(`${server.url}/large.csv`, { limits: { bytes: 5_000 } })).toMatch(
      /limit bytes \(5000\): the unpacked file is larger/,
    );
    expect(await refusal(`${server.url}/large.gz`, { limits: { bytes: 50_000 } })).toMatch(
      /limit bytes \(50000\)/,
    );
    expect(await refusal(`${server.url}/bomb.gz`)).toMatch(/limit ratio \(200\)/);
  });

  it('is aborted by the signal', async () => {
    await using server = await startFileServer();
    const controller = new AbortController();
    server.answer('/slow.csv', () => controller.abort(new Error('asked to stop')));
    await expect(stage(`${server.url}/slow.csv`, { signal: controller.signal })).rejects.toThrow(
      'asked to stop',
    );
  });
});
