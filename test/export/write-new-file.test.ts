import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ExportJob } from '../../src/config/job/job.ts';
import { filesSince, readableSince, readPosition } from '../../src/export/export-position.ts';
import { writeNewFile } from '../../src/export/writing/export-file.ts';
import type { RunFolder } from '../../src/state/artifacts.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';

const STORE = '//shop.example';
const job: ExportJob = {
  kind: 'export',
  name: 'fresh',
  export: 'orders',
  store: 'main',
  destination: { path: 'out/{date}-{number}.csv', mode: 'new', format: 'csv' },
};

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'storeferry-new-file-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** The folder, whose n-th write and all later ones fail. */
function failingFrom(folder: RunFolder, n: number): RunFolder {
  let writes = 0;
  return Object.assign(Object.create(folder), {
    write: (...input: Parameters<RunFolder['write']>) => {
      writes++;
      if (writes >= n) throw new Error(`no write ${n}`);
      return folder.write(...input);
    },
  });
}

function write(
  run: string,
  orders: readonly object[],
  kept: RunFolder,
  store = STORE,
  more: { readonly filter?: ExportJob['filter']; readonly createdSince?: string } = {},
) {
  const { filter, createdSince = null } = more;
  return writeNewFile({
    job: { ...job, ...(filter && { filter }) },
    access: { workspaceDir: dir },
    kept,
    store,
    run,
    readAt: '2030-01-02T06:00:00.000Z',
    reading: async function* () {
      yield orders.map((order) => JSON.stringify(order));
    },
    createdSince,
    limit: undefined,
    signal: new AbortController().signal,
  });
}

it('makes the same file again where it ended between any two writes', async () => {
  const kept = folderArtifacts(join(dir, 'artifacts')).run('export-fresh');
  await write(
    'run-1',
    [
      { id: 1, total: 1 },
      { id: 2, total: 2 },
    ],
    kept,
  );
  const now = [
    { id: 1, total: 5 },
    { total: 2, id: 2 },
    { id: 3, total: 3 },
  ];
  for (const [n, steps] of [1, 2, 3].entries())
    await expect(write('run-2', now, failingFrom(kept, steps)), `write ${n}`).rejects.toThrow('no write');
  const written = await write('run-2', now, kept);
  expect(written).toMatchObject({ lines: 2 });
  expect(await readFile(join(dir, 'out/2030-01-02-2.csv'), 'utf8')).toBe(
    'id,total,storeferry_change\n1,5,changed\n3,3,new\n',
  );
  // It ended after the position had moved, before its run did.
  expect(await write('run-2', now, kept)).toMatchObject({ lines: 2 });
  expect(await write('run-3', now, kept)).toMatchObject({ location: null, lines: 0 });
  const { files } = await readPosition(kept, STORE);
  expect(files.map(({ number, run, count }) => [number, run, count])).toEqual([
    [1, 'run-1', 2],
    [2, 'run-2', 2],
  ]);
  expect(filesSince({ store: STORE, prints: null, full: null, files }, '2030-01-02')).toHaveLength(2);
});

it('knows the orders of one store only, and counts its files on', async () => {
  const kept = folderArtifacts(join(dir, 'artifacts')).run('export-fresh');
  await write('run-1', [{ id: 1 }], kept);
  expect(await readPosition(kept, '//other.example')).toMatchObject({ prints: null, files: [{ number: 1 }] });
  const { prints } = await readPosition(kept, STORE);
  await write('run-2', [], kept, '//other.example');
  expect(await readPosition(kept, STORE), 'an empty store was written to by mistake').toMatchObject({
    prints,
  });
});

it('needs to read recent orders only, for a week after a full pass by the same filter', async () => {
  const kept = folderArtifacts(join(dir, 'artifacts')).run('export-fresh');
  const at = (date: string) => Date.parse(`${date}T06:00:00.000Z`);
  const since = async (date: string, of: Pick<ExportJob, 'filter'> = {}) =>
    readableSince(await readPosition(kept, STORE), of, at(date));
  expect(await since('2030-01-02')).toBeNull();
  await write('run-1', [], kept);
  expect(await since('2030-01-03')).toBe('2029-12-26T06:00:00.000Z');
  expect(await since('2030-01-09')).toBeNull();
  // The clock was put back.
  expect(await since('2030-01-01')).toBeNull();
  expect(await since('2030-01-03', { filter: { status: 'paid' } })).toBeNull();
  expect(readableSince(await readPosition(kept, '//other.example'), {}, at('2030-01-03'))).toBeNull();
});

it('counts the orders of earlier files that have left the filter, or the store', async () => {
  const kept = folderArtifacts(join(dir, 'artifacts')).run('export-fresh');
  const filter = { status: ['paid'] };
  const orders = (...states: readonly string[]) => states.map((status, id) => ({ id: id + 1, status }));
  const notes = async (run: string, states: readonly string[], createdSince?: string) => {
    const more = { filter, ...(createdSince !== undefined && { createdSince }) };
    return (await write(run, orders(...states), kept, STORE, more)).notes;
  };
  const left = (count: number) =>
    `Orders of earlier files that are no longer in the store, or no longer have the values of \`filter\`: ${count}. No file says so.`;
  expect(await notes('run-1', ['paid', 'paid', 'paid', 'open'])).toEqual([]);
  const nothing = 'Nothing is new or changed, so there is no file.';
  expect(await notes('run-2', ['paid', 'canceled', 'paid', 'open'])).toEqual([nothing, left(1)]);
  expect(await notes('run-3', ['paid', 'canceled'], '2030-01-01')).toEqual([nothing]);
  expect(await notes('run-4', ['paid', 'canceled', 'canceled', 'paid'])).toEqual([left(2)]);
});
