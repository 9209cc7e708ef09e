import { describe, expect, it } from 'vitest';
import { checkMapping, lookupsOfStoreLists } from '../../src/mapping/compile-mapping.ts';
import { storeListsTable } from '../../src/mapping/lookup-table.ts';
import { runMappingTests } from '../../src/run/inputs/run-mapping-tests.ts';
import { mapAll, mappingOf, table } from './mapping-setup.ts';

const LOOKUP = '{ of: subscriber-lists, match: name, when: { lists: present } }';

function mapping(lookup = LOOKUP, more = '') {
  return mappingOf(`
import: contacts
columns: { id: Id, cell: Lists }
params: { lists: '' }
lookups: { storeLists: ${lookup} }
contact:
  id: id
  subscriberLists: { all: [[lists, { split: ';' }, { table: storeLists, column: id${more} }], [cell, { split: ';' }, { table: storeLists${more} }]] }
`);
}

const LISTS = [
  { id: 0, name: 'Newsletter' },
  { id: 4, name: ' Wholesale ' },
  { id: 5, name: 'Twice' },
  { id: 6, name: 'twice' },
];

async function listsOf(cell: string, { params = {}, spec = mapping() } = {}) {
  const lookups = new Map([['storeLists', storeListsTable(LISTS, 'name')]]);
  const { mapped } = await mapAll(spec, [table(['Id', 'Lists'], [['7', cell]])], { lookups, params });
  const [one] = mapped;
  return one?.kind === 'record' ? one.body : one?.reason;
}

describe('names of the store’s subscriber lists', () => {
  it('become ids, trimmed and in any case, from cells and from a param', async () => {
    expect(await listsOf('WHOLESALE; newsletter')).toEqual({ subscriberLists: [4, 0] });
    expect(await listsOf('', { params: { lists: 'Newsletter;Wholesale' } })).toEqual({
      subscriberLists: [0, 4],
    });
  });

  it('reject the row when there is no such list, and say which there are', async () => {
    const reason = await listsOf('Secret admirers');
    expect(reason).toMatchObject({
      code: 'list-unknown',
      field: 'subscriberLists',
      message:
        'the store has no subscriber list of this name; its lists are Newsletter; Wholesale; Twice; twice',
    });
  });

  it('may be left out when there is no such list, where the mapping says so', async () => {
    const spec = mapping(LOOKUP, ', otherwise: blank');
    expect(await listsOf('Secret admirers; Newsletter', { spec })).toEqual({ subscriberLists: [0] });
  });

  it('reject the row when two lists have the name, whatever the mapping says', async () => {
    const spec = mapping(LOOKUP, ', otherwise: blank');
    expect(await listsOf('Twice', { spec })).toMatchObject({ code: 'list-ambiguous' });
    expect(await listsOf('Newsletter', { spec })).toEqual({ subscriberLists: [0] });
  });

  it('reject the row in a file without the column that says who is left out', async () => {
    const spec = mappingOf(`
import: contacts
columns: { id: Id, cell: Lists, optedOut: Opted out }
contact:
  id: id
  subscriberLists: { value: [cell, { number: {} }], unless: { optedOut: yes } }
`);
    const mapped = async (header: readonly string[], row: readonly string[]) => {
      const { mapped } = await mapAll(spec, [table(header, [row])]);
      const [one] = mapped;
      return one?.kind === 'record' ? one.body : one?.reason;
    };
    expect(await mapped(['Id', 'Lists', 'Opted out'], ['7', '4', 'no'])).toEqual({ subscriberLists: [4] });
    expect(await mapped(['Id', 'Lists', 'Opted out'], ['7', '4', ''])).toEqual({ subscriberLists: [4] });
    expect(await mapped(['Id', 'Lists', 'Opted out'], ['7', '4', 'yes'])).toMatchObject({
      code: 'nothing-to-send',
    });
    expect(await mapped(['Id', 'Lists', 'Out'], ['7', '4', 'yes'])).toMatchObject({
      code: 'exclusion-unknown',
      message: expect.stringContaining("no column 'Opted out'"),
    });
    expect(await mapped(['Id', 'Lists', 'Out'], ['7', '', 'yes'])).toMatchObject({ code: 'nothing-to-send' });
  });

  it('are asked for only where the params call for it', () => {
    expect(lookupsOfStoreLists(mapping(), {})).toEqual([]);
    expect(lookupsOfStoreLists(mapping(), { lists: 'News' })).toEqual([
      { name: 'storeLists', match: 'name' },
    ]);
    expect(lookupsOfStoreLists(mapping('{ of: subscriber-lists, match: name }'), {})).toHaveLength(1);
    expect(lookupsOfStoreLists(mapping('{ path: lists.csv, match: name }'), {})).toEqual([]);
  });

  it.each([
    [
      'a column in `when`',
      '{ of: subscriber-lists, match: name, when: { cell: present } }',
      'cell is not declared',
    ],
    ['`when` for a file', '{ path: a.csv, match: name, when: { lists: present } }', 'when goes with of'],
    ['another column to match', '{ of: subscriber-lists, match: title }', 'expected id or name'],
  ])('cannot be looked up with %s', (_name, lookup, message) => {
    const problems = checkMapping(mapping(lookup)).map((problem) => `${problem.path}: ${problem.message}`);
    expect(problems.join('\n')).toContain(message);
  });

  it('cannot be looked up with a file and the store', () => {
    expect(() => mapping('{ of: subscriber-lists, path: a.csv, match: name }')).toThrow(
      's3, sftp, postgres, mysql, sqlite, custom and of',
    );
  });

  it('are given to a mapping’s own tests as rows', async () => {
    const spec = {
      ...mapping(),
      tests: [
        {
          name: 'in two lists',
          rows: 'Id,Lists\n7,News;Twice\n8,Else',
          lookups: {
            storeLists: [
              { id: 3, name: 'News' },
              { id: 4, name: 'Twice' },
            ],
          },
          expect: [{ sends: { subscriberLists: [3, 4] } }, { rejects: 'list-unknown' }],
        },
      ],
    };
    expect(await runMappingTests(spec)).toEqual([{ name: 'in two lists', problems: [] }]);
  });
});
