import { expect, it } from 'vitest';
import { fetchPicture } from '../../src/source/snapshot.ts';
import { httpAddress } from '../remote/http-address.ts';
import { startFileServer } from '../support/file-server.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1');
const SIGNAL = new AbortController().signal;

it('gives a page the bytes of pictures alone, and not of all addresses', async () => {
  await using server = await startFileServer({
    '/a.png': PNG,
    '/b.png': '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    '/c.png': '<!doctype html><script>alert(1)</script>',
    '/d.png': Buffer.concat([PNG, Buffer.alloc(8_000_000)]),
  });
  const fetched = async (path: string, allowPrivateAddresses: boolean) =>
    await fetchPicture({ ...httpAddress(server.url + path), allowPrivateAddresses }, SIGNAL);
  expect(await fetched('/a.png', true)).toEqual({ content: PNG, type: 'png' });
  for (const path of ['/b.png', '/c.png'])
    expect(await fetched(path, true)).toEqual({ problem: expect.stringContaining('is ') });
  await expect(fetched('/d.png', true)).rejects.toThrow('it is larger');
  const before = server.requests.length;
  await expect(fetched('/a.png', false)).rejects.toThrow('is a private address');
  expect(server.requests).toHaveLength(before);
});
