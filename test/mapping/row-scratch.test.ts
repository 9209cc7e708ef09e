import { describe, expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { mapTables } from '../../src/mapping/map-tables.ts';
import type { OpenScratch, RowLinks, RowScratch } from '../../src/model/mapped-record.ts';
import { StateError } from '../../src/model/storeferry-error.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';
import { CONTEXT, mappingOf, table } from './mapping-setup.ts';

const spec = mappingOf(`
import: products
columns: { id: Id }
group: { by: id, rows: anywhere }
product: { url: id, title: id }
variants: { pricing: { price: 1 } }
`);

async function run(openScratch: OpenScratch) {
  const found = [];
  const tables = [table(['Id'], [['b'], ['a'], ['c']])];
  for await (const batch of mapTables(compileMapping(spec, CONTEXT), tables, { openScratch })) {
    found.push(...batch.map(({ key }) => key));
  }
  return found;
}

describe('the scratch for rows that may stand anywhere', () => {
  it('is closed when the source has been mapped', async () => {
    const opened: RowScratch[] = [];
    const keys = await run((kind) => {
      const scratch = openRowScratch(kind);
      opened.push(scratch);
      return scratch;
    });
    expect(keys).toEqual(['b', 'a', 'c']);
    expect(() => [...(opened[0]?.members() ?? [])]).toThrow('database is not open');
  });

  it('says so when it cannot be written', async () => {
    await expect(run((kind) => openRowScratch(kind, '/dev/full'))).rejects.toThrow(StateError);
  });

  it('gives rows that share a name, as in a hostile file, to one of the records that list it', () => {
    const each = 200;
    const membersOf = (kind: 'parent' | 'children', ...links: readonly Partial<RowLinks>[]) => {
      using scratch = openRowScratch(kind);
      const unlinked = { belongs: null, names: [], wants: [], silent: false, alone: false };
      for (let seq = 0; seq < each * links.length; seq += 1) {
        scratch.add({ seq, line: seq + 2, text: '[]' }, { ...unlinked, ...links[seq % links.length] });
      }
      return [...scratch.members()].length;
    };
    const lists = { wants: ['x-1'] };
    const shares = { names: ['x-1'] };
    const child = { belongs: 'x-1' };
    expect(membersOf('children', lists, shares)).toBe(2 * each);
    expect(membersOf('children', lists, { names: ['X-1'] })).toBe(2 * each);
    expect(membersOf('children', lists, shares, { ...child, silent: true })).toBe(3 * each);
    expect(membersOf('parent', shares, child)).toBe(2 * each);
  });
});
