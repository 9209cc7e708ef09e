import { describe, expect, it } from 'vitest';
import { storeListsTable } from '../../../src/mapping/lookup-table.ts';
import type { Mapped, MappedRecord } from '../../../src/model/mapped-record.ts';
import { mergeContacts } from '../../../src/plan/copies/resolve-copies.ts';
import { mapAll, shippedMapping, table } from '../mapping-setup.ts';

const COMMON = ['Email Address', 'First Name', 'CONFIRM_TIME', 'TAGS'];
const ids = new Map([
  ['ada@mail.example', 1],
  ['bo@mail.example', 2],
  ['cy@mail.example', 3],
]);
const crosswalk = { match: 'email', file: 'ids.csv', find: (value: string) => ids.get(value.toLowerCase()) };

/** An audience as its zip holds it: three files, which differ in their columns. */
const audience = () => [
  table(
    [...COMMON, 'Shoe size'],
    [
      ['ada@mail.example', 'Ada', '2023-01-01', '"VIP"', '39'],
      ['bo@mail.example', 'Bo', '2023-01-01', '', ''],
    ],
    0,
  ),
  table(
    [...COMMON, 'UNSUB_TIME', 'UNSUB_REASON'],
    [['Bo@mail.example', 'Bo', '2023-01-01', '"Left"', '2024-01-01', 'NORMAL']],
    1,
  ),
  table([...COMMON, 'CLEAN_TIME'], [['cy@mail.example', '', '2023-01-01', '', '']], 2),
];

function isRecord(mapped: Mapped): mapped is MappedRecord {
  return mapped.kind === 'record';
}

describe('a Mailchimp audience of three files', () => {
  it('is subscribed or not, file by file', async () => {
    const { mapped } = await mapAll(shippedMapping('mailchimp-contacts'), audience(), { crosswalk });
    expect(mapped.filter(isRecord).map(({ key, body }) => [key, body])).toEqual([
      [
        '1',
        {
          email: 'ada@mail.example',
          name: 'Ada',
          properties: [{ name: 'Shoe size', value: '39' }],
          tags: ['VIP'],
          subscribed: true,
        },
      ],
      ['2', { email: 'bo@mail.example', name: 'Bo', subscribed: true }],
      ['2', { email: 'bo@mail.example', name: 'Bo', tags: ['Left'], subscribed: false }],
      ['3', { email: 'cy@mail.example', subscribed: false }],
    ]);
  });

  it('keeps a contact who left in any file unsubscribed, where copies are merged in whatever order', async () => {
    const lookups = new Map([['storeLists', storeListsTable([{ id: 4, name: 'News' }], 'name')]]);
    const { mapped } = await mapAll(shippedMapping('mailchimp-contacts'), audience(), {
      crosswalk,
      lookups,
      params: { lists: 'News' },
    });
    const copies = mapped.filter(isRecord).filter(({ key }) => key === '2');
    for (const order of [copies, copies.toReversed()]) {
      const { body } = mergeContacts('2', order);
      expect(body).toEqual({ email: 'bo@mail.example', name: 'Bo', tags: ['Left'], subscribed: false });
    }
  });

  it('asks for the store’s lists only where the job names some', async () => {
    const named = mapAll(shippedMapping('mailchimp-contacts'), audience(), {
      crosswalk,
      params: { lists: 'News' },
    });
    await expect(named).rejects.toThrow('the table was not read');
  });
});
