import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type Destination, openDestination } from '../../src/export/open-destination.ts';
import { appendFile } from '../../src/export/writing/append-file.ts';
import type { Written } from '../../src/export/writing/replace-file.ts';
import { shapeOf } from '../../src/export/writing/row-shape.ts';
import { DestinationChangedError } from '../../src/model/storeferry-error.ts';
import { aList } from '../support/exports.ts';

/** Absolute paths say themselves where they may be. */
const ANYWHERE = { workspaceDir: '/nowhere' };

const signal = new AbortController().signal;
const shape = await shapeOf(
  { export: 'subscriber-lists', destination: { path: 'lists.csv', mode: 'append', format: 'csv' } },
  '2030-01-02T06:00:00.000Z',
  async function* () {},
);

type Append = (destination: Destination, items: AsyncIterable<readonly string[]>) => Promise<Written>;

const ways: readonly (readonly [string, Append, string])[] = [
  [
    'a table',
    (destination, items) =>
      appendFile(destination, { items: () => items, shape, signal, file: { format: 'csv' } }),
    'id,read_at\n1,2030-01-01T06:00:00.000Z\n',
  ],
  [
    'JSON Lines',
    (destination, items) =>
      appendFile(destination, { items: () => items, shape, signal, file: { format: 'jsonl' } }),
    '{"id":1,"read_at":"2030-01-01T06:00:00.000Z"}\n',
  ],
];

async function* reading(before: () => Promise<void> = async () => {}) {
  await before();
  yield [JSON.stringify(aList(1, 'News'))];
}

describe.each(ways)('adding to %s', (_name, append, there) => {
  it.each([
    ['was not there', undefined],
    ['was empty', ''],
  ])('that %s replaces nothing that somebody else wrote meanwhile', async (_state, before) => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-append-'));
    try {
      const path = join(dir, 'lists');
      if (before !== undefined) await writeFile(path, before);
      const meanwhile = reading(() => writeFile(path, there));
      await expect(append(await openDestination({ path }, ANYWHERE), meanwhile)).rejects.toThrow(
        DestinationChangedError,
      );
      expect(await readFile(path, 'utf8')).toBe(there);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it('closes what it reads when another process has written meanwhile', async () => {
    const opened: Readable[] = [];
    const changing: Destination = {
      location: 'lists',
      async read() {
        const content = Readable.from([Buffer.from(there)], { objectMode: false });
        opened.push(content);
        return { content, version: String(opened.length) };
      },
      async write(content) {
        for await (const _ of content);
        return 0;
      },
    };
    await expect(append(changing, reading())).rejects.toThrow(DestinationChangedError);
    expect(opened.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });
});
