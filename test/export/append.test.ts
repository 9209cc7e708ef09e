import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type Destination, openDestination } from '../../src/export/open-destination.ts';
import { openExportFile } from '../../src/export/writing/export-file.ts';
import { shapeOf } from '../../src/export/writing/row-shape.ts';
import { appendFile, type Written } from '../../src/export/writing/write-file.ts';
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

describe('a table whose job has come to write decimals or times in another way', () => {
  const ORDERS = [
    '{"id":1,"created":1700000001,"total":48.45,"version":"2024.1"}',
    '{"id":2,"created":1700000002,"total":57,"version":"2024.2"}',
    '{"id":3,"created":1700000003,"total":null,"version":"+2024.3"}',
  ];

  type Way = Readonly<{ format: 'csv' | 'excel-csv'; decimal: '.' | ',' }>;
  const POINTS: Way = { format: 'csv', decimal: '.' };

  async function appended(
    path: string,
    way: Way,
    orders: readonly string[],
    names = ['id', 'created', 'total', 'version'],
  ) {
    const destination = { path, mode: 'append', ...way } as const;
    const items = async function* () {
      yield orders;
    };
    const columns = names.map((name) => ({ path: name, name }));
    return await appendFile(await openDestination({ path }, ANYWHERE), {
      items,
      shape: await shapeOf({ export: 'orders', destination, columns }, '', items),
      signal,
      file: destination,
    });
  }

  it.each([
    ['signs', { ...POINTS, decimal: ',' }, POINTS, '4;1700000004;"9,5";2024.4'],
    ['signs', POINTS, { ...POINTS, decimal: ',' }, '4,1700000004,9.5,2024.4'],
    ['seconds', POINTS, { ...POINTS, format: 'excel-csv' }, '4,1700000004,9.5,2024.4'],
    ['times', { ...POINTS, format: 'excel-csv' }, POINTS, '4,2023-11-14 22:13:24,9.5,2024.4'],
  ] as const)('keeps its %s, and no order is there twice', async (_, began, now, written) => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-append-'));
    try {
      const path = join(dir, 'orders');
      await appended(path, began, ORDERS);
      expect(await appended(path, began, ORDERS)).toMatchObject({ lines: 0, notes: [] });
      const before = await readFile(path, 'utf8');
      const more = [...ORDERS, '{"id":4,"created":1700000004,"total":9.5,"version":"2024.4"}'];
      expect(await appended(path, now, more)).toMatchObject({
        lines: 1,
        notes: [expect.stringContaining('move it away')],
      });
      // For spreadsheets, a plus sign gets an apostrophe.
      const lines = (text: string) => text.trimEnd().replaceAll("'+", '+').split(/\r?\n/).slice(1);
      expect(lines(await readFile(path, 'utf8'))).toEqual([...lines(before), written]);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it.each([
    [
      'a number below texts that are times',
      ['{"id":1,"created":1700000001,"note":"2026-01-01 00:00:00"}'],
      POINTS,
      '{"id":2,"created":1700000002,"note":17}',
      '2,1700000002,17',
    ],
    [
      'decimals in a column without any by the sign of the others',
      ['{"id":1,"total":9.5,"tax":0}'],
      { ...POINTS, decimal: ',' },
      '{"id":2,"total":7.5,"tax":1.5}',
      '2,7.5,1.5',
    ],
    [
      'decimals below texts with commas by the sign of the job',
      ['{"id":1,"total":9.5,"note":"9,5"}'],
      POINTS,
      '{"id":2,"total":3,"note":7.5}',
      '2,3,7.5',
    ],
    [
      'decimals where only texts have commas by the sign of the job',
      ['{"id":1,"total":9,"note":"9,5"}'],
      POINTS,
      '{"id":2,"total":3.5,"note":7.5}',
      '2,3.5,7.5',
    ],
  ] as const)('has %s', async (_, orders, now, more, written) => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-append-'));
    try {
      const path = join(dir, 'orders');
      const names = Object.keys(JSON.parse(more));
      await appended(path, POINTS, orders, names);
      expect(await appended(path, now, [...orders, more], names)).toMatchObject({ lines: 1 });
      expect((await readFile(path, 'utf8')).trimEnd().split('\n').at(-1)).toBe(written);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  it('has the shares of its history read by their own sign, and no count with a thousands sign', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'storeferry-append-'));
    try {
      const path = join(dir, 'lists.csv');
      await writeFile(
        path,
        'id;name;subscribers;opens;read_at\n1;News;1,234;0,412;2030-01-01T06:00:00.000Z\n',
      );
      const job = {
        kind: 'export',
        export: 'subscriber-lists',
        name: 'lists',
        store: 'main',
        destination: { path, mode: 'append', format: 'csv' },
      } as const;
      const history = await (await openExportFile(ANYWHERE, job, '')).history(signal);
      expect(history?.points).toMatchObject([{ subscribers: null, opens: 0.412 }]);
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
