import { describe, expect, it } from 'vitest';
import { InterruptedError, SourceError, TableChoiceError } from '../../src/model/storeferry-error.ts';
import { stageSource } from '../../src/source/snapshot.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';
import { readStaged } from './read-staged.ts';
import { makeOds, makeXlsx } from './workbooks.ts';

/** More than a file has that is converted without a thread. */
const COUNT = 2_000;
const records = Array.from({ length: COUNT }, (_, index) => ({
  sku: `sku-${index}`,
  title: `Title ${index}`,
}));
const cells = records.map(({ sku, title }) => [sku, title]);
const rows = [['sku', 'title'], ...cells];
const items = records.map(({ sku, title }) => `<item><sku>${sku}</sku><title>${title}</title></item>`);

const FILES: Readonly<Record<string, string | Uint8Array>> = {
  'a.json': JSON.stringify(records),
  'a.jsonl': records.map((record) => JSON.stringify(record)).join('\n'),
  'a.xml': `<rss><channel>${items.join('')}</channel></rss>`,
  'a.xlsx': makeXlsx([{ name: 'S', rows }]),
  'a.ods': makeOds([{ name: 'S', rows }]),
};

describe('a large file, which is converted in a thread', () => {
  it.each(Object.entries(FILES))('gives its rows (%s)', async (name, content) => {
    const read = await readStaged(name, content);
    expect([read.header, read.cells]).toEqual([['sku', 'title'], cells]);
  });

  it('is refused with the question that it leaves open', async () => {
    const bytes = makeXlsx([
      { name: 'S', rows },
      { name: 'T', rows },
    ]);
    const error: unknown = await readStaged('a.xlsx', bytes).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TableChoiceError);
    expect(error).toMatchObject({ key: 'sheet', candidates: [{ value: 'S' }, { value: 'T' }] });
  });

  it('is refused with the error of its content', async () => {
    const cut = String(FILES['a.json']).slice(0, -100);
    await expect(readStaged('a.json', cut)).rejects.toThrow(SourceError);
    await expect(readStaged('a.json', cut)).rejects.toThrow(/^The JSON is broken at its end/);
    await expect(readStaged('a.json', `${cut}"`, {}, { bytes: 50_000 })).rejects.toThrow(
      'limit bytes (50000)',
    );
  });

  it.each(Object.keys(FILES))('ends at a signal, and leaves no copy (%s)', async (name) => {
    await using workspace = await workspaceWith({ [name]: FILES[name] ?? '' });
    const stop = new AbortController();
    const reason = new InterruptedError('Interrupted by SIGTERM.');
    const onProgress = () => stop.abort(reason);
    const staging = stageSource({ path: name }, { ...workspace, signal: stop.signal, onProgress });
    await expect(staging).rejects.toBe(reason);
    expect(await workspace.folder.list()).toEqual([]);
  });
});
