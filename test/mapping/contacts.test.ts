import { describe, expect, it } from 'vitest';
import type { MappingContext } from '../../src/mapping/compile-mapping.ts';
import { lookupTable } from '../../src/mapping/lookup-table.ts';
import { mapAll, mappingOf, table } from './mapping-setup.ts';

const spec = mappingOf(`
import: contacts
columns:
  id: Id
  crm: Crm
  first: First
  last: Last
  email: E-mail
  phone: Phone
  tags: Tags
  lists: Lists
  consent: Consent
  'label{n}': 'Field {n} label'
  'field{n}': 'Field {n}'
lookups: { lists: { path: lists.csv, match: name } }
contact:
  id: id
  match: { crm: crm }
  name: { join: [first, last] }
  email: [email, lower]
  phone: phone
  tags: [tags, { split: [',', ';'] }]
  subscribed: [consent, { lookup: { 'yes': true, 'no': false } }]
  subscriberLists: [lists, { split: ',' }, { table: lists, column: id, otherwise: reject }]
  properties: { fields: { CRM: crm }, names: 'label{n}', values: 'field{n}', rest: { except: [Secret] } }
`);

const HEADER = [
  'Id',
  'Crm',
  'First',
  'Last',
  'E-mail',
  'Phone',
  'Tags',
  'Lists',
  'Consent',
  'Field 1 label',
  'Field 1',
  'Score',
  'Secret',
];
const LISTS = lookupTable(
  ['id', 'name'],
  [
    ['0', 'All'],
    ['7', 'News'],
  ],
  'name',
) ?? { columns: [], rows: new Map() };

async function contact(cells: readonly string[], context: Partial<MappingContext> = {}) {
  const lookups = new Map([['lists', LISTS]]);
  const { mapped, reports } = await mapAll(spec, [table(HEADER, [cells])], { lookups, ...context });
  return { mapped: mapped[0], report: reports[0] };
}

const ANN = [
  '007',
  'C1',
  'Ann',
  'Lee',
  'Ann@Example.org',
  '+44 (0)1',
  'a; b, a',
  'News,All',
  'No',
  'Size',
  'L',
  '0',
  'x',
];

describe('contacts', () => {
  it('are updated with the fields that are not empty; false and 0 are not empty', async () => {
    const { mapped, report } = await contact(ANN);
    expect(mapped).toEqual({
      kind: 'record',
      key: '7',
      rows: 1,
      spans: [{ file: 0, from: 2, to: 2 }],
      body: {
        email: 'ann@example.org',
        name: 'Ann Lee',
        phone: '+44 (0)1',
        properties: [
          { name: 'CRM', value: 'C1' },
          { name: 'Size', value: 'L' },
          { name: 'Score', value: '0' },
        ],
        tags: ['a', 'b'],
        subscribed: false,
        subscriberLists: [7, 0],
      },
    });
    expect(report?.unused).toEqual(['Secret']);
  });

  it('are left out when there is nothing to send', async () => {
    const { mapped } = await contact(['7', '', '', '', '', '', '', '', '', '', '', '', '']);
    expect(mapped).toMatchObject({ kind: 'skipped', key: '7', reason: { code: 'nothing-to-send' } });
  });

  it.each([
    ['without an id', '', 'id-missing'],
    ['with an id that is no number', 'x7', 'id-not-a-number'],
  ])('are rejected %s', async (_name, id, code) => {
    const { mapped } = await contact([id, ...ANN.slice(1)]);
    expect(mapped).toMatchObject({ kind: 'rejected', key: null, reason: { code } });
  });

  it('are rejected for an unknown list, without quoting the cell', async () => {
    const { mapped } = await contact(ANN.with(7, 'Secret admirers'));
    expect(mapped).toMatchObject({
      kind: 'rejected',
      key: '7',
      reason: { code: 'word-unknown', field: 'subscriberLists' },
    });
    expect(JSON.stringify(mapped)).not.toContain('admirers');
  });

  it('find their id through a crosswalk', async () => {
    const find = (value: string) => (value === 'ann@example.org' ? 42 : undefined);
    const crosswalk = { match: 'email', file: 'ids.csv', find };
    expect((await contact(ANN, { crosswalk })).mapped?.key).toBe('42');
    const { mapped } = await contact(ANN.with(4, 'bob@example.org'), { crosswalk });
    expect(mapped).toMatchObject({ kind: 'rejected', key: null, reason: { code: 'crosswalk-no-match' } });
    const blank = await contact(ANN.with(4, ''), { crosswalk });
    expect(blank.mapped).toMatchObject({ reason: { code: 'crosswalk-nothing-to-match', column: 'E-mail' } });
    expect(JSON.stringify(mapped)).not.toContain('bob@');
  });

  it('find their id by a value that is not sent', async () => {
    const find = (value: string) => (value === 'C1' ? 9 : undefined);
    const crosswalk = { match: 'crm', file: 'ids.csv', find };
    expect((await contact(ANN, { crosswalk })).mapped?.key).toBe('9');
  });

  it('cannot be matched by a field that the mapping does not fill', async () => {
    await expect(
      contact(ANN, { crosswalk: { match: 'zip', file: 'ids.csv', find: () => undefined } }),
    ).rejects.toThrow('the crosswalk matches zip, which this mapping does not fill');
  });
});

const ADDRESSES = mappingOf(`
import: contacts
columns: { email: Email, first: First, last: Last, street: Street, zip: Zip, city: City, state: State, news: News }
contact:
  email: [email, email]
  name: { join: [first, last] }
  address: street
  zip: zip
  city: city
  state: state
  subscribed: { news: present }
`);

describe('what a contact lacks', () => {
  const crosswalk = { match: 'email', file: 'ids.csv', find: () => 1 };
  const addressed = async (cells: readonly string[]) => {
    const header = ['Email', 'First', 'Last', 'Street', 'Zip', 'City', 'State', 'News'];
    const { mapped } = await mapAll(ADDRESSES, [table(header, [cells])], { crosswalk });
    return mapped[0];
  };

  it.each([
    'n/a',
    '[not provided]',
    'NULL',
    '\\N',
    '(unknown)',
    '-',
    '—',
    'Unknown',
    'keine Angabe',
    'non renseigné',
    'Desconocido',
    'brak danych',
    'неизвестно',
    '不明',
    '未填写',
  ])("is blank where a cell says '%s'", async (word) => {
    expect(await addressed(['a@x.example', 'Ann', word, word, word, word, word, word])).toMatchObject({
      kind: 'record',
      body: { email: 'a@x.example', name: 'Ann', subscribed: false },
    });
  });

  it.each(['Unknown-Smith', 'Na', 'Null', 'Nonesuch', '-- street 5'])(
    "keeps '%s', which is a name",
    async (last) => {
      expect(await addressed(['a@x.example', 'Ann', last, '', '', '', '', ''])).toMatchObject({
        body: { name: `Ann ${last}` },
      });
    },
  );
});
