import { describe, expect, it } from 'vitest';
import { brief, mapAll, mappingOf, table } from './mapping-setup.ts';

const spec = mappingOf(`
import: products
columns: { id: Id, url: Url, title: Title, size: Size, price: Price }
group: { starts: { any: [{ id: present }, { url: present }] } }
product: { url: url, title: title }
options: { columns: { Size: size } }
variants: { pricing: { price: price } }
`);

const HEADER = ['Id', 'Url', 'Title', 'Size', 'Price'];

async function outcome(...files: readonly (readonly (readonly string[])[])[]) {
  const { mapped } = await mapAll(
    spec,
    files.map((rows, index) => table(HEADER, rows, index)),
  );
  return mapped.map(brief);
}

const A = ['1', 'a', 'A', 'S', '1'];
const A2 = ['', '', '', 'L', '2'];
const B = ['2', 'b', 'B', 'S', '3'];

describe('rows that continue the one before', () => {
  it('belong to the record that began last', async () => {
    expect(await outcome([A, A2, B])).toEqual(['record a (2 rows)', 'record b (1 row)']);
  });

  it('belong to nothing before the first record', async () => {
    expect(await outcome([A2, A2, A])).toEqual([
      'rejected null nothing-to-continue (1 row)',
      'rejected null nothing-to-continue (1 row)',
      'record a (1 row)',
    ]);
  });

  it('do not continue a record of the file before', async () => {
    expect(await outcome([A], [A2, B])).toEqual([
      'record a (1 row)',
      'rejected null nothing-to-continue (1 row)',
      'record b (1 row)',
    ]);
  });

  it('begin a record of their own when the same id comes again', async () => {
    expect(await outcome([A, A])).toEqual(['record a (1 row)', 'record a (1 row)']);
  });

  it('are left out where they repeat the row before them in every cell', async () => {
    expect(await outcome([A, A2, A2, B])).toEqual([
      'skipped null identical-copy (1 row)',
      'record a (2 rows)',
      'record b (1 row)',
    ]);
  });

  it('are all in doubt after a misaligned row, until the next record begins', async () => {
    expect(await outcome([A, A2, ['', '', 'x', '', 'M', '2'], A2, B])).toEqual([
      'rejected a neighbour-misaligned (2 rows)',
      'rejected null row-too-long (2 rows)',
      'record b (1 row)',
    ]);
  });

  it('spare the record before a misaligned row whose first cell begins a record', async () => {
    expect(await outcome([A, ['9', 'x', 'y', '', 'M', '2'], A2, B])).toEqual([
      'record a (1 row)',
      'rejected null row-too-long (2 rows)',
      'record b (1 row)',
    ]);
  });
});
