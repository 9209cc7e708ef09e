import { describe, expect, it } from 'vitest';
import { faultsOf } from '../../src/model/reason.ts';
import { mapAll, mappingOf, table } from './mapping-setup.ts';

const SPEC = mappingOf(`
import: products
columns: { url: Url, title: Title, hidden: Hidden, price: Price, qty: Qty, weight: Weight, size: Size, file: File }
group: { by: url, rows: anywhere }
product: { url: url, title: title, hidden: [hidden, boolean], file: file }
options: { columns: { Size: size } }
variants: { pricing: { price: price }, quantity: qty, weight: { value: weight, unit: kg } }
`);
const HEADER = ['Url', 'Title', 'Hidden', 'Price', 'Qty', 'Weight', 'Size', 'File'];

async function faultsIn(rows: readonly (readonly string[])[]): Promise<readonly string[]> {
  const { mapped } = await mapAll(SPEC, [table(HEADER, rows)]);
  return mapped.flatMap((one) =>
    one.kind === 'rejected'
      ? faultsOf(one.reason).map(({ code, field, line }) => `${code} ${field} ${line}`)
      : [],
  );
}

describe('a record with several faults', () => {
  it('is rejected with all of them, each with its line', async () => {
    const found = await faultsIn([
      ['lamp', '', 'perhaps', 'abc', '5', 'heavy', 'S', 'no address'],
      ['lamp', '', '', '10', 'many', '1', 'M', ''],
    ]);
    expect(found).toEqual([
      'title-missing title 2',
      expect.stringMatching(/ hidden 2$/),
      expect.stringMatching(/ variants\.price 2$/),
      expect.stringMatching(/ variants\.weight 2$/),
      expect.stringMatching(/ variants\.quantity 3$/),
      'file-not-an-address file 2',
    ]);
  });

  it('has no fault that only follows from another one', async () => {
    expect(await faultsIn([['lamp', 'Lamp', '', 'abc', '5', '1', '', '']])).toHaveLength(1);
    expect(await faultsIn([['lamp', '', '', '10', '5', '1', '', '']])).toEqual(['title-missing title 2']);
  });

  it('names those of the variants beside a fault of their options', async () => {
    const found = await faultsIn([
      ['lamp', 'Lamp', '', '10', '5', '1', 'S', ''],
      ['lamp', '', '', 'abc', '5', '1', 'S', ''],
    ]);
    expect(found).toHaveLength(2);
    expect(found).toContainEqual(expect.stringMatching(/ options /));
    expect(found).toContainEqual(expect.stringMatching(/ variants\.price 3$/));
  });

  it('is bounded, and leaves the records after it as they are', async () => {
    const bad = Array.from({ length: 200 }, (_, n) => ['lamp', 'Lamp', '', 'abc', 'x', 'y', `S${n}`, '']);
    const { mapped } = await mapAll(SPEC, [
      table(HEADER, [...bad, ['hat', 'Hat', '', '10', '1', '1', '', '']]),
    ]);
    const [lamp, hat] = mapped;
    expect(lamp?.kind === 'rejected' && faultsOf(lamp.reason)).toHaveLength(50);
    expect(hat).toMatchObject({ kind: 'record', key: 'hat' });
  });
});

it('a contact with several faults is rejected with all of them', async () => {
  const spec = mappingOf(`
import: contacts
columns: { id: Id, name: Name, optedIn: Opted in, lists: Lists }
contact:
  id: id
  name: { value: name, blank: reject }
  subscribed: [optedIn, boolean]
  subscriberLists: [lists, { split: ';' }]
`);
  const { mapped } = await mapAll(spec, [
    table(['Id', 'Name', 'Opted in', 'Lists'], [['1', '', 'perhaps', 'x']]),
  ]);
  const [one] = mapped;
  expect(one?.kind === 'rejected' && faultsOf(one.reason).map(({ field }) => field)).toEqual([
    'name',
    'subscribed',
    'subscriberLists',
  ]);
});
