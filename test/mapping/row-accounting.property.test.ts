import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Mapped } from '../../src/model/mapped-record.ts';
import { mapAll, mappingOf, table } from './mapping-setup.ts';

const HEADER = ['title', 'handle', 'parent', 'children', 'size', 'price'];

const GROUPS = {
  'a record a row': '',
  'adjacent rows': 'group: { by: handle, rows: adjacent, head: { title: present } }',
  'rows anywhere': 'group: { by: handle, rows: anywhere, head: { title: present } }',
  'rows that continue the one before': 'group: { starts: { title: present } }',
  'rows that name their parent': 'group: { parent: parent, names: [handle] }',
  'rows that list their children':
    'group: { children: { cell: children, items: " " }, names: [handle], head: { title: present }, alone: { size: S } }',
};

function mapping(group: string) {
  const parent = group.includes('parent:') ? 'parent: parent,' : '';
  const children = group.includes('children:') ? 'children: children,' : '';
  return mappingOf(`
import: products
columns: { title: title, handle: handle, ${parent} ${children} size: size, price: price }
${group}
product: { url: handle, title: title }
options: { columns: { Size: size } }
variants: { pricing: { price: price } }
`);
}

const key = fc.constantFrom('a', 'b', 'c', 'd', '');
const cells = fc.tuple(
  fc.constantFrom('T', 'U', ''),
  key,
  key,
  fc.constantFrom('', '', 'a b', 'c', 'd d'),
  fc.constantFrom('S', 'L', ''),
  fc.constantFrom('1', '2', '', 'x'),
);
/** Rows as they should be, with a cell too many somewhere, or cut short. */
const row = fc.oneof(
  { weight: 5, arbitrary: cells.map((all) => [...all]) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(cells, fc.nat(6), key)
      .map(([all, at, extra]) => [...all.slice(0, at), extra, ...all.slice(at)]),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(cells, fc.integer({ min: 1, max: 5 })).map(([all, to]) => all.slice(0, to)),
  },
);

/** The lines that the spans of a record cover. */
function linesOf(mapped: Mapped): readonly number[] {
  return mapped.spans.flatMap(({ from, to }) =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index),
  );
}

describe.each(Object.entries(GROUPS))('%s', (_name, group) => {
  const spec = mapping(group);

  it('account for every row once, and show it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { maxLength: 24 }),
        fc.integer({ min: 1, max: 7 }),
        async (rows, batch) => {
          const { mapped } = await mapAll(spec, [table(HEADER, rows, 0, batch)]);
          expect(mapped.reduce((sum, one) => sum + one.rows, 0)).toBe(rows.length);
          const shown = new Set(mapped.flatMap(linesOf));
          expect(shown.size).toBe(rows.length);
          for (const one of mapped) {
            expect(one.rows).toBeLessThanOrEqual(linesOf(one).length);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('send no misaligned row', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 24 }), async (rows) => {
        const { mapped } = await mapAll(spec, [table(HEADER, rows)]);
        const misaligned = rows.flatMap((one, index) => (isMisaligned(one) ? [index + 2] : []));
        const sent = new Set(mapped.filter(({ kind }) => kind === 'record').flatMap(linesOf));
        expect(misaligned.filter((line) => sent.has(line))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

function isMisaligned(cellsOfRow: readonly string[]): boolean {
  return cellsOfRow.length < HEADER.length || cellsOfRow.slice(HEADER.length).some((cell) => cell !== '');
}

describe('rows of one key', () => {
  it('give the same records whether they are asked to be adjacent or not, when they are', async () => {
    const [adjacent, anywhere] = [GROUPS['adjacent rows'], GROUPS['rows anywhere']].map((group) =>
      mapping(group.replace(', head: { title: present }', '')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(cells, fc.boolean()), { maxLength: 24 }), async (unsorted) => {
        const rows = unsorted
          .flatMap(([one, isDoubled]) => (isDoubled ? [one, one] : [one]))
          .filter(([, handle]) => handle !== '')
          .sort(([, a], [, b]) => (a < b ? -1 : a > b ? 1 : 0));
        const tables = () => [table(HEADER, rows)];
        const found = await Promise.all(
          [adjacent, anywhere].map(async (spec) => {
            const { mapped } = spec === undefined ? { mapped: [] } : await mapAll(spec, tables());
            const isCopy = (one: Mapped) => one.kind === 'skipped' && one.reason.code === 'identical-copy';
            // Copies are skipped when they are read: among the records, or before all of them.
            const copies = mapped.filter(isCopy);
            const others = mapped.filter((one) => !isCopy(one));
            return { copies, others: others.map(({ partial: _torn, ...one }) => one) };
          }),
        );
        expect(found[0]).toEqual(found[1]);
      }),
      { numRuns: 150 },
    );
  });
});
