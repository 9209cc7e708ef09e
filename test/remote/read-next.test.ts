import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { READ_BYTES, readNext, releaseBuffer } from '../../src/remote/remote-client.ts';

it('gives the bytes of a file from a place on, and none at its end', async () => {
  await using file = await fileWith(Buffer.alloc(READ_BYTES + 3, 'abc'));
  expect(await readNext(file.handle, 0)).toHaveLength(READ_BYTES);
  expect((await readNext(file.handle, READ_BYTES)).toString()).toBe('bca');
  expect(await readNext(file.handle, READ_BYTES + 3)).toHaveLength(0);
});

it('overwrites bytes only after they were given back', async () => {
  await using file = await fileWith(Buffer.from('abcdef'));
  const first = await readNext(file.handle, 0);
  const second = await readNext(file.handle, 3);
  expect([first.toString(), second.toString()]).toEqual(['abcdef', 'def']);
  releaseBuffer(second);
  expect((await readNext(file.handle, 1)).buffer).toBe(second.buffer);
  expect(first.toString()).toBe('abcdef');
});

it('lends a buffer once, however often it is given back, and never one of others', async () => {
  await using file = await fileWith(Buffer.from('abcdef'));
  const bytes = await readNext(file.handle, 0);
  const own = Buffer.from('own');
  for (const given of [bytes, bytes.subarray(1), own]) releaseBuffer(given);
  const memory = new Set<ArrayBufferLike>();
  for (let read = 0; read < 8; read++) memory.add((await readNext(file.handle, 0)).buffer);
  expect(memory.size).toBe(8);
  expect(memory.has(own.buffer)).toBe(false);
});

async function fileWith(content: Uint8Array) {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-read-'));
  await writeFile(join(folder, 'file'), content);
  const handle = await open(join(folder, 'file'));
  return {
    handle,
    async [Symbol.asyncDispose]() {
      await handle.close();
      await rm(folder, { recursive: true });
    },
  };
}
