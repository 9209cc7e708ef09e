import { describe, expect, it } from 'vitest';
import { mapAll, mappingOf, table } from './mapping-setup.ts';

/** What becomes of a product of two rows, `S` and `M`, the second with the cell `x` in the column Cell. */
async function productWith(fields: string, variantFields: string, options = 'Size: size'): Promise<unknown> {
  const spec = mappingOf(`
    import: products
    columns: { id: Id, name: Name, size: Size, cell: Cell }
    group: { by: id, rows: adjacent }
    product: { url: id, title: name${fields} }
    options: { columns: { ${options} } }
    variants: { pricing: { price: 1 }${variantFields} }
  `);
  const rows = [
    ['a', 'Mug', 'S', ''],
    ['a', 'Mug', 'M', 'x'],
  ];
  const { mapped } = await mapAll(spec, [table(['Id', 'Name', 'Size', 'Cell'], rows)]);
  const [only] = mapped;
  return only?.kind === 'rejected' ? only.reason : only;
}

describe('a cell that cannot be read rejects its record with field, line and column', () => {
  it.each([
    ['description', ', description: { value: [cell, email], from: any }', ''],
    ['description', ', description: { value: [cell, number], from: any }', ''],
    ['images', ', images: { all: [[cell, email]] }', ''],
    ['categories', ', categories: { value: { all: [[cell, email]] }, root: true }', ''],
    ['subscription.cycles', ', subscription: { cycles: cell }', ''],
    ['variants.quantity', '', ', quantity: cell'],
    ['variants.sku', '', ', sku: [cell, number]'],
    ['variants.weight', '', ', weight: { value: cell, unit: g }'],
    ['variants.weight', '', ', weight: { value: [cell, email], unit: cell }'],
    ['variants.weight', '', ', weight: { value: cell, unit: cell }'],
  ])('%s (product%s; variants%s)', async (field, fields, variantFields) => {
    expect(await productWith(fields, variantFields)).toMatchObject({ field, line: 3, column: 'Cell' });
  });

  it('options', async () => {
    const options = 'Size: size, Cell: [cell, email]';
    expect(await productWith('', '', options)).toMatchObject({ field: 'options', line: 3, column: 'Cell' });
  });

  it('decides nothing where rows are only ordered by it', async () => {
    expect(await productWith(', images: { all: [name], order: cell }', '')).toMatchObject({ kind: 'record' });
  });
});

describe('a blank cell that is needed is named with its column', () => {
  const spec = (price: string) =>
    mappingOf(`
      import: products
      columns: { id: Id, name: Name, size: Size, cell: Cell }
      group: { by: id, rows: adjacent }
      product: { url: id, title: name }
      options: { columns: { Size: size } }
      variants: { pricing: { price: ${price} } }
    `);

  it.each(['cell', '{ first: [cell, [cell, number]] }', '[cell, number]'])('price: %s', async (price) => {
    const rows = [
      ['a', 'Mug', 'S', '1'],
      ['a', 'Mug', 'M', ''],
      ['', 'Jug', 'S', '1'],
    ];
    const { mapped } = await mapAll(spec(price), [table(['Id', 'Name', 'Size', 'Cell'], rows)]);
    const reasons = mapped.flatMap((one) => (one.kind === 'rejected' ? [one.reason] : []));
    expect(reasons).toHaveLength(2);
    expect(reasons).toContainEqual(
      expect.objectContaining({ code: 'price-missing', line: 3, column: 'Cell' }),
    );
    expect(reasons).toContainEqual(expect.objectContaining({ code: 'key-missing', line: 4, column: 'Id' }));
  });

  it('a record that the job leaves out is not rejected', async () => {
    const rows = [['a', 'Mug', 'M', 'x']];
    const leaving = { leaveOut: ['a'] };
    const { mapped } = await mapAll(spec('cell'), [table(['Id', 'Name', 'Size', 'Cell'], rows)], leaving);
    expect(mapped).toMatchObject([{ kind: 'skipped', key: 'a', reason: { code: 'left-out' } }]);
  });
});
